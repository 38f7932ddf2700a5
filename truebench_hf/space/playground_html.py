"""Verdicts, an improvement and a check of grounding as HTML, each verdict with who gave it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import regex
from rapidfuzz.distance import Indel

from truebench_hf.benchmarks.facts.scores import marked_by
from truebench_hf.benchmarks.tick.revision import Rewrite
from truebench_hf.data.judged import public_verdict
from truebench_hf.judging.grounding.types import Grounding, Source
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.metrics.votes import transitions
from truebench_hf.report.page import fragment
from truebench_hf.report.sections import highlighted
from truebench_hf.space.board import words
from truebench_hf.space.pages import macro
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import how_many
from truebench_hf.types import Criterion, Verdict

State = Literal["good", "fail", "open"]
_TEMPLATE = "playground"
# Words and other signs one by one; so are letters of scripts that set no blanks between words.
_ALONE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}"
Kind = Literal["same", "gone", "new"]
_TOKEN = regex.compile(rf"(?V1)[{_ALONE}]|[\w--[{_ALONE}]]+|[^\w\s]|\s+")


@dataclass(frozen=True)
class ShownOutcome:
    """What verdicts come to: a state for the line, a heading, and the counts behind it."""

    kind: State
    head: str
    more: str


def outcome(verdicts: Sequence[Verdict], tiny: bool) -> ShownOutcome:
    """What all verdicts on an answer come to, and how many of them were measured, or guessed by the tiny model."""
    labels = [verdict.label for verdict in verdicts]
    met, missed, measured = labels.count("yes"), labels.count("no"), sum(v.judge == JUDGE for v in verdicts)
    left = len(labels) - met - missed
    # One failed criterion that was measured settles it; a pass rests on every verdict.
    settled = [v.judge == JUDGE for v in verdicts if v.label == ("no" if missed else "yes")]
    sure = any(settled) if missed else all(settled)
    kind: State = "fail" if missed else "open" if left or not labels else "good"
    head = {"fail": "The answer fails", "open": "Left open", "good": "The answer passes"}[kind]
    guess = " by a tiny model's guess" if tiny and not sure and kind != "open" else ""
    by = [f"{measured} measured"] if measured else []
    by += [f"{met + missed - measured} a tiny model's guess"] if tiny and met + missed > measured else []
    parts = [f"{met} of {how_many(len(labels), 'criterion', 'criteria')} met"]
    parts += [f"{count} {what}" for count, what in ((missed, "not met"), (left, "not decided")) if count]
    behind = f" ({', '.join(by)})" if by else ""
    return ShownOutcome(kind, f"{head}{guess}", f"{', '.join(parts)}{behind}.")


def outcome_html(result: ShownOutcome) -> str:
    """What it comes to, in its colour."""
    return macro(_TEMPLATE, "head", result)


def verdicts_html(verdicts: Sequence[Verdict], waiting: Sequence[str] = (), tiny: bool = False) -> str:
    """Verdicts as a list under what they come to, once they are all there; criteria still waiting stand behind them."""
    items = [
        _guess(verdict) if tiny and verdict.judge != JUDGE else verdict for verdict in map(public_verdict, verdicts)
    ]
    guesses = [verdict for verdict in items if tiny and verdict.judge != JUDGE]
    head = outcome(verdicts, tiny) if verdicts and not waiting else None
    return macro(_TEMPLATE, "listed", head, [*items, *map(Criterion, waiting)], guesses)


def _guess(verdict: Verdict) -> Verdict:
    """Return a verdict whose reason says that it is a guess, where it decides anything."""
    return replace(verdict, reason=f"a tiny model's guess: {verdict.reason}") if verdict.label else verdict


def improved_html(old: str, rewrite: Rewrite, before: Sequence[Verdict], after: Sequence[Verdict] = ()) -> str:
    """What one step of refinement changed: in the text, and, where there are verdicts on both, in those."""
    rows = [(was.criterion.text, was.label, now.label) for was, now in zip(before, after, strict=False)]
    return macro(_TEMPLATE, "improved", difference(old, rewrite.text), turned(before, after), rewrite.plan, rows)


def turned(before: Sequence[Verdict], after: Sequence[Verdict]) -> str:
    """What became of the criteria of one checklist, in a line; "" before all are judged."""
    if len(before) != len(after):
        return ""
    changes = transitions([verdict.label for verdict in before], [verdict.label for verdict in after])
    open_ = f", {changes.undecided} open on one side" if changes.undecided else ""
    return f"Criteria: {changes.mended} mended, {changes.broken} broken{open_}"


def grounding_html(source: Source, answer: str, grounding: Grounding) -> str:
    """The answer in pieces, coloured by label, with the passages of the source beside them."""
    if grounding.template == "decision":  # as the tiny model is asked
        guesses = (replace(unit, reason=f"a tiny model's guess: {unit.reason}") for unit in grounding.units)
        grounding = replace(grounding, units=tuple(guesses))
    return fragment(highlighted(marked_by(words.model(grounding.judge), source, answer, grounding)))


def grounding_outcome(grounding: Grounding) -> ShownOutcome:
    """What a check of grounding comes to."""
    units, reason = grounding.units, anonymous.text(grounding.reason)
    if grounding.accurate and not units:
        return ShownOutcome("open", "Nothing to check", "No sentence of the answer claims anything.")
    kind: State = "open" if grounding.accurate is None else "good" if grounding.accurate else "fail"
    head = {"good": "Grounded", "fail": "Not grounded", "open": "Left open"}[kind]
    guess = " by a tiny model's guess" if grounding.template == "decision" and kind != "open" else ""
    more = f"{reason[:1].upper()}{reason[1:]}"
    if wrong := sum(unit.label in ("unsupported", "contradictory") for unit in units):
        many = how_many(len(units), "sentence")
        more = f"{wrong} of {many} {'is' if wrong == 1 else 'are'} not supported by the document."
    elif grounding.accurate and len(units) == 1:
        more = "The one sentence is supported or needs no evidence."
    elif grounding.accurate:
        more = f"All {len(units):,} sentences are supported or need no evidence."
    return ShownOutcome(kind, f"{head}{guess}", more)


class Piece(NamedTuple):
    """A piece of the old text, of the new one, or of both."""

    kind: Kind
    text: str


def difference(old: str, new: str) -> list[Piece]:
    """The new text, with what is gone in its old place and before what is new there. What is the same is the longest that the texts share."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    pieces: list[Piece] = []
    gone, come = "", ""
    for op in Indel.opcodes(before, after):
        was, now = "".join(before[op.src_start : op.src_end]), "".join(after[op.dest_start : op.dest_end])
        if op.tag == "equal" and (not (gone or come) or now.strip()):
            pieces += [*_changed(gone, come), Piece("same", now)]
            gone, come = "", ""
            continue
        # A blank between two changed words parts nothing: the words are read as one change.
        gone, come = gone + was, come + now
    return [*pieces, *_changed(gone, come)]


def _changed(gone: str, come: str) -> Iterator[Piece]:
    if gone == come:
        return iter([Piece("same", gone)] if gone else [])
    return iter([piece for piece in (Piece("gone", gone), Piece("new", come)) if piece.text])
