"""Where instructions come from: rows, and benchmarks with questions by people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from truebench_hf.data.rows import Record
from truebench_hf.types import Message

BUILT_IN = "flexbench"
_HARD = "Hard_set"  # of InFoBench: what the paper compares with
# StructFlowBench's questions on how a turn follows from others name turns that no instruction names.
_RELATIONS = ("follow-up", "refinement", "expansion", "summary", "recall")


@dataclass(frozen=True)
class Decomposition:
    """An instruction, after the conversation before it, and the questions it comes down to."""

    id: str
    instruction: str
    questions: tuple[str, ...]


def of_source(given: str) -> tuple[list[Decomposition], list[str]]:
    """The instructions of `SOURCE:PATH`, a benchmark with questions by people (see `truebench_hf.data.sources`)."""
    from truebench_hf.data import sources

    kind, _, path = given.partition(":")
    read = sources.read(kind, path)
    rows: dict[str, tuple[Decomposition, object]] = {}
    relations = bare = 0
    for item in read:
        asked = [rubric.text for rubric in item.rubrics if rubric.hint not in _RELATIONS or kind != "structflowbench"]
        relations += len(item.rubrics) - len(asked)
        bare += not asked
        if asked:  # of several responses to one instruction the first tells all
            one = Decomposition(item.instruction_id, told(item.messages), tuple(asked))
            rows.setdefault(item.instruction_id, (one, item.facts.get("subset")))
    found, left_out = hard_set(list(rows.values()))
    if relations:
        left_out.append(
            f"left out: {relations} questions on how a turn follows from others, which no instruction tells"
        )
    if bare:
        left_out.append(f"left out: {bare} instructions without any (other) question")
    return found, [*read.left_out.reasons, *left_out]


def instruction_of(record: Record) -> str:
    """The instruction of a row; InFoBench's rows have what it is about beside it, as `input`. Raises UserError."""
    given = record.row.get("input")
    return record.text("instruction") + (f"\n\n{given}" if isinstance(given, str) and given.strip() else "")


def hard_set(rows: Iterable[tuple[Decomposition, object]]) -> tuple[list[Decomposition], list[str]]:
    """Of InFoBench's rows the hard set; all where no row says that it is of it."""
    rows = list(rows)
    hard = [one for one, subset in rows if subset == _HARD]
    if not hard or len(hard) == len(rows):
        return [one for one, _ in rows], []
    return hard, [f"left out: {len(rows) - len(hard)} instructions that are not of {_HARD}"]


def told(messages: Sequence[Message]) -> str:
    """A conversation as one text; a message alone stands for itself."""
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in messages)
