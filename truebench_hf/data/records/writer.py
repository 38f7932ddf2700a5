"""Writes lines. What the messages of a conversation tell (prompts, system message) does not stand in it a second time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from truebench_hf.data.records.judged import Judged
from truebench_hf.data.records.marks import Marked
from truebench_hf.metrics.votes import vote_share
from truebench_hf.types import Criterion, Instance, Message, Response, Usage, Verdict


def judgment_lines(judged: Iterable[Judged], judge: str) -> Iterator[str]:
    """The lines of `judgments.jsonl`."""
    items = list(judged)
    several = _several(item.response for item in items)
    return _lines(to_row(item, judge, several) for item in items)


def response_lines(answered: Iterable[tuple[Instance, Response]]) -> Iterator[str]:
    """The lines of `responses.jsonl`: one instance with its response each."""
    pairs = list(answered)
    several = _several(response for _, response in pairs)
    return _lines(
        _row(instance, response, _number(response, several), {
            "criteria": [[_criterion(criterion) for criterion in turn.criteria] for turn in instance.turns],
            "usage": {"model": _usage(response.usage)},
        })
        for instance, response in pairs
    )  # fmt: skip


def to_row(judged: Judged, judge: str, several: bool = False) -> dict[str, Any]:
    """A `JudgedRow` with its context in full; of `several` samples each has its number, the first too."""
    response = judged.response
    # In front, for those who read no further.
    first = {**_number(response, several), "judge": judge, "passed": judged.passed}
    row = _row(judged.instance, response, first, {
        "verdicts": [[_verdict(verdict, judge) for verdict in turn] for turn in judged.verdicts],
        "usage": {role: _usage(usage) for role, usage in judged.usage.items()},
    })  # fmt: skip
    if response.usage != judged.usage.get("model", Usage()):
        row["response_usage"] = _usage(response.usage)
    if judged.marked:
        row["marked"] = list(map(_marked, judged.marked))
    return row if judged.recorded is None else row | {"recorded": judged.recorded}


def _row(instance: Instance, response: Response, first: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """What every line holds, with `first` behind what names it, and `more` behind the conversation."""
    return {
        **{name: getattr(instance, name) for name in ("id", "language", "category", "task")},
        "model": response.model,
        **first,
        "error": response.error,
        "truncated": list(response.truncated),
        "messages": _messages(response.messages),
        "reasoning": list(response.reasoning),
        **more,
        **_untold(instance, response),
    }


def _several(responses: Iterable[Response]) -> bool:
    return any(response.sample > 1 for response in responses)


def _number(response: Response, several: bool) -> dict[str, int]:
    return {"sample": response.sample} if several or response.sample > 1 else {}


def _untold(instance: Instance, response: Response) -> dict[str, Any]:
    """What of the instance the messages of the conversation do not tell."""
    asked, system = told(response.messages)
    said = [*asked, *[None] * len(instance.turns)]
    prompts = [None if turn.prompt == text else turn.prompt for turn, text in zip(instance.turns, said, strict=False)]
    row: dict[str, Any] = {"prompts": prompts} if any(prompt is not None for prompt in prompts) else {}
    row |= {"system": instance.system} if instance.system != system else {}
    row |= {"context": instance.context} if instance.context is not None else {}
    row |= {"history": _messages(instance.history)} if instance.history else {}
    references = [turn.reference for turn in instance.turns]
    return row | ({"references": references} if any(text is not None for text in references) else {})


def _messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def told(messages: Sequence[Message]) -> tuple[list[str], str | None]:
    """(what the user asked, the system message) of a conversation."""
    opens = bool(messages) and messages[0].role == "system"
    return [message.content for message in messages if message.role == "user"], messages[0].content if opens else None


def _criterion(criterion: Criterion) -> dict[str, Any]:
    row: dict[str, Any] = {"criterion": criterion.text}
    beside = {"kind": criterion.kind, "condition": criterion.condition, "rule": criterion.rule}
    row |= {name: text for name, text in beside.items() if text is not None}
    return row if criterion.weight == 1 else row | {"weight": criterion.weight}


def _verdict(verdict: Verdict, judge: str) -> dict[str, Any]:
    row = _criterion(verdict.criterion) | {
        "label": verdict.label,
        "reason": verdict.reason,
        "probability": verdict.probability,
        "votes": list(verdict.votes),
        "conflicting": verdict.conflicting,
    }
    if verdict.votes:
        row["vote_share"] = vote_share(verdict.votes, verdict.label)
    return row if verdict.judge == judge else row | {"judge": verdict.judge}


def _usage(usage: Usage) -> dict[str, int]:
    return {name: getattr(usage, name) for name in Usage.__slots__}


def _marked(marked: Marked) -> dict[str, Any]:
    found = ({name: value for name, value in asdict(mark).items() if name == "text" or value} for mark in marked.marks)
    return {"judge": marked.judge, "marks": list(found)}


def _lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    held: dict[str, str] = {}  # instance -> the context that its last full line holds
    holders: dict[str, str] = {}  # context -> the instance whose line holds it
    for row in rows:
        text = row.get("context")
        if text is not None:
            holder = holders.get(text)
            if holder is not None and held[holder] == text:
                row = {name: value for name, value in row.items() if name != "context"} | {"context_of": holder}
            else:
                held[row["id"]], holders[text] = text, row["id"]
        yield json.dumps(row, ensure_ascii=False) + "\n"
