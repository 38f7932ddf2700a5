"""What is chosen on some rows and measured on others: the best of several judges, and thresholds."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.binary import Label
from truebench_hf.metrics.calibration import best_threshold
from truebench_hf.metrics.choosing import choose, first_half, halved_kappa
from truebench_hf.metrics.pass_rate import joint_mean
from truebench_hf.types import Score

pytestmark = pytest.mark.filterwarnings("error")


def judged(gold: Sequence[Label], rng: random.Random, error: float, undecided: float = 0.0) -> list[Label]:
    flip: dict[Label, Label] = {"yes": "no", "no": "yes"}
    drawn = [flip[label] if rng.random() < error else label for label in gold]
    return [None if rng.random() < undecided else label for label in drawn]


def test_the_best_is_chosen_and_measured_on_rows_without_a_say() -> None:
    rng = random.Random(0)
    gold: list[Label] = ["yes" if rng.random() < 0.8 else "no" for _ in range(200)]
    candidates = {"bad": judged(gold, rng, 0.4), "good": judged(gold, rng, 0.05), "silent": judged(gold, rng, 0.0, 0.9)}
    found = choose(gold, candidates, range(200))
    assert found is not None
    # What is silent on all hard rows is right wherever it speaks, and still not chosen.
    assert label_agreement(gold, candidates["silent"])["macro_f1"].value == 1.0
    assert (found.best, found.runner_up, found.lead.ahead) == ("good", "bad", 1)
    assert found.won == {"good": 5}
    assert list(found.held_out) == candidates["good"]


def test_equals_go_to_the_first_and_are_never_told_apart() -> None:
    gold: list[Label] = ["yes", "no"] * 10
    found = choose(gold, {"one": gold, "two": list(gold)}, range(20))
    assert (found.best, found.runner_up) == ("one", "two")
    assert (found.lead.value, found.lead.ci95, found.lead.ahead) == (0.0, (0.0, 0.0), 0)


@pytest.mark.parametrize(
    ("gold", "candidates", "groups", "best", "held_out"),
    [
        ([], {"a": []}, [], "a", ()),  # nothing labelled
        (["yes"], {"a": ["yes"]}, [0], "a", (None,)),  # a single row has no other fold
        (["yes", "no"], {"a": ["yes", "no"]}, [0, 0], "a", (None, None)),  # nor has a single group
        (["yes", "no"], {"a": [None, None], "b": ["yes", None]}, [0, 1], "b", ("yes", None)),
    ],
)
def test_small_cases(
    gold: list[Label], candidates: dict[str, list[Label]], groups: list[int], best: str, held_out: tuple[Label, ...]
) -> None:
    found = choose(gold, candidates, groups)
    assert found.best == best
    if len(set(groups)) < 2:
        assert found.held_out == held_out
    assert found.lead.ahead == 0


def test_no_candidates_and_unequal_columns() -> None:
    assert choose(["yes"], {}, [0]) is None
    with pytest.raises(UserError, match="parallel"):
        choose(["yes"], {"a": ["yes", "no"]}, [0])


def test_rows_of_one_group_are_never_in_both_parts() -> None:
    """A candidate that is right about one document only, in all its answers, cannot win the fold that holds it."""
    gold: list[Label] = ["yes", "no"] * 30
    groups = [row // 6 for row in range(60)]
    lucky: list[Label] = [gold[row] if groups[row] == 3 else "yes" for row in range(60)]
    steady: list[Label] = ["no" if row in (1, 31) else "yes" for row in range(60)]
    found = choose(gold, {"lucky": lucky, "steady": steady}, groups, folds=10)
    assert found.best == "lucky"
    assert [found.held_out[row] for row in range(60) if groups[row] == 3] == steady[18:24]


T, F = "yes", "no"


@pytest.mark.parametrize(
    ("scores", "labels", "found", "why"),
    [
        ([1, 2, 3, 4], [F, F, T, T], (2.5, 1.0), "a clean cut"),
        (
            [4, 6, 6, 9],
            [F, F, T, T],
            (5.0, 0.5),
            "two as good, 5 and 7.5: the middle one of an even number is the lower",
        ),
        ([1, 3, 5, 7], [T, F, F, T], (6.0, 0.5), "three of four right, half of it by chance"),
        ([9, 9, 9], [F, T, T], (9.0, 0.0), "a judge that saturates: all pass, which agrees by chance only"),
        ([1, 2, 3, 4], [T, T, F, F], (1.0, 0.0), "the wrong way round: nothing is better than to let all pass"),
        ([1, None, 3, 4], [F, F, T, None], (2.0, 1.0), "what is open on either side is left out"),
        ([1, 2], [T, T], None, "one label only"),
        ([None, 2], [T, F], None, "one label only among those with a score"),
        ([], [], None, "nothing"),
    ],
)
def test_the_best_threshold(
    scores: list[float | None], labels: list[Label], found: tuple[float, float] | None, why: str
) -> None:
    assert best_threshold(scores, labels, "kappa") == found, why


def test_both_directions_by_hand() -> None:
    scores = [1, 2, 8, 9, 4, 6, 6, 9]
    labels = [F, F, T, T, F, F, T, T]
    found = halved_kappa(scores, labels, ["a", "a", "b", "b", "c", "c", "d", "d"], {"a", "b"})
    first, second = found
    # On the first half the cut of the second (5, kappa 0.5 there) is clean; on the second 5 lets one too many pass.
    assert (first.threshold, first.chosen_at, first.kappa) == (5.0, 0.5, Score(1.0, 4))
    assert (second.threshold, second.chosen_at, second.kappa) == (5.0, 1.0, Score(0.5, 4))
    mean = joint_mean([first.kappa, second.kappa])
    assert mean.value == 0.75
    assert mean.ci95 is None, "two instances in a half tell nothing of how far instances differ"


def test_a_threshold_fitted_on_noise_is_worth_nothing_on_the_other_half() -> None:
    """On the rows it is chosen on the best cut through noise always looks better than chance."""
    draw = random.Random(1)
    seen, measured = [], []
    for _ in range(25):
        scores, labels = [draw.randint(1, 10) for _ in range(40)], [draw.choice([T, F]) for _ in range(40)]
        found = halved_kappa(scores, labels, range(40), set(range(20)))
        seen += [one.chosen_at for one in found if one.chosen_at is not None]
        measured.append(joint_mean([one.kappa for one in found]).value or 0.0)
    assert np.mean(seen) > 0.15
    assert abs(np.mean(measured)) < 0.06


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ([F, F, T, F], "the first half has fails alone: none can be chosen there"),
        ([F, T, None, None], "nothing is known of the second half"),
    ],
)
def test_a_half_without_a_threshold_leaves_the_mean_open(labels: list[Label], why: str) -> None:
    found = halved_kappa([1, 2, 3, 4], labels, "abcd", {"a", "b"})
    assert joint_mean([one.kappa for one in found]).value is None, why
    assert all(one.reason for one in found if one.kappa.value is None), why
    assert any(one.kappa.value is None for one in found), why


def test_rows_of_one_instance_are_never_divided_and_order_does_not_matter() -> None:
    groups = [f"i{n}" for n in range(31)]
    half = first_half(groups * 5, 3)
    assert len(half) == 16
    assert half == first_half(list(reversed(groups)), 3)
    assert half != first_half(groups, 4)
    assert first_half([]) == frozenset()
    assert len(first_half(["1", 1, 2])) == 2, "instances may be named by texts and numbers"


def test_the_interval_of_the_mean_by_hand() -> None:
    mean = joint_mean([Score(0.5, 20, 1, (0.3, 0.7)), Score(0.7, 20, 2, (0.4, 0.9))])
    assert (mean.value, mean.n, mean.unscored) == (0.6, 40, 3)
    assert mean.ci95 == pytest.approx((0.6 - (0.04 + 0.09) ** 0.5 / 2, 0.6 + (0.04 + 0.04) ** 0.5 / 2))
    assert joint_mean([Score(0.5, 20, 0, (0.3, 0.7)), Score(0.7, 20)]).ci95 is None
    assert joint_mean([Score(None, 20), Score(0.7, 20, 0, (0.4, 0.9))]).ci95 is None


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(UserError, match="parallel"):
        halved_kappa([1, 2], [T], ["a", "b"], {"a"})


@pytest.mark.slow
def test_the_interval_of_the_mean_covers() -> None:
    """30 instances by 5 responses, as in the paper: what the thresholds found are worth on endless new instances."""
    from sklearn.metrics import cohen_kappa_score

    draw, hits, n, instances = np.random.default_rng(7), 0, 150, 30

    def sample(count: int) -> tuple[np.ndarray, np.ndarray]:
        hard = draw.normal(0, 1, (count, 1))
        worth = hard + draw.normal(0, 1, (count, 5))
        scores = np.clip(np.round(6 + 2 * worth + draw.normal(0, 2, (count, 5))), 1, 10)
        return scores, worth > 0

    endless = sample(6000)
    for _ in range(n):
        scores, labels = sample(instances)
        groups = np.repeat(np.arange(instances), 5).tolist()
        found = halved_kappa(
            scores.ravel().tolist(), np.where(labels.ravel(), T, F).tolist(), groups, set(range(instances // 2))
        )
        worths = [cohen_kappa_score(endless[0].ravel() >= one.threshold, endless[1].ravel()) for one in found]
        ends = joint_mean([one.kappa for one in found]).ci95
        assert ends is not None
        hits += ends[0] <= sum(worths) / 2 <= ends[1]
    assert 0.92 <= hits / n <= 1.0
