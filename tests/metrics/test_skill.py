"""Skills of raters without a truth: from how far they agree with one another."""

from __future__ import annotations

import random

import pytest

from truebench_hf.metrics.kappa import ENOUGH, corrected, skills

ERRORS = {"a": 0.05, "b": 0.1, "c": 0.2, "d": 0.3}


def world(n: int, share: float = 0.8, seed: int = 0) -> tuple[list[str], list[dict[str, str | None]]]:
    """The truth of n questions, a `share` of them yes, and what raters say who err independently."""
    draw, turned = random.Random(seed), {"yes": "no", "no": "yes"}
    truth = ["yes" if draw.random() < share else "no" for _ in range(n)]
    said = [
        {name: turned[label] if draw.random() < error else label for name, error in ERRORS.items()} for label in truth
    ]
    return truth, [dict(row) for row in said]


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_skills_are_found_whatever_the_truth_is_like(share: float) -> None:
    found = skills(world(20_000, share)[1])
    assert found == {name: pytest.approx(1 - 2 * error, abs=0.02) for name, error in ERRORS.items()}


def test_three_raters_by_hand() -> None:
    """a and b differ in 10 of 100, a and c in 20, b and c in 26: 0.8, 0.6 and 0.48, so that a has skill 1."""
    rows = [{"a": "yes", "b": "yes" if n >= 10 else "no", "c": "yes" if not 8 <= n < 28 else "no"} for n in range(100)]
    moments = {"ab": 0.8, "ac": 0.6, "bc": 1 - 2 * (8 + 18) / 100}
    assert skills(rows) == {
        "a": pytest.approx((moments["ab"] * moments["ac"] / moments["bc"]) ** 0.5),
        "b": pytest.approx((moments["ab"] * moments["bc"] / moments["ac"]) ** 0.5),
        "c": pytest.approx((moments["ac"] * moments["bc"] / moments["ab"]) ** 0.5),
    }


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "nothing"),
        ([{"a": "yes"}] * 100, "one rater"),
        ([{"a": "yes", "b": "yes"}] * 100, "two raters"),
        ([{"a": "yes", "b": "yes", "c": "yes"}] * (ENOUGH - 1), "too few questions"),
        ([{"a": "yes", "b": "yes", "c": None}] * 100, "one who answers nothing"),
        ([{"a": "yes", "b": "yes", "c": "no"}] * 100, "one who differs from both always"),
    ],
)
def test_too_little_to_tell(rows: list[dict[str, str | None]], why: str) -> None:
    assert skills(rows) == {}, why


def test_raters_who_always_agree_are_never_wrong() -> None:
    assert skills([{"ä": "はい", "b": "はい", "c": "はい"}] * ENOUGH) == {"ä": 1, "b": 1, "c": 1}


def test_somebody_else_is_corrected() -> None:
    assert corrected({"a": 0.72, "b": 0.64}, {"a": 0.9, "b": 0.8}) == pytest.approx(0.8)
    assert corrected({"a": 0.9}, {"a": 0.8}) == 1, "at most 1"
    assert corrected({"x": 0.9}, {"a": 0.8}) is None
    assert corrected({}, {}) is None
