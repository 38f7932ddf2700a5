"""How figures read: in percent or in points, with a sign, and never a p of 0."""

from __future__ import annotations

import pytest

from truebench_hf.report.sections import p_value, percent, points, points_between


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (percent(0.12345), "12.35"), (percent(0.12345, 1), "12.3"), (percent(None), "-"), (percent(0.0), "0.00"),
        (points(0.0123), "+1.2"), (points(-0.5, 2), "-50.00"), (points(0.0), "+0.0"), (points(None), "-"),
        (points_between((-0.01, 0.02)), "-1.0 to +2.0"), (points_between(None), ""),
        (p_value(0.5), "0.5000"), (p_value(0.0001), "0.0001"), (p_value(0.00009), "< 0.0001"), (p_value(0.0), "< 0.0001"),
        (p_value(None), ""),
    ],
)  # fmt: skip
def test_figures_as_they_read(shown: str, text: str) -> None:
    assert shown == text
