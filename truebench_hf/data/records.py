"""Answers and verdicts as they are kept: the lines of `responses.jsonl` and `judgments.jsonl`, read and written here.

A line is one conversation, and what is read equals what was written. What its messages tell (prompts, system message)
does not stand in it a second time. A context, which may be a long document, stands in full in the first line that has it;
the lines after it name that one's instance in `context_of`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, with_config
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from truebench_hf.data import jsonl
from truebench_hf.data.judged import USUAL, Judged, Marked, unusual
from truebench_hf.data.rows import Record, adapter, user_error
from truebench_hf.errors import UserError
from truebench_hf.metrics.votes import mean, vote_share
from truebench_hf.text import anonymous
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Role, Turn, Usage, Verdict

JUDGMENTS, RESPONSES = "judgments.jsonl", "responses.jsonl"
JUDGED = (JUDGMENTS, "verdicts.jsonl")  # files in which studies leave what they judged, in this order

_Share = Annotated[float, Field(ge=0, le=1)]
_Points = Annotated[float, Field(ge=-1e9, le=1e9)]
LARGEST = 10**15  # of a count: sums of more digits than Python prints come of none
_Count = Annotated[int, Field(ge=0, le=LARGEST)]
_Number = Annotated[int, Field(ge=1, le=LARGEST)]
_Kind = Literal["input_tokens", "output_tokens", "reasoning_tokens", "calls", "unknown_calls"]
# Of a whole line; the forms inside of it are read by the same.
_FORM = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)


class _MessageRow(TypedDict):
    role: Role
    content: str


class CriterionRow(TypedDict):
    """A criterion; what is not there is as in `Criterion()`."""

    criterion: str
    kind: NotRequired[str]
    condition: NotRequired[str]
    weight: NotRequired[_Points]
    rule: NotRequired[str]


class VerdictRow(CriterionRow):
    """A criterion with its verdict. `vote_share` follows from the rest; `judge` is there where the row's is another."""

    label: Label | None
    reason: str
    probability: _Share | None
    votes: list[Label | None]
    conflicting: bool
    vote_share: NotRequired[_Share | None]
    judge: NotRequired[str]


# What rows hold, as it is in the vocabulary of `types`.
_Messages = list[Annotated[_MessageRow, AfterValidator(lambda row: Message(**row))]]
_Usage = Annotated[dict[_Kind, _Count], AfterValidator(lambda counts: Usage(**counts))]


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
    marked: NotRequired[list[Marked]]


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
        state = file.stat()
    except OSError:
        return 0, 0, 0
    return state.st_ino, state.st_size, state.st_mtime_ns


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
        line = self._checked(JudgedRow, row, where, JUDGMENTS)
        verdicts = tuple(
            tuple(
                Verdict(
                    _criterion_of(cell), cell["label"], cell["reason"], cell.get("judge", line["judge"]),
                    cell["probability"], tuple(cell["votes"]), cell["conflicting"],
                )
                for cell in turn
            )
            for turn in line["verdicts"]
        )  # fmt: skip
        instance, response = _conversation(line, [tuple(v.criterion for v in turn) for turn in verdicts], where)
        marked = tuple(line.get("marked", ()))
        return Judged(instance, response, verdicts, line["usage"], line.get("recorded"), marked), line["judge"]

    def answered(self, row: Any, where: str) -> tuple[Instance, Response]:
        """An instance with its response, of a line of `responses.jsonl`."""
        line = self._checked(ResponseRow, row, where, RESPONSES)
        return _conversation(line, [tuple(map(_criterion_of, turn)) for turn in line["criteria"]], where)

    def _checked(self, form: Any, row: Any, where: str, kind: str) -> Any:
        if not isinstance(row, dict):
            raise UserError(f"{where}: not an object")
        try:
            line = adapter(form).validate_python(row)
        except ValidationError as error:
            raise user_error(error, Record(f"{where}: not a line of {kind}", row)) from error
        if (holder := line.pop("context_of", None)) is not None:
            if holder not in self._contexts:
                what = f"its context is that of instance {holder[:60]!r}, of which no line is before it"
                raise UserError(f"{where}: {what}")
            line["context"] = self._contexts[holder]
        elif "context" in line:
            line["context"] = self._contexts[line["id"]] = self._context(line["context"])
        return line


def _criterion_of(cell: CriterionRow) -> Criterion:
    return Criterion(cell["criterion"], **{name: cell[name] for name in USUAL if name in cell})  # type: ignore[literal-required]


def _conversation(line: Any, criteria: Sequence[tuple[Criterion, ...]], where: str) -> tuple[Instance, Response]:
    messages = tuple(line["messages"])
    users, system = told(messages)
    own, references = (line.get(name, [None] * len(criteria)) for name in ("prompts", "references"))
    prompts = [user if text is None else text for text, user in zip_longest(own, users[: len(own)])]
    if len(own) != len(criteria) or None in prompts:
        raise UserError(f"{where}: field 'prompts' must give the prompts that 'messages' do not, one per turn")
    if len(references) != len(criteria):
        raise UserError(f"{where}: field 'references' must give one per turn, or null")
    instance = Instance(
        line["id"], line["language"], line["category"], line["task"], tuple(map(Turn, prompts, criteria, references)),
        line.get("system", system), line.get("context"), tuple(line.get("history", ())),
    )  # fmt: skip
    spent = line.get("response_usage") or line["usage"].get("model", Usage())
    response = Response(
        line["id"], line["model"], messages, tuple(line["reasoning"]), spent, line["error"], tuple(line["truncated"]),
        line.get("sample", 1),
    )  # fmt: skip
    return instance, response


