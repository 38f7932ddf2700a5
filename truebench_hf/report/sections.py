"""What a report is made of, and CSV for spreadsheets. Plain values, no drawing: terminal, page and Space each draw them."""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from truebench_hf.data.judged import Judged, Mark, Marked
from truebench_hf.metrics.pass_rate import outcome as outcome_of
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Criterion, Message, Score, Verdict

if TYPE_CHECKING:
    from truebench_hf.report.table import Table


Outcome = Literal["yes", "no", "open", ""]  # passed, failed, unscored, or nothing to say
OF_JUDGES = ("Right", "Wrong", "Open")  # words for what a judge made of an answer


@dataclass(frozen=True)
class Matrix:
    """A score per row and column, coloured; None where there is nothing to score. `corner` says what they are."""

    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Score | None, ...]], ...]
    note: str = ""


@dataclass(frozen=True)
class Axis:
    """An axis of a plot, from `low` to `high`; on a `log` axis both are above 0."""

    label: str
    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """Return where a value lies, from 0 at `low` to 1 at `high`."""
        low, high, at = (math.log(number) if self.log else number for number in (self.low, self.high, value))
        return (at - low) / (high - low)

    @property
    def ticks(self) -> tuple[float, ...]:
        """Two to seven round values in between: on a log axis 1, 2 and 5 of each power of ten, or the powers alone."""
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1, 2, 5) if self.high < 1000 * self.low else (1,)
            values = [step * 10.0**power for power in powers for step in steps]
        else:
            rough = (self.high - self.low) / 6
            power = 10.0 ** math.floor(math.log10(rough))
            step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
            values = [
                step * number for number in range(math.ceil(self.low / step - 1e-9), int(self.high / step + 1e-6) + 1)
            ]
        return tuple(value for value in values if -1e-9 <= self.share(value) <= 1 + 1e-9)


@dataclass(frozen=True)
class Series:
    """Points (x, y, weight in 0..1 that shows as size, text), in order; `joined` by a line or not.

    One that is `brought_out` stands out from the others, with its name beside its points; with `named` the text of each
    point stands beside it.
    """

    name: str
    points: tuple[tuple[float, float, float, str], ...]
    joined: bool = False
    brought_out: bool = False
    named: bool = False


@dataclass(frozen=True)
class Plot:
    """Series of points on two axes, with a line from corner to corner where `diagonal`.

    Without axes the points lie in the unit square, and their places carry no unit.
    """

    title: str
    series: tuple[Series, ...]
    x: Axis | None = None
    y: Axis | None = None
    diagonal: bool = False
    note: str = ""


@dataclass(frozen=True)
class Highlighted:
    """A text whose pieces are coloured by what was found of them, each with the excerpts that it was held against."""

    title: str
    marks: tuple[Mark, ...]
    note: str = ""


@dataclass(frozen=True)
class Exchange:
    """One turn: its messages, the model's thinking, and its criteria, bare where there is no verdict (yet).

    `marked` is the answer in pieces, as each judge sees it. `title` says what it is, where it is no turn but one of
    several answers.
    """

    messages: tuple[Message, ...]
    verdicts: tuple[Verdict | Criterion, ...]
    reasoning: str = ""
    marked: tuple[Highlighted, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class Check:
    """What was found of one requirement, where more is told of it than a verdict: a step of a procedure, a labelled rubric.

    `cells` stand under the heads of its conversation. `message` is where the judge saw it (from 1), and `is_branch` whether
    it depends on the step before. A step without a verdict has the state "", and `gap` says why.
    """

    text: str
    state: Outcome
    cells: tuple[str, ...]
    note: str = ""
    message: int | None = None
    is_branch: bool = False
    gap: str = ""


@dataclass(frozen=True)
class Conversation:
    """A judged conversation. `name` says which, `who` whose it is where several stand side by side.

    `context` is the document behind it, shown where the conversation stands alone, and `opening` how its answer begins,
    shown where it is folded. With `beside` its exchanges with answers stand beside each other: all answer one prompt.
    `words` are what its outcome, and its verdicts, are called where these are about something else than an answer.
    `checks` are on all of it, under `heads`; `category` is what it counts under.
    """

    name: str
    exchanges: tuple[Exchange, ...]
    outcome: Outcome
    error: str = ""
    who: str = ""
    language: str = ""
    context: str = ""
    opening: str = ""
    beside: bool = False
    words: tuple[str, str, str] = ("Passed", "Failed", "Unscored")
    category: str = ""
    heads: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True)
