"""Scores of judged checklists on what is rare: nothing, ties alone, open questions; intervals where there are enough; and the paper's tables."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import pytest

from truebench_hf.benchmarks.tick.checklists import ListedChecklist, checklist_tables
from truebench_hf.benchmarks.tick.scoring import GradedResponse, paper_rows, response_frame, score_tables, unscored
from truebench_hf.data.judged import Judged
from truebench_hf.metrics.comparison import paired_difference
from truebench_hf.metrics.pass_rate import drfr
from truebench_hf.metrics.preference import preference_from_scores
from truebench_hf.metrics.votes import mean
from truebench_hf.types import Criterion, Instance, Label, Response, Score, Turn, Verdict

MODELS = ("a", "b")


def graded(number: int, *answers: str, problem: str = "") -> GradedResponse:
    """An instruction and per model its answers as letters: y, n, or ? for an open question."""
    criteria = tuple(Criterion(f"Is it {i}?") for i in range(len(answers[0]) if answers else 0))
    instance = Instance(str(number), "", "", "", (Turn("Say it.", criteria),))
    judged = {}
    for model, letters in zip(MODELS, answers, strict=False):
        labels: list[Label | None] = [{"y": "yes", "n": "no"}.get(letter) for letter in letters]  # type: ignore[misc]
        verdicts = tuple(Verdict(c, label, "why") for c, label in zip(criteria, labels, strict=True))
        judged[model] = [Judged(instance, Response(str(number), model, ()), (verdicts,))]
    return GradedResponse(ListedChecklist(instance, "data", problem=problem), judged)


def tables(some: list[GradedResponse]) -> dict[str, list[dict[str, Any]]]:
    """The rows of all tables by name."""
    return {table.name: [dict(row) for row in table.rows] for table in score_tables(response_frame(some, MODELS))}


def test_nothing() -> None:
    assert {name: rows for name, rows in tables([]).items() if rows} == {}
    assert unscored([], response_frame([], MODELS)) == []
    (only,) = checklist_tables([])
    assert [(row["source"], row["checklists"], row["mean"]) for row in only.rows] == [("all", 0, None)]


def test_ties_alone() -> None:
    (pair,) = tables([graded(n, "yn", "ny") for n in range(12)])["pairs"]
    assert (pair["win"].value, pair["tie"].value, pair["loss"].value) == (0.0, 1.0, 0.0)
    assert pair["difference"].value == 0.0
    assert pair["difference"].ci95[0] < 0 < pair["difference"].ci95[1]


def test_open_questions_and_no_checklist() -> None:
    some = [graded(1, "y?", "yy"), graded(2, problem="cut off"), graded(3, "yn")]
    a, b = tables(some)["scores"]
    assert (a["pass_rate"], b["pass_rate"]) == (Score(0.5, 1, 2), Score(1.0, 1, 2))
    assert (a["drfr"], b["drfr"]) == (Score(pytest.approx(2 / 3), 3, 1), Score(1.0, 2, 0))
    assert a["all_met"].n == 1, "one open, one without a checklist"
    assert sorted(unscored(some, response_frame(some, MODELS))) == [
        ("1", "a", "why"), ("2", "", "no checklist: cut off"), ("3", "b", "no response")
    ]  # fmt: skip


def test_intervals_are_those_of_the_metrics() -> None:
    """Of twelve instructions, by instruction: checklists of unequal length weigh alike in one and not in the other."""
    letters = [("y" * (n % 3 + 1) + "n" * (n % 2), "y" + "n" * (n % 3 + n % 2)) for n in range(12)]
    found = tables([graded(n, *answers) for n, answers in enumerate(letters)])
    a = found["scores"][0]
    labels = [["yes" if letter == "y" else "no" for letter in answers[0]] for answers in letters]
    shares = [[of.count("y") / len(of) for of in side] for side in zip(*letters, strict=True)]
    assert a["drfr"] == drfr(labels)
    assert a["pass_rate"].value == pytest.approx(sum(shares[0]) / 12)
    assert a["pass_rate"].ci95 is not None
    (pair,) = found["pairs"]
    expected = paired_difference(*shares)
    assert pair["difference"] == expected
    assert pair["win"].n == pair["tie"].n == pair["loss"].n == 12


def test_names_of_the_data_that_are_names_of_columns() -> None:
    """A category called like a column, and models that sort otherwise than they were named."""
    some = [replace(entry, listed=replace(entry.listed, instance=replace(entry.listed.instance, category="model")))
            for entry in (graded(n, "y", "n") for n in range(3))]  # fmt: skip
    renamed = [GradedResponse(entry.listed, {"z": entry.judged["a"], "b": entry.judged["b"]}) for entry in some]
    found = {table.name: table.rows for table in score_tables(response_frame(renamed, ("z", "b")))}
    assert [(row["category"], row["model"], row["pass_rate"].value) for row in found["categories"]] == [
        ("model", "z", 1.0), ("model", "b", 0.0)
    ]  # fmt: skip


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (20, 20), (21, 20)])
def test_of_many_that_went_wrong_the_page_shows_the_first(count: int, shown: int) -> None:
    made = checklist_tables(
        [ListedChecklist(graded(n).listed.instance, "data", problem="cut off") for n in range(count)]
    )
    of_what = [table for table in made if table.title.startswith("Instructions without a checklist")]
    assert sum(len(table.rows) for table in of_what if table.on_page) == shown
    assert sum(len(table.rows) for table in of_what if table.name) == count


def test_equal_means_are_ties() -> None:
    """Three samples with checklists of up to seven questions: every tie of fractions, and no other, is found."""
    shares = sorted({Fraction(yes, of) for of in (3, 6, 7) for yes in range(of + 1)})
    sampled = list(combinations_with_replacement(shares, 3))[::5]
    means = [(sum(of) / 3, mean([float(share) for share in of])) for of in sampled]
    pairs = [(a, b) for i, a in enumerate(means) for b in means[:i]]
    by_floats = [a[1] == b[1] for a, b in pairs]
    exact = [a[0] == b[0] for a, b in pairs]
    assert sum(by_floats) < sum(exact), "floats alone miss some"
    assert [preference_from_scores(a[1], b[1]) == "tie" for a, b in pairs] == exact


@pytest.mark.parametrize("table", ["1", "2", "3a", "3b", "4", "5", "6", "7", "8"])
def test_every_table_of_the_paper_is_there(table: str) -> None:
    assert all(len(row) > 1 for row in paper_rows(table))


def test_another_table_of_the_paper_is_not_there() -> None:
    with pytest.raises(KeyError):
        paper_rows("9")


def test_the_weighted_distance_is_what_its_parts_make() -> None:
    for row in paper_rows("4"):
        assert row["PLD-0"] + row["PLD-1"] + row["PLD-2"] == pytest.approx(1, abs=0.0015)
        assert row["WPLD"] == pytest.approx(row["PLD-1"] + 2 * row["PLD-2"], abs=0.0015)


def test_one_printed_change_of_table_1_is_off_by_one() -> None:
    off = [
        (row["Task"], name)
        for row in paper_rows("1")
        for name in ("Command-R+/Self-Refine", "Command-R+/STICK", "GPT-4o/Self-Refine", "GPT-4o/STICK")
        if abs(row[name] - row[f"{name.split('/')[0]}/Base"] - row[f"{name}/delta"]) > 0.051
    ]
    assert off == [("Language", "Command-R+/Self-Refine")]
