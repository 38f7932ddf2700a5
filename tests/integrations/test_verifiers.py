"""Checklists in the form of the library `verifiers`, as far as its rules are known here: they are written out below."""

from __future__ import annotations

import math
from typing import Any

import pytest

from truebench_hf import Criterion
from truebench_hf.integrations.export import to_verifiers
from truebench_hf.integrations.rewards import reward_of
from truebench_hf.types import Verdict


def checked(file: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules of its rubric judge: these fields and no others, unique names, weights from 0 on, two choices or more."""
    criteria: list[dict[str, Any]] = file["criteria"]
    assert criteria
    assert all(set(one) == {"name", "text", "weight", "choices"} for one in criteria)
    assert len({one["name"] for one in criteria}) == len(criteria)
    assert all(0 <= one["weight"] < math.inf for one in criteria)
    assert sum(one["weight"] for one in criteria) > 0
    assert all(len(set(one["choices"])) == len(one["choices"]) >= 2 for one in criteria)
    return criteria


def their_reward(criteria: list[dict[str, Any]], answers: list[str]) -> float:
    """The mean by weight of the ranks of the answers, the first choice worth 0 and the last 1."""
    ranks = [
        one["choices"].index(said) / (len(one["choices"]) - 1) for one, said in zip(criteria, answers, strict=True)
    ]
    return sum(one["weight"] * rank for one, rank in zip(criteria, ranks, strict=True)) / sum(
        one["weight"] for one in criteria
    )


@pytest.mark.parametrize(
    "criteria",
    [
        "is short",
        ["Is it short?", "Ist es kurz?", "短いか？"],
        [{"text": "is short", "weight": 2.5}, {"criterion": "is kind", "kind": "tone"}],
        [Criterion("is\nshort", condition="it is a summary"), Criterion("is kind")],
    ],
)
def test_criteria_without_faults_are_worth_there_what_our_fraction_is(criteria: Any) -> None:
    written = checked(to_verifiers(criteria))
    assert all("\n" not in one["text"] for one in written)
    assert not any("it is a summary" in str(one) for one in criteria) or "(It rests on this: it is a summary)" in str(
        written
    )
    answers = ["yes" if place % 2 else "no" for place in range(len(written))]
    ours = [
        Verdict(Criterion(one["text"], weight=one["weight"]), said) for one, said in zip(written, answers, strict=True)
    ]  # type: ignore[arg-type]
    assert their_reward(written, answers) == pytest.approx(reward_of(ours, "fraction"))


def test_a_fault_is_best_answered_with_no() -> None:
    given = [Criterion("is short", weight=3.0), Criterion("is rude", weight=-1.0)]
    written = checked(to_verifiers(given))
    assert [one["choices"] for one in written] == [["no", "yes"], ["yes", "no"]]
    assert "names a fault" in written[1]["text"]
    # Ours: (3 met - 1 fault) / 3. Theirs: (3 * met + 1 * (no fault)) / 4 = (3 * ours + 1) / 4.
    for met, fault in (("yes", "no"), ("yes", "yes")):
        ours = reward_of([Verdict(given[0], met), Verdict(given[1], fault)], "fraction")  # type: ignore[arg-type]
        assert ours is not None
        assert their_reward(written, [met, fault]) == pytest.approx((3 * ours + 1) / 4)
