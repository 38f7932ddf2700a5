"""When a turn and an instance pass, and the shares made of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truebench_hf.errors import UserError
from truebench_hf.metrics.intervals import clustered_share
from truebench_hf.metrics.pass_rate import (
    checklist_share,
    conjunction,
    drfr,
    instance_passes,
    mean_share,
    official_passes,
    outcome,
    pass_rate,
    turn_share,
    weighted_share,
)
from truebench_hf.report import sections
from truebench_hf.types import Label, Score

pytestmark = pytest.mark.filterwarnings("error")


Turns = list[list[Label | None]]
Y, N, U, X = "yes", "no", "unknown", None


def soft_criterion(instances: Sequence[Turns]) -> Score:
    return mean_share(list(map(checklist_share, map(chain.from_iterable, instances))))


def soft_turn(instances: Sequence[Turns]) -> Score:
    return mean_share(list(map(turn_share, instances)))


def weighted(labels: Sequence[Turns], weights: Sequence[list[list[float]]]) -> Score:
    return mean_share([weighted_share(*map(chain.from_iterable, pair)) for pair in zip(labels, weights, strict=True)])


def strict_pass_rate(passed: Sequence[bool | None]) -> Score:
    return pass_rate([value is True for value in passed])


@pytest.mark.parametrize(
    ("labels", "expected", "reason"),
    [
        ([Y, Y], True, "all hold"),
        ([Y, N], False, "one fails"),
        ([Y, X], None, "one is open"),
        ([X, N], False, "a fail settles it, whatever is open"),
        ([N, X], False, "in either order"),
        ([Y, U], None, "not applicable is not a pass"),
        ([U, N], False, "nor does it save one"),
        ([], True, "nothing asked, nothing failed"),
    ],
)
def test_conjunction(labels: list[Label | None], expected: bool | None, reason: str) -> None:
    assert conjunction(labels) is expected, reason


@pytest.mark.parametrize(
    ("turns", "ours", "official", "reason"),
    [
        ([[Y], [Y, Y]], True, True, "every turn passes"),
        ([[Y], [Y, N]], False, False, "the last turn fails"),
        ([[N], [X]], False, False, "failed before the open turn"),
        ([[X], [N]], False, False, "failed after the open turn"),
        ([[Y, X]], None, True, "the official rule looks at the labels given"),
        ([[X, X]], None, False, "a turn without any label fails officially, and is unscored here"),
        ([[Y], [X]], None, False, "the same for one turn of two"),
        ([[U]], None, True, "not applicable is no FAIL officially"),
        ([], None, False, "no turns at all"),
        ([[]], None, False, "no criteria at all: never a pass"),
        ([[], [Y]], True, False, "a turn without criteria asks nothing, but has no label"),
        ([[], [N]], False, False, "and settles nothing"),
    ],
)
def test_an_instance(turns: Turns, ours: bool | None, official: bool, reason: str) -> None:
    assert instance_passes(turns) is ours, reason
    assert official_passes(turns) is official, reason


def test_rates_leave_out_the_unscored_and_count_them() -> None:
    rate = pass_rate([True, True, False, None])
    assert (rate.value, rate.n, rate.unscored) == (pytest.approx(2 / 3), 3, 1)
    assert rate.ci95 is not None
    assert rate.ci95[0] == pytest.approx(0.20765, abs=1e-5)
    assert rate.ci95[1] == pytest.approx(0.93851, abs=1e-5)
    strict = strict_pass_rate([True, True, False, None])
    assert (strict.value, strict.n, strict.unscored) == (0.5, 4, 0)


def test_percentages_round_as_officially() -> None:
    # 102 / 320 * 100 lies below 31.875, and 100 * 102 / 320 on it.
    assert sections.value(pass_rate([True] * 102 + [False] * 218)) == "31.87"


@pytest.mark.parametrize("passed", [[], [None], [None, None]])
def test_without_a_scored_instance_there_is_no_rate(passed: list[bool | None]) -> None:
    rate = pass_rate(passed)
    assert (rate.value, rate.n, rate.unscored, rate.ci95) == (None, 0, len(passed), None), "blank, not 0"


INSTANCES: list[Turns] = [
    [[Y, Y], [Y, N]],  # criteria 3/4, turns 1/2
    [[N]],  # 0/1, 0/1
    [[Y, Y, Y, Y]],  # 4/4, 1/1
    [[Y, X], [N]],  # undecided: left out of the soft shares; 1 of 2 decided criteria
]


def test_soft_scores_by_hand() -> None:
    soft = soft_criterion(INSTANCES)
    assert (soft.value, soft.n, soft.unscored) == (pytest.approx((0.75 + 0 + 1) / 3), 3, 1)
    turns = soft_turn(INSTANCES)
    assert (turns.value, turns.n, turns.unscored) == (pytest.approx((0.5 + 0 + 1) / 3), 3, 1)
    assert (soft.ci95, turns.ci95) == (None, None), "three instances tell too little of others"
    for score in (measure(INSTANCES * 4) for measure in (soft_criterion, soft_turn)):
        assert score.ci95 is not None
        assert 0 <= score.ci95[0] <= score.value <= score.ci95[1] <= 1


def test_a_turn_without_criteria_is_none_of_the_turns() -> None:
    found = soft_turn([[[], [Y], [N]], [[], [Y]]])
    assert (found.value, found.n, found.unscored) == (0.75, 2, 0)


@pytest.mark.parametrize(
    ("labels", "weights", "passes", "share", "reason"),
    [
        ([Y, N], [3, -2], True, 1.0, "what is wanted is met, the fault is not there"),
        ([Y, Y], [3, -2], False, 1 / 3, "the fault takes its points away"),
        ([Y, Y], [3, -5], False, 0.0, "never below 0"),
        ([N, N], [3, -2], False, 0.0, "no fault earns nothing"),
        ([Y, N, Y], [5, 3, 2], False, 0.7, "7 of 10 points"),
        ([Y, N], [1, 1], False, 0.5, "equal weights: the plain share"),
        ([Y, N], [0.2, 0.6], False, 0.25, "fractions of a point"),
        ([X, Y], [3, -2], False, None, "a fault settles the conjunction, not the share: 0 or 1/3"),
        ([Y, X], [3, -2], None, None, "a fault that may be there leaves both open"),
        ([Y, U], [3, -2], None, None, "unknown is as open as not judged"),
        ([N, X], [3, -2], False, 0.0, "with or without the fault nothing is left"),
        ([Y, X], [3, -3], None, None, "0 or 1"),
        ([X, Y, N], [1, -9, 2], False, 0.0, "one point cannot make up for nine"),
        ([X, N], [1, -1], None, None, "an open criterion, the fault not there"),
        ([N], [-1], True, None, "faults alone: no points to be had"),
        ([Y], [-1], False, None, "the same with the fault"),
        ([], [], None, None, "no criteria"),
    ],
)
def test_weights_by_hand(
    labels: list[Label | None], weights: list[float], passes: bool | None, share: float | None, reason: str
) -> None:
    settled = [[outcome(label, weight) for label, weight in zip(labels, weights, strict=True)]]
    assert instance_passes(settled) is passes, reason
    assert weighted_share(labels, weights) == (None if share is None else pytest.approx(share)), reason
    score = weighted([[labels[:1], labels[1:]]], [[weights[:1], weights[1:]]])
    wanted = (None, 0, 1) if share is None else (pytest.approx(share), 1, 0)
    assert (score.value, score.n, score.unscored) == wanted, "over all turns"


def test_the_weighted_score_is_a_mean_over_instances() -> None:
    labels: list[Turns] = [[[Y], [Y]], [[N], [Y]], [[X], [N]]]
    found = weighted(labels, [[[3], [-1]], [[3], [1]], [[1], [1]]])
    assert (found.value, found.n, found.unscored) == (pytest.approx((2 / 3 + 1 / 4) / 2), 2, 1)
    assert weighted([], []).value is None


@given(st.lists(st.tuples(st.sampled_from([Y, N, U, X]), st.sampled_from([-3.0, -1.0, 0.5, 1.0, 4.0])), max_size=6))
def test_a_decided_share_is_that_of_every_way_to_decide(criteria: list[tuple[Label | None, float]]) -> None:
    labels, weights = [label for label, _ in criteria], [weight for _, weight in criteria]
    ways: list[list[Label | None]] = [[]]
    for label in labels:
        ways = [[*way, one] for way in ways for one in ([label] if label in (Y, N) else [Y, N])]
    shares = {weighted_share(way, weights) for way in ways}
    assert weighted_share(labels, weights) == (shares.pop() if len(shares) == 1 else None)


def test_a_turn_that_failed_settles_its_turn_though_a_label_is_open() -> None:
    assert soft_turn([[[N, X], [Y]]]).value == 0.5
    assert soft_turn([[[Y, X], [Y]]]).n == 0


@pytest.mark.parametrize("instances", [[], [[[X]]], [[]], [[[]]]])
def test_soft_scores_without_decided_criteria_are_blank(instances: list[Turns]) -> None:
    for score in (soft_criterion(instances), soft_turn(instances)):
        assert (score.value, score.n, score.ci95) == (None, 0, None)


@pytest.mark.parametrize(("label", "value"), [(Y, 1.0), (N, 0.0)])
def test_all_alike(label: Label, value: float) -> None:
    # 1 / (1 + t^2 / 10), with Student's t at 9 degrees of freedom: no share is certain.
    wanted = (pytest.approx(0.66149, abs=1e-5), 1.0) if value else (0.0, pytest.approx(0.33851, abs=1e-5))
    for measure in (soft_criterion, soft_turn):
        assert (measure([[[label]]] * 5).value, measure([[[label]]] * 5).ci95) == (value, None)
        assert (measure([[[label]]] * 10).value, measure([[[label]]] * 10).ci95) == (value, wanted)


label = st.sampled_from([Y, N, U, X])
conversations = st.lists(st.lists(st.lists(label, max_size=4), max_size=3), max_size=12)


@given(conversations)
def test_the_rates_hang_together(instances: Sequence[Turns]) -> None:
    passed = [instance_passes(turns) for turns in instances]
    overall, strict = pass_rate(passed), strict_pass_rate(passed)
    assert overall.n + overall.unscored == strict.n == len(instances)
    if overall.value is not None and strict.value is not None:
        assert strict.value <= overall.value + 1e-9, "counting the unscored as failed never helps"
    for turns, value in zip(instances, passed, strict=True):
        flat = [item for turn in turns for item in turn]
        assert (value is True) == (bool(flat) and all(item == Y for item in flat))
        if value and all(turns):
            assert official_passes(turns)


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
