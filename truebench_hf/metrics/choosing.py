"""The best of several ways to judge by macro F1 against labels, and what that choice is worth (paper 002, Table 2).

The paper chooses each judge's template by macro F1 on the rows it reports. The best of seven looks better there than it
is, so here the choice is measured on rows that had no say in it, and held against the runner-up row by row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from truebench_hf.metrics.agreement import label_agreement, paired_difference
from truebench_hf.metrics.binary import Label
from truebench_hf.metrics.comparison import PairedDifference
from truebench_hf.metrics.cross_fit import parts


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
        lead = paired_difference(gold, candidates[first], candidates[second], groups)
    return Choice(first, second, lead, tuple(held_out), dict(won))


def _ranked(gold: Sequence[Label], candidates: Mapping[str, Sequence[Label]]) -> list[str]:
    """The names, the highest macro F1 first; sorting keeps the order of equals."""
    values = {name: _macro_f1(gold, column) or 0.0 for name, column in candidates.items()}
    return sorted(values, key=lambda name: -round(values[name], 12))


def _macro_f1(gold: Sequence[Label], judged: Sequence[Label]) -> float | None:
    value: float | None = label_agreement(gold, judged, measures=("macro_f1_strict",))["macro_f1_strict"].value
    return value
