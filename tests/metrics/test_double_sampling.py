"""Shares from many verdicts and few labels: estimates by hand, how labels are allotted, and coverage by simulation."""

from __future__ import annotations

import pytest

from tests.bench import label_intervals as study
from truebench_hf.errors import UserError
from truebench_hf.metrics.double_sampling import (
    AT_LEAST,
    DoubleSampling,
    Stratum,
    allocate,
    combined,
    double_sampling,
    kish,
)
from truebench_hf.metrics.intervals import clustered_share, effective_interval, wilson

pytestmark = pytest.mark.filterwarnings("error")


def sampled(**strata: tuple[int, int, int]) -> tuple[list[str], list[str | None]]:
    """Verdicts and gold labels of a run, from (units, of these labelled yes, labelled no) a stratum."""
    verdicts, gold = list[str](), list[str | None]()
    for name, (n, yes, no) in strata.items():
        verdicts += [name] * n
        gold += ["yes"] * yes + ["no"] * no + [None] * (n - yes - no)
    return verdicts, gold


def found(**strata: tuple[int, int, int]) -> DoubleSampling:
    return double_sampling(*sampled(**strata))


def test_by_hand() -> None:
    # 600 judged to pass, 300 to fail, 100 undecided: 0.6 x 0.9 + 0.3 x 0.2 + 0.1 x 0.5.
    result = found(**{"pass": (600, 90, 10), "fail": (300, 10, 40), "undecided": (100, 10, 10)})
    estimate = result.estimate
    assert estimate.estimate == pytest.approx(0.65)
    assert [(s.name, s.n, s.labelled, s.share) for s in result.strata] == [
        ("fail", 300, 50, 0.2), ("pass", 600, 100, 0.9), ("undecided", 100, 20, 0.5)
    ]  # fmt: skip
    within = 0.36 * 0.09 / 100 + 0.09 * 0.16 / 50 + 0.01 * 0.25 / 20
    between = (0.6 * 0.25**2 + 0.3 * 0.45**2 + 0.1 * 0.15**2) / 1000
    # The two labels added to each stratum change the variance a little.
    assert estimate.effective_labels == pytest.approx(0.65 * 0.35 / (within + between), rel=0.05)
    assert estimate.effective_labels is not None
    assert estimate.ci95 == pytest.approx(effective_interval(0.65, estimate.effective_labels))


def test_with_every_unit_labelled_it_is_the_share_with_wilson() -> None:
    result = found(**{"pass": (60, 50, 10), "fail": (40, 10, 30)})
    assert result.estimate.estimate == pytest.approx(0.6)
    assert result.estimate.effective_labels == pytest.approx(100, rel=1e-3)
    assert result.estimate.ci95 == pytest.approx(wilson(60, 100), abs=1e-4)


def test_a_judge_that_knows_nothing_leaves_the_worth_of_the_labels() -> None:
    estimate = found(**{"pass": (500, 25, 25), "fail": (500, 25, 25)}).estimate
    assert estimate.effective_labels == pytest.approx(100, rel=0.01)


@pytest.mark.parametrize(
    ("strata", "estimate", "reason"),
    [
        ({"pass": (900, 90, 0), "fail": (100, 10, 0)}, 1.0, "every label is yes"),
        ({"pass": (900, 0, 90), "fail": (100, 0, 10)}, 0.0, "every label is no"),
        ({"pass": (900, 20, 0)}, 1.0, "one stratum, all alike"),
        ({"pass": (500, 50, 0), "fail": (500, 0, 50)}, 0.5, "the judge was never wrong on 100 labels"),
    ],
)
def test_labels_that_all_agree_prove_nothing_for_certain(
    strata: dict[str, tuple[int, int, int]], estimate: float, reason: str
) -> None:
    result, labels = found(**strata), sum(yes + no for _, yes, no in strata.values())
    low, high = result.estimate.ci95 or (0, 0)
    assert result.estimate.estimate == estimate, reason
    assert 0 <= low <= estimate <= high <= 1
    assert high - low > 0.02, f"{reason}: an interval of no width would be certain"
    assert result.estimate.effective_labels is not None
    assert labels * 0.99 <= result.estimate.effective_labels < sum(n for n, _, _ in strata.values()), reason


@pytest.mark.parametrize(
    ("strata", "message"),
    [
        ({}, "nothing that could be labelled"),
        ({"pass": (20, 0, 0)}, "0 labelled instances"),
        ({"pass": (20, 5, 4)}, "9 labelled instances, 10 are needed"),
        ({"pass": (20, 10, 5), "undecided": (7, 0, 0)}, "none of the 7 with the verdict undecided has a label; label"),
        ({"pass": (20, 20, 0), "fail": (1, 0, 0), "undecided": (7, 0, 0)}, "1 with the verdict fail and none of the 7"),
    ],
)
def test_it_is_withheld_with_the_remedy(strata: dict[str, tuple[int, int, int]], message: str) -> None:
    estimate = found(**strata).estimate
    assert (estimate.estimate, estimate.ci95, estimate.effective_labels) == (None, None, None)
    assert message in (estimate.withheld or "")


