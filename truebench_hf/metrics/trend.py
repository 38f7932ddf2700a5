"""The straight line through points, and the points that lie far off it (paper 000, Figure 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truebench_hf.metrics.binary import parallel


@dataclass(frozen=True, slots=True)
class Off:
    """How far a point lies off the line: `gap` is its y less the line's at its x.

    `p_value` (two-sided) is how often a point would lie as far off the line through all others by chance, None where
    that cannot be said.
    """

    expected: float
    gap: float
    p_value: float | None


@dataclass(frozen=True)
class Trend:
    """The least-squares line of y on x, its R squared (None where y is constant), and every point against it."""

    slope: float
    intercept: float
    r2: float | None
    points: tuple[Off, ...]


def trend(x: Sequence[float], y: Sequence[float]) -> Trend | None:
    """The line through these points; None for fewer than three, and where all have the same x.

    A point is held against the line through all others (its externally studentised residual, Student's t with n - 3
    degrees of freedom). Raises `UserError` for columns of unequal length.
    """
    import numpy as np
    from scipy.special import stdtr

    n = parallel(x=x, y=y)
    across, up = np.array(x, dtype=float), np.array(y, dtype=float)
    if n < 3 or np.ptp(across) == 0:
        return None
    centred = across - across.mean()
    spread = float(centred @ centred)
    slope = float(centred @ up) / spread
    intercept = float(up.mean() - slope * across.mean())
    gaps = up - intercept - slope * across
    total, rest = float(((up - up.mean()) ** 2).sum()), float(gaps @ gaps)
    pull = 1 / n + centred**2 / spread  # how far a point draws the line to itself
    points = []
    for gap, held, there in zip(gaps.tolist(), pull.tolist(), across.tolist(), strict=True):
        without = max(0.0, rest - gap * gap / (1 - held)) if held < 1 - 1e-12 else 0.0
        p_value = None
        if n > 3 and without > 1e-12 * (total or 1.0):
            t = gap / np.sqrt(without / (n - 3) * (1 - held))
            p_value = float(2 * stdtr(n - 3, -abs(t)))
        points.append(Off(intercept + slope * there, gap, p_value))
    return Trend(slope, intercept, 1 - rest / total if total else None, tuple(points))
