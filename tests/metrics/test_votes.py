"""Votes and majorities, and what became of each verdict."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truebench_hf.errors import UserError
from truebench_hf.metrics.votes import (
    Transitions,
    flip_score,
    majority,
    majority_of,
    share_score,
    transitions,
    turned_shares,
    vote_share,
)
from truebench_hf.types import Score


@pytest.mark.parametrize(
    ("votes", "label", "reason"),
    [
        (["yes", "yes", "no"], "yes", "two of three"),
        (["no"], "no", "one vote is its own majority"),
        (["yes", "no"], None, "a tie settles nothing"),
        (["yes", None, None], "yes", "silence is not a no"),
        (["yes", "no", None], None, "silence breaks no tie"),
        (["yes", "no", "unknown", "unknown"], "unknown", "three labels: the most votes win"),
        (["そう", "そう", "違う"], "そう", "any label"),
        ([None, None], None, "nobody voted"),
        ([], None, "no votes"),
    ],
)
def test_majority(votes: list[str | None], label: str | None, reason: str) -> None:
    assert majority(votes) == label, reason


@pytest.mark.parametrize(
    ("votes", "label", "share", "reason"),
    [
        (["yes", "no", "no"], "no", 2 / 3, "two of three agree"),
        (["yes", "yes", None], "yes", 1.0, "only votes that were cast count"),
        (["yes", "no"], "no", 0.5, "a tie that a tie-breaker settled"),
        (["no", "yes", "yes"], "no", 1 / 3, "a heavy judge outvoted two"),
        (["yes", "no"], None, None, "a tie has no verdict to agree with"),
        ([None], None, None, "nobody voted"),
        ([None], "yes", None, "settled by somebody else, without any vote cast"),
    ],
)
def test_vote_share(votes: list[str | None], label: str | None, share: float | None, reason: str) -> None:
    assert vote_share(votes, label) == (share if share is None else pytest.approx(share)), reason


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        pytest.param([((), "yes")], None, id="one answer each: there are no votes"),
        pytest.param([(("yes", "no", "yes", "yes"), "yes"), (("no",) * 4, "no")], Score(0.875, 2, 0), id="0.75 and 1"),
        pytest.param([(("yes", "yes"), "yes"), (("yes", "no"), None), ((), "no")], Score(1.0, 1, 1), id="a tie apart"),
        pytest.param([((None, None), None)], Score(None, 0, 1), id="nothing decided"),
    ],
)
def test_share_score(verdicts: list[tuple[tuple[str | None, ...], str | None]], expected: Score | None) -> None:
    assert share_score(verdicts) == expected


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param([(), ()], None, id="one answer each: there are no votes"),
        pytest.param([("yes", "yes"), ("yes", "no"), ()], Score(0.5, 2, 0), id="criteria without votes are skipped"),
        pytest.param([(None, None), ("yes", None)], Score(1.0, 1, 1), id="a criterion nobody decided is counted apart"),
        pytest.param([(None, None)], Score(None, 0, 1), id="none can be compared"),
        pytest.param([("yes", "yes", "yes")], Score(0.0, 1, 0), id="unanimous"),
        pytest.param([("yes",), ("yes", "no")], Score(1.0, 1, 1), id="a single vote cannot flip, nor dilute the rate"),
    ],
)
def test_flip_score(votes: list[tuple[str | None, ...]], expected: Score | None) -> None:
    assert flip_score(votes) == expected


@given(st.lists(st.sampled_from(["yes", "no", None]), min_size=1, max_size=7), st.data())
def test_majority_of_a_subset_is_the_mean_over_all_subsets(votes: list[str | None], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(votes)))
    labels = [majority(chosen) for chosen in combinations(votes, k)]
    right, open_ = majority_of(votes, "yes", k)
    assert right == pytest.approx(labels.count("yes") / len(labels))
    assert open_ == pytest.approx(labels.count(None) / len(labels))


def test_majority_of_what_there_is_not() -> None:
    for k in (0, 4):
        with pytest.raises(ValueError, match="there are 3 votes"):
            majority_of(["yes", "no", None], "yes", k)


def test_nine_of_ten_right_make_991_of_1000_by_five() -> None:
    """The share that a judge gets who is independently right with 0.9: the limit over many votes of 10,000."""
    right, _ = majority_of(["yes"] * 9000 + ["no"] * 1000, "yes", 5)
    assert right == pytest.approx(0.99144, abs=0.0001)


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
    mended, broken = turned_shares(rows)
    assert (mended.value, mended.n, mended.unscored) == (0.75, 4, 2)
    assert (broken.value, broken.n, broken.unscored) == (0.25, 4, 2)
    assert mended.ci95 is None, "two checklists tell nothing of how far checklists differ"
    assert rows[0] + rows[1] == Transitions(3, 1, 1, 3, 2)


@pytest.mark.parametrize("rows", [[], [Transitions(undecided=4)], [Transitions(still_yes=3)]])
def test_without_a_no_there_is_no_share_to_mend(rows: list[Transitions]) -> None:
    assert turned_shares(rows)[0].value is None


def test_other_labels_and_unequal_columns_are_refused() -> None:
    with pytest.raises(UserError, match="neither"):
        transitions(["YES"], ["yes"])
    with pytest.raises(UserError, match="parallel"):
        transitions(["yes"], [])