def test_ten_labels_are_enough() -> None:
    assert found(**{"pass": (20, 8, 2)}).estimate.ci95 is not None


def test_undecided_labels_are_none_and_strata_of_size_0_do_not_matter() -> None:
    verdicts, gold = sampled(**{"pass": (60, 20, 10), "fail": (40, 5, 15)})
    plain = double_sampling(verdicts, gold)
    assert double_sampling(verdicts, ["unknown" if g is None else g for g in gold]) == plain
    empty = [*plain.strata, Stratum("undecided", 0, 0, None, 0.0)]
    assert combined(empty) == plain.estimate


def test_strata_stand_in_the_order_asked_for() -> None:
    verdicts, gold = sampled(**{"fail": (20, 5, 5), "new": (5, 1, 1), "pass": (20, 5, 5)})
    names = [s.name for s in double_sampling(verdicts, gold, order=("pass", "fail", "undecided")).strata]
    assert names == ["pass", "fail", "new"]


def test_weights_right_a_sample_that_was_not_even() -> None:
    # Ten of the 100 that pass, all 20 that fail: unweighted the labels alone would say 10 of 30.
    verdicts, gold = sampled(**{"pass": (100, 10, 0), "fail": (20, 0, 20)})
    weights = [10.0] * 100 + [1.0] * 20
    result = double_sampling(verdicts, gold, weights=weights)
    assert result.estimate.estimate == pytest.approx(100 / 120)
    # Within a stratum, too: a unit that was four times as likely to be drawn counts a quarter.
    uneven = double_sampling(["pass"] * 20, ["yes"] * 10 + ["no"] * 10, weights=[4.0] * 10 + [1.0] * 10)
    assert uneven.strata[0].share == pytest.approx(0.8)
    assert uneven.strata[0].effective == pytest.approx(50**2 / 170)


