"""Partners for the members of two lists by how alike they are, and what the likeness of partners amounts to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation of `n` values; None where there are none, and no deviation of one."""

    n: int
    mean: float | None
    deviation: float | None


def spread(values: Sequence[float]) -> Spread:
    """Mean and deviation of some values."""
    return Spread(len(values), fmean(values) if values else None, stdev(values) if len(values) > 1 else None)


def nearest(likeness: Any) -> list[tuple[int, int]]:
    """For every row of an array its most alike column, the first of equals; a column may serve several rows."""
    return [(row, int(line.argmax())) for row, line in enumerate(likeness)] if likeness.size else []


def one_to_one(likeness: Any) -> list[tuple[int, int]]:
    """Pairs (row, column) of the greatest total likeness, no row and no column twice; the longer side keeps some over."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(likeness, maximize=True)
    return list(zip(map(int, rows), map(int, columns), strict=True))
