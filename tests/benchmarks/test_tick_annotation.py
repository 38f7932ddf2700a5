"""Sheets for annotators and back: every protocol in a round trip, and how far annotators agree."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.support.runs import write_jsonl
from truebench_hf.benchmarks.tick.annotation import PROTOCOLS, annotator_tables
from truebench_hf.cli.app import app
from truebench_hf.data.checklist_rows import ChecklistRow, read
from truebench_hf.data.rows import Record
from truebench_hf.types import Score

QUESTIONS = ["Is it polite?", "Is it short?"]


def data(n: int = 3) -> list[dict[str, Any]]:
    return [
        {
            "id": f"i{number}", "language": "EN",
            "messages": [
                {"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"},
                {"role": "user", "content": f"=Greet {number} guests."},
            ],
            "responses": [
                {"id": "r1", "model": "SECRET-one", "text": f"Welcome, all {number} of you."},
                {"id": "r2", "model": "SECRET-two", "text": ""},
            ],
            "checklists": [
                {"id": "c1", "author": "SECRET-author", "chosen": True, "questions": QUESTIONS},
                {"id": "g1", "author": "gen", "source": "model", "questions": ["Is it good?"]},
            ],
            "ratings": [{"response_id": "r1", "annotator": "old", "protocol": "direct", "score": 2}],
        }
        for number in range(n)
    ]  # fmt: skip


def command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["label", *map(str, arguments)])


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, answer: Callable[[dict[str, str]], str]) -> None:
    """Answer every question of a sheet, "" leaves it blank."""
    rows = table(path)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows([row | {"answer": answer(row)} for row in rows])


def returned(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_sheets_are_blind(tmp_path: Path, protocol: str) -> None:
    source, out = write_jsonl(tmp_path / "rows.jsonl", data()), tmp_path / "sheets"
    run = command("out", source, "--ask", protocol, "--annotators", "eva, jon", "--out", out)
    assert run.exit_code == 0, run.output
    assert sorted(file.name for file in out.iterdir()) == ["eva.csv", "eva.html", "jon.csv", "jon.html"]
    for file in out.iterdir():
        text = file.read_text(encoding="utf-8-sig")
        assert "SECRET" not in text
        assert "Hello!" in text, "the conversation is shown"
    rows = table(out / "eva.csv")
    assert len(rows) == 3 * {"write": 3, "preference": 1, "direct": 2, "check-then-score": 2 * (2 + 2)}[protocol]
    assert len({row["id"] for row in rows}) == len(rows)


def test_scores_after_a_checklist(tmp_path: Path) -> None:
    source, out, sheets = write_jsonl(tmp_path / "rows.jsonl", data()), tmp_path / "out.jsonl", tmp_path / "sheets"
    assert command("out", source, "--ask", "check-then-score", "--out", sheets).exit_code == 0

    def answer(row: dict[str, str]) -> str:
        empty = row["Response"] == "(the response is empty)"
        if row["question"] == QUESTIONS[1] and empty:
            return ""  # left open
        first = "no" if empty else "Yes"  # spreadsheet programs change capitals
        return {"yes|no": first, "1|2|3|4|5": "1" if empty else "4"}.get(
            row["options"], "harder" if empty else "easier"
        )

    fill(sheets / "A.csv", answer)
    run = command("in", source, sheets / "A.csv", "--out", out)
    assert run.exit_code == 0, run.output
    assert "New: 6 answered checklists, 6 scores." in run.output
    for row in returned(out):
        assert row["answers"] == [
            {"response_id": "r1", "checklist_id": "c1", "annotator": "A", "answers": ["yes", "yes"]},
            {"response_id": "r2", "checklist_id": "c1", "annotator": "A", "answers": ["no", None]},
        ]
        old, *new = sorted(row["ratings"], key=lambda one: (one["annotator"] != "old", one["response_id"]))
        assert old == data()[0]["ratings"][0]
        shared = {"annotator": "A", "protocol": "check_then_score", "checklist_id": "c1"}
        assert new == [
            {"response_id": "r1", **shared, "score": 4, "effect": "easier"},
            {"response_id": "r2", **shared, "score": 1, "effect": "harder"},
        ]
    assert re.search(r"easier\W+3\W+50\.0", run.output)
    assert "paper: check-then-score" in run.output


def test_the_checklist_of_another_author(tmp_path: Path) -> None:
    rows = data()
    rows[2]["checklists"].pop()
    source = write_jsonl(tmp_path / "rows.jsonl", rows)
    named = ["out", source, "--ask", "check_then_score"]
    run = command(*named, "--author", "gen", "--n", "2", "--out", tmp_path / "sheets")
    assert run.exit_code == 0, run.output
    assert "12 questions about 2 instructions" in run.output, "drawn of those that have one"
    assert {row["question"] for row in table(tmp_path / "sheets" / "A.csv")} >= {"Is it good?"}
    run = command(*named, "--author", "nobody", "--out", tmp_path / "none")
    assert run.exit_code != 0
    assert "a response and a checklist by nobody" in str(run.exception)


def test_preferences_are_told_in_the_order_of_the_data(tmp_path: Path) -> None:
    """Whichever side a response was shown on."""
    source, out, sheets = write_jsonl(tmp_path / "rows.jsonl", data(12)), tmp_path / "out.jsonl", tmp_path / "sheets"
    assert command("out", source, "--ask", "preference", "--out", sheets).exit_code == 0
    sides = {bool(row["Response A"]) for row in table(sheets / "A.csv")}
    assert sides == {True, False}, "by lot"
    fill(sheets / "A.csv", lambda row: "2" if row["Response A"] else "4")  # the response with a text is better
    run = command("in", source, sheets / "A.csv", "--out", out)
    assert run.exit_code == 0, run.output
    expected = {"annotator": "A", "response_a": "r1", "response_b": "r2", "rating": 2}
    assert [row["preferences"] for row in returned(out)] == [[expected]] * 12
    fill(sheets / "A.csv", lambda row: "1" if row["Response A"] else "")  # a newer answer counts, a blank replaces none
    run = command("in", out, sheets / "A.csv", "--out", out)
    assert run.exit_code == 0, run.output
    assert "New: nothing." in run.output
    assert sorted({one["rating"] for row in returned(out) for one in row["preferences"]}) == [1, 2]


def test_written_checklists(tmp_path: Path) -> None:
    source, out, sheets = write_jsonl(tmp_path / "rows.jsonl", data()), tmp_path / "out.jsonl", tmp_path / "sheets"
    named = ["out", source, "--ask", "write", "--annotators", "eva,jon", "--out", sheets]
    assert command(*named).exit_code == 0
    written = "1. Is it polite?\n- =Is it short?\nSome thought.\nIs it polite?\n"

    def answer(row: dict[str, str]) -> str:
        if row["options"]:
            return "no" if row["question"].startswith("Does") and "=Greet 2" in row["Instruction"] else "yes"
        return {"0": written, "1": "Nothing to ask."}.get(row["Instruction"][len("'=Greet ") :][:1], "")

    fill(sheets / "eva.csv", answer)
    run = command("in", source, sheets, "--out", out)  # jon's is blank
    assert run.exit_code == 0, run.output
    first, second, third = returned(out)
    assert first["checklists"][2] == {
        "id": "eva, run 1", "author": "eva", "source": "human", "run": 1, "chosen": False,
        "questions": ["Is it polite?", "=Is it short?"],
    }  # fmt: skip
    assert [len(row["checklists"]) for row in (first, second, third)] == [3, 2, 2]
    assert "i0: of the lines of eva 2 were no questions, or stood twice" in run.output
    assert "i1: what eva wrote has no question" in run.output
    assert "i2: eva finds the instruction not one that makes sense" in run.output
    run = command("in", out, sheets, "--out", out)
    assert "New: nothing." in run.output, "the same list read again is no second one"


@pytest.mark.parametrize(
    ("lists", "asked"),
    [
        ({}, "check-then-score: 24 questions"),  # two responses, each by a checklist of two questions
        ({"checklists": []}, "preference: 3 questions"),
        ({"checklists": [], "responses": data()[0]["responses"][:1]}, "direct: 3 questions"),
        ({"checklists": [], "responses": []}, "write: 9 questions"),
    ],
)
def test_what_is_asked_follows_from_the_rows(tmp_path: Path, lists: dict[str, Any], asked: str) -> None:
    run = command("out", write_jsonl(tmp_path / "mine.jsonl", [row | {"ratings": []} | lists for row in data()]))
    assert run.exit_code == 0, run.output
    assert f"{asked} about 3 instructions" in run.output
    assert (tmp_path / "mine-sheets" / "A.html").exists(), "beside the file"


def test_sheets_of_other_data(tmp_path: Path) -> None:
    source, sheets = write_jsonl(tmp_path / "rows.jsonl", data()), tmp_path / "sheets"
    assert command("out", source, "--ask", "direct", "--out", sheets).exit_code == 0
    changed = data()
    changed[0]["responses"][0]["text"] = "Changed since."
    other = write_jsonl(tmp_path / "other.jsonl", changed)
    out = tmp_path / "out.jsonl"
    for arguments, told in (
        ([other, sheets / "A.csv", "--out", out], "asks about no row of the data as it is now"),
        ([source, sheets / "A.csv"], "give filled-in sheets and --out"),
        ([source, sheets / "A.csv", "--out", other], "is there already"),
    ):
        run = command("in", *arguments)
        assert run.exit_code != 0
        assert told in str(run.exception)
    assert not out.exists()
    run = command("out", source, "--ask", "dirct", "--out", tmp_path / "x")
    assert "did you mean direct" in str(run.exception)


def entries(*rows: dict[str, Any]) -> list[ChecklistRow]:
    return [read(Record(row["id"], row)) for row in rows]


def rated(number: int, protocol: str, *given: int | None, effect: str | None = None) -> dict[str, Any]:
    row = data()[0] | {"id": f"i{number}"}
    ratings = [
        {"response_id": "r1", "annotator": f"a{place}", "protocol": protocol, "score": score, "effect": effect}
        for place, score in enumerate(given) if score is not None
    ]  # fmt: skip
    return row | {"ratings": ratings}


def agreement(*rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows on agreement, by what was rated."""
    tables = {table.name: table for table in annotator_tables(entries(*rows))}
    return {row["what"]: dict(row) for row in tables["agreement"].rows if not row.get("published")}


