"""Raters among themselves: kappa and alpha, what a panel is worth, and what is chosen on some rows and measured on others."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.worked import check, worked
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.calibration import best_threshold
from truebench_hf.metrics.choosing import choose, first_half, halved_kappa
from truebench_hf.metrics.comparison import panel_worth
from truebench_hf.metrics.kappa import cohen_kappa, fleiss_kappa, krippendorff_alpha, verbal_band
from truebench_hf.metrics.pass_rate import joint_mean
from truebench_hf.types import Score

pytestmark = pytest.mark.filterwarnings("error")

T, F, X = "yes", "no", None


def alpha_ends(rows: Any, clusters: Any = None) -> Any:
    return krippendorff_alpha(rows, "ordinal", clusters=range(len(rows)) if clusters is None else clusters).ci95


def kappa_ends(first: Any, second: Any) -> Any:
    return cohen_kappa(first, second, range(len(first))).ci95


def best_cut(scores: Any, labels: Any) -> Any:
    return best_threshold(scores, labels, "kappa")


@worked(
    (verbal_band, (-0.3,), "slight", "the paper's lowest band has no lower end"),
    (verbal_band, (0.204,), "slight", "prints as 0.20"),
    (verbal_band, (0.40,), "fair", "its upper end"),
    (verbal_band, (0.80,), "substantial", "upper end"),
    (verbal_band, (0.81,), "almost perfect", "lower end"),
    # 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: observed 0.7, by chance 0.5 x 0.6 + 0.5 x 0.4 = 0.5.
    (cohen_kappa, ([T] * 25 + [F] * 25, [T] * 20 + [F] * 5 + [T] * 10 + [F] * 15), Score(0.4, 50), "four cells"),
    (cohen_kappa, ([T], [T]), {"value": None}, "one label in use: chance agreement is 1 as well"),
    (cohen_kappa, (["a", "b"], ["a", "b"]), {"value": 1.0}, "perfect"),
    (cohen_kappa, (["a", "b"], ["b", "a"]), {"value": -1.0}, "opposite, chance is one half"),
    (cohen_kappa, ([1, "one"], [1, "one"]), {"value": 1.0}, "labels that cannot be sorted"),
    (cohen_kappa, (["a", "b", X, "a"], ["a", "b", "a", X]), Score(1.0, 2, 2), "missing ratings are left out, counted"),
    (kappa_ends, ([], []), None, "nothing"),
    (kappa_ends, (["a"] * 30, ["a"] * 30), None, "one label only"),
    (kappa_ends, ([X, "b"] * 9, ["a", "b"] * 9), None, "nine clusters with both, and one label among them"),
    # Items agree fully and not at all: mean 0.5; shares 0.75 and 0.25 agree by chance at 0.625.
    (fleiss_kappa, ([[T, T], [T, F]],), Score((0.5 - 0.625) / 0.375, 2), "two items"),
    (fleiss_kappa, ([[T], [F]],), Score(None, 0, 2), "one rating an item: nothing to agree with"),
    (fleiss_kappa, ([[X, X]],), Score(None, 0, 1), "no ratings"),
    (fleiss_kappa, ([[T, T]] * 3,), Score(None, 3), "all one label"),
    (fleiss_kappa, ([[T, T], [F, F], [F, X]],), Score(1.0, 2, 1), "an item with a missing rating is left out"),
    (fleiss_kappa, ([[T, T, X], [F, F, X]],), Score(1.0, 2), "a rater who never rated is no rater"),
    # Ten items, two raters: 4 of 10 differ, 14 zeros and 6 ones.
    (krippendorff_alpha, (list(zip([0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0], strict=True)),),
     {"value": 1 - 19 * 4 / (14 * 6)}, "nominal"),
    # Counts 3, 2, 1 of grades 1, 2, 3; squared distances 6.25 (1-2), 2.25 (2-3), 16 (1-3);
    # observed 2 x 16 = 32, expected 2 x (6 x 6.25 + 2 x 2.25 + 3 x 16) / 5 = 36.
    (krippendorff_alpha, ([[1, 1], [2, 2], [1, 3]], "ordinal"), {"value": 1 - 32 / 36}, "ordinal"),
    (krippendorff_alpha, ([],), Score(None, 0), "no items"),
    (krippendorff_alpha, ([[T], [F]],), Score(None, 0, 2), "no item has two ratings"),
    (krippendorff_alpha, ([[T, T], [T, T]],), Score(None, 2), "one label only"),
    (krippendorff_alpha, ([[T, T], [F, X]],), Score(None, 1, 1), "the second label stands where nothing is compared"),
    (krippendorff_alpha, ([[T, T], [F, F], [F, float("nan")]],), Score(1.0, 2, 1), "NaN is a missing rating"),
    (krippendorff_alpha, ([[T, F]],), Score(0.0, 1), "one item, two labels: no worse than chance"),
    (alpha_ends, ([],), None, "nothing"),
    (alpha_ends, ([[1, 2]],), None, "a single item"),
    (alpha_ends, ([[3, 3]] * 20,), None, "one label alone"),
    (alpha_ends, ([[1, X], [X, 2]] * 20,), None, "nothing to compare"),
    (alpha_ends, ([[1, 2, 3]] * 9,), None, "nine clusters tell too little"),
    (best_cut, ([1, 2, 3, 4], [F, F, T, T]), (2.5, 1.0), "a clean cut"),
    (best_cut, ([4, 6, 6, 9], [F, F, T, T]), (5.0, 0.5), "5 and 7.5 are as good: of an even number the lower"),
    (best_cut, ([1, 3, 5, 7], [T, F, F, T]), (6.0, 0.5), "three of four right, half of it by chance"),
    (best_cut, ([9, 9, 9], [F, T, T]), (9.0, 0.0), "a judge that saturates: all pass, which agrees by chance only"),
    (best_cut, ([1, 2, 3, 4], [T, T, F, F]), (1.0, 0.0), "the wrong way round: nothing beats letting all pass"),
    (best_cut, ([1, X, 3, 4], [F, F, T, X]), (2.0, 1.0), "what is open on either side is left out"),
    (best_cut, ([1, 2], [T, T]), None, "one label only"),
    (best_cut, ([X, 2], [T, F]), None, "one label only among those with a score"),
    (best_cut, ([], []), None, "nothing"),
    # On the first half the cut of the second (5, kappa 0.5 there) is clean; on the second 5 lets one too many pass.
    (halved_kappa, ([1, 2, 8, 9, 4, 6, 6, 9], [F, F, T, T, F, F, T, T], list("aabbccdd"), {"a", "b"}),
     ({"threshold": 5.0, "chosen_at": 0.5, "kappa": Score(1.0, 4)},
      {"threshold": 5.0, "chosen_at": 1.0, "kappa": Score(0.5, 4)}), "both directions"),
    (choose, ([], {"a": []}, []), {"best": "a", "held_out": (), "lead": {"ahead": 0}}, "nothing labelled"),
    (choose, ([T], {"a": [T]}, [0]), {"best": "a", "held_out": (None,)}, "a single row has no other fold"),
    (choose, ([T, F], {"a": [T, F]}, [0, 0]), {"best": "a", "held_out": (None, None)}, "nor has a single group"),
    (choose, ([T, F], {"a": [X, X], "b": [T, X]}, [0, 1]), {"best": "b", "lead": {"ahead": 0}}, "two groups"),
    (choose, ([T], {}, [0]), None, "no candidates"),
    (choose, ([T, F] * 10, {"one": [T, F] * 10, "two": [T, F] * 10}, range(20)),
     {"best": "one", "runner_up": "two", "lead": {"value": 0.0, "ci95": (0.0, 0.0), "ahead": 0}}, "of equals the first"),
)  # fmt: skip
def test_by_hand(call: Callable[..., Any], arguments: Any, expected: Any, why: str) -> None:
    check(call(*arguments), expected, why)


def test_against_the_libraries() -> None:
    import krippendorff
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats import inter_rater

    rng = random.Random(3)
    first = [rng.choice("abc") for _ in range(300)]
    second = [label if rng.random() < 0.5 else rng.choice("abc") for label in first]
    assert cohen_kappa(first, second).value == pytest.approx(cohen_kappa_score(first, second))
    ratings = [[rng.choice("xyz") for _ in range(4)] for _ in range(60)]
    assert fleiss_kappa(ratings).value == pytest.approx(
        inter_rater.fleiss_kappa(inter_rater.aggregate_raters(ratings)[0])
    )
    for level in ("nominal", "ordinal"):
        grades: Any = [[rng.choice([1, 2, 3, 4, 5, None]) for _ in range(3)] for _ in range(80)]
        wanted = krippendorff.alpha(np.array(grades, dtype=float).T, level_of_measurement=level)
        assert krippendorff_alpha(grades, level).value == pytest.approx(wanted)


def test_intervals_of_kappa() -> None:
    draw, widths = random.Random(3), []
    for n in (12, 60, 400):
        gold = [draw.random() < 0.4 for _ in range(n * 5)]
        kappa = cohen_kappa(gold, [label != (draw.random() < 0.2) for label in gold], [i // 5 for i in range(n * 5)])
        assert -1 <= kappa.ci95[0] < kappa.value < kappa.ci95[1] <= 1
        widths.append(kappa.ci95[1] - kappa.ci95[0])
    assert widths == sorted(widths, reverse=True)
    low, high = kappa_ends([True, False] * 10, [True, False] * 10)
    assert high == 1
    assert 0.4 < low < 0.9, "all draws agree; what few instances can tell does not"
    assert kappa_ends(["pass"] * 11 + ["fail"], ["pass"] * 11 + ["fail"])[1] == 1, "draws of one label are passed over"
    rows = [(draw.random() < 0.5, draw.random() < 0.7) for _ in range(20) for _ in range(5)][::5]
    first = [label for label, _ in rows for _ in range(5)]
    second = [label == right for label, right in rows for _ in range(5)]
    together, alone = cohen_kappa(first, second, [i // 5 for i in range(100)]).ci95, kappa_ends(first, second)
    assert together[1] - together[0] > 1.5 * (alone[1] - alone[0]), "responses of an instance go together"


def grades(items: int, noise: float, seed: int) -> list[list[int]]:
    """Three raters each: a true grade from 1 to 5, with a chance of another one instead."""
    draw = random.Random(seed)
    truth = [draw.randint(1, 5) for _ in range(items)]
    return [[draw.randint(1, 5) if draw.random() < noise else grade for _ in range(3)] for grade in truth]


def test_intervals_of_alpha() -> None:
    rows = grades(160, 0.5, 1)
    low, high = alpha_ends(rows)
    few = alpha_ends(rows[:40])
    assert low < krippendorff_alpha(rows, "ordinal").value < high
    assert high - low < 0.75 * (few[1] - few[0])
    rows = grades(20, 0.5, 2)
    alone, doubled = alpha_ends(rows), alpha_ends(rows * 2, [*range(20)] * 2)
    assert doubled[1] - doubled[0] == pytest.approx(alone[1] - alone[0], abs=0.06), "the same items again tell nothing"


# Panels


def panel(errors: Any, gold: Any, clusters: Any = None) -> pd.DataFrame:
    """A frame of judges (columns of `errors`: 1 wrong, 0 right, NaN undecided) on rubrics with these labels."""
    places, rows = np.arange(len(gold)) if clusters is None else np.asarray(clusters), []
    for judge, column in enumerate(np.asarray(errors, dtype=float).T):
        for item, error in enumerate(column):
            label = None if np.isnan(error) else "yes" if bool(gold[item]) != bool(error) else "no"
            rows.append((f"judge {judge}", f"r{item}", f"i{places[item]}", "yes" if gold[item] else "no", label))
    return pd.DataFrame(rows, columns=["judge", "item", "cluster", "gold", "label"], dtype=object)


def worth(frame: pd.DataFrame) -> Any:
    result = panel_worth(frame)
    return result and SimpleNamespace(**result[0], members=result[1])


def ahead(gain: Score) -> int:
    low, high = gain.ci95 or (0, 0)
    return (low > 0) - (high < 0)


def planted(rows: int, rates: tuple[float, ...], shared: float) -> pd.DataFrame:
    """Judges that err at these rates; with the chance `shared` each takes the one draw that all have in common.

    Two judges share a draw with the chance shared ** 2: that is the correlation of equally good ones.
    """
    random = np.random.default_rng(0)
    common = random.random(rows)
    errors = [np.where(random.random(rows) < shared, common, random.random(rows)) < rate for rate in rates]
    return panel(np.array(errors).T, random.random(rows) < 0.5)


@worked(
    (worth, (panel(np.zeros((20, 2)), [1, 0] * 10),), None, "two judges have no majority"),
    (worth, (panel(np.zeros((20, 3)), [1] * 20),), None, "one label only"),
    (worth, (panel(np.zeros((0, 3)), []),), None, "no rubrics"),
    (worth, (panel([[0, 0, 1], [1, 1, 0]], [1, 0]),), {"balanced_accuracy": 0.5, "n": 2, "gain": {"ci95": None}},
     "two of three right, two of three wrong; two clusters give no interval"),
    (worth, (panel([[0, 1, None], [0, 0, 0]], [1, 0]),), {"balanced_accuracy": 0.75}, "a tie of the votes is half right"),
    (worth, (panel([[None, None, None], [0, 0, 0]], [1, 0]),), {"balanced_accuracy": 0.5, "votes": {"ci95": None}},
     "nobody votes: wrong"),
    (worth, (panel([[1, 0, 0]] + [[0, 0, 0]] * 39, [1, 0] * 20),), {"votes": {"value": None, "n": 40}}, "never together"),
)  # fmt: skip
def test_a_panel_by_hand(call: Callable[..., Any], arguments: Any, expected: Any, why: str) -> None:
    check(call(*arguments), expected, why)


@pytest.mark.parametrize(
    ("judges", "shared", "why"),
    [
        (3, 0.0, "independent judges are worth as many votes as there are"),
        (5, 0.5, "some errors in common"),
        (4, 1.0, "one judge four times"),
    ],
)
def test_the_planted_number_of_votes_is_found(judges: int, shared: float, why: str) -> None:
    truth = judges / (1 + (judges - 1) * shared**2)
    votes = worth(planted(1000, (0.25,) * judges, shared)).votes
    assert votes.value == pytest.approx(truth, abs=0.3), why
    assert votes.ci95[0] - 1e-9 <= truth <= votes.ci95[1] + 1e-9, why


def test_what_a_panel_gains_and_who_spoils_it() -> None:
    random = np.random.default_rng(3)
    gold = random.random(900) < 0.5
    weak = worth(panel(random.random((900, 3)) < np.where(gold, 0.05, 0.4)[:, None], gold))
    assert weak.votes.value == pytest.approx(3, abs=0.2), "a weakness of all for one label is no correlation"
    free, same = worth(planted(400, (0.25,) * 5, 0.0)), worth(planted(400, (0.25,) * 5, 1.0))
    assert ahead(free.gain) == 1
    assert free.balanced_accuracy > max(member["balanced_accuracy"] for member in free.members)
    assert (same.gain.value, ahead(same.gain)) == (0.0, 0)
    assert same.gain.ci95[0] < 0 < same.gain.ci95[1], "judges that never differed here may differ elsewhere"
    errors = random.random((500, 5)) < np.array([0.1, 0.15, 0.15, 0.95, 0.9])
    spoilt = worth(panel(errors, gold[:500]))
    assert (spoilt.best, ahead(spoilt.gain), spoilt.leave_out) == ("judge 0", -1, "judge 3")


def test_rubrics_that_a_judge_lacks_or_nobody_labelled_are_left_out() -> None:
    frame = planted(60, (0.2, 0.3, 0.3), 0.3)
    frame.loc[frame["item"] == "r5", "gold"] = None
    second = frame["judge"] == "judge 1"
    assert worth(frame.drop(frame[(frame["item"] == "r3") & second].index)).n == 58
    frame.loc[second, "label"] = None
    check(worth(frame), {"n": 59, "votes": {"value": None, "n": 0, "unscored": 59}}, "none is decided by all")


# What is chosen on some rows and measured on others


def test_the_best_is_chosen_and_measured_on_rows_without_a_say() -> None:
    rng = random.Random(0)
    gold = [T if rng.random() < 0.8 else F for _ in range(200)]
    bad, good = ([label if rng.random() > error else {T: F, F: T}[label] for label in gold] for error in (0.4, 0.05))
    silent = [label if rng.random() < 0.1 else None for label in gold]
    choice = choose(gold, {"bad": bad, "good": good, "silent": silent}, range(200))
    # What is silent on all hard rows is right wherever it speaks, and still not chosen.
    assert label_agreement(gold, silent)["macro_f1"].value == 1.0
    assert (choice.best, choice.runner_up, choice.lead.ahead, choice.won) == ("good", "bad", 1, {"good": 5})
    assert list(choice.held_out) == good


def test_rows_of_one_group_are_never_in_both_parts() -> None:
    """A candidate that is right about one document only, in all its answers, cannot win the fold that holds it."""
    gold, groups = [T, F] * 30, [row // 6 for row in range(60)]
    lucky = [gold[row] if groups[row] == 3 else T for row in range(60)]
    steady = [F if row in (1, 31) else T for row in range(60)]
    choice = choose(gold, {"lucky": lucky, "steady": steady}, groups, folds=10)
    assert choice.best == "lucky"
    assert [choice.held_out[row] for row in range(60) if groups[row] == 3] == steady[18:24]


def test_a_threshold_fitted_on_noise_is_worth_nothing_on_the_other_half() -> None:
    """On the rows it is chosen on the best cut through noise always looks better than chance."""
    draw = random.Random(1)
    chosen, measured = [], []
    for _ in range(25):
        scores, labels = [draw.randint(1, 10) for _ in range(40)], [draw.choice([T, F]) for _ in range(40)]
        halves = halved_kappa(scores, labels, range(40), set(range(20)))
        chosen += [half.chosen_at for half in halves if half.chosen_at is not None]
        measured.append(joint_mean([half.kappa for half in halves]).value or 0.0)
    assert np.mean(chosen) > 0.15
    assert abs(np.mean(measured)) < 0.06


@pytest.mark.parametrize("labels", [[F, F, T, F], [F, T, None, None]], ids=["fails alone", "nothing is known"])
def test_a_half_without_a_threshold_leaves_the_mean_open_with_a_reason(labels: list[Any]) -> None:
    halves = halved_kappa([1, 2, 3, 4], labels, "abcd", {"a", "b"})
    assert joint_mean([half.kappa for half in halves]).value is None
    reasons = [half.reason for half in halves if half.kappa.value is None]
    assert reasons
    assert all(reasons)


def test_rows_of_one_instance_are_never_divided_and_order_does_not_matter() -> None:
    groups = [f"i{n}" for n in range(31)]
    half = first_half(groups * 5, 3)
    assert len(half) == 16
    assert half == first_half(list(reversed(groups)), 3) != first_half(groups, 4)
    assert first_half([]) == frozenset()
    assert len(first_half(["1", 1, 2])) == 2, "instances may be named by texts and numbers"
