"""What verdicts are worth: tables by hand, and what must hold for any verdicts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truebench_hf.integrations.rewards import SHAPES, reward_of
from truebench_hf.types import Criterion, Label, Verdict


def verdicts(labels: str, weights: tuple[float, ...] = ()) -> list[Verdict]:
    """y, n, u(nknown) and - (not judged)."""
    named: dict[str, Label | None] = {"y": "yes", "n": "no", "u": "unknown", "-": None}
    points = weights or (1.0,) * len(labels)
    return [Verdict(Criterion("x", weight=w), named[l]) for l, w in zip(labels, points, strict=True)]  # noqa: E741


@pytest.mark.parametrize(
    ("labels", "weights", "fraction", "pass_all", "why"),
    [
        ("yyyy", (), 1.0, 1.0, "all met"),
        ("yyyn", (), 0.75, 0.0, "3/4"),
        ("ynnn", (), 0.25, 0.0, "1/4"),
        ("nnnn", (), 0.0, 0.0, "none met"),
        ("yn", (3.0, 1.0), 0.75, 0.0, "points count in the share"),
        ("ny", (3.0, 1.0), 0.25, 0.0, "the dear one fails"),
        ("yn", (1.0, -1.0), 1.0, 1.0, "the fault is not there"),
        ("yy", (1.0, -1.0), 0.0, 0.0, "the fault takes away the point"),
        ("yy", (2.0, -1.0), 0.5, 0.0, "the fault takes away half"),
        ("ny", (1.0, -1.0), 0.0, 0.0, "the fraction stops at 0"),
        ("y-", (), None, None, "open: it could be 1/2 or 1"),
        ("yu", (), None, None, "unknown is open, too"),
        ("n-", (), None, 0.0, "one that fails settles pass_all, and nothing else"),
        ("nu", (), None, 0.0, "the same"),
        ("--", (), None, None, "nothing is judged"),
        ("ny-", (1.0, -5.0, 1.0), 0.0, 0.0, "whatever the open one is, the fraction stops at 0"),
        ("n-", (1.0, -1.0), 0.0, 0.0, "an open fault can take nothing from 0"),
        ("y-", (1.0, -1.0), None, None, "an open fault can take away all"),
        ("", (), None, None, "no criteria: never 1"),
    ],
)
def test_by_hand(
    labels: str, weights: tuple[float, ...], fraction: float | None, pass_all: float | None, why: str
) -> None:
    found = [reward_of(verdicts(labels, weights), shape) for shape in ("fraction", "pass_all")]
    assert found == [one if one is None else pytest.approx(one) for one in (fraction, pass_all)], why


cases = st.lists(st.tuples(st.sampled_from("ynu-"), st.floats(0.5, 4) | st.floats(-4, -0.5)), min_size=1, max_size=7)


@given(cases, st.sampled_from(sorted(SHAPES)))
def test_bounds_and_that_more_passes_never_earn_less(pairs: list[tuple[str, float]], shape: str) -> None:
    labels, weights = zip(*pairs, strict=True)
    given = verdicts("".join(labels), weights)
    reward = reward_of(given, shape)
    if reward is None:
        return
    assert 0.0 <= reward <= 1.0
    for place, one in enumerate(given):
        good: Label = "yes" if one.criterion.weight > 0 else "no"
        better = reward_of([*given[:place], replace(one, label=good), *given[place + 1 :]], shape)
        # A verdict that was open may leave another one that is.
        assert better is None or better >= reward - 1e-9, (place, one)


@given(cases, st.sampled_from(["fraction", "pass_all"]), st.data())
def test_what_is_decided_stays_whatever_the_open_ones_become(
    pairs: list[tuple[str, float]], shape: str, data: st.DataObject
) -> None:
    labels, weights = zip(*pairs, strict=True)
    reward = reward_of(verdicts("".join(labels), weights), shape)
    settled = "".join(data.draw(st.sampled_from("yn")) if label in "u-" else label for label in labels)
    if reward is not None:
        assert reward_of(verdicts(settled, weights), shape) == pytest.approx(reward)