def judgment_lines(judged: Iterable[Judged], judge: str) -> Iterator[str]:
    """The lines of `judgments.jsonl`."""
    items = list(judged)
    numbered = any(item.response.sample > 1 for item in items)
    return _lines(to_row(item, judge, numbered) for item in items)


def response_lines(answered: Iterable[tuple[Instance, Response]]) -> Iterator[str]:
    """The lines of `responses.jsonl`: one instance with its response each."""
    pairs = list(answered)
    numbered = any(response.sample > 1 for _, response in pairs)
    rows = []
    for instance, response in pairs:
        criteria = [[_criterion(criterion) for criterion in turn.criteria] for turn in instance.turns]
        more = {"criteria": criteria, "usage": {"model": asdict(response.usage)}}
        rows.append(_row(instance, response, numbered, {}, more))
    return _lines(rows)


def to_row(judged: Judged, judge: str, numbered: bool = False) -> dict[str, Any]:
    """A `JudgedRow` with its context in full; where samples are `numbered` each has its number, the first too."""
    first = {"judge": judge, "passed": judged.passed}  # in front, for those who read no further
    usage = {role: asdict(usage) for role, usage in judged.usage.items()}
    verdicts: list[list[dict[str, Any]]] = []
    for turn in judged.verdicts:
        verdicts.append([])
        for verdict in turn:
            cell = _criterion(verdict.criterion)
            cell |= {name: getattr(verdict, name) for name in ("label", "reason", "probability")}
            cell |= {"votes": list(verdict.votes), "conflicting": verdict.conflicting}
            cell |= {"vote_share": vote_share(verdict.votes, verdict.label)} if verdict.votes else {}
            cell |= {} if verdict.judge == judge else {"judge": verdict.judge}
            verdicts[-1].append(cell)
    row = _row(judged.instance, judged.response, numbered, first, {"verdicts": verdicts, "usage": usage})
    if judged.response.usage != judged.usage.get("model", Usage()):
        row["response_usage"] = asdict(judged.response.usage)
    if judged.marked:
        row["marked"] = [
            {"judge": m.judge, "marks": [{k: v for k, v in asdict(mark).items() if k == "text" or v} for mark in m.marks]}
            for m in judged.marked
        ]  # fmt: skip
    return row if judged.recorded is None else row | {"recorded": judged.recorded}


def _row(
    instance: Instance, response: Response, numbered: bool, first: dict[str, Any], more: dict[str, Any]
) -> dict[str, Any]:
    """What every line holds, with `first` behind what names it, and `more` behind the conversation.

    At its end stands what of the instance the messages of the conversation do not tell.
    """
    row: dict[str, Any] = {name: getattr(instance, name) for name in ("id", "language", "category", "task")}
    row |= {"model": response.model}
    row |= {"sample": response.sample} if numbered or response.sample > 1 else {}
    row |= first
    row |= {"error": response.error, "truncated": list(response.truncated)}
    row |= {"messages": list(map(asdict, response.messages)), "reasoning": list(response.reasoning)}
    row |= more
    users, system = told(response.messages)
    turns = ((turn.prompt, text) for turn, text in zip_longest(instance.turns, users) if turn)
    prompts = [None if prompt == text else prompt for prompt, text in turns]
    references = [turn.reference for turn in instance.turns]
    row |= {"prompts": prompts} if any(text is not None for text in prompts) else {}
    row |= {"system": instance.system} if instance.system != system else {}
    row |= {"context": instance.context} if instance.context is not None else {}
    row |= {"history": list(map(asdict, instance.history))} if instance.history else {}
    return row | ({"references": references} if any(text is not None for text in references) else {})


def told(messages: Sequence[Message]) -> tuple[list[str], str | None]:
    """(what the user asked, the system message) of a conversation."""
    opens = bool(messages) and messages[0].role == "system"
    return [message.content for message in messages if message.role == "user"], messages[0].content if opens else None


def _criterion(criterion: Criterion) -> dict[str, Any]:
    return {"criterion": criterion.text, **unusual(criterion)}


def _lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    held: dict[str, str] = {}  # instance -> the context that its last full line holds
    holders: dict[str, str] = {}  # context -> the instance whose line holds it
    for row in rows:
        if (text := row.get("context")) is not None:
            holder = holders.get(text)
            if holder is not None and held[holder] == text:
                row = {name: value for name, value in row.items() if name != "context"} | {"context_of": holder}
            else:
                held[row["id"]], holders[text] = text, row["id"]
        yield json.dumps(row, ensure_ascii=False) + "\n"


T = TypeVar("T")


def read_outcomes(file: Path) -> dict[str, dict[str, float | None]]:
    """By model (as strangers may see its name), instance id -> the share of its scored samples that passed (None: not
    scored), from a `judgments.jsonl`. Raises OSError, and UserError on lines of another form."""
    passed: dict[tuple[str, str], list[bool | None]] = {}
    with file.open("rb") as content:
        for where, line in jsonl.lines(content, file.name):
            row = jsonl.parsed(line, where)
            if not isinstance(row, dict) or not isinstance(row.get("passed", ""), bool | None) or "id" not in row:
                raise UserError(f"{where}: not a line of {JUDGMENTS}")
            passed.setdefault((str(row.get("model") or ""), str(row["id"])), []).append(row["passed"])
    public, outcomes = anonymous.names(model for model, _ in passed), dict[str, dict[str, float | None]]()
    for (model, name), values in passed.items():
        outcomes.setdefault(public[model], {})[name] = mean(values)
    return outcomes


def of_entry(by_model: Mapping[str, T], name: str) -> T | None:
    """What of a file is about the model of a board's line; what is of one model alone is, whatever the line is called."""
    return next(iter(by_model.values())) if len(by_model) == 1 else by_model.get(name)
