"""An arbitration held against people (paper 003, section 3.4): sheets out and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.arbitration import TABLE, table_options
from tests.support.tables import row_of
from truebench_hf.api.labels import ask_people, take_labels
from truebench_hf.benchmarks.rubric_eval.arbitration import ArbitrationLabels, arbitrate
from truebench_hf.benchmarks.rubric_eval.funnel import read_trusted
from truebench_hf.cli.app import app
from truebench_hf.errors import UserError
from truebench_hf.study.labelling import LabelInOptions, LabelOutOptions


def _filled(sheet: Path, answers: dict[str, str]) -> None:
    """Write answers (by rubric, others `yes`) into a CSV sheet as a spreadsheet program would."""
    import csv

    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            rubric = next(text for text in TABLE if row["question"].endswith(text))
            writer.writerow(row | {"answer": answers.get(rubric, "yes")})


def test_sheets_are_blind_and_come_back_as_agreement(tmp_path: Path) -> None:
    arbitrate(table_options(tmp_path))
    out = tmp_path / "out"
    run = CliRunner()
    done = run.invoke(app, ["label", "out", str(out), "--annotators", "eva,jon"])
    assert done.exit_code == 0, done.output
    assert "3 easy constrained" in done.output
    assert "3 hard constrained" in done.output
    for sheet in (out / "sheets").iterdir():
        text = sheet.read_text(encoding="utf-8-sig")
        for telling in ("scripted", "on it", "hard", "easy", "ann.json"):
            assert telling not in text, f"{sheet.name} gives {telling!r} away"
    # Labels: easy yes, no, no; hard no, yes, yes (in the order of TABLE). Eva says yes throughout but for the first no.
    _filled(out / "sheets" / "eva.csv", {"settled against the majority": "no"})
    # Jon agrees with her but for "two against two", which is a tie and stays open.
    _filled(out / "sheets" / "jon.csv", {"settled against the majority": "no", "two against two": "no"})
    sheets = [str(out / "sheets" / f"{name}.csv") for name in ("eva", "jon")]
    done = run.invoke(app, ["label", "in", str(out), *sheets], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    found = {row["rows"]: row for row in json.loads((out / "human.json").read_text())["against_people"]}
    every, easy, hard = (found[name] for name in ("all", "easy constrained", "hard constrained"))
    # People: yes, no, yes (easy), yes, open, yes (hard). Right: 1, 2, 6 of the five settled ones.
    assert (every["settled"], every["accuracy"]["value"], every["open"]) == (5, 3 / 5, 1)
    assert every["open_wrong"]["value"] == 3 / 6
    assert (easy["open"], easy["accuracy"]["value"]) == (0, pytest.approx(2 / 3))
    assert hard["accuracy"]["value"] == 1 / 2
    (among,) = json.loads((out / "human.json").read_text())["annotators"]
    assert among["raw"] == pytest.approx(5 / 6)
    shown = " ".join(done.output.split())
    for text in ("85.0", "0.702", "Open, left out: 1", "all │ 5 │ 1 │ 60.0 │ │ 50.0", "accuracy and kappa are upper"):
        assert text in shown, text
    human = out / "human.jsonl"
    assert len(read_trusted(str(human))) == 5, "the open one is no label; the rest may validate a run"
    again = arbitrate(table_options(tmp_path, reference=str(human)))
    assert again["reference"].rows[0]["rubrics"] == 5


def test_an_adjudicator_settles_ties(tmp_path: Path) -> None:
    arbitrate(table_options(tmp_path))
    out, sheets = str(tmp_path / "out"), tmp_path / "sheets"
    ask_people(LabelOutOptions(folder=out, annotators="eva,jon,kim", out=str(sheets)))
    _filled(sheets / "eva.csv", {"two against two": "no"})
    _filled(sheets / "jon.csv", {})
    _filled(sheets / "kim.csv", {"two against two": "no"})
    eva, jon, kim = (str(sheets / f"{name}.csv") for name in ("eva", "jon", "kim"))

    def settled(**given: Any) -> tuple[Mapping[str, Any], str]:
        found = take_labels(LabelInOptions(folder=out, **given)).value
        return row_of(found["against_people"], rows="all"), found["annotators"].rows[0]["annotators"]

    every, names = settled(sheets=(eva,))
    assert (every["settled"], names) == (6, "eva")
    every, names = settled(sheets=(jon,))
    assert (every["settled"], names) == (5, "eva, jon"), "eva's answers are kept"
    every, names = settled(decisions=(kim,))
    assert (every["settled"], every["open"]) == (6, 0)
    assert every["accuracy"].value == every["open_wrong"].value
    assert names == "eva, jon", "the adjudicator is not one of them"


def test_an_arbitration_that_labelled_nothing_has_nothing_to_send_out(tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    for split in ("easy", "hard"):
        (tmp_path / "labels" / f"{split}.jsonl").touch()
    with pytest.raises(UserError, match="the judges left no rubric with a label"):
        ArbitrationLabels(str(tmp_path)).draw(LabelOutOptions(folder=str(tmp_path)))


def test_sheets_need_labels_of_their_own_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no labels"):
        ArbitrationLabels(str(tmp_path)).draw(LabelOutOptions(folder=str(tmp_path)))
