from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.binary import Label
from truebench_hf.metrics.choosing import Lead, choose, macro_f1_lead, strict

pytestmark = pytest.mark.filterwarnings("error")


def judged(gold: Sequence[Label], rng: random.Random, error: float, undecided: float = 0.0) -> list[Label]:
    flip: dict[Label, Label] = {"yes": "no", "no": "yes"}
    drawn = [flip[label] if rng.random() < error else label for label in gold]
    return [None if rng.random() < undecided else label for label in drawn]


def test_undecided_is_wrong_when_strict() -> None:
    gold: list[Label] = ["yes", "no", None, "yes", "no"]
    assert strict(gold, [None, "unknown", None, "no", "no"]) == ["no", "yes", None, "no", "no"]


def test_the_best_is_chosen_and_measured_on_rows_without_a_say() -> None:
    rng = random.Random(0)
    gold: list[Label] = ["yes" if rng.random() < 0.8 else "no" for _ in range(200)]
    candidates = {"bad": judged(gold, rng, 0.4), "good": judged(gold, rng, 0.05), "silent": judged(gold, rng, 0.0, 0.9)}
    found = choose(gold, candidates, range(200))
    assert found is not None
    # What is silent on all hard rows is right wherever it speaks, and still not chosen.
    assert agreement(gold, candidates["silent"]).macro_f1 == 1.0
    assert (found.best, found.runner_up, found.lead.sure) == ("good", "bad", True)
    assert found.won == {"good": 5}
    assert list(found.held_out) == candidates["good"]


def test_equals_go_to_the_first_and_are_never_told_apart() -> None:
    gold: list[Label] = ["yes", "no"] * 10
    found = choose(gold, {"one": gold, "two": list(gold)}, range(20))
    assert found is not None
    assert (found.best, found.runner_up) == ("one", "two")
    assert found.lead == Lead(0.0, (0.0, 0.0))
    assert not found.lead.sure


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
    assert found is not None
    assert found.best == best
    if len(set(groups)) < 2:
        assert found.held_out == held_out
    assert not found.lead.sure


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
    assert found is not None
    assert found.best == "lucky"
    assert [found.held_out[row] for row in range(60) if groups[row] == 3] == steady[18:24]


def test_the_lead_is_the_difference_and_its_reach_that_of_a_bootstrap() -> None:
    rng = random.Random(1)
    gold: list[Label] = ["yes" if rng.random() < 0.85 else "no" for _ in range(400)]
    first, second = judged(gold, rng, 0.1), judged(gold, rng, 0.2)
    found = macro_f1_lead(gold, first, second, range(400))
    expected = [agreement(gold, column).macro_f1 or 0 for column in (first, second)]
    assert found.difference == pytest.approx(expected[0] - expected[1])
    generator, gaps = np.random.default_rng(0), []
    for _ in range(400):
        rows = generator.integers(0, 400, 400)
        pair = [agreement([gold[r] for r in rows], [c[r] for r in rows]).macro_f1 or 0 for c in (first, second)]
        gaps.append(pair[0] - pair[1])
    assert found.interval is not None
    assert found.interval == pytest.approx(np.percentile(gaps, [2.5, 97.5]), abs=0.03)


def test_dependent_rows_widen_the_interval_and_few_groups_have_none() -> None:
    rng = random.Random(2)
    gold: list[Label] = ["yes" if rng.random() < 0.7 else "no" for _ in range(50)]
    first, second = judged(gold, rng, 0.1), judged(gold, rng, 0.3)
    alone = macro_f1_lead(gold, first, second, range(50)).interval
    again = macro_f1_lead(gold * 4, first * 4, second * 4, [row % 50 for row in range(200)]).interval
    assert alone is not None
    assert again == pytest.approx(alone)  # the same answer four times tells nothing new
    assert macro_f1_lead(gold, first, second, [row % 9 for row in range(50)]).interval is None
    assert macro_f1_lead(["yes"] * 50, first, second, range(50)).interval is None  # one class only


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "share"), [(36, 0.5), (100, 0.85), (406, 0.85)])
def test_equally_good_templates_are_seldom_told_apart(rows: int, share: float) -> None:
    """About 8 s in all. Equal templates, whose errors partly coincide: at most 2.5 % may seem surely better (one side)."""
    sure, rng, repeats = 0, random.Random(3), 1500
    for _ in range(repeats):
        gold: list[Label] = ["yes" if rng.random() < share else "no" for _ in range(rows)]
        base = judged(gold, rng, 0.15)
        first, second = judged(base, rng, 0.08), judged(base, rng, 0.08)
        sure += macro_f1_lead(gold, first, second, range(rows)).sure
    assert sure / repeats <= 0.035
