"""Partners by likeness, and what it amounts to."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from truebench_hf.metrics.texts import Spread, nearest, one_to_one, overlap, rouge_l, spread


@pytest.mark.parametrize(
    ("likeness", "near", "alone", "why"),
    [
        ([[0.9, 0.1], [0.8, 0.2]], [(0, 0), (1, 0)], [(0, 0), (1, 1)], "one column is nearest to both; 0.9 + 0.2 > 0.8 + 0.1"),
        ([[0.9, 0.8], [0.85, 0.1]], [(0, 0), (1, 0)], [(0, 1), (1, 0)], "the greatest total leaves the greatest pair"),
        ([[0.5], [0.7]], [(0, 0), (1, 0)], [(1, 0)], "more rows: the less alike one is left over"),
        ([[0.1, 0.5, 0.3]], [(0, 1)], [(0, 1)], "more columns"),
        ([[0.4, 0.4]], [(0, 0)], [(0, 0)], "of equals the first"),
        ([[-0.2]], [(0, 0)], [(0, 0)], "opposite, and still the only one"),
    ],
)  # fmt: skip
def test_by_hand(
    likeness: list[list[float]], near: list[tuple[int, int]], alone: list[tuple[int, int]], why: str
) -> None:
    assert nearest(np.array(likeness)) == near, why
    assert one_to_one(np.array(likeness)) == alone, why


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (2, 0)])
def test_nothing_has_no_partner(shape: tuple[int, int]) -> None:
    assert nearest(np.zeros(shape)) == []
    assert one_to_one(np.zeros(shape)) == []


@given(arrays(float, st.tuples(st.integers(1, 4), st.integers(4, 5)), elements=st.floats(-1, 1)))
def test_no_other_assignment_is_better(likeness: np.ndarray) -> None:
    rows, columns = likeness.shape
    found = one_to_one(likeness)
    assert len({row for row, _ in found}) == len({column for _, column in found}) == rows
    best = max(
        sum(likeness[row, column] for row, column in enumerate(each)) for each in permutations(range(columns), rows)
    )
    assert sum(likeness[pair] for pair in found) == pytest.approx(best)
    assert sum(likeness[pair] for pair in nearest(likeness)) >= best - 1e-9


@pytest.mark.parametrize(
    ("values", "found"),
    [([], Spread(0, None, None)), ([0.4], Spread(1, 0.4, None)), ([0.5, 0.5], Spread(2, 0.5, 0.0)), ([0.0, 1.0], Spread(2, 0.5, 0.5**0.5))],
)  # fmt: skip
def test_mean_and_deviation(values: list[float], found: Spread) -> None:
    assert spread(values) == found


@pytest.mark.parametrize(
    ("candidate", "reference", "value", "why"),
    [
        ("Is it short?", "Is it short?", 1.0, "equal"),
        ("Is it very short?", "Is it short?", 6 / 7, "3 of 4 and 3 of 3"),
        ("short it is", "is it short", 1 / 3, "one word in the same order"),
        ("요약은 짧은가?", "요약은 짧은가?", 1.0, "Hangul has words"),
        ("回答简短吗", "回答很短吗", 0.8, "signs stand apart: 4 of 5"),
        ("?", "?", 0.0, "no word"),
        ("", "Is it?", 0.0, "nothing"),
    ],
)
def test_rouge_l_alone(candidate: str, reference: str, value: float, why: str) -> None:
    assert rouge_l(candidate, reference) == pytest.approx(value), why
    assert rouge_l(candidate, reference) == overlap([candidate], [reference]).rouge_l
