"""Meta-evaluation of several judges: where one could not be measured, and a panel that does not vanish or change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.rubric_rows import few
from tests.support.runs import script
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.benchmarks.rubric_eval.scores import MetaEvaluation
from truebench_hf.errors import UserError

THREE = ("openai:a", "openai:b", "openai:plain")
ALL = [{"contains": "<criteria", "verdicts": {}}]


def run(out: Path, *judges: str, paradigms: str = "checklist,decision", **more: Any) -> MetaEvaluation:
    return metaeval(
        MetaevalOptions(data=few(out.parent), limit=4, judge=judges, out=str(out), paradigms=paradigms, **more)
    )


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server on which the model `plain` has no decisions."""
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    with OpenAIServer() as server:
        server.add_faults([{"match": {"path": "/v1/systemone", "contains": "plain"}, "status": 501}] * 40)
        yield server.url


def held(out: Path, name: str = "run.json") -> Any:
    return json.loads((out / name).read_text(encoding="utf-8"))


def test_a_judge_that_cannot_be_measured_is_left_out_of_the_spread_alone(tmp_path: Path, url: str) -> None:
    study = run(tmp_path, *THREE, judge_base_url=url)
    rates = study.tables["pass_rates"].rows
    assert [row["judge"] for row in rates if row["paradigm"] == "checklist"] == list(THREE)
    assert [row["judge"] for row in rates if row["paradigm"] == "decision"] == ["openai:a", "openai:b"]
    assert all(row["pooled"].value is not None for row in rates)
    assert (tmp_path / "report.html").exists()
    assert held(tmp_path)["sessions"][-1]["finished"]


def test_what_nobody_was_measured_under_may_be_left_out_later(tmp_path: Path, url: str) -> None:
    run(tmp_path / "none", "openai:plain", judge_base_url=url)
    assert held(tmp_path / "none")["results"]["paradigms"] == ["checklist"]
    run(tmp_path / "none", "openai:plain", judge_base_url=url, paradigms="checklist")
    run(tmp_path / "some", *THREE, judge_base_url=url)
    with pytest.raises(UserError, match="has results of decision too"):
        run(tmp_path / "some", *THREE, judge_base_url=url, paradigms="checklist")


def test_results_that_cannot_be_written_leave_the_session_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from truebench_hf.engine.folder import RunFolder

    write = RunFolder.write_lines

    def full(self: RunFolder, name: str, parts: Any) -> Path:
        if name == "report.html":
            raise UserError("no room")
        return write(self, name, parts)

    spec = script(tmp_path / "judge.json", ALL)
    with monkeypatch.context() as broken:
        broken.setattr(RunFolder, "write_lines", full)
        with pytest.raises(UserError, match="no room"):
            run(tmp_path / "out", spec)
    info = held(tmp_path / "out")
    assert info["sessions"][-1]["finished"] is None
    assert "results" not in info
    run(tmp_path / "out", spec, paradigms="checklist")  # what has left nothing behind binds nobody


def test_a_panel_says_where_it_has_no_row(tmp_path: Path, url: str) -> None:
    study = run(tmp_path, *THREE, judge_base_url=url, panel="majority")
    rows = study.tables["judges"].rows
    assert [row["paradigm"] for row in rows if row["judge"] == "panel (majority)"] == ["checklist"]
    assert "the panel has no row for decision: not measured under it: openai:plain" in study.notes


def test_what_a_panel_was_stands_in_every_file(tmp_path: Path) -> None:
    one, two = (script(tmp_path / f"{name}.json", ALL) for name in ("one", "two"))
    study = run(tmp_path / "out", one, two, paradigms="checklist", panel="weighted:2,1.5")
    facts = f"panel (weighted 2,1.5) of {one}, {two}"
    assert held(tmp_path / "out")["results"]["panel"] == facts
    assert study.provenance["panel"] == facts
    assert held(tmp_path / "out", "scores.json")["judges"][-1]["judge"] == "panel (weighted 2,1.5)"
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert f"weighted 2,1.5) of {one}, {two}" in page
    alone = run(tmp_path / "alone", one, paradigms="checklist")
    assert alone.provenance["panel"] is None


@pytest.mark.parametrize(
    ("judges", "change", "reason"),
    [
        (("one", "two"), {"panel": None}, "its rows would be gone"),
        (("one", "two"), {"panel": "weighted:1,2"}, "other weights"),
        (("one", "two"), {"panel": "majority"}, "another rule"),
        (("one", "two", "three"), {"panel": "weighted:2,1,1"}, "another member"),
        (("two", "one"), {}, "the weights would go to others"),
    ],
)
def test_a_panel_does_not_vanish_or_change(
    tmp_path: Path, judges: tuple[str, ...], change: dict[str, Any], reason: str
) -> None:
    specs = {name: script(tmp_path / f"{name}.json", ALL) for name in ("one", "two", "three")}
    options: dict[str, Any] = {"panel": "weighted:2,1"}
    run(tmp_path / "out", specs["one"], specs["two"], paradigms="checklist", **options)
    before = (tmp_path / "out" / "scores.json").read_bytes()
    with pytest.raises(UserError, match=r"results of panel \(weighted 2,1\) of .* too, .* again"):
        run(tmp_path / "out", *(specs[name] for name in judges), paradigms="checklist", **options | change)
    assert (tmp_path / "out" / "scores.json").read_bytes() == before, reason
    same = options | {"panel": "weighted:2.0, 1"}
    study = run(tmp_path / "out", specs["one"], specs["two"], **same)
    assert len(study.tables["judges"].rows) == 6, "paradigms may still join"


def test_a_panel_may_join_a_finished_study(tmp_path: Path) -> None:
    one, two = (script(tmp_path / f"{name}.json", ALL) for name in ("one", "two"))
    run(tmp_path / "out", one, two, paradigms="checklist")
    study = run(tmp_path / "out", one, two, paradigms="checklist", panel="unanimous")
    assert study.tables["judges"].rows[-1]["judge"] == "panel (unanimous)"


def test_what_three_judges_are_worth_together_stands_in_the_table_and_in_scores_json(tmp_path: Path) -> None:
    lenient, strict = [{"contains": "<criteria", "verdicts": {}}], [{"contains": "<criteria", "verdicts": {"": "FAIL"}}]
    specs = [
        script(tmp_path / f"{name}.json", rules)
        for name, rules in (("one", lenient), ("two", lenient), ("three", strict))
    ]
    study = run(tmp_path / "out", *specs, paradigms="checklist")
    (row,) = study.tables["panels"].rows
    assert (row["paradigm"], row["judges"]) == ("checklist", 3)
    assert row["balanced_accuracy"] == 0.5, "two of three pass everything"
    (worth,) = held(tmp_path / "out", "scores.json")["panels"]
    assert (worth["gain"]["value"], worth["leave_out"]) == (0.0, None)
    assert [member["judge"] for member in study.tables["panel_members"].rows] == specs
    two = run(tmp_path / "two", *specs[:2], paradigms="checklist")
    assert "panels" not in two.tables, "of two judges there is no majority"