def test_criteria_of_one_instance_count_as_dependent() -> None:
    # 20 of 40 instances are labelled, ten like criteria each: as good as 20 labels, not as 200.
    verdicts = ["pass"] * 400
    gold: list[str | None] = [("yes" if i // 10 % 2 else "no") if i < 200 else None for i in range(400)]
    together = double_sampling(verdicts, gold, groups=[i // 10 for i in range(400)])
    apart = double_sampling(verdicts, gold)
    assert apart.estimate.effective_labels == pytest.approx(200, rel=0.02)
    assert together.estimate.effective_labels == pytest.approx(19, rel=1e-3)
    assert together.estimate.estimate == apart.estimate.estimate


def test_fewer_than_ten_instances_give_no_interval_for_criteria() -> None:
    verdicts, gold, groups = ["pass"] * 200, ["yes", "no"] * 45 + [None] * 110, [i // 10 for i in range(200)]
    assert "9 labelled instances, 10 are needed" in (
        double_sampling(verdicts, gold, groups=groups).estimate.withheld or ""
    )
    assert double_sampling(verdicts, gold).estimate.withheld is None, "independent units may be fewer in kind"


def test_where_all_criteria_agree_their_instances_are_counted() -> None:
    groups = [i // 10 for i in range(300)]
    result = double_sampling(["pass"] * 300, ["yes"] * 150 + [None] * 150, groups=groups)
    assert result.estimate.estimate == 1.0
    assert result.estimate.effective_labels == 15


def test_criteria_have_the_variance_of_any_clustered_share() -> None:
    # With all units labelled in one stratum the estimate is the share, and one rule holds for shares.
    sizes = [1, 2, 3, 5, 9, 1, 1, 4, 2, 2, 7, 3, 5, 2]
    groups = [i for i, size in enumerate(sizes) for _ in range(size)]
    for name, met in {"one dissents": {4}, "two": {4, 7}, "half": set(range(0, 14, 2))}.items():
        gold: list[str | None] = ["no" if group in met else "yes" for group in groups]
        found = double_sampling(["pass"] * len(groups), gold, groups=groups)
        passed = [0 if i in met else size for i, size in enumerate(sizes)]
        alone = clustered_share(passed, sizes) or (0, 0)
        effective = found.estimate.effective_labels or 0
        assert effective < 14, f"{name}: a dissenting instance more or less changes more than one of even size"
        low, high = found.estimate.ci95 or (0, 1)
        assert high - low > 0.95 * (alone[1] - alone[0]), name


def test_instances_that_all_have_the_same_share_prove_no_certainty() -> None:
    verdicts, gold, groups = ["pass"] * 40, ["yes", "no"] * 20, [i // 2 for i in range(40)]
    found = double_sampling(verdicts, gold, groups=groups)  # every instance has one yes and one no
    low, high = found.estimate.ci95 or (0, 1)
    assert 0.1 < low < 0.42 < 0.58 < high < 0.9


def test_bad_input_is_refused() -> None:
    with pytest.raises(UserError, match="verdicts has 1, gold has 2"):
        double_sampling(["pass"], ["yes", "no"])
    with pytest.raises(UserError, match="groups has 0"):
        double_sampling(["pass"], ["yes"], groups=[])
    with pytest.raises(UserError, match="'ja' is neither"):
        double_sampling(["pass"], ["ja"])


@pytest.mark.parametrize(("share", "n"), [(0.0, 7), (1.0, 30), (0.5, 1), (0.95, 200)])
def test_the_interval_is_that_of_wilson(share: float, n: int) -> None:
    assert effective_interval(share, n) == pytest.approx(
        wilson(round(share * n), n) if share != 0.5 else (0.0546, 0.9454), abs=1e-4
    )


def test_equally_weighted_rows() -> None:
    assert kish([]) == 0.0
    assert kish([3.0, 3.0]) == 2.0


def outside(cells: list[study.Cell], longest: float | None, most: float = 0.975) -> list[study.Cell]:
    """Where coverage is not 93 to 97.5 %, or intervals are longer than the labels of a simple random sample would give."""
    return [c for c in cells if not 0.93 <= c.coverage <= most or (longest is not None and c.length > longest)]


@pytest.mark.slow
@pytest.mark.parametrize("undecided", [0.0, 0.05])
def test_intervals_cover_and_are_no_longer_than_those_of_the_labels(undecided: float) -> None:
    cells = list(study.by_verdict(undecided))
    assert len(cells) == 12
    assert outside(cells, longest=1.02) == []


@pytest.mark.slow
def test_intervals_over_instances_of_several_criteria_cover() -> None:
    cells = list(study.by_instance())
    assert len(cells) == 12
    assert outside(cells, longest=1.02) == []


@pytest.mark.slow
@pytest.mark.parametrize("instances", [10, 12, 20, 40])
def test_intervals_over_criteria_of_few_instances_cover(instances: int) -> None:
    cells = list(study.by_criterion(instances))
    assert len(cells) == 12
    assert outside(cells, longest=None, most=1.0) == []


@pytest.mark.slow
@pytest.mark.parametrize("labelled", [12, 36])
def test_intervals_over_criteria_of_checklists_of_very_different_lengths_cover(labelled: int) -> None:
    cells = list(study.by_checklist(36, labelled))
    assert len(cells) == 12
    assert outside(cells, longest=None, most=1.0) == []


@pytest.mark.parametrize(
    ("sizes", "n", "given", "reason"),
    [
        ({}, 5, {}, "nothing there"),
        ({"pass": 3}, 5, {"pass": 3}, "never more than there are"),
        ({"pass": 100, "fail": 100}, 1, {"pass": 1, "fail": 0}, "one label"),
        ({"pass": 1500, "fail": 500}, 200, {"pass": 150, "fail": 50}, "in proportion"),
        (
            {"pass": 1900, "fail": 80, "undecided": 20},
            200,
            {"pass": 187, "fail": 8, "undecided": 5},
            "a few of the rare",
        ),
        ({"pass": 1997, "fail": 0, "undecided": 3}, 200, {"pass": 197, "fail": 0, "undecided": 3}, "all of the rarest"),
        ({"pass": 1000, "fail": 10, "undecided": 10}, 15, {"pass": 5, "fail": 5, "undecided": 5}, "few labels"),
    ],
)
def test_labels_by_stratum(sizes: dict[str, int], n: int, given: dict[str, int], reason: str) -> None:
    assert allocate(sizes, n) == given, reason


@pytest.mark.parametrize("sizes", [{"a": 6, "b": 6, "c": 2}, {"a": 1337, "b": 91, "c": 7}, {"a": 10, "b": 10, "c": 10}])
def test_more_labels_hold_fewer(sizes: dict[str, int]) -> None:
    # Rounding by the largest remainder fails on 6, 6, 2: of 10 labels the third gets 2, of 11 it gets 1.
    before = dict.fromkeys(sizes, 0)
    for n in range(1, min(400, sum(sizes.values())) + 1):
        now = allocate(sizes, n)
        assert sum(now.values()) == n
        assert sum(now[name] - before[name] for name in sizes) == 1
        assert min(now[name] - before[name] for name in sizes) == 0
        before = now


def test_the_rare_get_no_more_than_a_few() -> None:
    assert allocate({"pass": 10_000, "undecided": 100}, 200)["undecided"] == AT_LEAST
