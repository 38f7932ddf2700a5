"""How a difference on the same instructions is shown, in every table that has one."""

from __future__ import annotations

from truebench_hf.metrics.comparison import PairedDifference

NOTE = "Intervals of differences are paired, in points; with fewer than ten instructions McNemar's p, where scores are 0 or 1."


def points(found: PairedDifference) -> tuple[str, str]:
    """(the difference in points, its 95 % interval or McNemar's p, "" without either)."""
    told = "-" if found.difference is None else f"{100 * found.difference:+.2f}"
    if found.interval is not None:
        low, high = found.interval
        return told, f"{100 * low:+.1f} to {100 * high:+.1f}"
    return told, "" if found.p_value is None else f"p = {found.p_value:.3f}"
