"""How right raters are where nobody knows the truth, from how far they agree with one another.

The one-coin model of Dawid and Skene (1979), by moments: each rater errs independently of the others and of the label,
with a rate of their own. Then the share of agreeing less that of differing answers of two raters is the product of
their skills, and of any three raters the skills follow.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from math import sqrt

from truebench_hf.metrics.binary import Label, ratio

ENOUGH = 30  # questions that two raters have in common: fewer tell too little of a pair


def skills(ratings: Sequence[Mapping[str, Label]]) -> dict[str, float]:
    """The skill of each rater, 1 (never wrong) to 0 (a coin), from a mapping of raters to labels per question.

    1 minus twice the rate of errors. A rater is absent who is in no three of which each two have `ENOUGH` questions in
    common and agree more often than not.
    """
    names = sorted({name for row in ratings for name in row})
    found = {frozenset(pair): _moment(ratings, *pair) for pair in combinations(names, 2)}
    made: dict[str, list[float]] = {}
    for triad in combinations(names, 3):
        a, b, c = (found[frozenset(pair)] for pair in combinations(triad, 2))  # of (1, 2), (1, 3) and (2, 3)
        if a and b and c and min(a, b, c) > 0:
            for name, value in zip(triad, (a * b / c, a * c / b, b * c / a), strict=True):
                made.setdefault(name, []).append(min(1.0, sqrt(value)))
    return {name: sum(values) / len(values) for name, values in made.items()}


def corrected(moments: Mapping[Hashable, float], skill: Mapping[str, float]) -> float | None:
    """The skill of somebody else whose agreement with raters is known: `moments` are agreeing less differing shares.

    The least-squares solution over the raters, at most 1; None without a rater of known skill.
    """
    known = [(moments[name], its) for name, its in skill.items() if name in moments]
    top, bottom = sum(moment * its for moment, its in known), sum(its * its for _, its in known)
    value = ratio(top, bottom)
    return None if value is None else max(-1.0, min(1.0, value))


def _moment(ratings: Sequence[Mapping[str, Label]], one: str, other: str) -> float | None:
    pairs = [(row.get(one), row.get(other)) for row in ratings]
    same = [a == b for a, b in pairs if a is not None and b is not None]
    return 2 * sum(same) / len(same) - 1 if len(same) >= ENOUGH else None
