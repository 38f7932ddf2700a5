"""Agreement of verdicts with labels: against scikit-learn, the papers' rows, by hand, and for every shape of a frame."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.worked import check, worked
from truebench_hf.metrics.agreement import (
    MEASURES,
    agreement,
    differences,
    label_agreement,
    measure_difference,
    set_scores,
)
from truebench_hf.metrics.intervals import effective_interval
from truebench_hf.types import Score

pytestmark = pytest.mark.filterwarnings("error")

EVERY = (
    *MEASURES, "accuracy_strict", "macro_f1_strict", "fpr", "fnr", "precision", "f1_yes", "f1_no", "f1_yes_strict", "kappa",
)  # fmt: skip
FLIP = {"yes": "no", "no": "yes"}
CELLS = {"tp": ("yes", "yes"), "fn": ("yes", "no"), "tn": ("no", "no"), "fp": ("no", "yes")}
Y, N, U, X = "yes", "no", "unknown", None


def table(**columns: Sequence[Any]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(list(values), dtype=object) for name, values in columns.items()})


def judged(gold: Sequence[Any], rng: random.Random, error: float) -> list[Any]:
    return [FLIP[label] if rng.random() < error else label for label in gold]


def labels(rng: random.Random, n: int, share: float) -> list[Any]:
    return ["yes" if rng.random() < share else "no" for _ in range(n)]


def width(score: Score) -> float:
    return score.ci95[1] - score.ci95[0]


def cell(gold: Sequence[Any], label: Sequence[Any], cluster: Sequence[Any] | None = None) -> dict[str, Any]:
    return label_agreement(gold, label, cluster, measures=EVERY)


def values(gold: Sequence[Any], label: Sequence[Any]) -> dict[str, Any]:
    """Counts, and the values of the measures."""
    row = cell(gold, label)
    return {name: entry.value if isinstance(entry, Score) else entry for name, entry in row.items()}


def of_counts(**counts: int) -> dict[str, Any]:
    """The measures in percent, as printed, for these counts of cells."""
    rows = [CELLS[name] for name, count in counts.items() for _ in range(count)]
    row = values(*zip(*rows, strict=True))
    return {name: round(100 * row[name], 2) for name in EVERY}


def claude(*counts: int) -> dict[str, Any]:
    return of_counts(**dict(zip(CELLS, counts, strict=True)))


def over(strata: Sequence[str], **columns: Sequence[Any]) -> dict[str, Any]:
    """The measures as means over strata."""
    return agreement(table(**columns, stratum=strata), mean_over="stratum").iloc[0].to_dict()


def of_sets(gold: list[set[str]], predicted: list[set[str] | None]) -> tuple[Any, ...]:
    scores = set_scores(gold, predicted)
    return tuple(scores[name].value for name in ("precision", "recall", "f1")), scores["f1"].n, scores["f1"].unscored


def one_class(accuracy: Any, f1_yes: Any, f1_no: Any, macro_f1: Any, **others: Any) -> dict[str, Any]:
    """What is expected where one class alone is labelled."""
    rest = {"balanced_accuracy": None, "balanced_accuracy_strict": None}
    return {"accuracy": accuracy, "f1_yes": f1_yes, "f1_no": f1_no, "macro_f1": macro_f1, **rest, **others}


@worked(
    # FACTS, Claude 3.5 Sonnet: Table 2, span-level: 344 accurate and 62 inaccurate responses.
    (claude, (267, 77, 49, 13), {"macro_f1": 68.85, "accuracy": 77.83, "fpr": 20.97, "fnr": 22.38, "f1_yes": 85.58,
                                 "f1_no": 52.13}, "FACTS, Table 2"),
    # Request only: 150 ineligible (the positive class) and 300 eligible responses.
    (claude, (56, 94, 251, 49), {"macro_f1": 60.88, "accuracy": 68.22, "fpr": 16.33, "fnr": 62.67, "f1_yes": 43.92,
                                 "f1_no": 77.83}, "FACTS, Table 4"),
    (values, ([Y], [Y]), one_class(1.0, 1.0, None, 1.0, kappa=None), "one row: the no class never occurs"),
    (values, ([Y] * 2, [Y, X]), one_class(1.0, 1.0, None, 1.0, kappa=None), "an undecided row brings in no class"),
    (values, ([Y] * 2, [Y, N]), one_class(1 / 2, 2 / 3, 0.0, 1 / 3), "a wrong prediction brings in the class, with 0"),
    (values, ([Y] * 3, [Y, Y, N]), one_class(2 / 3, 0.8, 0.0, 0.4), "one gold class, predicted no once: F1(-) is 0"),
    (values, ([N] * 2, [Y] * 2), one_class(0.0, 0.0, 0.0, 0.0), "all wrong: both F1 are 0, not undefined"),
    (values, ([N] * 2, [X, X]), one_class(None, None, None, None, kappa=None), "nothing decided"),
    (values, ([X, Y, X], [Y, Y, X]), {"n": 1, "unlabelled": 2, "undecided": 0, "tp": 1, "fp": 0}, "no gold: counted"),
    (values, ([Y, N], [Y, X]), {"balanced_accuracy": None, "balanced_accuracy_strict": 0.5}, "a class all undecided"),
    # Strict: 3 of 4 yes, 1 of 2 no.
    (cell, ([Y, Y, Y, Y, N, N], [Y, Y, Y, X, N, U]), {
        "n": 4, "undecided": 2, "unlabelled": 0, "tp": 3, "tn": 1, "accuracy": {"value": 1.0, "n": 4, "unscored": 2},
        "balanced_accuracy": {"value": 1.0}, "balanced_accuracy_strict": {"value": 5 / 8, "n": 6, "unscored": 2},
        "accuracy_strict": {"value": 4 / 6}, "tpr": {"n": 3, "unscored": 1},
    }, "undecided is left out, and wrong in strict measures only"),
    # Stratum a: 4 rows, all right: 1. Stratum b: yes right and no wrong: 0.5. Pooled (1 + 2/3) / 2.
    (lambda: over(list("aaaabb"), gold=[Y, Y, N, N, Y, N], label=[Y, Y, N, N, Y, Y]), (),
     {"balanced_accuracy": {"value": 0.75}}, "strata count alike whatever their size"),
    (lambda: over(list("aab"), gold=[Y, N, Y], label=[Y, N, Y]), (),
     {"balanced_accuracy": {"value": None, "ci95": None}, "accuracy": {"value": 1}}, "a stratum without a value"),
    (of_sets, ([{"a"}, {"a", "b"}], [{"a", "b"}, {"a"}]), ((0.75, 0.75, 2 / 3), 2, 0), "F1 is no harmonic mean"),
    (of_sets, ([set(), {"a"}], [{"a"}, {"a"}]), ((1, 1, 1), 1, 0), "nobody can find what is not there"),
    (of_sets, ([{"a"}, {"b"}], [None, {"a"}]), ((0, 0, 0), 1, 1), "no answer is left out, a wrong one counts"),
    (of_sets, ([{"a"}], [set()]), ((0, 0, 0), 1, 0), "naming nothing finds nothing"),
    (of_sets, ([set()], [None]), ((None, None, None), 0, 0), "an empty row is counted once"),
)  # fmt: skip
def test_by_hand(call: Callable[..., Any], arguments: Any, expected: Any, why: str) -> None:
    check(call(*arguments), expected, why)


def test_against_scikit_learn() -> None:
    from sklearn import metrics

    rng = random.Random(0)
    gold = rng.choices(["yes", "no"], [3, 1], k=200)
    guess = [label if rng.random() < 0.7 else rng.choice(["yes", "no"]) for label in gold]
    accuracy, balanced = metrics.accuracy_score(gold, guess), metrics.balanced_accuracy_score(gold, guess)
    macro, recall = metrics.f1_score(gold, guess, average="macro"), metrics.recall_score(gold, guess, pos_label="yes")
    f1 = {name: metrics.f1_score(gold, guess, pos_label=name) for name in ("yes", "no")}
    tn, fp, fn, tp = metrics.confusion_matrix(gold, guess, labels=["no", "yes"]).ravel()
    wanted = {
        "accuracy": accuracy, "accuracy_strict": accuracy, "balanced_accuracy": balanced, "balanced_accuracy_strict": balanced,
        "macro_f1": macro, "macro_f1_strict": macro, "tpr": recall, "fnr": 1 - recall, "fpr": fp / (fp + tn),
        "tnr": metrics.recall_score(gold, guess, pos_label="no"), "f1_yes": f1["yes"], "f1_yes_strict": f1["yes"],
        "f1_no": f1["no"], "precision": metrics.precision_score(gold, guess, pos_label="yes"),
        "kappa": metrics.cohen_kappa_score(gold, guess), "tn": int(tn), "fp": int(fp), "fn": int(fn), "tp": int(tp),
    }  # fmt: skip
    check(values(gold, guess), wanted)


def test_strict_macro_f1_takes_undecided_for_the_opposite() -> None:
    rng = random.Random(1)
    gold, guess = rng.choices([Y, N], k=80), rng.choices([Y, N, X], k=80)
    opposite = [FLIP[g] if j is None else j for g, j in zip(gold, guess, strict=True)]
    assert cell(gold, guess)["macro_f1_strict"].value == pytest.approx(cell(gold, opposite)["macro_f1"].value)


@pytest.mark.parametrize("dtype", [object, None, "str", "string", "category"])
@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_label_is_undecided_however_pandas_holds_it(dtype: Any, missing: Any) -> None:
    frame = pd.DataFrame({"gold": [Y, Y, N, missing]})
    frame["label"] = pd.Series([Y, missing, N, U], dtype=dtype)
    (row,) = agreement(frame).itertuples()
    assert (row.n, row.undecided, row.unlabelled, row.tp, row.tn) == (2, 1, 1, 1, 1)


@pytest.mark.parametrize("by", [(), ("judge",), ("judge", "language")])
@pytest.mark.parametrize("mean_over", [None, "category"])
def test_no_rows(by: tuple[str, ...], mean_over: str | None) -> None:
    empty = table(**{name: [] for name in ("cluster", "judge", "language", "category", "gold", "label")})
    result = agreement(empty, by, mean_over=mean_over, measures=EVERY)
    assert list(result) == [*by, "n", "undecided", "unlabelled", "tp", "fn", "tn", "fp", *EVERY]
    assert len(result) == (0 if by else 1)
    assert all(row[name].value is None for _, row in result.iterrows() for name in EVERY)
    assert list(differences(empty.assign(item=[]), by))[: len(by)] == list(by)


def test_groups_of_a_frame() -> None:
    frame = table(gold=[Y] * 4, label=[Y, N, Y, X])
    frame["type"] = pd.Categorical(["b", "a", None, "b"], categories=["c", "b", "a"])
    result = agreement(frame, ["type"])
    assert list(result["type"]) == ["b", "a"], "in the order of categories; rows without one are in no group"
    assert [(type(count), count) for count in result["n"]] == [(int, 1), (int, 1)]
    strata = table(gold=[Y, N], label=[Y, N])
    strata["stratum"] = pd.Categorical(["a", "a"], categories=["a", "absent"])
    assert agreement(strata, mean_over="stratum").iloc[0]["accuracy"].value is None, "a stratum without rows"
    names = ["gold", "label", "(cell)", "Overall"] * 3
    frame = table(gold=[Y] * 12, label=[Y, N] * 6, judge=names, item=range(12))
    result = agreement(frame, ["judge"])
    assert list(result["judge"]) == sorted(set(names)), "names of the data are values and collide with nothing"
    assert agreement(frame.set_index(pd.Index([0] * 12)), ["judge"]).equals(result), "an index that repeats"


def test_a_group_is_what_its_rows_alone_would_be() -> None:
    rng = random.Random(3)
    columns = {name: rng.choices([Y, N, X], k=600) for name in ("gold", "label")}
    frame = table(**columns, cluster=rng.choices(range(30), k=600), judge=rng.choices("ab", k=600))
    for row in agreement(frame, ["judge"], measures=EVERY).to_dict("records"):
        alone = agreement(frame[frame["judge"] == row["judge"]], measures=EVERY).iloc[0]
        assert {name: row[name] for name in EVERY} == alone[list(EVERY)].to_dict()


# Intervals


def test_rows_of_one_cluster_are_no_independent_evidence() -> None:
    # The same 400 rows: 200 instructions of 2 rows, or 10 of 40 rows that are right or wrong together.
    gold = [Y, N] * 200
    predicted = [label if i // 40 % 2 == 0 else FLIP[label] for i, label in enumerate(gold)]
    many, few = (cell(gold, predicted, [i // size for i in range(400)])["balanced_accuracy"] for size in (2, 40))
    assert many.value == few.value == 0.5
    assert width(few) > 3 * width(many)
    # Ten clusters of 0 or 100 %, half of them each: Wilson at n = 9 with Student's t.
    assert few.ci95 == pytest.approx(effective_interval(0.5, 9, 9))


@pytest.mark.parametrize(("clusters", "interval"), [(0, False), (1, False), (2, False), (9, False), (10, True)])
def test_few_clusters_tell_nothing_of_others(clusters: int, interval: bool) -> None:
    row = cell([Y, N] * clusters, [Y, Y] * clusters, [i // 2 for i in range(2 * clusters)])
    assert row["balanced_accuracy"].value == (0.5 if clusters else None)
    assert [row[name].ci95 is not None for name in ("balanced_accuracy", "kappa")] == [interval] * 2


def test_a_perfect_judge_is_not_certain() -> None:
    names, columns = [i // 2 for i in range(20)], {"gold": [Y, N] * 10, "label": [Y, N] * 10}
    row = cell(**columns, cluster=names)
    assert [row[name].ci95 for name in MEASURES] == [(pytest.approx(0.66149, abs=1e-5), 1.0)] * len(MEASURES)
    assert row["kappa"].ci95 == (pytest.approx(2 * 0.66149 - 1, abs=1e-4), 1.0), "all draws agree; agreement tells"
    strata = over([f"half {i // 10}" for i in range(20)], **columns, cluster=names)
    assert strata["accuracy"].ci95 == (pytest.approx(0.65284, abs=1e-5), 1.0), "8 degrees of freedom for two strata"


@pytest.mark.parametrize(
    ("clusters", "interval", "reason"),
    [(1, False, "one cluster has no spread"), (2, False, "two may agree by chance"), (3, True, "three tell a little")],
)
def test_a_class_in_few_clusters_has_no_interval(clusters: int, interval: bool, reason: str) -> None:
    # The judge says no more often than that, so that macro F1 of "no" has rows in five clusters.
    gold, predicted = [Y] * (12 - clusters) + [N] * clusters, [Y] * 7 + [N] * 5
    row = cell(gold, predicted)
    for name in ("balanced_accuracy", "balanced_accuracy_strict", "macro_f1"):
        assert (row[name].ci95 is not None) is interval, (name, reason)
    assert (row["tnr"].ci95, row["accuracy"].ci95 is not None) == (None, True)
    twice = over(["a"] * 12 + ["b"] * 12, gold=gold * 2, label=predicted * 2)
    assert (twice["macro_f1"].ci95 is not None) is interval, "each of two strata counts for itself"


def test_a_class_that_does_not_occur_leaves_macro_f1_of_the_other_its_interval() -> None:
    assert cell([Y] * 12, [Y] * 12)["macro_f1"].ci95 is not None
    assert cell([Y] * 12, [Y] * 11 + [N])["macro_f1"].ci95 is None


# Two judges


def test_a_difference_is_that_of_the_measures_and_reaches_as_far_as_a_bootstrap() -> None:
    rng, generator = random.Random(1), np.random.default_rng(0)
    gold = labels(rng, 400, 0.85)
    first, second = judged(gold, rng, 0.1), judged(gold, rng, 0.2)
    names = ("macro_f1", "balanced_accuracy", "accuracy")
    gaps = []
    for rows in [range(400), *(generator.integers(0, 400, 400) for _ in range(50))]:
        truth = [gold[r] for r in rows]
        ours, theirs = (label_agreement(truth, [c[r] for r in rows], measures=names) for c in (first, second))
        gaps.append([ours[name].value - theirs[name].value for name in names])
    for place, name in enumerate(names):
        gap = measure_difference(gold, first, second, range(400), measure=name)
        assert gap.value == pytest.approx(gaps[0][place])
        assert gap.ci95 == pytest.approx(np.percentile([row[place] for row in gaps[1:]], [2.5, 97.5]), abs=0.03)


def test_dependent_rows_widen_the_interval_and_few_groups_have_none() -> None:
    rng = random.Random(2)
    gold = labels(rng, 50, 0.7)
    first, second = judged(gold, rng, 0.1), judged(gold, rng, 0.3)
    alone = measure_difference(gold, first, second, range(50)).ci95
    again = measure_difference(gold * 4, first * 4, second * 4, [row % 50 for row in range(200)]).ci95
    assert again == pytest.approx(alone), "the same answer four times tells nothing new"
    assert measure_difference(gold, first, second, [row % 9 for row in range(50)]).ci95 is None
    assert measure_difference([Y] * 50, first, second, range(50)).ci95 is None, "one class only"
    assert measure_difference([Y] * 50, first, second, range(50), measure="accuracy").ci95 is not None


def test_differences_pair_the_items_that_both_judges_have() -> None:
    gold = [Y, N] * 20
    judges = [
        table(item=range(40), gold=gold, label=gold, judge=["right"] * 40),
        table(item=range(39, -1, -1), gold=gold[::-1], label=[Y] * 40, judge=["lenient"] * 40),
        table(item=range(10), gold=gold[:10], label=[X] * 10, judge=["silent"] * 10),
    ]
    gaps = differences(pd.concat(judges), measures=("accuracy",)).set_index(["first", "second"])["accuracy"]
    assert list(gaps.index) == [("right", "lenient"), ("right", "silent"), ("lenient", "silent")]
    check(gaps["right", "lenient"], {"value": 0.5, "n": 40, "ahead": 1})
    check(gaps["right", "silent"], {"value": 1.0, "n": 10}, "undecided is wrong")
