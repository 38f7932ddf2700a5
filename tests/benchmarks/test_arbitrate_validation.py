"""An arbitration held against labels that are trusted and against people (paper 003, 3.3 and 3.4): each figure by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.arbitration import TABLE, panel_specs, table_options, table_rows, write_rows
from tests.support.people import fill
from tests.support.tables import row_of
from truebench_hf.api.labels import ask_people, take_labels
from truebench_hf.benchmarks.rubric_eval import data as rubric_rows
from truebench_hf.benchmarks.rubric_eval.arbitration import ArbitrationLabels, arbitrate, prepare
from truebench_hf.benchmarks.rubric_eval.funnel import read_trusted
from truebench_hf.cli.app import app
from truebench_hf.errors import UserError
from truebench_hf.report.table import PUBLISHED, Table
from truebench_hf.results.folder import Results
from truebench_hf.study.labelling import LabelInOptions, LabelOutOptions

GOLD = {rubric: "no" if i % 2 else "yes" for i, rubric in enumerate(TABLE)}  # yes, no, yes, ...


def _trusted(folder: Path, **changes: Any) -> str:
    rows = [row | {"label": GOLD[row["rubric"]]} | changes for row in table_rows()]
    return write_rows(folder / "trusted.jsonl", rows)


def test_validation_by_hand(tmp_path: Path) -> None:
    panel = panel_specs(tmp_path)
    options = table_options(tmp_path, reference=_trusted(tmp_path))
    found = arbitrate(options)
    # Gold by place: 0 yes, 1 no, 2 yes, ... 10 yes. Rubric 1 has no fine rule: no judge can be read there.
    # P ? P F P P P P P P F: right at 0, 2, 3, 4, 6, 8.
    assert figures(found["judges"], panel["ann"]) == (11, 1, 6 / 10, 6 / 11)
    # P ? F P F P F P F F ? F: right at 0 and 2 to 7.
    assert figures(found["judges"], panel["bob"]) == (11, 2, 7 / 9, 7 / 11)
    # Unanimous at the fine pass: 2 (yes, right), 3 (no, right), 10 (no, wrong).
    assert figures(found["methods"], "unanimous") == (3, 0, 2 / 3, 2 / 3)
    # Disputed: 0 (PPFF), 4 (PPPF), 5 and 7 and 8 (PFPF), 6 (PPP?). Majority: right at 4 and 6, tied at the others.
    assert found["reference"].rows == [
        {"rubrics": 11, "disputed": 6, "not_in_run": 0, "other_response": 0, "unanswered": 0}
    ]
    assert figures(found["methods"], "majority") == (6, 4, 1.0, 2 / 6), "ties are wrong in the strict figure"
    paper = row_of(found["methods"], method="majority", **{PUBLISHED: True})
    assert paper["accuracy_strict"].value == 0.695, "the paper's figure stands beside the strict one"
    for name in ("judges", "methods", "by_exit"):
        assert [column.name for column in found[name].columns][1:3] == ["accuracy_strict", "accuracy"]
    # Meta-judges agree on 0 and 4 (no, wrong), 5 (yes, wrong), 6 (yes, right).
    assert figures(found["methods"], "meta-judges")[1:3] == (2, 1 / 4)
    # Best single judge on the disputed: bob says P P F P F F against yes yes no yes no yes: 5 of 6.
    assert figures(found["methods"], "best single judge")[3] == 5 / 6
    assert found["judges_on_disputed"].rows[0]["method"] == panel["bob"]
    assert figures(found["by_exit"], "hard")[2] == 1 / 3
    assert figures(found["by_exit"], "coarse_unanimous")[2] == 1.0


def figures(table: Table, method: str) -> tuple[int, int, float | None, float | None]:
    """n, undecided, accuracy of decided, and accuracy with what is undecided as wrong."""
    row = row_of(table, method=method, **{PUBLISHED: None})
    return row["n"], row["undecided"], row["accuracy"].value, row["accuracy_strict"].value


def test_validation_joins_a_finished_run_and_pays_under_its_own_name(tmp_path: Path) -> None:
    before = arbitrate(table_options(tmp_path))["stages"]
    after = arbitrate(table_options(tmp_path, reference=_trusted(tmp_path)))
    assert after["stages"] == before
    # Four judges look at two more rubrics; on one of them none can be read, so that each is asked three times. On the
    # other they differ, which brings in both meta-judges.
    spent = Results.open(tmp_path / "out").spent
    assert sum(usage.calls for role, usage in spent.items() if role.startswith("validation")) == 4 + 4 * 3 + 2


def test_labels_of_other_responses_do_not_count(tmp_path: Path) -> None:
    found = arbitrate(table_options(tmp_path, reference=_trusted(tmp_path, response="Something else.")))
    (counts,) = found["reference"].rows
    assert (counts["rubrics"], counts["other_response"]) == (0, len(TABLE))
    assert figures(found["methods"], "unanimous") == (0, 0, None, None)


def test_an_id_may_be_labelled_only_once(tmp_path: Path) -> None:
    twice = [{"id": "a", "label": "yes"}, {"id": "b", "label": "no"}, {"id": "a", "label": "no"}]
    with pytest.raises(UserError, match="row 3: id 'a' is that of row 1 too"):
        read_trusted(write_rows(tmp_path / "twice.jsonl", twice))
    open_one = [{"id": "a", "label": None}, {"id": "a", "label": "no"}]  # an open row labels nothing
    assert read_trusted(write_rows(tmp_path / "open.jsonl", open_one)) == {"a": ("no", None)}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "a"}, "row 1: missing field 'label'; the file has id .it is needed"),
        ({"label": "yes"}, "row 1: missing field 'id'; the file has label"),
        ({"id": "a", "label": "maybe"}, "must be yes or no, .* not 'maybe'"),
        ({"id": "a", "label": ["yes"]}, "must be yes or no"),
        ({"id": "a", "label": None}, "holds no labels"),
    ],
)
def test_trusted_labels_that_cannot_be_used(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_trusted(write_rows(tmp_path / "t.jsonl", [row]))


# Held against people


def _filled(sheet: Path, answers: dict[str, str]) -> None:
    """Write answers (by rubric, others `yes`) into a sheet."""
    fill(sheet, lambda row: answers.get(next(text for text in TABLE if row["question"].endswith(text)), "yes"))


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


def test_sheets_need_labels_of_their_own_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no labels"):
        ArbitrationLabels(str(tmp_path)).draw(LabelOutOptions(folder=str(tmp_path)))
    (tmp_path / "labels").mkdir()
    for split in ("easy", "hard"):
        (tmp_path / "labels" / f"{split}.jsonl").touch()
    with pytest.raises(UserError, match="the judges left no rubric with a label"):
        ArbitrationLabels(str(tmp_path)).draw(LabelOutOptions(folder=str(tmp_path)))


def test_real_structflowbench_turns_need_an_answer() -> None:
    path = Path(__file__).parents[3] / "shared/data/structflowbench/StructFlowBench.json"
    if not path.exists():
        pytest.skip("../shared/data/structflowbench is not here")
    items = rubric_rows.read(f"structflowbench:{path}")
    assert len(items) == 643
    assert all(not item.answered and item.reference for item in items)
    with pytest.raises(UserError, match="name a --responder"):
        prepare(items, (), 0)
