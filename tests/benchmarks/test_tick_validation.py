"""Checklists, their judges and the categories of their questions against people: figures by hand, and the commands on real rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import table
from tests.support.runs import write_jsonl
from tests.support.scenarios import Scenario, scenarios
from truebench_hf.benchmarks.tick.categories import schemes
from truebench_hf.benchmarks.tick.validation import (
    OTHERS,
    PEOPLE,
    accuracy_table,
    correlation_tables,
    length_tables,
    likeness_table,
)
from truebench_hf.data.checklist_rows import ChecklistRow, load_entries, read
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.judging.signed import ListOf, label_of, read_signed
from truebench_hf.report.table import Table
from truebench_hf.types import Score


def row(name: str, **parts: Any) -> dict[str, Any]:
    return {"id": name, "messages": [{"role": "user", "content": f"Do {name}."}], **parts}


def checklist(name: str, *questions: str, author: str = "a", **more: Any) -> dict[str, Any]:
    return {"id": name, "author": author, "questions": list(questions), **more}


def entries(*rows: dict[str, Any]) -> list[ChecklistRow]:
    return [read(Record(one["id"], one)) for one in rows]


def own(tables: list[Table]) -> list[dict[str, Any]]:
    """The rows of a table without the paper's; [] without a table."""
    return [dict(row) for table in tables for row in table.rows if not row.get("published")]


ROWS: list[dict[str, Any]] = table(__file__, "tick_validation")["rows"]


def test_figures_by_hand() -> None:
    """z has no chosen list and counts for nothing."""
    # x: 1 and 0 make 0.5; y: 3 of 3 words found, of 6: F1 2/3.
    found = {row["author"]: row for row in own(likeness_table(entries(*ROWS)))}
    assert list(found) == ["gen", "b", PEOPLE]
    assert (found["gen"]["instructions"], found["gen"]["checklists"]) == (2, 3)
    assert found["gen"]["rouge_1"] == pytest.approx((0.5 + 2 / 3) / 2)
    assert found["gen"]["count"] == pytest.approx((0.5 * (0 + 1) + 1) / 2)
    assert found["b"] | {"author": PEOPLE} == found[PEOPLE]
    counts = [(row["author"], row["questions"], row["checklists"]) for row in own(length_tables(entries(*ROWS)))]
    assert counts == [("chosen", 2, 2), ("gen", 1, 3), ("gen", 2, 1), ("b", 3, 1)]
    # People on run 1: x r (1, 0.5), x s (0.5, 0); y r is left out, where the annotators of the chosen list are tied.
    rates = own(correlation_tables(entries(*ROWS)))
    assert [(row["author"], row["r"]) for row in rates if row["by"] == "people"] == [
        ("gen", Score(pytest.approx(1), 2, 1))
    ]
    # Run 1 of the generator: 2 questions where people score 4 (s has no score), 1 where they score 2.
    by_score = {row["author"]: row["r"] for row in rates if row["by"].startswith("score")}
    assert by_score["gen"] == Score(pytest.approx(1), 3, 2)
    assert by_score["b"].value is None, "one pair says nothing"


def test_accuracy_by_hand() -> None:
    """Majority on x r: yes, no. Direct: both right. Reasoning: the second question has one of three right, one open."""
    found = {(row["by"], row["mode"], row["k"]): row for row in own(accuracy_table(entries(*ROWS)))}
    assert found["j", "direct", 1]["accuracy"].value == 1.0
    assert found["j", "direct", 1]["kappa"] == Score(1.0, 2), "one yes and one no, both right"
    single, three = found["j", "reasoning", 1], found["j", "reasoning", 3]
    assert (single["accuracy"].value, single["undecided"]) == pytest.approx(((1 + 1 / 3) / 2, 1 / 6))
    assert (three["accuracy"].value, three["undecided"]) == (0.5, 0.5), "no, yes and nothing: a tie"
    assert single["accuracy"].n == three["accuracy"].n == 2
    assert found[OTHERS, "", 1]["accuracy"] == Score(0.75, 4, 2)
    for rows in ((), ({"id": "x", "messages": [{"role": "user", "content": "Do x."}]},)):
        for of in (likeness_table, correlation_tables, accuracy_table, length_tables):
            assert of(entries(*rows)) == [], "nothing to compare"


def test_rows_with_criteria_are_their_chosen_checklist(tmp_path: Path) -> None:
    rows = [
        {"prompt": "Go on.", "history": [{"role": "user", "content": "Begin."}, {"role": "assistant", "content": "Begun."}],
         "system": "Be brief.", "context": "A text.", "criteria": ["Is it done?", {"text": "Is it short?"}]},
        {"prompt": "Without any."},
    ]  # fmt: skip
    first, second = load_entries(write_jsonl(tmp_path / "rows.jsonl", rows))
    assert [message.content for message in first.messages] == ["Be brief.", "Begin.", "Begun.", "A text.\n\nGo on."]
    assert first.chosen
    assert first.chosen.questions == ("Is it done?", "Is it short?")
    assert second.checklists == ()
    left_out: list[str] = []
    several = write_jsonl(tmp_path / "several.jsonl", [{"turns": ["One?", "Two?"]}, *rows])
    assert [entry.id for entry in load_entries(several, left_out)] == ["2", "3"]
    assert len(left_out) == 1
    with pytest.raises(UserError, match="2 turns to be answered; a checklist is for one instruction"):
        load_entries(several)  # what reads sheets back must lose no row
    with pytest.raises(UserError, match="stands twice"):
        load_entries(write_jsonl(tmp_path / "twice.jsonl", [row("x"), row("x")]))


# Questions sorted into categories


@scenarios(__file__, "tick_validation")
def test_categories(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)


def test_every_name_can_be_read_back() -> None:
    """No name is part of another one, nor is there one that the reader folds away."""
    for scheme, count in ((schemes()["internal"], 16), (schemes()["infobench"], 5)):
        assert len(scheme) == count
        for name in scheme:
            words, text = dict(zip(scheme, scheme, strict=True)), json.dumps({"categories": [name]})
            (item,) = read_signed(text, "none", {"categories": ListOf(words)}, unsigned=True).labels["categories"]
            assert label_of(item, words) == name
