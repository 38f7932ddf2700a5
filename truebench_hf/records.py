"""Answers and verdicts as they are kept: the lines of `responses.jsonl` and `judgments.jsonl`, written and read here alone.

A line is one conversation, and what is read equals what was written. What its messages tell (the prompts that were
asked, the system message) does not stand in it a second time. A context, which may be a long document, stands in full
in the first line that has it; the lines after it name that one's instance in `context_of`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from truebench_hf import jsonl
from truebench_hf.errors import UserError
from truebench_hf.metrics.pass_rate import instance_passes, official_passes
from truebench_hf.metrics.votes import vote_share
from truebench_hf.redaction import count
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Role, Turn, Usage, Verdict

JUDGMENTS, RESPONSES = "judgments.jsonl", "responses.jsonl"


@dataclass(frozen=True, slots=True)
class Judged:
    """An instance, its response, and per turn one verdict per criterion. `usage` maps model and judge to tokens."""

    instance: Instance
    response: Response
    verdicts: tuple[tuple[Verdict, ...], ...]
    usage: Mapping[str, Usage] = field(default_factory=dict)
    recorded: bool | None = None  # what an official evaluation file says of the instance, by label, vote or quirk

    @property
    def labels(self) -> list[list[Label | None]]:
        """The label of each criterion, per turn."""
        return [[verdict.label for verdict in turn] for turn in self.verdicts]

    @property
    def passed(self) -> bool | None:
        """Whether every criterion of every turn passes; None is unscored."""
        return instance_passes(self.labels)

    @property
    def passed_officially(self) -> bool:
        """By the official rule: as the official file has it, else from our verdicts."""
        return official_passes(self.labels) if self.recorded is None else self.recorded

    @property
    def undecided(self) -> str:
        """Why the instance is unscored: the first reason among its undecided verdicts."""
        reasons = (verdict.reason for turn in self.verdicts for verdict in turn if verdict.label not in ("yes", "no"))
        return next(reasons, self.response.error or "no criteria")


def unanswered(instance: Instance, response: Response) -> list[tuple[Verdict, ...]]:
    """The verdicts of turns that have no answer: not judged, with the reason."""
    reason = f"no answer: {response.error or 'not generated'}"
    missing = instance.turns[len(response.answers) :]
    return [tuple(Verdict(criterion, None, reason) for criterion in turn.criteria) for turn in missing]


def secrets_in(judged: Iterable[Judged]) -> int:
    """How many secrets were masked in these conversations, in their thinking, errors and verdicts."""
    return count(
        text
        for item in judged
        for texts in (
            (message.content for message in item.response.messages), item.response.reasoning, (item.response.error,),
            (text for turn in item.verdicts for verdict in turn for text in (verdict.criterion.text, verdict.reason)),
        )
        for text in texts
    )  # fmt: skip


# --- the form of a line ---------------------------------------------------------------------------------------------

_Share = Annotated[float, Field(ge=0, le=1)]
_Count = Annotated[int, Field(ge=0)]
_Kind = Literal["input_tokens", "output_tokens", "reasoning_tokens", "calls"]
_FORM = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


@with_config(_FORM)
class MessageRow(TypedDict):
    """A message."""

    role: Role
    content: str


@with_config(_FORM)
class CriterionRow(TypedDict):
    """A criterion; what is not there is as in `Criterion()`."""

    criterion: str
    kind: NotRequired[str]
    condition: NotRequired[str]
    weight: NotRequired[float]


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


class _Conversation(TypedDict):
    """`prompts` stands where messages do not tell all: per turn its own, null where it is that of the user's message.

    `truncated` numbers turns from 1. `usage` is by role; `response_usage` is there where it is not that of the model.
    """

    id: str
    language: str
    category: str
    task: str
    model: str
    error: str | None
    truncated: list[int]
    messages: list[MessageRow]
    reasoning: list[str]
    usage: dict[str, dict[_Kind, _Count]]
    response_usage: NotRequired[dict[_Kind, _Count]]
    prompts: NotRequired[list[str | None]]
    system: NotRequired[str | None]
    context: NotRequired[str]
    context_of: NotRequired[str]
    reference: NotRequired[str]


@with_config(_FORM)
class ResponseRow(_Conversation):
    """A line of `responses.jsonl`: the criteria per turn."""

    criteria: list[list[CriterionRow]]


@with_config(_FORM)
class JudgedRow(_Conversation):
    """A line of `judgments.jsonl`: a verdict per criterion, per turn."""

    judge: str
    passed: bool | None
    verdicts: list[list[VerdictRow]]
    recorded: NotRequired[bool]


_JUDGED, _ANSWERED = TypeAdapter(JudgedRow), TypeAdapter(ResponseRow)


# --- writing --------------------------------------------------------------------------------------------------------


def judgment_lines(judged: Iterable[Judged], judge: str) -> Iterator[str]:
    """The lines of `judgments.jsonl`."""
    return _lines(to_row(item, judge) for item in judged)


def response_lines(answered: Iterable[tuple[Instance, Response]]) -> Iterator[str]:
    """The lines of `responses.jsonl`: one instance with its response each."""
    return _lines(
        {
            **_opening(instance, response),
            **_conversation(instance, response),
            "criteria": [[_criterion(criterion) for criterion in turn.criteria] for turn in instance.turns],
            "usage": {"model": asdict(response.usage)},
            **_untold(instance, response),
        }
        for instance, response in answered
    )


def to_row(judged: Judged, judge: str) -> dict[str, Any]:
    """A `JudgedRow` with its context in full."""
    instance, response = judged.instance, judged.response
    row = {
        **_opening(instance, response),
        "judge": judge,
        "passed": judged.passed,  # among the first, for those who read no further
        **_conversation(instance, response),
        "verdicts": [[_verdict(verdict, judge) for verdict in turn] for turn in judged.verdicts],
        "usage": {role: asdict(usage) for role, usage in judged.usage.items()},
        **_untold(instance, response),
    }
    if response.usage != judged.usage.get("model", Usage()):
        row["response_usage"] = asdict(response.usage)
    return row if judged.recorded is None else row | {"recorded": judged.recorded}


def _opening(instance: Instance, response: Response) -> dict[str, Any]:
    facts = {"id": instance.id, "language": instance.language, "category": instance.category, "task": instance.task}
    return facts | {"model": response.model}


def _conversation(instance: Instance, response: Response) -> dict[str, Any]:
    return {
        "error": response.error,
        "truncated": list(response.truncated),
        "messages": [{"role": message.role, "content": message.content} for message in response.messages],
        "reasoning": list(response.reasoning),
    }


def _untold(instance: Instance, response: Response) -> dict[str, Any]:
    """What of the instance the messages of the conversation do not tell."""
    asked, system = _told(response.messages)
    said = [*asked, *[None] * len(instance.turns)]
    prompts = [None if turn.prompt == text else turn.prompt for turn, text in zip(instance.turns, said, strict=False)]
    row: dict[str, Any] = {"prompts": prompts} if any(prompt is not None for prompt in prompts) else {}
    row |= {"system": instance.system} if instance.system != system else {}
    beside = {"context": instance.context, "reference": instance.reference}
    return row | {name: text for name, text in beside.items() if text is not None}


def _told(messages: Sequence[Message]) -> tuple[list[str], str | None]:
    """(what the user asked, the system message) of a conversation."""
    opens = bool(messages) and messages[0].role == "system"
    return [message.content for message in messages if message.role == "user"], messages[0].content if opens else None


def _criterion(criterion: Criterion) -> dict[str, Any]:
    row: dict[str, Any] = {"criterion": criterion.text}
    beside = {"kind": criterion.kind, "condition": criterion.condition}
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


# --- reading --------------------------------------------------------------------------------------------------------


class Reader:
    """Reads the lines of one file, from its first on. Raises UserError with `where` on whatever is wrong in one."""

    def __init__(self) -> None:
        self._contexts: dict[str, str] = {}

    def judged(self, row: Any, where: str) -> tuple[Judged, str]:
        """(judged instance, judge) of a line of `judgments.jsonl`."""
        found = self.row(row, where)
        verdicts = tuple(tuple(_read_verdict(item, found["judge"]) for item in turn) for turn in found["verdicts"])
        usage = {role: Usage(**counts) for role, counts in found["usage"].items()}
        instance, response = _read(found, [tuple(v.criterion for v in turn) for turn in verdicts], usage, where)
        return Judged(instance, response, verdicts, usage, found.get("recorded")), found["judge"]

    def answered(self, row: Any, where: str) -> tuple[Instance, Response]:
        """An instance with its response, of a line of `responses.jsonl`."""
        found: ResponseRow = self._checked(_ANSWERED, row, where, RESPONSES)
        usage = {role: Usage(**counts) for role, counts in found["usage"].items()}
        criteria = [tuple(_read_criterion(item) for item in turn) for turn in found["criteria"]]
        return _read(found, criteria, usage, where)

    def row(self, row: Any, where: str) -> JudgedRow:
        """A line of `judgments.jsonl` as it stands, checked, with its context in full."""
        found: JudgedRow = self._checked(_JUDGED, row, where, JUDGMENTS)
        return found

    def _checked(self, form: TypeAdapter[Any], row: Any, where: str, kind: str) -> Any:
        if not isinstance(row, dict):
            raise UserError(f"{where}: not an object")
        try:
            found = form.validate_python(row)
        except ValidationError as error:
            raise UserError(f"{where}: not a line of {kind}: {_first(error)}") from error
        if (holder := found.pop("context_of", None)) is not None:
            if holder not in self._contexts:
                raise UserError(
                    f"{where}: its context is that of instance {holder[:60]!r}, of which no line is before it"
                )
            found["context"] = self._contexts[holder]
        elif "context" in found:
            self._contexts[found["id"]] = found["context"]
        return found


def read_outcomes(file: Path) -> Mapping[str, bool | None]:
    """Instance id -> passed from a `judgments.jsonl`. Only the head of each line is read, since files are large.

    Raises OSError, and UserError on lines of another form.
    """
    found: dict[str, bool | None] = {}
    with file.open("rb") as content:
        for where, line in jsonl.lines(content, file.name):
            text = line.decode("utf-8", "replace")
            if (head := _HEAD.match(text)) is not None:
                found[head[1]] = _PASSED[head[2]]
            else:
                row = jsonl.parsed(text, where)
                if not isinstance(row, dict) or not isinstance(row.get("passed", ""), bool | None) or "id" not in row:
                    raise UserError(f"{where}: not a line of {JUDGMENTS}")
                found[str(row["id"])] = row["passed"]
    return found


# An id with an escape in it is left to the JSON reader.
_HEAD = re.compile(r'\{"id": "([^"\\]*)", .*?(?<!\\)"passed": (true|false|null),')
_PASSED = {"true": True, "false": False, "null": None}


def _first(error: ValidationError) -> str:
    """The first thing that is wrong; names that strangers chose are cut."""
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part)[:60] for part in fault["loc"])
    said = {"missing": "is absent", "extra_forbidden": "is unknown"}.get(fault["type"])
    return f"field {place!r} {said or fault['msg'].replace('Input should be', 'should be', 1)}"


def _read(
    row: _Conversation, criteria: Sequence[tuple[Criterion, ...]], usage: Mapping[str, Usage], where: str
) -> tuple[Instance, Response]:
    messages = tuple(Message(message["role"], message["content"]) for message in row["messages"])
    asked, system = _told(messages)
    own = row.get("prompts", [None] * len(criteria))
    prompts = [
        text if text is not None else said for text, said in zip(own, [*asked, *[None] * len(own)], strict=False)
    ]
    turns = [Turn(text, of_it) for text, of_it in zip(prompts, criteria, strict=False) if text is not None]
    if not len(own) == len(criteria) == len(turns):
        raise UserError(f"{where}: field 'prompts' must give the prompts that 'messages' do not, one per turn")
    instance = Instance(
        row["id"], row["language"], row["category"], row["task"], tuple(turns), row.get("system", system),
        row.get("context"), row.get("reference"),
    )  # fmt: skip
    spent = Usage(**row["response_usage"]) if "response_usage" in row else usage.get("model", Usage())
    response = Response(
        row["id"], row["model"], messages, tuple(row["reasoning"]), spent, row["error"], tuple(row["truncated"])
    )
    return instance, response


def _read_criterion(item: CriterionRow) -> Criterion:
    return Criterion(item["criterion"], item.get("kind"), item.get("condition"), item.get("weight", 1.0))


def _read_verdict(item: VerdictRow, judge: str) -> Verdict:
    return Verdict(
        _read_criterion(item), item["label"], item["reason"], item.get("judge", judge), item["probability"],
        tuple(item["votes"]), item["conflicting"],
    )  # fmt: skip
