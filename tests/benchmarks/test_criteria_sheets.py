"""Sheets of `compare-criteria`: raters see no criteria, and what comes back is read as hostile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.test_criteria_types import compare, rated, write
from tests.support.people import rows_of
from tests.support.runs import row, write_jsonl
from truebench_hf.api.labels import ask_people
from truebench_hf.benchmarks.truebench.criteria_types import read_answered
from truebench_hf.benchmarks.truebench.rating import questions
from truebench_hf.errors import UserError
from truebench_hf.study.labelling import LabelOutOptions

SECRET = ("Criterion-ALFA-4711", "Criterion-BRAVO-4712", "Reference-4713", "Fault-4714", "modelname-4715")


def test_no_criterion_reference_or_model_is_on_a_sheet(tmp_path: Path) -> None:
    alfa, bravo, reference, fault, model = SECRET
    criteria = [[{"text": alfa, "condition": f"if {alfa}"}, {"text": fault, "weight": -1}], [bravo]]
    turns = [
        {"prompt": text, "criteria": given, "reference": reference}
        for text, given in zip(("Edit A.", "Now B."), criteria, strict=True)
    ]
    rows: list[dict[str, Any]] = [
        {"id": "one", "turns": turns, "category": "Editing", "language": "EN",
         "system": "Be kind.", "context": "The document."},
        row(2, [("Edit C.", [alfa, bravo])]),
    ]  # fmt: skip
    said = [{"id": "one", "response": ["q1", "q8"], "model": model}, {"id": "2", "response": "q9", "model": model}]
    given = {"data": write_jsonl(tmp_path / "d.jsonl", rows), "responses": (write_jsonl(tmp_path / "r.jsonl", said),)}
    compare(tmp_path, **given)
    files = ask_people(LabelOutOptions(folder=str(tmp_path / "out"), annotators="ann")).files
    for file in files:
        text = file.read_text(encoding="utf-8-sig")
        for shown in ("Edit A.", "Now B.", "Be kind.", "The document.", "q8", "Edit C.", "the last 2 answers"):
            assert shown in text, (file.suffix, shown)
        for hidden in (*SECRET, "Turn 1", "PASS", "rating"):
            assert hidden not in text, (file.suffix, hidden)
    kept = (tmp_path / "out" / "responses.jsonl").read_text(encoding="utf-8")
    assert alfa in kept, "what is looked for was there to be leaked"


def test_responses_to_one_prompt_stand_together_in_an_order_that_tells_no_model(tmp_path: Path) -> None:
    given = write(tmp_path, {"first": [1] * 20, "second": [2] * 20, "third": [3] * 20})
    compare(tmp_path, **given)
    sheet = ask_people(LabelOutOptions(folder=str(tmp_path / "out"), annotators="ann")).files[0]
    rows = rows_of(sheet)
    assert len(rows) == 60
    groups = [rows[i : i + 3] for i in range(0, 60, 3)]
    assert all(len({one["Instruction"] for one in group}) == 1 for group in groups)
    assert len({tuple(one["Response"] for one in group) for group in groups}) > 3, "not always the same model first"


def test_equal_answers_are_rated_once_and_count_for_each_model(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "d.jsonl", [row(1, [("Edit.", ["ALFA is kept"])])])
    said = [{"id": "1", "response": "q9 alike", "model": model} for model in ("a", "b")]
    given: dict[str, Any] = {
        "data": data,
        "responses": (write_jsonl(tmp_path / "r.jsonl", said),),
        "type": ("checklist",),
    }
    compare(tmp_path, **given)
    found, _, _ = compare(tmp_path, **given, humans=rated(tmp_path))
    assert len(questions(read_answered(tmp_path / "out"))) == 1
    assert found["people"]["passed"] == 2


Spoil = Callable[[str], str]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda text: text.replace("pass|fail", "yes|no").replace(",fail,", ",no,"), "not for pass or fail"),
        (lambda text: "id,annotator,options,answer\nx,ann,pass|fail,pass\n", "x: is in a sheet, but not among what"),
    ],
)  # fmt: skip
def test_sheets_that_cannot_be_used_are_refused_and_change_nothing(tmp_path: Path, spoil: Spoil, said: str) -> None:
    given = write(tmp_path, {"m": [6, 6, 6]}, type=("checklist",))
    compare(tmp_path, **given)
    sheet = Path(rated(tmp_path, names=("ann",))[0])
    text = sheet.read_text(encoding="utf-8").replace("\r\n", "\n")
    sheet.write_text(spoil(text), encoding="utf-8")
    before = (tmp_path / "out" / "scores.json").read_bytes()
    with pytest.raises(UserError, match=said):
        compare(tmp_path, **given, humans=(str(sheet),))
    assert (tmp_path / "out" / "scores.json").read_bytes() == before
    assert not (tmp_path / "out" / "labels.jsonl").exists()


def test_rows_about_other_responses_are_counted_and_left_out(tmp_path: Path) -> None:
    given = write(tmp_path, {"m": [6, 7, 8, 9]}, type=("checklist",))
    compare(tmp_path, **given)
    sheets = rated(tmp_path)
    found, _, notes = compare(tmp_path, **given, humans=sheets, limit=2)
    assert any("Labels of other responses, left out: 2" in note for note in notes)
    assert found["people"]["passed"] + found["people"]["failed"] == 2


def test_what_a_sheet_that_was_cut_lacks_is_a_missing_answer(tmp_path: Path) -> None:
    given = write(tmp_path, {"m": [6, 7, 8, 9]}, type=("checklist",))
    compare(tmp_path, **given)
    *_, last = map(Path, sheets := rated(tmp_path))
    whole = last.read_text(encoding="utf-8").splitlines(keepends=True)
    last.write_text("".join(whole[:3]), encoding="utf-8")
    found, _, _ = compare(tmp_path, **given, humans=sheets)
    assert found["people"]["open"] == {"a rater's answer is missing": 2}
