"""The form of a line, which anybody may have written: of `responses.jsonl` and of `judgments.jsonl`."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from truebench_hf.data.records.marks import Tone
from truebench_hf.types import Label, Role

JUDGMENTS, RESPONSES = "judgments.jsonl", "responses.jsonl"

_Share = Annotated[float, Field(ge=0, le=1)]
_Points = Annotated[float, Field(ge=-1e9, le=1e9)]
LARGEST = 10**15  # of a count: sums of more digits than Python prints come of none
_Count = Annotated[int, Field(ge=0, le=LARGEST)]
_Number = Annotated[int, Field(ge=1, le=LARGEST)]
_Kind = Literal["input_tokens", "output_tokens", "reasoning_tokens", "calls", "unknown_calls"]
_FORM = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)


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
class MarkRow(TypedDict):
    """A piece of an answer; what is not there is as in `Mark()`."""

    text: str
    tone: NotRequired[Tone]
    word: NotRequired[str]
    note: NotRequired[str]
    beside: NotRequired[list[str]]


@with_config(_FORM)
class MarkedRow(TypedDict):
    """The last answer in pieces, as a judge sees it."""

    judge: str
    marks: list[MarkRow]


class ConversationRow(TypedDict):
    """`prompts` stands where messages do not tell all: per turn its own, null where it is that of the user's message.

    `references` are the right answers, per turn where there are any. `history` is what was said before the first turn.
    `truncated` numbers turns from 1, `sample` the responses to one instance where a file has several. `usage` is by role; `response_usage` is there where it is not that of the model.
    """

    id: str
    language: str
    category: str
    task: str
    model: str
    sample: NotRequired[_Number]
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
    history: NotRequired[list[MessageRow]]
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
    marked: NotRequired[list[MarkedRow]]
