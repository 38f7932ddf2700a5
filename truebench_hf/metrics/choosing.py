"""What a choice is worth on rows that were not used to make it: of a judge's template, and of a threshold on scores.

FACTS chooses each judge's template by macro F1 on the rows it reports (paper 002, Table 2); the best of seven looks
better there than it is, so here the choice is measured on other rows, and held against the runner-up row by row.
TRUEBench compares scalar ratings with people's pass or fail by Cohen's kappa (paper 000, section 5.1) and does not say
from which rating on a response passes: here the threshold is chosen on one half, and measured on the other.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

from truebench_hf.metrics.agreement import label_agreement, measure_difference
from truebench_hf.metrics.binary import Label, parallel
from truebench_hf.metrics.calibration import best_threshold, out_of_fold
from truebench_hf.metrics.comparison import PairedDifference
from truebench_hf.metrics.kappa import cohen_kappa
from truebench_hf.types import Score


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
    gold: Sequence[Label], candidates: Mapping[str, Sequence[Label]], groups: Sequence[Hashable],
    *, folds: int = 5, seed: int = 0,
) -> Choice | None:  # fmt: skip
    """Choose among columns of labels by macro F1 against `gold`; of equals the first. None without any candidate.

    Rows of one group (answers to one prompt) are never divided. Raises `UserError` for columns of unequal length.
    """
    if not candidates:
        return None
    won: Counter[str] = Counter()

    def rule(train: Sequence[int]) -> Callable[[int], Label]:
        some = {name: [column[row] for row in train] for name, column in candidates.items()}
        best = _ranked([gold[row] for row in train], some)[0]
        won[best] += 1
        return lambda row: candidates[best][row]

    first, *others = _ranked(gold, candidates)
    held_out = out_of_fold(groups, folds, seed, rule)
    lead = PairedDifference(None, len(gold))
    if others:
        lead = measure_difference(gold, candidates[first], candidates[others[0]], groups)
    return Choice(first, others[0] if others else None, lead, tuple(held_out), dict(won))


def _ranked(gold: Sequence[Label], candidates: Mapping[str, Sequence[Label]]) -> list[str]:
    """The names, the highest macro F1 first; sorting keeps the order of equals."""
    only = ("macro_f1_strict",)
    values = {n: label_agreement(gold, column, measures=only)[only[0]].value or 0.0 for n, column in candidates.items()}
    return sorted(values, key=lambda name: -round(values[name], 12))


@dataclass(frozen=True, slots=True)
class Direction:
    """Kappa on one half by the `threshold` (scores from there on pass) that was best on the other one.

    `chosen_at` is the kappa there. Without a threshold (None) `reason` says why, and there is no kappa.
    """

    threshold: float | None
    chosen_at: float | None
    kappa: Score
    reason: str = ""


def first_half(groups: Collection[Hashable], seed: int = 0) -> frozenset[Hashable]:
    """Half of the groups (instances), drawn by `seed`; of an odd number the larger half. Their order does not matter."""
    unique = sorted(set(groups), key=lambda group: (str(group), repr(group)))
    return frozenset(random.Random(seed).sample(unique, (len(unique) + 1) // 2))


def halved_kappa(
    scores: Sequence[float | None], labels: Sequence[Label], groups: Sequence[Hashable], first: Collection[Hashable],
    *, seed: int = 0,
) -> tuple[Direction, Direction]:  # fmt: skip
    """Cohen's kappa of scores against labels on either half of the groups, by the threshold that the other half chose.

    `first` are the groups of the first half. None in a column is undecided: left out and counted. Raises `UserError` for
    columns of unequal length.
    """
    parallel(scores=scores, labels=labels, groups=groups)
    halves = [[row for row, group in enumerate(groups) if (group in first) == side] for side in (True, False)]

    def direction(on: Sequence[int], chosen_on: Sequence[int]) -> Direction:
        chosen = best_threshold([scores[row] for row in chosen_on], [labels[row] for row in chosen_on], "kappa")
        if chosen is None:
            why = "the half it is chosen on has not both passes and fails with a score"
            return Direction(None, None, Score(None, 0, len(on)), why)
        passed = by_threshold([scores[row] for row in on], chosen[0])
        kappa = cohen_kappa(passed, [labels[row] for row in on], [groups[row] for row in on], seed=seed)
        why = "the half it is measured on holds nothing to compare, or one label only"
        return Direction(*chosen, kappa, why if kappa.value is None else "")

    return direction(*halves), direction(*halves[::-1])


def by_threshold(scores: Sequence[float | None], threshold: float) -> list[Label]:
    """ "yes" from the threshold on, else "no"; None stays None."""
    return [None if score is None else "yes" if score >= threshold else "no" for score in scores]
