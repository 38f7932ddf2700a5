"""Agreement of verdicts with labels: against scikit-learn, the papers' rows, by hand, and for every shape of a frame."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import (
    MEASURES,
    agreement,
    differences,
    label_agreement,
    measure_difference,
    set_scores,
)
from truebench_hf.metrics.binary import Label
from truebench_hf.metrics.intervals import effective_interval
from truebench_hf.types import Score

pytestmark = pytest.mark.filterwarnings("error")


EVERY = (
    *MEASURES, "accuracy_strict", "macro_f1_strict", "fpr", "fnr", "precision", "f1_yes", "f1_no", "f1_yes_strict", "kappa",
)  # fmt: skip
FLIP: dict[Label, Label] = {"yes": "no", "no": "yes"}


def counted(**counts: int) -> tuple[list[str], list[str]]:
    """Gold and predicted labels with these cell counts."""
    cells = {"tp": ("yes", "yes"), "fn": ("yes", "no"), "tn": ("no", "no"), "fp": ("no", "yes")}
    rows = [cells[name] for name, count in counts.items() for _ in range(count)]
    return [gold for gold, _ in rows], [guess for _, guess in rows]


def column(seed: int, n: int, labels: tuple[str | None, ...]) -> list[str | None]:
    return random.Random(seed).choices(labels, k=n)


def judged(gold: Sequence[Label], rng: random.Random, error: float, undecided: float = 0.0) -> list[Label]:
    drawn = [FLIP[label] if rng.random() < error else label for label in gold]
    return [None if rng.random() < undecided else label for label in drawn]


def table(**columns: Sequence[Any]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(list(values), dtype=object) for name, values in columns.items()})


def cell(gold: Sequence[Any], label: Sequence[Any], cluster: Sequence[Any] | None = None) -> dict[str, Any]:
    return label_agreement(gold, label, cluster, measures=EVERY)


def over(strata: Sequence[str], **columns: Sequence[Any]) -> pd.Series:
    """The measures as means over strata."""
    return agreement(table(**columns, stratum=strata), mean_over="stratum").iloc[0]


@pytest.mark.parametrize(
    ("counts", "printed"),
    [
        # Claude 3.5 Sonnet in FACTS. Table 2, span-level: 344 accurate and 62 inaccurate responses.
        ({"tp": 267, "fn": 77, "fp": 13, "tn": 49}, [68.85, 77.83, 20.97, 22.38, 85.58, 52.13]),
        # Table 4, request only: 150 ineligible (the positive class) and 300 eligible responses.
        ({"tp": 56, "fn": 94, "fp": 49, "tn": 251}, [60.88, 68.22, 16.33, 62.67, 43.92, 77.83]),
    ],
)
def test_rows_of_the_facts_paper(counts: dict[str, int], printed: list[float]) -> None:
    found = cell(*counted(**counts))
    values = [found[name].value for name in ("macro_f1", "accuracy", "fpr", "fnr", "f1_yes", "f1_no")]
    assert [round(100 * value, 2) for value in values] == printed


@pytest.mark.parametrize("seed", range(5))
def test_against_scikit_learn(seed: int) -> None:
    from sklearn import metrics

    rng = random.Random(seed)
    gold = rng.choices(["yes", "no"], [3, 1], k=200)
    guess = [label if rng.random() < 0.7 else rng.choice(["yes", "no"]) for label in gold]
    found = cell(gold, guess)
    accuracy, balanced = metrics.accuracy_score(gold, guess), metrics.balanced_accuracy_score(gold, guess)
    macro, recall = metrics.f1_score(gold, guess, average="macro"), metrics.recall_score(gold, guess, pos_label="yes")
    f1 = {name: metrics.f1_score(gold, guess, pos_label=name) for name in ("yes", "no")}
    wanted = {
        "accuracy": accuracy, "accuracy_strict": accuracy, "balanced_accuracy": balanced, "balanced_accuracy_strict": balanced,
        "macro_f1": macro, "macro_f1_strict": macro, "tpr": recall, "fnr": 1 - recall,
        "tnr": metrics.recall_score(gold, guess, pos_label="no"), "f1_yes": f1["yes"], "f1_yes_strict": f1["yes"],
        "f1_no": f1["no"], "precision": metrics.precision_score(gold, guess, pos_label="yes"),
        "kappa": metrics.cohen_kappa_score(gold, guess),
    }  # fmt: skip
    assert {name: found[name].value for name in wanted} == pytest.approx(wanted)
    tn, fp, fn, tp = metrics.confusion_matrix(gold, guess, labels=["no", "yes"]).ravel()
    assert [found[name] for name in ("tn", "fp", "fn", "tp")] == [tn, fp, fn, tp]


def test_undecided_is_left_out_and_wrong_only_in_strict_measures() -> None:
    found = cell(["yes", "yes", "yes", "yes", "no", "no"], ["yes", "yes", "yes", None, "no", "unknown"])
    assert [found[name] for name in ("n", "undecided", "unlabelled", "tp", "tn")] == [4, 2, 0, 3, 1]
    assert found["accuracy"].value == found["balanced_accuracy"].value == 1.0
    # Strict: 3 of 4 yes, 1 of 2 no.
    assert found["balanced_accuracy_strict"].value == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert found["accuracy_strict"].value == pytest.approx(4 / 6)
    assert (found["accuracy"].n, found["accuracy"].unscored, found["tpr"].n, found["tpr"].unscored) == (4, 2, 3, 1)
    assert (found["balanced_accuracy_strict"].n, found["balanced_accuracy_strict"].unscored) == (6, 2)


def test_strict_macro_f1_takes_undecided_for_the_opposite() -> None:
    gold = column(1, 80, ("yes", "no"))
    guess = column(2, 80, ("yes", "no", None))
    opposite = [FLIP[g] if j is None else j for g, j in zip(gold, guess, strict=True)]
    assert cell(gold, guess)["macro_f1_strict"].value == pytest.approx(cell(gold, opposite)["macro_f1"].value)


def test_rows_without_gold_are_only_counted() -> None:
    found = cell([None, "yes", None], ["yes", "yes", None])
    assert [found[name] for name in ("n", "unlabelled", "undecided", "tp", "fp")] == [1, 2, 0, 1, 0]


@pytest.mark.parametrize(
    ("gold", "predicted", "accuracy", "f1_yes", "f1_no", "macro", "reason"),
    [
        (["yes"], ["yes"], 1.0, 1.0, None, 1.0, "one row: the no class never occurs, F1(+) stands alone"),
        (["yes"] * 2, ["yes", None], 1.0, 1.0, None, 1.0, "an undecided row brings in no class"),
        (["yes"] * 2, ["yes", "no"], 1 / 2, 2 / 3, 0.0, 1 / 3, "one wrong prediction brings in the no class, with 0"),
        (["yes"] * 3, ["yes", "yes", "no"], 2 / 3, 0.8, 0.0, 0.4, "one gold class, predicted no once: F1(-) is 0"),
        (["no"] * 2, ["yes"] * 2, 0.0, 0.0, 0.0, 0.0, "all wrong: both F1 are 0, not undefined"),
        (["no"] * 2, [None, None], None, None, None, None, "nothing decided"),
    ],
)
def test_one_class(
    gold: list[str], predicted: list[str | None], accuracy: float | None, f1_yes: float | None, f1_no: float | None,
    macro: float | None, reason: str,
) -> None:  # fmt: skip
    found = cell(gold, predicted)
    assert found["balanced_accuracy"].value is None, reason
    assert found["balanced_accuracy_strict"].value is None, reason
    assert found["kappa"].value is None or macro not in (None, 1.0), reason
    wanted = {"accuracy": accuracy, "f1_yes": f1_yes, "f1_no": f1_no, "macro_f1": macro}
    assert {name: found[name].value for name in wanted} == pytest.approx(wanted), reason


def test_a_class_that_is_wholly_undecided_leaves_the_strict_measure_defined() -> None:
    found = cell(["yes", "no"], ["yes", None])
    assert found["balanced_accuracy"].value is None
    assert found["balanced_accuracy_strict"].value == 0.5


def test_bad_input_is_refused() -> None:
    with pytest.raises(UserError, match="gold has 2, label has 1"):
        cell(["yes", "no"], ["yes"])
    with pytest.raises(UserError, match="'Yes' is neither 'yes' nor 'no'"):
        cell(["yes"], ["Yes"])
    with pytest.raises(UserError, match="1 is neither 'yes' nor 'no'"):
        cell(["yes"], [1])


# Frames


@pytest.mark.parametrize("dtype", [object, None, "str", "string", "category"])
@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_label_is_undecided_however_pandas_holds_it(dtype: Any, missing: Any) -> None:
    labels = ["yes", missing, "no", "unknown"]
    frame = pd.DataFrame({"gold": ["yes", "yes", "no", missing]})
    frame["label"] = pd.Series(labels, dtype=dtype)
    (row,) = agreement(frame).itertuples()
    assert (row.n, row.undecided, row.unlabelled, row.tp, row.tn) == (2, 1, 1, 1, 1)


@pytest.mark.parametrize("by", [(), ("judge",), ("judge", "language")])
@pytest.mark.parametrize("mean_over", [None, "category"])
def test_no_rows(by: tuple[str, ...], mean_over: str | None) -> None:
    columns = ("cluster", "judge", "language", "category", "gold", "label")
    found = agreement(table(**{name: [] for name in columns}), by, mean_over=mean_over, measures=EVERY)
    assert list(found) == [*by, "n", "undecided", "unlabelled", "tp", "fn", "tn", "fp", *EVERY]
    assert len(found) == (0 if by else 1)
    if not by:
        assert all(found.iloc[0][name].value is None for name in EVERY)
    assert list(differences(table(**{name: [] for name in (*columns, "item")}), by))[: len(by)] == list(by)


def test_groups_stand_in_the_order_of_categories_and_counts_stay_whole() -> None:
    frame = table(gold=["yes"] * 4, label=["yes", "no", "yes", None])
    frame["type"] = pd.Categorical(["b", "a", None, "b"], categories=["c", "b", "a"])
    found = agreement(frame, ["type"])
    assert list(found["type"]) == ["b", "a"], "without rows a category has none, and rows without one are in no group"
    assert [type(count) for count in found["n"]] == [int, int]
    assert list(found["n"]) == [1, 1]


def test_names_of_the_data_are_values_and_collide_with_nothing() -> None:
    names = ["gold", "label", "(cell)", "Overall"] * 3
    frame = table(gold=["yes"] * 12, label=["yes", "no"] * 6, judge=names, item=range(12))
    assert list(agreement(frame, ["judge"])["judge"]) == sorted(set(names))
    doubled = frame.set_index(pd.Index([0] * 12))
    assert agreement(doubled, ["judge"]).equals(agreement(frame, ["judge"])), "an index that repeats changes nothing"


def test_a_group_is_what_its_rows_alone_would_be() -> None:
    rng = random.Random(3)
    gold, names = column(1, 600, ("yes", "no", None)), [rng.choice("ab") for _ in range(600)]
    frame = table(
        gold=gold, label=column(2, 600, ("yes", "no", None)), cluster=[rng.randrange(30) for _ in gold], judge=names
    )
    found = agreement(frame, ["judge"], measures=EVERY)
    for row in found.to_dict("records"):
        alone = agreement(frame[frame["judge"] == row["judge"]], measures=EVERY).iloc[0]
        assert {name: row[name] for name in EVERY} == alone[list(EVERY)].to_dict()


# Strata and clusters


def test_strata_count_alike_whatever_their_size() -> None:
    # Stratum a: 4 rows, all right: 1. Stratum b: 2 rows, yes right and no wrong: 0.5. Mean 0.75, pooled (1 + 2/3) / 2.
    rows = {"gold": ["yes", "yes", "no", "no", "yes", "no"], "label": ["yes", "yes", "no", "no", "yes", "yes"]}
    assert over(["a", "a", "a", "a", "b", "b"], **rows)["balanced_accuracy"].value == pytest.approx(0.75)
    assert cell(**rows)["balanced_accuracy"].value == pytest.approx(2.5 / 3)


def test_a_stratum_without_a_value_leaves_the_mean_undefined() -> None:
    found = over(["a", "a", "b"], gold=["yes", "no", "yes"], label=["yes", "no", "yes"])
    assert (found["balanced_accuracy"].value, found["balanced_accuracy"].ci95) == (None, None)
    assert found["accuracy"].value == 1
    frame = table(gold=["yes", "no"], label=["yes", "no"])
    frame["stratum"] = pd.Categorical(["a", "a"], categories=["a", "absent"])
    assert agreement(frame, mean_over="stratum").iloc[0]["accuracy"].value is None


def test_rows_of_one_cluster_are_no_independent_evidence() -> None:
    # The same 400 rows: 200 instructions of 2 rows, or 10 of 40 rows that are right or wrong together.
    gold: list[Any] = ["yes", "no"] * 200
    right = [i // 40 % 2 == 0 for i in range(400)]
    predicted = [label if good else FLIP[label] for label, good in zip(gold, right, strict=True)]
    many = cell(gold, predicted, [i // 2 for i in range(400)])["balanced_accuracy"]
    few = cell(gold, predicted, [i // 40 for i in range(400)])["balanced_accuracy"]
    assert many.value == few.value == 0.5
    assert many.ci95 is not None
    assert few.ci95 is not None
    assert few.ci95[1] - few.ci95[0] > 3 * (many.ci95[1] - many.ci95[0])
    # Ten clusters of 0 or 100 %, half of them each: Wilson at n = 9 with Student's t.
    assert few.ci95 == pytest.approx(effective_interval(0.5, 9, 9))


@pytest.mark.parametrize(("clusters", "interval"), [(0, False), (1, False), (2, False), (9, False), (10, True)])
def test_few_clusters_tell_nothing_of_others(clusters: int, interval: bool) -> None:
    found = cell(["yes", "no"] * clusters, ["yes", "yes"] * clusters, [i // 2 for i in range(2 * clusters)])
    assert found["balanced_accuracy"].value == (0.5 if clusters else None)
    for name in ("balanced_accuracy", "kappa"):
        assert (found[name].ci95 is not None) is interval, name


def test_a_perfect_judge_is_not_certain() -> None:
    names = [i // 2 for i in range(20)]
    found = cell(["yes", "no"] * 10, ["yes", "no"] * 10, names)
    for name in MEASURES:
        assert found[name].ci95 == (pytest.approx(0.66149, abs=1e-5), 1.0), name
    assert found["kappa"].ci95 == (pytest.approx(2 * 0.66149 - 1, abs=1e-4), 1.0), "all draws agree; agreement tells"
    halves = [f"half {i // 10}" for i in range(20)]
    strata = over(halves, gold=["yes", "no"] * 10, label=["yes", "no"] * 10, cluster=names)
    assert strata["accuracy"].ci95 == (pytest.approx(0.65284, abs=1e-5), 1.0), "8 degrees of freedom for two strata"


@pytest.mark.parametrize(
    ("clusters", "told", "reason"),
    [(1, False, "one cluster has no spread"), (2, False, "two may agree by chance"), (3, True, "three tell a little")],
)
def test_a_class_in_few_clusters_has_no_interval(clusters: int, told: bool, reason: str) -> None:
    # The judge says no more often than that, so that macro F1 of "no" has rows in five clusters.
    gold, predicted = ["yes"] * (12 - clusters) + ["no"] * clusters, ["yes"] * 7 + ["no"] * 5
    found = cell(gold, predicted)
    for name in ("balanced_accuracy", "balanced_accuracy_strict", "macro_f1", "tnr"):
        assert (found[name].ci95 is not None) is (told and name != "tnr"), (name, reason)
    assert found["accuracy"].ci95 is not None
    # Twice the same in two strata: each of them counts for itself.
    twice = over(["a"] * 12 + ["b"] * 12, gold=gold * 2, label=predicted * 2)
    assert (twice["macro_f1"].ci95 is not None) is told, reason


def test_a_class_that_does_not_occur_leaves_macro_f1_of_the_other_its_interval() -> None:
    assert cell(["yes"] * 12, ["yes"] * 12)["macro_f1"].ci95 is not None
    assert cell(["yes"] * 12, ["yes"] * 11 + ["no"])["macro_f1"].ci95 is None


# Two judges


def test_a_difference_is_that_of_the_measures_and_reaches_as_far_as_a_bootstrap() -> None:
    rng = random.Random(1)
    gold: list[Label] = ["yes" if rng.random() < 0.85 else "no" for _ in range(400)]
    first, second = judged(gold, rng, 0.1), judged(gold, rng, 0.2)
    names, generator = ("macro_f1", "balanced_accuracy", "accuracy"), np.random.default_rng(0)
    gaps = []
    for rows in [range(400), *(generator.integers(0, 400, 400) for _ in range(120))]:
        one, other = (
            label_agreement([gold[r] for r in rows], [column[r] for r in rows], measures=names)
            for column in (first, second)
        )
        gaps.append([one[name].value - other[name].value for name in names])
    for place, name in enumerate(names):
        found = measure_difference(gold, first, second, range(400), measure=name)
        assert found.value == pytest.approx(gaps[0][place])
        assert found.ci95 == pytest.approx(np.percentile([row[place] for row in gaps[1:]], [2.5, 97.5]), abs=0.03)


def test_dependent_rows_widen_the_interval_and_few_groups_have_none() -> None:
    rng = random.Random(2)
    gold: list[Label] = ["yes" if rng.random() < 0.7 else "no" for _ in range(50)]
    first, second = judged(gold, rng, 0.1), judged(gold, rng, 0.3)
    alone = measure_difference(gold, first, second, range(50)).ci95
    again = measure_difference(gold * 4, first * 4, second * 4, [row % 50 for row in range(200)]).ci95
    assert alone is not None
    assert again == pytest.approx(alone)  # the same answer four times tells nothing new
    assert measure_difference(gold, first, second, [row % 9 for row in range(50)]).ci95 is None
    assert measure_difference(["yes"] * 50, first, second, range(50)).ci95 is None  # one class only
    assert measure_difference(["yes"] * 50, first, second, range(50), measure="accuracy").ci95 is not None


def test_differences_pair_the_items_that_both_judges_have() -> None:
    gold = ["yes", "no"] * 20
    frame = pd.concat(
        [
            table(item=range(40), gold=gold, label=gold, judge=["right"] * 40),
            table(item=range(39, -1, -1), gold=gold[::-1], label=["yes"] * 40, judge=["lenient"] * 40),
            table(item=range(10), gold=gold[:10], label=[None] * 10, judge=["silent"] * 10),
        ]
    )
    found = differences(frame, measures=("accuracy",)).set_index(["first", "second"])["accuracy"]
    assert list(found.index) == [("right", "lenient"), ("right", "silent"), ("lenient", "silent")]
    assert (found["right", "lenient"].value, found["right", "lenient"].n) == (0.5, 40)
    assert found["right", "lenient"].ahead == 1
    assert (found["right", "silent"].value, found["right", "silent"].n) == (1.0, 10), "undecided is wrong"
    with pytest.raises(UserError, match="'right' has item 0 twice"):
        differences(pd.concat([frame, frame.iloc[:1]]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "share", "measure"), [(36, 0.5, "macro_f1"), (100, 0.85, "balanced_accuracy"), (406, 0.85, "macro_f1")]
)
def test_equally_good_judges_are_seldom_told_apart(rows: int, share: float, measure: str) -> None:
    """About 3 s each. Judges whose errors partly coincide: at most 2.5 % may seem surely better (one side)."""
    sure, rng, repeats = 0, random.Random(3), 1500
    for _ in range(repeats):
        gold: list[Label] = ["yes" if rng.random() < share else "no" for _ in range(rows)]
        base = judged(gold, rng, 0.15)
        first, second = judged(base, rng, 0.08), judged(base, rng, 0.08)
        sure += measure_difference(gold, first, second, range(rows), measure=measure).ahead > 0
    assert sure / repeats <= 0.035


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clusters", "errors", "least", "measure"),
    [
        (12, (0.1, 0.3), 0.91, "macro_f1"),
        (40, (0.1, 0.2), 0.93, "balanced_accuracy"),
        (100, (0.02, 0.05), 0.93, "accuracy"),
    ],
)
def test_intervals_of_differences_cover_the_truth(
    clusters: int, errors: tuple[float, float], least: float, measure: str
) -> None:
    """Rows of a cluster (1 to 6) are easy or hard together. With twelve clusters 92 %, with forty 94 to 95 % cover."""

    def draw(rng: random.Random, count: int) -> tuple[list[Label], list[Label], list[Label], list[int]]:
        rows: list[tuple[Label, Label, Label, int]] = []
        for cluster in range(count):
            hard = rng.choice((0.0, 2.0))
            for _ in range(rng.randint(1, 6)):
                gold: Label = "yes" if rng.random() < 0.6 else "no"
                guesses = [FLIP[gold] if rng.random() < hard * error else gold for error in errors]
                rows.append((gold, guesses[0], guesses[1], cluster))
        gold_, first, second, names = (list(column) for column in zip(*rows, strict=True))
        return gold_, first, second, names

    truth = measure_difference(*draw(random.Random(0), 60_000), measure=measure).value
    assert truth is not None
    rng, held, given = random.Random(5), 0, 0
    for _ in range(1000):
        interval = measure_difference(*draw(rng, clusters), measure=measure).ci95
        if interval is not None:
            given += 1
            held += interval[0] <= truth <= interval[1]
    print(f"\n{measure}, {clusters} clusters, errors {errors}: {100 * held / given:.1f} % of {given}")
    assert held / given >= least


@pytest.mark.parametrize(
    ("gold", "predicted", "expected", "why"),
    [
        ([], [], ((None, None, None), 0, 0), "nothing"),
        ([{"Length"}], [{"Length"}], ((1, 1, 1), 1, 0), "a single one"),
        ([{"a"}, {"a", "b"}], [{"a", "b"}, {"a"}], ((0.75, 0.75, 2 / 3), 2, 0), "F1 is no harmonic mean"),
        ([set(), {"a"}], [{"a"}, {"a"}], ((1, 1, 1), 1, 0), "nobody can find what is not there"),
        ([{"a"}, {"b"}], [None, {"a"}], ((0, 0, 0), 1, 1), "no answer is left out, a wrong one counts"),
        ([{"a"}], [set()], ((0, 0, 0), 1, 0), "naming nothing finds nothing"),
        ([set()], [None], ((None, None, None), 0, 0), "an empty row is counted once"),
        ([{"長さ", "文体"}], [{"長さ"}], ((1, 0.5, 2 / 3), 1, 0), "any script"),
    ],
)
def test_sets(gold: list[set[str]], predicted: list[set[str] | None], expected: Any, why: str) -> None:
    found = set_scores(gold, predicted)
    values, n, undecided = expected
    for name, wanted in zip(("precision", "recall", "f1"), values, strict=True):
        assert found[name] == Score(None if wanted is None else pytest.approx(wanted), n, undecided), (why, name)


def test_columns_are_parallel() -> None:
    with pytest.raises(UserError, match="parallel"):
        set_scores([{"a"}], [])
