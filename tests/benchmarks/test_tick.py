"""`truebench tick`: what is asked and in which order, what comes of it by hand, and whose checklists stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.scenarios import Scenario, scenarios
from truebench_hf.benchmarks.tick.checklists import ListedChecklist
from truebench_hf.benchmarks.tick.scoring import GradedResponse, response_frame, score_tables
from truebench_hf.data.judged import Judged
from truebench_hf.metrics.comparison import paired_difference
from truebench_hf.metrics.pass_rate import drfr
from truebench_hf.types import Criterion, Instance, Response, Turn, Verdict


@scenarios(__file__, "tick")
def test_runs(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)


# Tables of what is rare


def graded(number: int, *answers: str, models: str = "ab", category: str = "") -> GradedResponse:
    """An instruction and per model its answers as letters: y, n, or ? for an open question."""
    criteria = tuple(Criterion(f"Is it {i}?") for i in range(len(answers[0])))
    instance = Instance(str(number), "", category, "", (Turn("Say it.", criteria),))
    judged = {}
    for model, letters in zip(models, answers, strict=False):
        labels: Any = [{"y": "yes", "n": "no"}.get(letter) for letter in letters]
        verdicts = tuple(Verdict(c, label, "why") for c, label in zip(criteria, labels, strict=True))
        judged[model] = [Judged(instance, Response(str(number), model, ()), (verdicts,))]
    return GradedResponse(ListedChecklist(instance, "data"), judged)


def tables(graded_: list[GradedResponse], models: str = "ab") -> dict[str, list[Any]]:
    return {table.name: table.rows for table in score_tables(response_frame(graded_, tuple(models)))}


def test_tables_of_nothing_of_ties_and_of_odd_names() -> None:
    assert not any(tables([]).values())
    (pair,) = tables([graded(n, "yn", "ny") for n in range(12)])["pairs"]
    assert (pair["win"].value, pair["tie"].value, pair["loss"].value, pair["difference"].value) == (0.0, 1.0, 0.0, 0.0)
    assert pair["difference"].ci95[0] < 0 < pair["difference"].ci95[1]
    named = tables([graded(n, "y", "n", models="zb", category="model") for n in range(3)], "zb")["categories"]
    assert [(row["category"], row["model"], row["pass_rate"].value) for row in named] == [
        ("model", "z", 1.0), ("model", "b", 0.0)
    ]  # fmt: skip


def test_intervals_are_those_of_the_metrics() -> None:
    """Of twelve instructions, by instruction: checklists of unequal length weigh alike in one and not in the other."""
    letters = [("y" * (n % 3 + 1) + "n" * (n % 2), "y" + "n" * (n % 3 + n % 2)) for n in range(12)]
    found = tables([graded(n, *answers) for n, answers in enumerate(letters)])
    shares = [[of.count("y") / len(of) for of in side] for side in zip(*letters, strict=True)]
    a, (pair,) = found["scores"][0], found["pairs"]
    assert a["drfr"] == drfr([["yes" if letter == "y" else "no" for letter in first] for first, _ in letters])
    assert a["pass_rate"].value == pytest.approx(sum(shares[0]) / 12)
    assert pair["difference"] == paired_difference(*shares)
