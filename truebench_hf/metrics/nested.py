"""What a choice among cascades is worth on rows that it was not made on: folds within folds.

The best of some hundred bands looks better on the rows it was picked on than it is: at 200 rows by two to three points.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from truebench_hf.metrics.binary import Label
from truebench_hf.metrics.calibration import best_threshold
from truebench_hf.metrics.cascade import First, Point, Second, cheapest, curve
from truebench_hf.metrics.cross_fit import cross_fit, held_out


def chosen_labels(
    kind: str,
    probabilities: Sequence[float | None],
    labels: Sequence[Label],
    groups: Sequence[Hashable],
    first: First,
    second: Second,
    *,
    folds: int = 5,
    seed: int = 0,
) -> tuple[Label, ...]:
    """The label of every row by the cascade that is chosen without its group (the instruction); parallel columns.

    In each fold the whole choice is made on the other folds alone: calibrator, threshold and the cheapest good point
    (`cascade.cheapest`) on probabilities cross-fitted within them. A row comes back None where its judge leaves it
    open, and where the other folds hold one label only. Raises `UserError` for unequal columns or a bad kind.
    """

    def choice(rows: Sequence[int]) -> Point | None:
        """The point that would be chosen if there were these rows only."""
        p, gold = [probabilities[row] for row in rows], [labels[row] for row in rows]
        fair = cross_fit(kind, p, gold, [groups[row] for row in rows], folds=folds, seed=seed)
        best = best_threshold(fair, gold)
        if best is None:
            return None
        share = len(rows) / len(probabilities)
        spent = First(round(share * first.calls), share * first.tokens)
        rest = Second([second.labels[row] for row in rows], [second.calls[row] for row in rows], second.tokens)
        return cheapest(curve(fair, gold, spent, rest, best.value))

    out: list[Label] = [None] * len(probabilities)
    for calibrator, train, test in held_out(kind, probabilities, labels, groups, folds, seed):
        point = choice(train)
        if calibrator is None or point is None:
            continue
        for row in test:
            p = probabilities[row]
            out[row] = point.settle(None if p is None else calibrator.apply(p), second.labels[row])
    return tuple(out)
