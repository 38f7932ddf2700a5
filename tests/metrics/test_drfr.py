from __future__ import annotations

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.intervals import clustered_share
from truebench_hf.metrics.pass_rate import drfr
from truebench_hf.types import Score


@pytest.mark.parametrize(
    ("checklists", "expected", "reason"),
    [
        ([["yes"], ["yes", "no", "no"]], Score(0.5, 4, 0), "2 of 4; the mean of the pass rates would be 2/3"),
        ([["yes", None], ["no", "unknown"]], Score(0.5, 2, 2), "undecided criteria are in neither sum"),
        ([["yes", "yes"]], Score(1.0, 2, 0), "all passed"),
        ([["no"]], Score(0.0, 1, 0), "a single failed criterion"),
        ([], Score(None, 0, 0), "no checklists"),
        ([[], ["yes"]], Score(1.0, 1, 0), "an empty checklist asks nothing"),
        ([[None]], Score(None, 0, 1), "nothing decided is no score of 0"),
    ],
)
def test_drfr(checklists: list[list[str | None]], expected: Score, reason: str) -> None:
    assert drfr(checklists) == expected, reason


def test_the_interval_takes_checklists_as_clusters() -> None:
    found = drfr([["yes", "yes"], ["no"]] * 6)
    assert (found.value, found.n) == (12 / 18, 18)
    assert found.ci95 == clustered_share([2, 0] * 6, [2, 1] * 6)
    assert drfr([["yes"]] * 9).ci95 is None, "nine checklists tell too little of others"
    assert drfr([["yes"]] * 9 + [[None]]).ci95 is None, "and one where nothing is decided adds nothing"


def test_other_labels_are_refused() -> None:
    with pytest.raises(UserError, match="'YES' is neither"):
        drfr([["YES"]])
