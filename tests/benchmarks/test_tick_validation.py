"""Checklists, their judges and the categories of their questions against people: figures by hand, and the commands on real rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.corpus import table
from tests.support.runs import script, write_jsonl
from truebench_hf.benchmarks.tick.categories import Categories, CategoriesOptions, schemes
from truebench_hf.benchmarks.tick.validation import (
    OTHERS,
    PEOPLE,
    accuracy_table,
    correlation_tables,
    length_tables,
    likeness_table,
)
from truebench_hf.cli.app import app
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

QUESTIONS = ["Is it at most ten words long?", "Is the tone friendly?", "Does it name Paris?", "Is it clear?"]
LABELS = {  # by annotator: all share Length; Tone; one of two on the third; none on the last
    "u": [["Length"], ["Tone"], ["Inclusion: Keyword", "Inclusion: Topic"], ["Tone"]],
    "v": [["Length", "Concision"], ["Tone"], ["Inclusion: Keyword"], ["Concision"]],
}


def rows(n: int = 12) -> list[dict[str, Any]]:
    def answers(number: int) -> list[str | None]:
        return ["yes", "no" if number % 2 else "yes", "yes", None if number == 0 else "no"]

    return [
        {
            "id": f"i{number}", "messages": [{"role": "user", "content": "Greet."}],
            "responses": [{"id": "r", "model": "m", "text": "Hello."}],
            "checklists": [{"id": "c", "author": "a", "chosen": True, "questions": QUESTIONS}],
            "categories": [{"checklist_id": "c", "annotator": name, "categories": its} for name, its in LABELS.items()],
            "answers": [{"response_id": "r", "checklist_id": "c", "annotator": "u", "answers": answers(number)}],
        }
        for number in range(n)
    ]  # fmt: skip


def said(*names: str) -> str:
    return f"Because.\n```json\n{json.dumps({'categories': names})}\n```"


def sorter(folder: Path) -> str:
    """Right on the first; one of two on the second; nothing on the third; unreadable on the last."""
    replies = {0: said("Length"), 1: said("Tone", "Concision"), 2: said(), 3: "It may be Tone."}
    rules = [{"contains": f"\n{QUESTIONS[place]}\n</question_", "reply": reply} for place, reply in replies.items()]
    return script(folder / "sorter.json", rules, {"reply": "It may be Tone."})


def test_the_command(tmp_path: Path) -> None:
    source, out = write_jsonl(tmp_path / "rows.jsonl", rows()), tmp_path / "out"
    run = CliRunner().invoke(
        app, ["study", "checklist", "categories", "--data", source, "--model", sorter(tmp_path), "--out", str(out)]
    )
    assert run.exit_code == 3, run.output
    assert "12 questions have no categories: it has no JSON object" in run.output
    assert "paper: GPT-4o on Internal" in run.output
    found = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    against = found["against_annotators"][0]
    assert (against["f1"]["n"], against["empty"], against["f1"]["unscored"]) == (36, 12, 0)
    assert against["precision"]["value"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert against["recall"]["value"] == pytest.approx((1 + 1 + 0) / 3)
    assert against["f1"]["value"] == pytest.approx((1 + 2 / 3 + 0) / 3)
    rates = {row["category"]: row["pass_rate"] for row in found["pass_rates"]}
    assert {name: (one["value"], one["n"], one["unscored"]) for name, one in rates.items()} == {
        "Length": (1, 12, 0), "Tone": (0.5, 12, 0), "Concision": (0.5, 12, 0),
    }  # fmt: skip
    assert rates["Tone"]["interval"][0] < 0.5 < rates["Tone"]["interval"][1]
    lines = [json.loads(line) for line in (out / "categories.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 48
    assert lines[2]["categories"] == []
    assert lines[2]["annotators"] == ["Inclusion: Keyword"]
    assert lines[3]["categories"] is None
    assert lines[3]["annotators"] == []


def test_without_a_model_the_annotators_categories_count(tmp_path: Path) -> None:
    options = CategoriesOptions(data=write_jsonl(tmp_path / "rows.jsonl", rows()), out=str(tmp_path / "out"))
    found = Categories(options).run().value
    assert "against_annotators" not in found
    sizes = {row["category"]: row["pass_rate"].n for row in found["pass_rates"].rows}
    assert sizes == {"Length": 12, "Tone": 12, "Inclusion: Keyword": 12}
    assert {"category": "Length", "annotators": 12, "model": 0, "both": 0} in found["categories"].rows


def test_categories_of_ones_own(tmp_path: Path) -> None:
    """Annotators who sorted by others are passed over, and said so."""
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"Short": "It is short.", "Kind": "It is kind."}), encoding="utf-8")
    model = script(tmp_path / "model.json", [{"contains": "- Kind: It is kind.", "reply": said("Short")}])
    source = write_jsonl(tmp_path / "rows.jsonl", rows(2))
    named = ["--data", source, "--model", model, "--scheme", str(mine), "--out", str(tmp_path / "out")]
    run = CliRunner().invoke(app, ["study", "checklist", "categories", *named])
    assert run.exit_code == 0, run.output
    assert "in 2 rows annotators sorted by other categories" in run.output
    found = json.loads((tmp_path / "out" / "scores.json").read_text(encoding="utf-8"))
    assert "against_annotators" not in found
    assert "not sorted by annotators: 8 of 8 questions" in found["notes"]
    assert found["categories"] == [{"category": "Short", "annotators": 0, "model": 8, "both": 0}]


def test_every_name_can_be_read_back() -> None:
    """No name is part of another one, nor is there one that the reader folds away."""
    for scheme, count in ((schemes()["internal"], 16), (schemes()["infobench"], 5)):
        assert len(scheme) == count
        for name in scheme:
            words = {one: one for one in scheme}
            (item,) = read_signed(said(name), "none", {"categories": ListOf(words)}, unsigned=True).labels["categories"]
            assert label_of(item, words) == name
