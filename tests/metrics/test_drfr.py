from __future__ import annotations

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.drfr import Drfr, drfr


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


def test_other_labels_are_refused() -> None:
    with pytest.raises(UserError, match="'YES' is neither"):
        drfr([["YES"]])
