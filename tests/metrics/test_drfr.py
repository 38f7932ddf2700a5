from __future__ import annotations

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.intervals import clustered_share
from truebench_hf.metrics.pass_rate import Drfr, drfr
from truebench_hf.types import Score


@pytest.mark.parametrize(
    ("checklists", "expected", "reason"),
    [
        ([["yes"], ["yes", "no", "no"]], Drfr(0.5, 2, 4, 0), "2 of 4; the mean of the pass rates would be 2/3"),
        ([["yes", None], ["no", "unknown"]], Drfr(0.5, 1, 2, 2), "undecided criteria are in neither sum"),
        ([["yes", "yes"]], Drfr(1.0, 2, 2, 0), "all passed"),
        ([["no"]], Drfr(0.0, 0, 1, 0), "a single failed criterion"),
        ([], Drfr(None, 0, 0, 0), "no checklists"),
        ([[], ["yes"]], Drfr(1.0, 1, 1, 0), "an empty checklist asks nothing"),
        ([[None]], Drfr(None, 0, 0, 1), "nothing decided is no score of 0"),
    ],
)
def test_drfr(checklists: list[list[str | None]], expected: Drfr, reason: str) -> None:
    assert drfr(checklists) == expected, reason


def test_the_interval_takes_checklists_as_clusters() -> None:
    found = drfr([["yes", "yes"], ["no"]] * 6)
    assert (found.value, found.n) == (12 / 18, 18)
    assert found.interval == clustered_share([2, 0] * 6, [2, 1] * 6)
    assert found.score == Score(12 / 18, 18, 0, found.interval)
    assert drfr([["yes"]] * 9).interval is None, "nine checklists tell too little of others"
    assert drfr([["yes"]] * 9 + [[None]]).interval is None, "and one where nothing is decided adds nothing"


def test_other_labels_are_refused() -> None:
    with pytest.raises(UserError, match="'YES' is neither"):
        drfr([["YES"]])
