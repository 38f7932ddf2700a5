"""Ranks that hold: a model's rank goes from 1 + the models surely better than it to N - the models surely worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from truebench_hf.metrics.comparison import Tally, ahead, unpaired
from truebench_hf.types import Score

Results = Mapping[Any, float | None]  # instance -> its score (0..1; True and False are 1 and 0), None: undecided


@dataclass(frozen=True, slots=True)
class Entrant:
    """What is known of a model: its score, and its results by instance where there are any."""

    score: Score
    results: Results = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RankSpan:
    """The best and the worst place that a model may have. `approximate`: comparisons rest on totals alone, since not all
    models have results by instance."""

    first: int
    last: int
    approximate: bool = False

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def rank_spans(entrants: Mapping[str, Entrant], *, ascending: bool = False) -> dict[str, RankSpan]:
    """The rank of every model among all of these.

    Two models that both have results are compared on the instances that both have (`paired_difference`; below ten of
    them McNemar's exact test), all others by the intervals of their scores (`unpaired`). `ascending`: less is better.
    One product of matrices counts all pairs: 200 models of 3,000 instances take half a second.
    """
    import numpy as np

    names = list(entrants)
    held = [place for place, name in enumerate(names) if entrants[name].results]
    sure = np.zeros((len(names), len(names)), dtype=int)
    if held:
        sure[np.ix_(held, held)] = ahead(tally(_columns([entrants[names[place]].results for place in held])))
    paired = np.zeros(len(names), dtype=bool)
    paired[held] = True
    for one, first in enumerate(names):
        for other in range(one):
            if not (paired[one] and paired[other]):
                sure[one, other] = unpaired(entrants[first].score, entrants[names[other]].score)
                sure[other, one] = -sure[one, other]
    sure = -sure if ascending else sure
    better, worse = (sure < 0).sum(axis=1), (sure > 0).sum(axis=1)
    approximate = len(names) > 1 and not paired.all()
    return {name: RankSpan(1 + int(better[i]), len(names) - int(worse[i]), approximate) for i, name in enumerate(names)}


def tally(columns: Any) -> Tally:
    """All pairs of models counted; `columns` is an array of scores (models, instances), NaN where there is none."""
    import numpy as np

    known = (~np.isnan(columns)).astype(float)
    scores = np.nan_to_num(columns)
    passed, failed = (columns == 1).astype(float), (columns == 0).astype(float)
    between = known - passed - failed
    sums, squares = scores @ known.T, (scores * scores) @ known.T
    won, odd = passed @ failed.T, between @ known.T
    return Tally(
        known @ known.T, sums - sums.T, squares + squares.T - 2 * scores @ scores.T, won, won.T, odd + odd.T == 0
    )  # fmt: skip


def _columns(results: Sequence[Results]) -> Any:
    import numpy as np

    ids = dict.fromkeys(key for one in results for key in one)
    return np.array([[one.get(key) for key in ids] for one in results], dtype=float)
