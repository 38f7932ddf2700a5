"""How far annotators agree, with a checklist and without, and what they say of it (paper 004, section 5.2, Table 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from truebench_hf.benchmarks.tick.paper import paper_rows
from truebench_hf.data.checklist_rows import EFFECTS, PROTOCOLS, Entry
from truebench_hf.metrics.binary import ratio
from truebench_hf.metrics.kappa import alpha_interval, krippendorff_alpha
from truebench_hf.metrics.preference import preference_from_ratings
from truebench_hf.report.sections import Grid, fixed

TITLES = {"direct": "direct scoring", "check_then_score": "check-then-score"}
_PAPER = {"direct": "Direct Scoring", "check_then_score": "Check-then-Score"}
_PAPER_EFFECTS = {"easier": 78.5, "harder": 6.4, "no effect": 15.0}  # percent; appendix H.4


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha over `items` with two ratings or more, its 95 % interval, and the mean of all `ratings`."""

    alpha: float | None
    interval: tuple[float, float] | None
    items: int
    left_out: int
    ratings: int
    mean: float | None


def scores(entries: Sequence[Entry], protocol: str, seed: int = 0) -> Agreement:
    """The scores of responses under a protocol; instructions are the clusters of the interval."""
    items: list[tuple[str, list[int]]] = []
    for entry in entries:
        by: dict[str, list[int]] = {}
        for one in entry.ratings:
            if one.protocol == protocol:
                by.setdefault(one.response_id, []).append(one.score)
        items += [(entry.id, several) for several in by.values()]
    given = [float(score) for _, several in items for score in several]
    return _agreement(items, given, "ordinal", seed)


def preferences(entries: Sequence[Entry], seed: int = 0) -> tuple[Agreement, Counter[str]]:
    """The preferences of pairs, and their labels by the bins of section 3.2.2, about the response that stands first."""
    items: list[tuple[str, list[int]]] = []
    for entry in entries:
        by: dict[tuple[str, ...], list[int]] = {}
        order = [response.id for response in entry.responses]
        for one in entry.preferences:
            pair = tuple(sorted((one.response_a, one.response_b), key=order.index))
            by.setdefault(pair, []).append(one.rating if pair[0] == one.response_a else 6 - one.rating)
        items += [(entry.id, several) for several in by.values()]
    labels = Counter(label for _, several in items if (label := preference_from_ratings(several)))
    given = [float(rating) for _, several in items for rating in several]
    return _agreement(items, given, "ordinal", seed), labels


def answers(entries: Sequence[Entry], seed: int = 0) -> Agreement:
    """The answers to single questions, at the nominal level; the mean is the share of yes."""
    items = [(entry.id, labels) for entry in entries for labels in _answered(entry)]
    given = [float(label == "yes") for _, labels in items for label in labels if label]
    return _agreement(items, given, "nominal", seed)


def effects(entries: Sequence[Entry]) -> Counter[str]:
    """How often annotators say that a checklist made scoring easier, harder, or had no effect."""
    return Counter(one.effect for entry in entries for one in entry.ratings if one.effect)


def _answered(entry: Entry) -> Iterator[Sequence[str | None]]:
    by: dict[tuple[str, str], list[tuple[str | None, ...]]] = {}
    for one in entry.answers:
        by.setdefault((one.response_id, one.checklist_id), []).append(one.answers)
    for several in by.values():
        yield from zip(*several, strict=True)


def _agreement(
    items: Sequence[tuple[str, Sequence[Hashable | None]]], given: Sequence[float],
    level: Literal["nominal", "ordinal"], seed: int,
) -> Agreement:  # fmt: skip
    ratings = [several for _, several in items]
    found = krippendorff_alpha(ratings, level)
    ends = alpha_interval(ratings, level, clusters=[name for name, _ in items], seed=seed)
    return Agreement(found.value, ends, found.n, found.left_out, len(given), ratio(sum(given), len(given)))


def sections(entries: Sequence[Entry], seed: int = 0) -> list[Grid]:
    """Whatever the rows have ratings for: table 6 of the paper, the tally of effects, preferences, answers."""
    found = {protocol: scores(entries, protocol, seed) for protocol in PROTOCOLS}
    grids = []
    if any(one.ratings for one in found.values()):
        rows = [(TITLES[name], *_line(one)) for name, one in found.items() if one.ratings]
        paper = [
            (TITLES[name], "", "", fixed(row["Inter-Annotator Agreement"], 3), "", fixed(row["Command-R+ Avg. Score"], 3))
            for name in found for row in paper_rows("6") if row["Eval. Protocol"] == _PAPER[name]
        ]  # fmt: skip
        note = (
            "Krippendorff's alpha at the ordinal level (the paper names none), with a bootstrap interval over "
            "instructions; none of fewer than ten. Items: responses with two scores or more."
        )
        grids.append(Grid("Scores from 1 to 5 (like the paper's table 6)", _HEADER, tuple(rows), tuple(paper), note))
    if tally := effects(entries):
        told = tally.total()
        lines = [(name, tally[name], fixed(100 * tally[name] / told, 1)) for name in EFFECTS]
        printed = [(name, "", fixed(share, 1)) for name, share in _PAPER_EFFECTS.items()]
        title = "What answering the checklist did to scoring (like the paper's appendix H.4)"
        grids.append(Grid(title, ("effect", "answers", "%"), tuple(lines), tuple(printed)))
    return grids + _others(entries, seed)


def _others(entries: Sequence[Entry], seed: int) -> list[Grid]:
    preferred, labels = preferences(entries, seed)
    questions = answers(entries, seed)
    rows = []
    if preferred.ratings:
        rows.append(("preferences, 1 to 5 (ordinal)", *_line(preferred)))
    if questions.ratings:
        rows.append(("answers to questions (nominal)", *_line(questions)))
    grids = (
        [Grid("Other answers", _HEADER, tuple(rows), note="The mean of answers is the share of yes.")] if rows else []
    )
    if labels:
        counted = [(name, labels[name]) for name in ("win", "tie", "loss")]
        note = "About the response that stands first in the data, by the mean of its annotators: below 2.5 is a win, above 3.5 a loss."
        grids.append(Grid("Preferences", ("label", "pairs"), tuple(counted), note=note))
    return grids


_HEADER = ("what", "ratings", "items", "alpha", "95 % interval", "mean")


def _line(one: Agreement) -> tuple[str | int, ...]:
    ends = f"{one.interval[0]:.3f} to {one.interval[1]:.3f}" if one.interval else ""
    return one.ratings, one.items, fixed(one.alpha, 3), ends, fixed(one.mean, 3)
