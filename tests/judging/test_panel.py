"""Panels: rules on tables of ballots, undecided judges, ties and who breaks them, weights; and votes of one judge."""

from __future__ import annotations

import pytest

from tests.support.corpus import each_row
from truebench_hf.data.judged import Case
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import Panel, combine, majority
from truebench_hf.types import Criterion, Label, Verdict

A, B = Criterion("names a river"), Criterion("is German")
CASE = Case("Name a river.", "The Rhine.", (A, B))


def ballots(*labels: Label | None) -> list[Verdict]:
    return [Verdict(A, label, f"reason {i}", f"judge{i}", 0.9) for i, label in enumerate(labels)]


class Fixed:
    """A judge with a fixed label per criterion text, which notes what it was asked."""

    def __init__(self, name: str, labels: dict[str, Label | None]) -> None:
        self.name, self.labels = name, labels
        self.asked: list[tuple[str, ...]] = []

    async def verdicts(self, case: Case) -> tuple[Verdict, ...]:
        self.asked.append(tuple(criterion.text for criterion in case.criteria))
        return tuple(Verdict(c, self.labels[c.text], f"{self.name} says so", self.name) for c in case.criteria)


@each_row(__file__, "panels", "rules")
def test_rules(rule: str, weights: list[float], labels: list[Label | None], expected: Label | None) -> None:
    combined = combine(ballots(*labels), rule, weights)
    assert combined.label == expected
    assert combined.votes == tuple(labels)
    assert combined.probability is None


def test_the_reason_is_that_of_a_judge_who_agrees() -> None:
    assert combine(ballots("no", "yes", "yes")).reason == "reason 1"
    assert combine(ballots("no", "yes", "yes")).judge == "judge0 + judge1 + judge2 (majority)"


@each_row(__file__, "panels", "undecided")
def test_an_undecided_panel_says_why(rule: str, labels: list[Label | None], said: str) -> None:
    assert combine(ballots(*labels), rule).reason == said


@pytest.mark.parametrize(
    ("members", "rule", "weights", "said"),
    [
        pytest.param(2, "plurality", (), "unknown panel rule", id="unknown rule"),
        pytest.param(1, "majority", (), "at least two", id="one judge is no panel"),
        pytest.param(3, "weighted", (1, 2), "each of its 3 judges", id="a weight is missing"),
        pytest.param(2, "weighted", (1, 0), "weight above 0", id="a weight of nothing"),
        pytest.param(2, "weighted", (1, float("inf")), "weight above 0", id="a weight beyond all others"),
        pytest.param(2, "weighted", (1, float("nan")), "weight above 0", id="no number"),
        pytest.param(2, "majority", (1, 2), "weighted rule", id="weights nobody would use"),
    ],
)
def test_panels_that_make_no_sense(members: int, rule: str, weights: tuple[float, ...], said: str) -> None:
    judges = [Fixed(str(i), {}) for i in range(members)]
    with pytest.raises(UserError, match=said):
        Panel(judges, rule, weights)


@each_row(__file__, "panels", "votes")
def test_votes_of_one_judge(labels: list[Label | None], expected: Label | None, because: str) -> None:
    vote = majority(ballots(*labels))
    assert (vote.label, vote.reason, vote.votes) == (expected, because, tuple(labels))
