"""Answers and verdicts as they are kept: the lines of `responses.jsonl` and `judgments.jsonl`, read and written here.

A line is one conversation, and what is read equals what was written. What its messages tell (prompts, system message)
does not stand in it a second time. A context, which may be a long document, stands in full in the first line that has it;
the lines after it name that one's instance in `context_of`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, with_config
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from truebench_hf.data import jsonl
from truebench_hf.data.judged import Judged, Mark, Marked, Tone
from truebench_hf.data.rows import Record, adapter, user_error
from truebench_hf.errors import UserError
from truebench_hf.metrics.votes import vote_share
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Role, Turn, Usage, Verdict

JUDGMENTS, RESPONSES = "judgments.jsonl", "responses.jsonl"

_Share = Annotated[float, Field(ge=0, le=1)]
_Points = Annotated[float, Field(ge=-1e9, le=1e9)]
LARGEST = 10**15  # of a count: sums of more digits than Python prints come of none
_Count = Annotated[int, Field(ge=0, le=LARGEST)]
_Number = Annotated[int, Field(ge=1, le=LARGEST)]
_Kind = Literal["input_tokens", "output_tokens", "reasoning_tokens", "calls", "unknown_calls"]
_FORM = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)


@with_config(_FORM)
class _MessageRow(TypedDict):
    role: Role
    content: str


@with_config(_FORM)
class CriterionRow(TypedDict):
    """A criterion; what is not there is as in `Criterion()`."""

    criterion: str
    kind: NotRequired[str]
    condition: NotRequired[str]
    weight: NotRequired[_Points]
    rule: NotRequired[str]


@with_config(_FORM)
class VerdictRow(CriterionRow):
    """A criterion with its verdict. `vote_share` follows from the rest; `judge` is there where the row's is another."""

    label: Label | None
    reason: str
    probability: _Share | None
    votes: list[Label | None]
    conflicting: bool
    vote_share: NotRequired[_Share | None]
    judge: NotRequired[str]


@with_config(_FORM)
class _MarkRow(TypedDict):
    text: str
    tone: NotRequired[Tone]
    word: NotRequired[str]
    note: NotRequired[str]
    beside: NotRequired[list[str]]


@with_config(_FORM)
class _MarkedRow(TypedDict):
    judge: str
    marks: list[Annotated[_MarkRow, AfterValidator(lambda row: Mark(**row | {"beside": tuple(row.get("beside", ()))}))]]


# What rows hold, as it is in the vocabulary of `types` and `judged`.
_Usage = Annotated[dict[_Kind, _Count], AfterValidator(lambda counts: Usage(**counts))]
_Messages = list[Annotated[_MessageRow, AfterValidator(lambda row: Message(**row))]]
_Marked = Annotated[_MarkedRow, AfterValidator(lambda row: Marked(row["judge"], tuple(row["marks"])))]


class ConversationRow(TypedDict):
    """`prompts` stands where messages do not tell all: per turn its own, null where it is that of the user's message.

    `references` are the right answers, per turn where there are any. `history` is what was said before the first turn.
    `truncated` numbers turns from 1, `sample` the responses to one instance where a file has several. `usage` is by
    role; `response_usage` is there where it is not that of the model.
    """

    id: str
    language: str
    category: str
    task: str
    model: str
    sample: NotRequired[_Number]
    error: str | None
    truncated: list[int]
    messages: _Messages
    reasoning: list[str]
    usage: dict[str, _Usage]
    response_usage: NotRequired[_Usage]
    prompts: NotRequired[list[str | None]]
    system: NotRequired[str | None]
    context: NotRequired[str]
    context_of: NotRequired[str]
    history: NotRequired[_Messages]
    references: NotRequired[list[str | None]]


@with_config(_FORM)
class ResponseRow(ConversationRow):
    """A line of `responses.jsonl`: the criteria per turn."""

    criteria: list[list[CriterionRow]]


@with_config(_FORM)
class JudgedRow(ConversationRow):
    """A line of `judgments.jsonl`: a verdict per criterion, per turn; `marked` where answers were judged in pieces."""

    judge: str
    passed: bool | None
    verdicts: list[list[VerdictRow]]
    recorded: NotRequired[bool]
    marked: NotRequired[list[_Marked]]


Form = Callable[["Reader", Any, str], tuple[Judged, str]]  # (judged instance, judge) of a row, and where it stands
Stamp = tuple[int, int, int]


def read_lines(
    file: Path, remedy: str, form: Form | None = None, context: Callable[[str], str] = str
) -> Iterator[tuple[Judged, str]]:
    """(judged instance, judge) of the lines of a file, by default of `judgments.jsonl`; `context` as for `Reader`.

    Raises UserError as `jsonl.read`.
    """
    reader, read = Reader(context), form or Reader.judged
    for where, row in jsonl.read(file, remedy):
        yield read(reader, row, where)


