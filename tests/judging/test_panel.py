"""Panels: rules on tables of ballots, undecided judges, ties and who breaks them, weights; and votes of one judge."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize(
    ("rule", "weights", "labels", "expected"),
    [
        pytest.param("majority", (), ("yes", "yes", "no"), "yes", id="two of three"),
        pytest.param("majority", (), ("yes", "no"), None, id="a tie is undecided"),
        pytest.param("majority", (), ("yes", "no", None), None, id="a tie among the decided stays one"),
        pytest.param("majority", (), ("no", None, None), "no", id="only decided votes count"),
        pytest.param("majority", (), (None, None), None, id="nobody decided"),
        pytest.param("majority", (), ("unknown", "unknown", "yes"), "unknown", id="unknown is a label like others"),
        pytest.param("unanimous", (), ("yes", "yes", "yes"), "yes", id="all agree"),
        pytest.param("unanimous", (), ("yes", "yes", "no"), None, id="one dissents"),
        pytest.param("unanimous", (), ("yes", "yes", None), None, id="an undecided judge makes nothing unanimous"),
        pytest.param("unanimous", (), (None, None), None, id="agreeing in silence is no verdict"),
        pytest.param("weighted", (3, 1, 1), ("no", "yes", "yes"), "no", id="the heavy judge outvotes two"),
        pytest.param("weighted", (2, 1, 1), ("no", "yes", "yes"), None, id="equal weight is a tie"),
        pytest.param("weighted", (0.3, 0.1, 0.2), ("no", "yes", "yes"), None, id="equal but for rounding is a tie"),
        pytest.param("weighted", (3, 1, 1), (None, "yes", "yes"), "yes", id="the heavy judge abstains"),
    ],
)
def test_rules(rule: str, weights: tuple[float, ...], labels: tuple[Label | None, ...], expected: Label | None) -> None:
    combined = combine(ballots(*labels), rule, weights)
    assert combined.label == expected
    assert combined.votes == labels
    assert combined.probability is None


def test_the_reason_is_that_of_a_judge_who_agrees() -> None:
    assert combine(ballots("no", "yes", "yes")).reason == "reason 1"
    assert combine(ballots("no", "yes", "yes")).judge == "judge0 + judge1 + judge2 (majority)"


@pytest.mark.parametrize(
    ("rule", "labels", "said"),
    [
        ("majority", ("yes", "no"), "the panel is tied: 1 yes, 1 no"),
        ("unanimous", ("yes", "yes", None), "the panel does not agree: 2 yes, 1 undecided"),
        ("majority", (None, None), "the panel decided nothing: 2 undecided (reason 0)"),
    ],
)
def test_an_undecided_panel_says_why(rule: str, labels: tuple[Label | None, ...], said: str) -> None:
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


@pytest.mark.parametrize(
    ("labels", "expected", "reason"),
    [
        (("no", "yes", "yes"), "yes", "reason 1"),
        (("yes", "no", None), None, "the votes are tied: 1 yes, 1 no, 1 undecided"),
        ((None, None), None, "reason 0"),
    ],
)
def test_votes_of_one_judge(labels: tuple[Label | None, ...], expected: Label | None, reason: str) -> None:
    vote = majority(ballots(*labels))
    assert (vote.label, vote.reason, vote.votes) == (expected, reason, labels)
