"""How a difference on the same instructions is shown, in every table that has one."""

from __future__ import annotations

from truebench_hf.metrics.comparison import PairedDifference
from truebench_hf.report import sections

NOTE = "Intervals of differences are paired, in points; with fewer than ten instructions McNemar's p, where scores are 0 or 1."


def points(found: PairedDifference) -> tuple[str, str]:
    """(the difference in points, its 95 % interval or McNemar's p, "" without either)."""
    test = "" if found.p_value is None else f"p = {found.p_value:.3f}"
    return sections.points(found.difference, 2), sections.points_between(found.interval) or test
