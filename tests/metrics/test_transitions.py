"""NO to YES and YES to NO, with what is undecided counted apart."""

from __future__ import annotations

from itertools import product

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.votes import Transitions, broken_share, mended_share, transitions

LABELS = ("yes", "no", "unknown", None)


@pytest.mark.parametrize(
    ("before", "after", "wanted", "why"),
    [
        (["no", "no", "yes", "yes", "yes"], ["yes", "no", "no", "yes", "yes"], Transitions(1, 1, 1, 2), "each kind"),
        (["no", None, "yes"], [None, "yes", "unknown"], Transitions(undecided=3), "undecided on either side turned nothing"),
        ([None], [None], Transitions(undecided=1), "undecided on both sides"),
        ([], [], Transitions(), "no questions"),
    ],
)  # fmt: skip
def test_what_became_of_each_question(
    before: list[str | None], after: list[str | None], wanted: Transitions, why: str
) -> None:
    assert transitions(before, after) == wanted, why


def test_every_question_is_counted_once_for_every_pair_of_labels() -> None:
    for was, now in product(LABELS, LABELS):
        found = transitions([was], [now])
        assert sum((found.mended, found.still_no, found.broken, found.still_yes, found.undecided)) == 1, (was, now)
        assert found.undecided == (was not in ("yes", "no") or now not in ("yes", "no")), (was, now)


def test_shares_are_of_what_could_turn() -> None:
    rows = [Transitions(2, 1, 0, 3), Transitions(1, 0, 1, 0, 2)]
    mended, broken = mended_share(rows), broken_share(rows)
    assert (mended.value, mended.n, mended.unscored) == (0.75, 4, 2)
    assert (broken.value, broken.n, broken.unscored) == (0.25, 4, 2)
    assert mended.ci95 is None, "two checklists tell nothing of how far checklists differ"
    assert rows[0] + rows[1] == Transitions(3, 1, 1, 3, 2)


@pytest.mark.parametrize("rows", [[], [Transitions(undecided=4)], [Transitions(still_yes=3)]])
def test_without_a_no_there_is_no_share_to_mend(rows: list[Transitions]) -> None:
    assert mended_share(rows).value is None


def test_other_labels_and_unequal_columns_are_refused() -> None:
    with pytest.raises(UserError, match="neither"):
        transitions(["YES"], ["yes"])
    with pytest.raises(UserError, match="parallel"):
        transitions(["yes"], [])
