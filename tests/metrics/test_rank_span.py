from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from truebench_hf.metrics.comparison import paired_difference, unpaired
from truebench_hf.metrics.intervals import wilson
from truebench_hf.metrics.ranks import Entrant, RankSpan, rank_spans
from truebench_hf.types import Score

pytestmark = pytest.mark.filterwarnings("error")
Scores = Mapping[str, Sequence[float | None]]


def entrants(scores: Scores) -> dict[str, Entrant]:
    return {name: Entrant(Score(None, 0), dict(enumerate(column))) for name, column in scores.items()}


def spans(scores: Scores) -> dict[str, str]:
    return {name: str(span) for name, span in rank_spans(entrants(scores)).items()}


def total(share: float, n: int = 1000) -> Entrant:
    return Entrant(Score(share, n, 0, wilson(round(share * n), n)))


def test_models_that_differ_on_little_share_their_places() -> None:
    scores: Scores = {
        "far": [row % 10 < 2 for row in range(200)],
        "알파": [row % 10 < 7 for row in range(200)],
        "beta": [row % 10 < 7 or row in (7, 18) for row in range(200)],
    }
    found = spans(scores)
    assert found == {"far": "3", "알파": "1-2", "beta": "1-2"}
    assert found == spans(dict(reversed(scores.items())))


@pytest.mark.parametrize(
    ("scores", "wanted", "reason"),
    [
        ({}, [], "no models"),
        ({"a": [True]}, ["1"], "one model"),
        ({"a": [True, False] * 50, "b": [True, False] * 50}, ["1-2", "1-2"], "all tied"),
        ({"a": [True] * 2, "b": [False] * 2}, ["1-2", "1-2"], "two instances cannot tell them apart"),
        ({"a": [True] * 6, "b": [False] * 6}, ["1", "2"], "six can, by McNemar: p = 2 / 64"),
        ({"a": [True] * 9, "b": [False] * 4 + [True] * 5}, ["1-2", "1-2"], "four of four cannot: p = 2 / 16"),
        ({"a": [0.9] * 9, "b": [0.1] * 9}, ["1-2", "1-2"], "nine scores between 0 and 1 are not compared"),
        ({"a": [0.9] * 10, "b": [0.1] * 10}, ["1", "2"], "ten are"),
        ({"a": [True, None], "b": [None, False]}, ["1-2", "1-2"], "no instance in common"),
        ({"a": [None], "b": [None]}, ["1-2", "1-2"], "nothing decided"),
        ({"a": [None] * 20, "b": [True] * 20, "c": [False] * 20}, ["1-3", "1-2", "2-3"], "one all undecided"),
    ],
)
def test_edges(scores: Scores, wanted: list[str], reason: str) -> None:
    assert list(spans(scores).values()) == wanted, reason


def test_a_rank_goes_from_the_surely_better_to_the_surely_worse() -> None:
    # Of 200: a is sure of d and e only, b and c lie between, and e is sure to be below all but d.
    passed = {"a": 120, "b": 112, "c": 104, "d": 96, "e": 82}
    scores: Scores = {
        name: random.Random(name).sample([True] * n + [False] * (200 - n), 200) for name, n in passed.items()
    }
    found = rank_spans(entrants(scores))
    for one in scores:
        sure = [paired_difference(scores[one], scores[other]).ahead for other in scores]
        assert found[one] == RankSpan(1 + sure.count(-1), 5 - sure.count(1))
    assert found["a"] == RankSpan(1, 3)
    assert found["e"].last == 5
    assert any(span.first != span.last for span in found.values())


def test_a_clear_order_has_ranks_of_one_place_and_less_may_be_better() -> None:
    scores: Scores = {
        "a": [row < 180 for row in range(200)],
        "b": [row < 100 for row in range(200)],
        "c": [row < 99 for row in range(200)],
        "d": [row < 20 for row in range(200)],
    }
    assert list(spans(scores).values()) == ["1", "2-3", "2-3", "4"]
    found = rank_spans(entrants(scores), ascending=True)
    assert [str(span) for span in found.values()] == ["4", "2-3", "2-3", "1"]


