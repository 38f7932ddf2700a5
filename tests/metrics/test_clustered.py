"""Clustered agreement: values against `agreement`, means over strata by hand, intervals that know about clusters."""

from __future__ import annotations

import random
from typing import Any

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.clustered import MEASURES, clustered_agreement
from truebench_hf.metrics.intervals import wilson_at


def column(seed: int, n: int, labels: tuple[str | None, ...]) -> list[str | None]:
    return random.Random(seed).choices(labels, k=n)


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        pytest.param(column(1, 200, ("yes", "no")), column(2, 200, ("yes", "no", None)), id="some undecided"),
        pytest.param(column(3, 200, ("yes", "no", None)), column(4, 200, ("yes", "no")), id="some without gold"),
        pytest.param(["yes"] * 9, column(5, 9, ("yes", "no")), id="one class: balanced accuracy is undefined"),
        pytest.param(["no"] * 9, ["no"] * 9, id="one class, all right: macro F1 is that of the class"),
        pytest.param(column(6, 9, ("yes", "no")), [None] * 9, id="nothing decided"),
        pytest.param([], [], id="empty"),
        pytest.param(["yes", "no"], ["unknown", "no"], id="unknown is undecided"),
    ],
)
def test_values_are_those_of_agreement(gold: list[str | None], predicted: list[str | None]) -> None:
    found = clustered_agreement(range(len(gold)), gold, predicted)
    wanted = agreement(gold, predicted)
    for name in MEASURES:
        share = getattr(wanted, name)
        assert found[name].value == (None if share is None else pytest.approx(share, abs=1e-11)), name
    assert found["accuracy"].unscored == wanted.undecided
    assert found["accuracy"].n == wanted.n - wanted.undecided
    assert found["balanced_accuracy_strict"].n == wanted.n


def test_strata_count_alike_whatever_their_size() -> None:
    # Stratum a: 4 rows, all right: 1. Stratum b: 2 rows, yes right and no wrong: 0.5. Mean 0.75, pooled (1 + 2/3) / 2.
    gold = ["yes", "yes", "no", "no", "yes", "no"]
    predicted = ["yes", "yes", "no", "no", "yes", "yes"]
    strata = ["a", "a", "a", "a", "b", "b"]
    assert clustered_agreement(range(6), gold, predicted, strata)["balanced_accuracy"].value == pytest.approx(0.75)
    assert clustered_agreement(range(6), gold, predicted)["balanced_accuracy"].value == pytest.approx(2.5 / 3)


def test_a_stratum_without_a_value_leaves_the_mean_undefined() -> None:
    found = clustered_agreement(range(3), ["yes", "no", "yes"], ["yes", "no", "yes"], ["a", "a", "b"])
    assert found["balanced_accuracy"].value is None
    assert found["balanced_accuracy"].ci95 is None
    assert found["accuracy"].value == 1


def test_rows_of_one_cluster_are_no_independent_evidence() -> None:
    # The same 400 rows: 200 instructions of 2 rows, or 10 of 40 rows that are right or wrong together.
    gold: list[Any] = ["yes", "no"] * 200
    right = [i // 40 % 2 == 0 for i in range(400)]
    predicted = [label if good else {"yes": "no", "no": "yes"}[label] for label, good in zip(gold, right, strict=True)]
    many = clustered_agreement([i // 2 for i in range(400)], gold, predicted)["balanced_accuracy"]
    few = clustered_agreement([i // 40 for i in range(400)], gold, predicted)["balanced_accuracy"]
    assert many.value == few.value == 0.5
    assert many.ci95 is not None
    assert few.ci95 is not None
    width = few.ci95[1] - few.ci95[0]
    assert width > 3 * (many.ci95[1] - many.ci95[0])
    # Ten clusters of 0 or 100 %, half of them each: Wilson at n = 9 with Student's t.
    assert few.ci95 == pytest.approx(wilson_at(0.5, 9, 2.2621571628))


@pytest.mark.parametrize(("clusters", "told"), [(0, False), (1, False), (2, False), (9, False), (10, True)])
def test_few_clusters_tell_nothing_of_others(clusters: int, told: bool) -> None:
    names = [i // 2 for i in range(2 * clusters)]
    found = clustered_agreement(names, ["yes", "no"] * clusters, ["yes", "yes"] * clusters)["balanced_accuracy"]
    assert found.value == (0.5 if clusters else None)
    assert (found.ci95 is not None) is told


def test_a_perfect_judge_is_not_certain() -> None:
    names = [i // 2 for i in range(20)]
    found = clustered_agreement(names, ["yes", "no"] * 10, ["yes", "no"] * 10)
    for name in MEASURES:
        assert found[name].ci95 == (pytest.approx(0.66149, abs=1e-5), 1.0), name
    halves = [f"half {i // 10}" for i in range(20)]
    strata = clustered_agreement(names, ["yes", "no"] * 10, ["yes", "no"] * 10, halves)
    assert strata["accuracy"].ci95 == (pytest.approx(0.65284, abs=1e-5), 1.0), "8 degrees of freedom for two strata"


@pytest.mark.parametrize(
    ("clusters", "told", "reason"),
    [
        (1, False, "one cluster has no spread"),
        (2, False, "two may agree by chance"),
        (3, True, "three tell a little"),
    ],
)
def test_a_class_in_few_clusters_has_no_interval(clusters: int, told: bool, reason: str) -> None:
    # The judge says no more often than that, so that macro F1 of "no" has rows in five clusters.
    gold, predicted = ["yes"] * (12 - clusters) + ["no"] * clusters, ["yes"] * 7 + ["no"] * 5
    found = clustered_agreement(range(12), gold, predicted)
    for name in ("balanced_accuracy", "balanced_accuracy_strict", "macro_f1", "tnr"):
        assert (found[name].ci95 is not None) is (told and name != "tnr"), (name, reason)
    assert found["accuracy"].ci95 is not None
    # Twice the same in two strata: each of them counts for itself.
    strata = ["a"] * 12 + ["b"] * 12
    twice = clustered_agreement(range(24), gold * 2, predicted * 2, strata)
    assert (twice["macro_f1"].ci95 is not None) is told, reason


def test_a_class_that_does_not_occur_leaves_macro_f1_of_the_other_its_interval() -> None:
    assert clustered_agreement(range(12), ["yes"] * 12, ["yes"] * 12)["macro_f1"].ci95 is not None
    assert clustered_agreement(range(12), ["yes"] * 12, ["yes"] * 11 + ["no"])["macro_f1"].ci95 is None


def test_columns_must_be_parallel() -> None:
    with pytest.raises(UserError, match="parallel"):
        clustered_agreement([1, 2], ["yes", "no"], ["yes"])