class Conversations:
    """Conversations to look through, the last thing on a page: at most one such list a report."""

    title: str
    rows: tuple[Conversation, ...]
    note: str = ""


@dataclass(frozen=True)
class Beside:
    """Conversations on the same instance beside each other, a row of them each; `who` says whose each is."""

    title: str
    rows: tuple[tuple[Conversation, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Met:
    """What became of a requirement in an answer: a short figure (what was measured, say), the answer, and why."""

    outcome: Outcome
    figure: str = ""
    answer: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Outcomes:
    """What became of one requirement, per model."""

    requirement: str
    prompt: str
    cells: tuple[Met, ...]


@dataclass(frozen=True)
class Requirements:
    """Requirements as rows, models as columns, the answers on a click; those that are missed most come first."""

    title: str
    models: tuple[str, ...]
    rows: tuple[Outcomes, ...]
    note: str = ""


@dataclass(frozen=True)
class TreeNode:
    """A step of a procedure: its name, what it is, when it applies (`condition`), and a sign of what it excludes."""

    name: str
    text: str
    condition: str = ""
    sign: str = ""
    scores: tuple[Score, ...] = ()
    children: tuple[TreeNode, ...] = ()


@dataclass(frozen=True)
class Tree:
    """A drawing of steps and what depends on them; `columns` say what the scores of every node are."""

    title: str
    roots: tuple[TreeNode, ...]
    columns: tuple[str, ...] = ()
    note: str = ""


Section: TypeAlias = "Table | Tree | Requirements | Matrix | Plot | Highlighted | Beside | Conversations"


def worst(checks: Iterable[Check]) -> Outcome:
    """How a conversation ended, by its checks: as the worst of them."""
    states = {check.state for check in checks}
    return "no" if "no" in states else "open" if "open" in states else "yes"


def exchanges(
    messages: Sequence[Message], verdicts: Sequence[Sequence[Verdict | Criterion]], reasoning: Sequence[str] = ()
) -> tuple[Exchange, ...]:
    """A conversation by turns: each user message with what follows it, and the verdicts and thinking of that turn.

    A system message goes with the first turn. Turns that were never reached have verdicts only.
    """
    turns: list[list[Message]] = []
    for message in messages:
        if not turns or (message.role == "user" and any(earlier.role != "system" for earlier in turns[-1])):
            turns.append([])
        turns[-1].append(message)
    count = max(len(turns), len(verdicts))
    messages_by_turn: list[list[Message]] = turns + [[]] * (count - len(turns))
    verdicts_by_turn = [*verdicts, *[()] * (count - len(verdicts))]
    thoughts = [*reasoning[:count], *[""] * (count - len(reasoning))]
    return tuple(
        Exchange(tuple(m), tuple(v), t) for m, v, t in zip(messages_by_turn, verdicts_by_turn, thoughts, strict=True)
    )


def fixed(value: float | None, digits: int = 2) -> str:
    """A number as text, `-` where it is undefined."""
    return "-" if value is None else f"{value:.{digits}f}"


def percent(share: float | None, digits: int = 2) -> str:
    """A share (0 to 1) in percent as text, `-` where it is undefined."""
    return fixed(None if share is None else 100 * share, digits)


def points(difference: float | None, digits: int = 1) -> str:
    """A difference of shares in points as text, with its sign; `-` where it is undefined."""
    return "-" if difference is None else f"{100 * difference:+.{digits}f}"


def points_between(ends: tuple[float, float] | None) -> str:
    """The interval of such a difference, "" where there is none."""
    return "" if ends is None else f"{points(ends[0])} to {points(ends[1])}"


def p_value(value: float | None) -> str:
    """The p-value of a test, "" where there was none."""
    return "" if value is None else "< 0.0001" if value < 0.0001 else fixed(value, 4)


def interval(score: Score) -> str:
    """A 95 % interval in percent as text, "" where there is none."""
    return "" if score.ci95 is None else f"{100 * score.ci95[0]:.1f} to {100 * score.ci95[1]:.1f}"


_START, _OPENING = 60, 120  # characters of a prompt, and of an answer


def conversation(item: Judged, passed: bool | None, many_samples: bool = False, model: str = "") -> Conversation:
    """A judged instance to look at, of `several` samples with its number, of several models with whose answer it is.

    The start of the prompt says which it is where ids are numbers or hashes; what the data does not tell is left out.
    """
    instance, response = item.instance, item.response
    outcome: Outcome = "open" if passed is None else "yes" if passed else "no"
    kind = " / ".join(filter(None, (instance.category, instance.task)))
    number = f"sample {response.sample}" if many_samples or response.sample > 1 else ""
    opening = f'"{shortened(instance.turns[0].prompt, _START)}"' if instance.turns else ""
    name = " · ".join(filter(None, (instance.id, model, number, instance.language, kind, opening)))
    turns = exchanges(response.messages, [tuple(map(as_counted, turn)) for turn in item.verdicts], response.reasoning)
    if turns and item.marked:
        turns = (*turns[:-1], replace(turns[-1], marked=tuple(map(highlighted, item.marked))))
    return Conversation(
        name, turns, outcome, response.error or "", language=instance.language, context=instance.context or "",
        opening=shortened(response.answers[0], _OPENING) if response.answers else "",
    )  # fmt: skip


def as_counted(verdict: Verdict) -> Verdict:
    """A verdict as it counts: a fault that is there, worth negative points, is a fail."""
    points = verdict.criterion.weight
    if points == 1:
        return verdict
    criterion = replace(verdict.criterion, text=f"{verdict.criterion.text} ({points:g} points)")
    return replace(verdict, criterion=criterion, label=outcome_of(verdict.label, points))


def conversation_line(row: Conversation) -> str:
    """A conversation as a line of a file, which `read_conversation` reads."""
    return str(_of_conversations().dump_json(row, exclude_defaults=True).decode()) + "\n"


def read_conversation(line: bytes) -> Conversation:
    """The conversation of a line. Raises ValueError."""
    row: Conversation = _of_conversations().validate_json(line)
    return row


@cache
def _of_conversations() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Conversation)


def highlighted(marked: Marked) -> Highlighted:
    """An answer in pieces, under whose they are and how many of each sort."""
    sorts = Counter(mark.word for mark in marked.marks if mark.word)
    counted = "; ".join(f"{number} {word}" for word, number in sorts.items())
    return Highlighted(": ".join(filter(None, (marked.judge, counted))), marked.marks)


def csv_text(rows: Iterable[Iterable[object]], end: str = "\n") -> str:
    """Rows as CSV text, of which a spreadsheet program runs nothing."""
    out = io.StringIO()
    csv.writer(out, lineterminator=end).writerows([guard(cell) for cell in row] for row in rows)
    return out.getvalue()


T = TypeVar("T")
_BEGINS = tuple("=+-@\t\r'")  # a formula, or our own guard
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?%?")


def guard(cell: T) -> T | str:
    """A cell with an apostrophe before a text that would be taken for a formula, whoever wrote it; numbers stay."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_BEGINS) and not _NUMBER.fullmatch(cell) else cell


def unguard(cell: str) -> str:
    """The text before `guard`."""
    return cell[1:] if cell.startswith("'") and guard(cell[1:]) != cell[1:] else cell
