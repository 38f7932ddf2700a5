"""No decision on real texts is opposite to what rules decided before they were rewritten."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.rules import decisions

pytestmark = pytest.mark.skipif(not decisions.RELEASE.is_file(), reason="TRUEBench v0.6.1 is not at ../shared/data")


@pytest.mark.parametrize("every", [97, pytest.param(1, marks=pytest.mark.slow)])
def test_no_decision_is_opposite_to_the_one_before(every: int) -> None:
    outcomes: Counter[str] = Counter()
    opposite = []
    for criterion, recipe, before, today in decisions.replayed(decisions.release(decisions.RELEASE), every):
        outcomes["open" if not today else "same" if today == before else "opposite"] += 1
        if today and today != before:
            opposite.append((before, today, recipe, criterion))
    assert opposite == []
    assert outcomes["same"] >= 0.85 * outcomes.total(), outcomes
