from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.binary import Label
from truebench_hf.metrics.choosing import choose

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
    assert found is not None
    assert (found.best, found.runner_up) == ("one", "two")
    assert (found.lead.difference, found.lead.interval, found.lead.ahead) == (0.0, (0.0, 0.0), 0)


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
    assert found is not None
    assert found.best == "lucky"
    assert [found.held_out[row] for row in range(60) if groups[row] == 3] == steady[18:24]