def stamp(file: Path) -> Stamp:
    """What is another once a file was written anew; of one that cannot be read, whose reader says so, nothing."""
    try:
        found = file.stat()
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns


def unchanged(file: Path, before: Stamp) -> None:
    """Raise UserError where a file that is read twice is another than it was."""
    if stamp(file) != before:
        raise UserError(f"{file}: was changed while it was read; repeat the command")


class Reader:
    """Reads the lines of one file, from its first on. Raises UserError with `where` on whatever is wrong in one.

    Contexts are held for the lines that name them. With `context` what it makes of one stands in its place: a hash,
    say, where they would take too much memory.
    """

    def __init__(self, context: Callable[[str], str] = str) -> None:
        self._contexts: dict[str, str] = {}
        self._context = context

    def judged(self, row: Any, where: str) -> tuple[Judged, str]:
        """(judged instance, judge) of a line of `judgments.jsonl`."""
        found = self._checked(JudgedRow, row, where, JUDGMENTS)
        verdicts = tuple(tuple(_read_verdict(item, found["judge"]) for item in turn) for turn in found["verdicts"])
        instance, response = _read(found, [tuple(v.criterion for v in turn) for turn in verdicts], where)
        marked = tuple(found.get("marked", ()))
        return Judged(instance, response, verdicts, found["usage"], found.get("recorded"), marked), found["judge"]

    def answered(self, row: Any, where: str) -> tuple[Instance, Response]:
        """An instance with its response, of a line of `responses.jsonl`."""
        found = self._checked(ResponseRow, row, where, RESPONSES)
        return _read(found, [tuple(map(_read_criterion, turn)) for turn in found["criteria"]], where)

    def _checked(self, form: Any, row: Any, where: str, kind: str) -> Any:
        if not isinstance(row, dict):
            raise UserError(f"{where}: not an object")
        try:
            found = adapter(form).validate_python(row)
        except ValidationError as error:
            raise user_error(error, Record(f"{where}: not a line of {kind}", row)) from error
        if (holder := found.pop("context_of", None)) is not None:
            if holder not in self._contexts:
                raise UserError(
                    f"{where}: its context is that of instance {holder[:60]!r}, of which no line is before it"
                )
            found["context"] = self._contexts[holder]
        elif "context" in found:
            found["context"] = self._contexts[found["id"]] = self._context(found["context"])
        return found


def _read(row: Any, criteria: Sequence[tuple[Criterion, ...]], where: str) -> tuple[Instance, Response]:
    messages = tuple(row["messages"])
    asked, system = told(messages)
    own, references = (row.get(name, [None] * len(criteria)) for name in ("prompts", "references"))
    prompts = [text if text is not None else said for text, said in zip_longest(own, asked[: len(own)])]
    if len(own) != len(criteria) or None in prompts:
        raise UserError(f"{where}: field 'prompts' must give the prompts that 'messages' do not, one per turn")
    if len(references) != len(criteria):
        raise UserError(f"{where}: field 'references' must give one per turn, or null")
    instance = Instance(
        row["id"], row["language"], row["category"], row["task"], tuple(map(Turn, prompts, criteria, references)),
        row.get("system", system), row.get("context"), tuple(row.get("history", ())),
    )  # fmt: skip
    spent = row.get("response_usage") or row["usage"].get("model", Usage())
    response = Response(
        row["id"], row["model"], messages, tuple(row["reasoning"]), spent, row["error"], tuple(row["truncated"]),
        row.get("sample", 1),
    )  # fmt: skip
    return instance, response


def _read_criterion(item: CriterionRow) -> Criterion:
    beside = (item.get("kind"), item.get("condition"), item.get("weight", 1.0), item.get("rule"))
    return Criterion(item["criterion"], *beside)


def _read_verdict(item: VerdictRow, judge: str) -> Verdict:
    return Verdict(
        _read_criterion(item), item["label"], item["reason"], item.get("judge", judge), item["probability"],
        tuple(item["votes"]), item["conflicting"],
    )  # fmt: skip


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
            "usage": {"model": asdict(response.usage)},
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
        "usage": {role: asdict(usage) for role, usage in judged.usage.items()},
    })  # fmt: skip
    if response.usage != judged.usage.get("model", Usage()):
        row["response_usage"] = asdict(response.usage)
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
        "messages": list(map(asdict, response.messages)),
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
    row |= {"history": list(map(asdict, instance.history))} if instance.history else {}
    references = [turn.reference for turn in instance.turns]
    return row | ({"references": references} if any(text is not None for text in references) else {})


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