@pytest.mark.parametrize("seed", range(4))
def test_all_pairs_at_once_are_as_two_by_two(seed: int) -> None:
    """Passes and shares, gaps in them, and few instances: the matrices say what single pairs say."""
    rng = np.random.default_rng(seed)
    scores: dict[str, list[float | None]] = {}
    for number in range(24):
        column = rng.random(60) < rng.uniform(0.2, 0.9)
        values = column * 1.0 if number % 3 else np.round(column * rng.random(60) * 4) / 4
        kept = rng.random(60) < (0.15 if number % 4 == 0 else 0.9)
        scores[f"m{number}"] = [float(v) if there else None for v, there in zip(values, kept, strict=True)]
    found = rank_spans(entrants(scores))
    for one in scores:
        pairs = [paired_difference(scores[one], scores[other]) for other in scores]
        sure = [pair.ahead for pair in pairs]
        assert found[one] == RankSpan(1 + sure.count(-1), 24 - sure.count(1)), one
    assert {span.first for span in found.values()} > {1}


def test_totals_alone_are_compared_by_their_intervals_and_marked() -> None:
    found = rank_spans({"a": total(0.69), "b": total(0.60), "c": total(0.59), "d": total(0.2)})
    assert [str(span) for span in found.values()] == ["1", "2-3", "2-3", "4"]
    assert all(span.approximate for span in found.values())
    assert not rank_spans({"a": total(0.69)})["a"].approximate  # nobody it was compared with


def test_a_model_without_results_is_compared_with_all_by_totals() -> None:
    # a and b differ on 30 of 1,000: sure in pairs, not by totals; c has only its total, which lies between.
    a, b = [row < 530 for row in range(1000)], [row < 500 for row in range(1000)]
    made = {
        "a": Entrant(total(0.53).score, dict(enumerate(a))),
        "b": Entrant(total(0.50).score, dict(enumerate(b))),
        "c": total(0.515),
    }
    assert unpaired(made["a"].score, made["b"].score) == 0
    found = rank_spans(made)
    assert [str(span) for span in found.values()] == ["1-2", "2-3", "1-3"]
    assert all(span.approximate for span in found.values())


@pytest.mark.parametrize("fractions", [False, True])
def test_two_hundred_models_of_three_thousand_instances_are_ranked_at_once(fractions: bool) -> None:
    rng = np.random.default_rng(1)
    scores = rng.random((200, 3000)) < np.linspace(0.3, 0.7, 200)[:, None]
    values = scores * rng.choice([0.5, 1.0], scores.shape) if fractions else scores * 1.0
    made = {f"m{number}": Entrant(Score(None, 0), dict(enumerate(row.tolist()))) for number, row in enumerate(values)}
    began = time.process_time()
    found = rank_spans(made)
    assert time.process_time() - began < 10  # a second on two cores
    assert str(found["m199"]).startswith("1-")
    assert found["m0"].last == 200


@pytest.mark.slow
def test_the_true_rank_lies_in_the_span() -> None:
    """Of models whose true order is known the span holds the true place in nearly all samples."""
    rng = np.random.default_rng(3)
    chances = np.array([0.75, 0.7, 0.6, 0.55, 0.4, 0.35])
    held = 0
    for _ in range(500):
        ease = rng.normal(0, 1, 300)
        logits = np.log(chances / (1 - chances))[:, None] + ease
        passed = rng.random((6, 300)) < 1 / (1 + np.exp(-logits))
        found = rank_spans(entrants({str(number): row.tolist() for number, row in enumerate(passed)}))
        held += sum(found[str(n)].first <= n + 1 <= found[str(n)].last for n in range(6))
    assert held / 3000 >= 0.97
