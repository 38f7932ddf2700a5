"""How differences are shown, in all tables of checklists alike."""

import pytest

from truebench_hf.benchmarks.tick.scoring import difference_points
from truebench_hf.metrics.comparison import PairedDifference, paired_difference


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (PairedDifference(None, None, 0, 3), ("-", "")),
        (PairedDifference(0.125, (-0.05, 0.3), 12, 0), ("+12.50", "-5.0 to +30.0")),
        (paired_difference([1, 1, 0], [0, 1, 0]), ("+33.33", "p = 1.000")),  # McNemar's
        (paired_difference([0.5], [0.25]), ("+25.00", "")),  # shares of few: neither
    ],
)
def test_points(found: PairedDifference, shown: tuple[str, str]) -> None:
    assert difference_points(found) == shown
