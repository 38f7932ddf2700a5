from __future__ import annotations

import numpy as np
import pytest

from truebench_hf.metrics.intervals import wilson
from truebench_hf.metrics.pass_rate import common_mix, standardised

pytestmark = pytest.mark.filterwarnings("error")


def test_a_kind_that_a_group_lacks_is_dropped_and_said() -> None:
    counts = {("KO", "Reasoning"): 50, ("KO", "Editing"): 30, ("EN", "Reasoning"): 50, ("EN", "Editing"): 50,
              ("FR", "Editing"): 10, ("FR", "Safety"): 10, ("FR", "Reasoning"): 0, ("KO", "Safety"): 10,
              ("EN", "Safety"): 20}  # fmt: skip
    found = common_mix(counts)
    # Of 90 instances of Editing and 40 of Safety, over all three languages.
    assert found.weights == pytest.approx({"Editing": 90 / 130, "Safety": 40 / 130})
    assert found.dropped == {"Reasoning": ("KO", "EN")}


@pytest.mark.parametrize(
    ("counts", "weights", "dropped", "reason"),
    [
        ({}, {}, {}, "nothing"),
        ({("EN", "A"): 3}, {"A": 1.0}, {}, "one group"),
        ({("EN", "A"): 3, ("KO", "B"): 3}, {}, {"A": ("EN",), "B": ("KO",)}, "nothing in common"),
        ({("EN", "A"): 3, ("KO", "A"): 0}, {"A": 1.0}, {}, "a group without instances is none"),
    ],
)
def test_mixes(
    counts: dict[tuple[str, str], int], weights: dict[str, float], dropped: dict[str, tuple[str, ...]], reason: str
) -> None:
    found = common_mix(counts)
    assert (found.weights, found.dropped) == (weights, dropped), reason


def test_by_hand() -> None:
    # 3 of 4 in Editing, 1 of 2 in Safety, mixed 0.8 to 0.2: 0.7, at 1 / (0.64 / 4 + 0.04 / 2) = 5.56 instances.
    passed = {"Editing": [True, True, True, False], "Safety": [True, False, None], "Reasoning": [False] * 40}
    found = standardised(passed, {"Editing": 0.8, "Safety": 0.2})
    assert (found.value, found.n, found.unscored) == (pytest.approx(0.7), 6, 1)
    assert found.ci95 == pytest.approx((0.314, 0.922), abs=0.0005)  # (0.618 -+ 0.304)


@pytest.mark.parametrize("passed", [[True] * 7 + [False] * 3, [True] * 10, [False] * 10])
def test_one_kind_alone_is_wilsons(passed: list[bool]) -> None:
    found = standardised({"A": list(passed)}, {"A": 1.0})
    assert found.value == pytest.approx(sum(passed) / 10)
    assert found.ci95 == pytest.approx(wilson(sum(passed), 10))


@pytest.mark.parametrize(
    ("passed", "mix", "reason"),
    [({}, {}, "no mix"), ({}, {"A": 1.0}, "no instances"), ({"A": [None]}, {"A": 1.0}, "none decided"),
     ({"A": [True]}, {"A": 0.5, "B": 0.5}, "a kind without a decided instance")],
)  # fmt: skip
def test_no_value(passed: dict[str, list[bool | None]], mix: dict[str, float], reason: str) -> None:
    found = standardised(passed, mix)
    assert (found.value, found.ci95) == (None, None), reason


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes", [(4, 2, 6, 1, 1, 4, 18, 20, 6), (29, 16, 24, 12, 20, 15, 5, 9, 26), (60, 50, 53, 25, 10, 20, 39, 40, 56)]
)
def test_intervals_cover_the_truth(sizes: tuple[int, ...]) -> None:
    """A language of the paper's data (French), one of the public release, and a large one, with rates by category."""
    rng = np.random.default_rng(0)
    mix = dict(zip("abcdefghi", np.array([154, 122, 154, 58, 30, 79, 216, 250, 166]) / 1229, strict=True))
    for _ in range(4):
        rates = rng.uniform(0.15, 0.85, 9)
        truth, held = float(np.array(list(mix.values())) @ rates), 0
        for _ in range(600):
            passed = {
                kind: (rng.random(size) < rate).tolist() for kind, size, rate in zip(mix, sizes, rates, strict=True)
            }
            ends = standardised(passed, mix).ci95
            held += ends is not None and ends[0] <= truth <= ends[1]
        assert held / 600 >= 0.93
