"""Questions sorted into categories: against what all annotators named, and pass rates by that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.runs import script, write_jsonl
from truebench_hf.benchmarks.tick.categories import Categories, CategoriesOptions, schemes
from truebench_hf.cli.app import app
from truebench_hf.judging.signed import ListOf, label_of, read_signed

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
