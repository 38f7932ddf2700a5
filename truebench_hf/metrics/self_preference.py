"""How much more a judge gives its own model than other judges do, beyond what it gives to all others (paper 002, 4).

The paper reports a mean increase of 3.23 points and does not say how it was formed. Here it is a difference of
differences: a judge that is lenient to everybody prefers nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from truebench_hf.metrics.binary import mean_of


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """A judge's score less the mean of the other judges', in the unit of the scores: for its own models, for all others,
    and the difference of the two. None where there are no such models, or a score is missing."""

    own: float | None
    others: float | None
    preference: float | None


def self_preference(
    scores: Mapping[str, Mapping[str, float | None]], judge: str, own: Collection[str]
) -> SelfPreference:
    """The preference of `judge` for its `own` models; `scores` are those of every model (row) by every judge.

    With one judge alone there is nothing to compare it with, and all is None.
    """
    leads = {model: _lead(row, judge) for model, row in scores.items()}
    mine = mean_of(*(lead for model, lead in leads.items() if model in own))
    rest = mean_of(*(lead for model, lead in leads.items() if model not in own))
    return SelfPreference(mine, rest, None if mine is None or rest is None else mine - rest)


def _lead(row: Mapping[str, float | None], judge: str) -> float | None:
    """What the judge gives beyond the mean of the other judges."""
    given, usual = row[judge], mean_of(*(score for name, score in row.items() if name != judge))
    return None if given is None or usual is None else given - usual
