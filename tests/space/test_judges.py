"""The Judges tab: what `truebench metaeval` measured, beside the published RubricEval tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.runs import script
from truebench_hf.space.board import judges, reference, runs
from truebench_hf.space.board.runs import JudgeRun


def _cell(value: float | None, interval: list[float] | None = None, unscored: int = 0) -> dict[str, Any]:
    score = {"value": value, "n": 9, "unscored": unscored, "ci95": interval}
    return {"balanced_accuracy": score, "accuracy": {"value": 70.0, "n": 9}}


def _study(judge: str, cell: dict[str, Any], data: str = "/secret/rows.jsonl") -> JudgeRun:
    line = {
        "judge": judge, "paradigm": "rubric-reasoning", "overall": cell, "category_mean": cell,
        "by_category": {"system": cell}, "by_rubric_type": {"role_persona": cell}, "by_dimension": {"style": cell},
    }  # fmt: skip
    return JudgeRun(judge, {"settings": {"data": data}}, {"judges": [line]})


STUDY = _study("hf:/secret/models/J", _cell(61.24, [55.0, 67.26], unscored=2))


def test_a_measured_line_tells_data_numbers_and_interval() -> None:
    headers, rows = judges.overview([STUDY])
    assert dict(zip(headers, rows[0], strict=True)) == {
        "Judge": "hf:J", "Results": "measured", "Data": "rows.jsonl", "Split": "", "Paradigm": "rubric, reasoning",
        "Overall": 61.2, "95 % interval": "55.0 to 67.3", "Constrained": None, "Compositional": None,
        "Multi-turn": None, "System": 61.2, "n": 9, "Not judged": 2,
    }  # fmt: skip
    headers, ways = judges.paradigms([STUDY])
    told = dict(zip(headers, ways[0], strict=True))
    assert [told[name] for name in ("Data", "Level", "Reasoning", "Overall", "95 % interval", "n", "Not judged")] == [
        "rows.jsonl", "rubric", "yes", 61.2, "55.0 to 67.3", 9, 2,
    ]  # fmt: skip


def test_the_papers_lines_leave_blank_what_the_paper_does_not_tell() -> None:
    for make, count in ((judges.overview, 22), (judges.paradigms, 8 + 16)):
        headers, rows = make([])
        assert len(rows) == count
        for row in rows:
            told = dict(zip(headers, row, strict=True))
            assert [told[name] for name in ("Data", "95 % interval", "n", "Not judged")] == ["", "", None, None]


def test_best_first_and_measured_before_published() -> None:
    measured = [_study("low", _cell(40.0)), _study("none", _cell(None)), _study("high", _cell(99.0))]
    for make in (judges.overview, judges.paradigms):
        headers, rows = make(measured)
        assert [row[0] for row in rows[:3]] == ["high", "low", "none"], "a judge without a score comes last"
        assert all(row[1] == "paper †" for row in rows[3:])
        printed = [row[headers.index("Overall")] for row in rows[3:]]
        assert printed == sorted(printed, reverse=True)
        assert len(set(printed)) > 10, "the order is of the scores, not of equal ones"


def test_rubric_types_of_measured_and_published_judges() -> None:
    headers, kinds = judges.rubric_types([STUDY])
    by_kind = {row[1]: row for row in kinds}
    assert headers[2] == "hf:J (rubric-reasoning)"
    assert by_kind["Role Persona"][2] == 70.0
    assert by_kind["all"][2:4] == [70.0, None]  # the cell that cannot be read


def test_scores_of_another_form_are_left_out() -> None:
    assert judges.overview([JudgeRun("k", {}, {"judges": "odd"})])[1][0][1] == "paper †"


def test_what_metaeval_writes_is_what_the_board_reads(tmp_path: Path) -> None:
    from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval

    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
    metaeval(MetaevalOptions(data="rubric_mini", judge=(judge,), paradigms="rubric", out=str(tmp_path / "study")))
    run = runs.read(tmp_path / "study")
    assert isinstance(run, JudgeRun)
    labelled = json.loads((tmp_path / "study" / "scores.json").read_text())["provenance"]
    # A judge that always says yes: it finds every met rubric and no other, which is 50 in every category and overall,
    # in every resample, too.
    assert judges.overview([run])[1][0][1:] == [
        "measured", "rubric_mini", "", "rubric, no reasoning", 50.0, "35.3 to 64.7", *[50.0] * 4,
        labelled["labelled_yes"] + labelled["labelled_no"], 0,
    ]  # fmt: skip
    _, kinds = judges.rubric_types([run])
    assert all(isinstance(row[2], float) for row in kinds), "every rubric type occurs in rubric_mini"


def test_judge_names_match_the_taxonomy() -> None:
    from truebench_hf.benchmarks.rubric_eval.rubric_types import RUBRIC_TYPES

    names = {row["Rubric Type"] for row in reference.table("rubriceval_table4_rubric_types")["rows"]} - {None}
    assert {judges.key(name) for name in names} == set(RUBRIC_TYPES)
