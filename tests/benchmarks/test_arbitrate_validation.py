"""An arbitration held against labels that are trusted (paper 003, section 3.3): each figure by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.arbitration import TABLE, panel_specs, table_options, table_rows, write_rows
from tests.support.tables import row_of
from truebench_hf.benchmarks.rubric_eval import data as rubric_rows
from truebench_hf.benchmarks.rubric_eval.arbitration import arbitrate, prepare
from truebench_hf.benchmarks.rubric_eval.funnel import read_trusted
from truebench_hf.errors import UserError
from truebench_hf.report.table import PUBLISHED, Table
from truebench_hf.results.folder import Results

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
    assert figures(found["methods"], "majority") == (6, 4, 1.0, 2 / 6)
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


def test_ties_are_wrong_in_the_first_figure_of_every_table(tmp_path: Path) -> None:
    found = arbitrate(table_options(tmp_path, reference=_trusted(tmp_path)))
    assert figures(found["methods"], "majority")[2:] == (1.0, 2 / 6), "right at two of six, tied at the others"
    paper = row_of(found["methods"], method="majority", **{PUBLISHED: True})
    assert paper["accuracy_strict"].value == 0.695, "the paper's figure stands beside the strict one"
    for name in ("judges", "methods", "by_exit"):
        assert [column.name for column in found[name].columns][1:3] == ["accuracy_strict", "accuracy"]


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


# --- data and command line -------------------------------------------------------------------------------------------


def test_rubric_mini_keeps_its_names_and_checklists() -> None:
    items = rubric_rows.read("rubric_mini")
    assert len(items) == 378 + 560
    built = {row["id"]: row for row in rubric_rows.load("rubric_mini")}
    for item in items:
        for i, criterion in enumerate(item.case.criteria):
            assert built[item.rubric(i).id]["rubric"] == criterion.text
            assert built[item.rubric(i).id]["response"] == item.case.response


def test_real_structflowbench_turns_need_an_answer() -> None:
    path = Path(__file__).parents[3] / "shared/data/structflowbench/StructFlowBench.json"
    if not path.exists():
        pytest.skip("../shared/data/structflowbench is not here")
    items = rubric_rows.read(f"structflowbench:{path}")
    assert len(items) == 643
    assert all(not item.answered and item.reference for item in items)
    with pytest.raises(UserError, match="name a --responder"):
        prepare(items, (), 0)
