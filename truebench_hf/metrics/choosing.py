"""What a choice is worth on rows that had no say in it: of a judge's template, and of a threshold on scores.

FACTS chooses each judge's template by macro F1 on the rows it reports (paper 002, Table 2); the best of seven looks
better there than it is, so here the choice is measured on other rows, and held against the runner-up row by row.
TRUEBench compares scalar ratings with people's pass or fail by Cohen's kappa (paper 000, section 5.1) and does not say
from which rating on a response passes: here the threshold is chosen on one half, and measured on the other.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot

from truebench_hf.metrics.agreement import label_agreement, measure_difference
from truebench_hf.metrics.binary import Label, mean_of, parallel
from truebench_hf.metrics.calibration import parts, thresholds
from truebench_hf.metrics.comparison import PairedDifference
from truebench_hf.metrics.kappa import Reliability, cohen_kappa, kappa_interval


@dataclass(frozen=True)
class Choice:
    """The candidate with the highest macro F1, undecided rows counting as wrong, and the one behind it with the lead.

    `held_out` has for every row the label by whichever candidate was best without the row's group; None without two
    groups. `won` is in how many folds each candidate was best.
    """

    best: str
    runner_up: str | None
    lead: PairedDifference
    held_out: tuple[Label, ...]
    won: Mapping[str, int]


def choose(
    gold: Sequence[Label],
    candidates: Mapping[str, Sequence[Label]],
    groups: Sequence[Hashable],
    *,
    folds: int = 5,
    seed: int = 0,
) -> Choice | None:
    """Choose among columns of labels by macro F1 against `gold`; of equals the first. None without any candidate.

    Rows of one group (answers to one prompt) are never divided. Raises `UserError` for columns of unequal length.
    """
    if not candidates:
        return None
    order = _ranked(gold, candidates)
    held_out: list[Label] = [None] * len(gold)
    won: Counter[str] = Counter()
    for train, test in parts(groups, folds, seed):
        some = {name: [column[row] for row in train] for name, column in candidates.items()}
        best = _ranked([gold[row] for row in train], some)[0]
        won[best] += 1
        for row in test:
            held_out[row] = candidates[best][row]
    first, second = order[0], order[1] if len(order) > 1 else None
    lead = PairedDifference(None, None, len(gold), 0)
    if second is not None:
        lead = measure_difference(gold, candidates[first], candidates[second], groups)
    return Choice(first, second, lead, tuple(held_out), dict(won))


Interval = tuple[float, float]
NOTHING = "the half it is measured on holds nothing to compare, or one label only"


@dataclass(frozen=True, slots=True)
class Direction:
    """Kappa on one half by the `threshold` (scores from there on pass) that was best on the other one.

    `chosen_at` is the kappa there. Without a threshold (None) `reason` says why, and there is no kappa.
    """

    threshold: float | None
    chosen_at: float | None
    kappa: Reliability
    interval: Interval | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Halved:
    """Both directions: measured on the first half, and on the second; the mean of the two kappas with its interval."""

    directions: tuple[Direction, Direction]
    mean: float | None
    interval: Interval | None


def first_half(groups: Collection[Hashable], seed: int = 0) -> frozenset[Hashable]:
    """Half of the groups (instances), drawn by `seed`; of an odd number the larger half. Their order does not matter."""
    unique = sorted(set(groups), key=lambda group: (str(group), repr(group)))
    return frozenset(random.Random(seed).sample(unique, (len(unique) + 1) // 2))


def best_threshold(scores: Sequence[float | None], labels: Sequence[bool | None]) -> tuple[float, float] | None:
    """(threshold, kappa) with the highest Cohen's kappa of `score >= threshold` against the labels.

    Tried are the lowest score, from which all pass, and the middle between each two neighbouring scores; of several
    that are as good it is the middle one. None where the labels are not of both kinds.
    """
    rows = [(score, label) for score, label in zip(scores, labels, strict=True) if None not in (score, label)]
    known = [float(score) for score, _ in rows if score is not None]
    truth = [label for _, label in rows]
    if len(set(truth)) < 2:
        return None
    tried = thresholds(known)
    kappas = [round(cohen_kappa([score >= cut for score in known], truth).value or 0.0, 12) for cut in tried]
    best = [cut for cut, kappa in zip(tried, kappas, strict=True) if kappa == max(kappas)]
    return best[(len(best) - 1) // 2], max(kappas)


def halved_kappa(
    scores: Sequence[float | None],
    labels: Sequence[bool | None],
    groups: Sequence[Hashable],
    first: Collection[Hashable],
    *,
    seed: int = 0,
) -> Halved:
    """Cohen's kappa of scores against labels, by thresholds chosen on the half of the groups it is not measured on.

    `first` are the groups of the first half. None in a column is undecided: left out and counted. The interval of the
    mean joins those of the two halves, which have no group in common (MOVER, Zou and Donner 2008). Raises `UserError`
    for columns of unequal length.
    """
    parallel(scores=scores, labels=labels, groups=groups)
    halves = [[row for row, group in enumerate(groups) if (group in first) == side] for side in (True, False)]
    directions = []
    for on, chosen_on in (halves, halves[::-1]):
        chosen = best_threshold([scores[row] for row in chosen_on], [labels[row] for row in chosen_on])
        if chosen is None:
            why = "the half it is chosen on has not both passes and fails with a score"
            directions.append(Direction(None, None, Reliability(None, 0, len(on)), None, why))
            continue
        passed, truth = by_threshold([scores[row] for row in on], chosen[0]), [labels[row] for row in on]
        kappa = cohen_kappa(passed, truth)
        interval = kappa_interval(passed, truth, [groups[row] for row in on], seed=seed)
        directions.append(Direction(*chosen, kappa, interval, NOTHING if kappa.value is None else ""))
    here, over = directions
    return Halved((here, over), mean_of(here.kappa.value, over.kappa.value), mean_interval(here, over))


def mean_interval(first: Direction, second: Direction) -> Interval | None:
    """The interval of the mean of two independent kappas, by their own ones; None where one has none."""
    values, ends = (first.kappa.value, second.kappa.value), (first.interval, second.interval)
    if values[0] is None or values[1] is None or ends[0] is None or ends[1] is None:
        return None
    middle = (values[0] + values[1]) / 2
    down, up = (hypot(values[0] - ends[0][side], values[1] - ends[1][side]) / 2 for side in (0, 1))
    return middle - down, middle + up


def by_threshold(scores: Sequence[float | None], threshold: float) -> list[bool | None]:
    """Who passes from the threshold on; None stays None."""
    return [None if score is None else score >= threshold for score in scores]


def _ranked(gold: Sequence[Label], candidates: Mapping[str, Sequence[Label]]) -> list[str]:
    """The names, the highest macro F1 first; sorting keeps the order of equals."""
    only = ("macro_f1_strict",)
    values = {n: label_agreement(gold, column, measures=only)[only[0]].value or 0.0 for n, column in candidates.items()}
    return sorted(values, key=lambda name: -round(values[name], 12))