def test_agreement_by_hand() -> None:
    """Scores 1 1, 5 5, 3 4 and a single one: alpha of the krippendorff package, mean of all seven."""
    rows = rated(0, "direct", 1, 1), rated(1, "direct", 5, 5), rated(2, "direct", 3, 4), rated(3, "direct", 2)
    (found,) = agreement(*rows).values()
    # Scores 1, 3, 4, 5 occur 2, 1, 1, 2 times. Observed: one pair at the ordinal distance (2 - 1)^2, in 6 ratings.
    # Expected: 2 (2 * 2.25 + 2 * 6.25 + 4 * 16 + 1 * 1 + 2 * 6.25 + 2 * 2.25) / 30.
    alpha = pytest.approx(1 - (2 / 6) / (2 * 99 / 30))
    assert found == {"what": "direct scoring", "ratings": 7, "alpha": Score(alpha, 3, 1), "mean": pytest.approx(3)}


def test_intervals_need_ten_instructions() -> None:
    rows = [rated(number, "direct", number % 5 + 1, (number * 2) % 5 + 1, 3) for number in range(12)]
    assert agreement(*rows[:9])["direct scoring"]["alpha"].ci95 is None
    alpha = agreement(*rows)["direct scoring"]["alpha"]
    assert alpha.ci95[0] < alpha.value < alpha.ci95[1]


def test_effects_and_answers_and_nothing() -> None:
    effect = [rated(n, "check_then_score", 3, 4, effect=one) for n, one in enumerate(["easier", "easier", "no effect"])]
    (_, table) = annotator_tables(entries(*effect))
    assert [(row["effect"], row["answers"]) for row in table.rows if not row.get("published")] == [
        ("easier", 4), ("harder", 0), ("no effect", 2)
    ]  # fmt: skip
    assert annotator_tables(entries(data()[0] | {"ratings": []})) == []


def test_the_sample_has_all_of_it() -> None:
    run = command("in", "checklists_mini")
    assert run.exit_code == 0, run.output
    for title in ("table 6", "appendix H.4", "Preferences", "answers to questions"):
        assert title in run.output
