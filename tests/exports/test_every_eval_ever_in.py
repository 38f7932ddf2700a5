"""Scores that others tell in Every Eval Ever: read, shown, and on boards marked as theirs. Hand-made in the documented form."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.finished import finished, numbered
from tests.support.runs import command_here
from truebench_hf.errors import UserError
from truebench_hf.exports.every_eval_ever.reader import is_log, read, write
from truebench_hf.exports.export import export
from truebench_hf.space import about
from truebench_hf.space import leaderboard as leaderboard_page
from truebench_hf.space.board import boards
from truebench_hf.space.board.store import Snapshot
from truebench_hf.standings import runs
from truebench_hf.standings.leaderboard import leaderboard
from truebench_hf.standings.table import merged

SOURCE = {"dataset_name": "tea", "source_type": "hf_dataset", "hf_repo": "a/tea", "samples_number": 40}
LOG: dict[str, Any] = {
    "schema_version": "0.2.2",
    "evaluation_id": "teabench/acme/model-1/1700000000",
    "retrieved_timestamp": "1700000000",
    "source_metadata": {
        "source_type": "documentation", "source_organization_name": "Acme", "evaluator_relationship": "first_party",
        "source_organization_url": "https://acme.example",
    },
    "eval_library": {"name": "inspect_ai", "version": "0.3"},
    "model_info": {"name": "Model 1", "id": "acme/model-1"},
    "evaluation_results": [
        {"evaluation_name": "tea", "source_data": SOURCE,
         "metric_config": {"lower_is_better": False, "score_type": "continuous", "min_score": 0, "max_score": 100, "metric_name": "Accuracy"},
         "score_details": {"score": 62.5, "uncertainty": {"confidence_interval": {"lower": 50, "upper": 70, "confidence_level": 0.95}}}},
        {"evaluation_name": "elo", "source_data": SOURCE,
         "metric_config": {"lower_is_better": False, "score_type": "continuous", "min_score": 0, "max_score": "Infinity"},
         "score_details": {"score": 1203.5}},
        {"evaluation_name": "share", "source_data": SOURCE | {"samples_number": None},
         "metric_config": {"lower_is_better": True, "score_type": "continuous", "min_score": 0, "max_score": 1,
                           "llm_scoring": {"judges": [{"model_info": {"name": "j", "id": "x/j"}}], "input_prompt": "?"}},
         "score_details": {"score": 0.25, "uncertainty": {"num_samples": 8, "confidence_interval": {"lower": 0.1, "upper": 0.4, "confidence_level": 0.9}}}},
    ],
}  # fmt: skip


def log(path: Path, **changed: Any) -> Path:
    path.write_text(json.dumps(LOG | changed))
    return path


def test_scores_in_their_own_units(tmp_path: Path) -> None:
    (found,) = read(log(tmp_path / "x.json"))
    assert (found.kind, found.row.name, found.board.main) == ("teabench", "Model 1", "tea")
    assert [(column.name, column.title, column.percent) for column in found.board.columns] == [
        ("tea", "Accuracy", True), ("elo", "elo", False), ("share", "share", True),
    ]  # fmt: skip
    tea, elo, share = found.row.scores.values()
    assert (tea.value, tea.n, tea.ci95) == (0.625, 40, (0.5, 0.7))
    assert (elo.value, elo.n) == (1203.5, 40)
    assert (share.value, share.n, share.ci95) == (0.25, 8, None), "an interval of 90 % is none of 95 %"
    assert found.row.facts == {"Told by": "Acme (first party)", "Library": "inspect_ai 0.3", "Data": "tea"}


def test_boards_show_them_as_theirs(tmp_path: Path) -> None:
    lower = copy.deepcopy(LOG)
    lower["evaluation_results"] = lower["evaluation_results"][2:]
    (tmp_path / "y.json").write_text(json.dumps(lower | {"evaluation_id": "errors/acme/m/1"}))
    first, second = write([*read(log(tmp_path / "x.json")), *read(tmp_path / "y.json")], tmp_path / "theirs")
    run = runs.read(first)
    assert run is not None
    assert (run.kind, run.entries[0].source, run.entries[0].overall.value) == ("teabench", "others", 0.625)
    assert [(run.ascending, run.entries[0].facts["Judge"]) for run in (runs.read(second),) if run] == [(True, "j")]
    shown = leaderboard([str(tmp_path / "theirs")], kind="teabench")
    assert [(entry.name, entry.source) for entry in shown.entries] == [("Model 1", "others")]


def test_what_we_export_comes_back_and_is_not_ranked_with_what_was_measured(tmp_path: Path) -> None:
    ours = finished(tmp_path / "a", "ann", numbered([True, True, False]))
    export(ours, "every-eval-ever", tmp_path / "told", organization="Us")
    (found,) = read(tmp_path / "told")
    board = json.loads((Path(ours) / "run.json").read_text())["board"]
    assert found.kind == "truebench"
    assert found.row.scores["overall"].value == board["rows"][0]["scores"]["overall"]["value"] == pytest.approx(2 / 3)
    assert found.row.scores["overall"].n == 3
    assert found.row.scores["overall"].ci95 == pytest.approx(board["rows"][0]["scores"]["overall"]["ci95"])
    (folder,) = write([found], tmp_path / "theirs")
    shown = leaderboard([ours, str(folder)])
    assert sorted((entry.source, entry.rank) for entry in shown.entries) == [("measured", 1), ("others", 1)]
    assert len(set(shown.groups)) == 2, "groups of their own"


def test_scores_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """Many tell the accuracy on several sets of data; a table that calls all of them accuracy tells nothing."""
    one = copy.deepcopy(LOG["evaluation_results"][0])
    one["metric_config"]["metric_name"] = "Accuracy"
    several = [one | {"evaluation_name": name} for name in ("tea", "coffee")]
    (found,) = read(log(tmp_path / "x.json", evaluation_results=several))
    assert [column.title for column in found.board.columns] == ["tea", "coffee"]
    how = [{"Paradigm": "checklist"}, {"Paradigm": "rubric"}]
    several = [one | {"metric_config": one["metric_config"] | {"additional_details": told}} for told in how]
    (found,) = read(log(tmp_path / "x.json", evaluation_results=several))
    assert [column.title.rpartition(" / ")[2] for column in found.board.columns] == ["checklist", "rubric"]


def test_what_others_tell_is_told_as_theirs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of it is checked, as submissions are, and there are no judgments of it to look for."""
    export(finished(tmp_path / "a", "ann", numbered([True, False])), "every-eval-ever", tmp_path / "told")
    (folder,) = write(read(tmp_path / "told"), tmp_path / "theirs")
    done = command_here(capsys, "leaderboard", str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert "told by others" in done.stdout
    assert "nothing of it was measured or checked here" in done.stdout
    run = runs.read(folder)
    assert run is not None
    kinds, entries = merged([run])
    snapshot = Snapshot(tuple(entries), kinds, True, 0.0)
    (group,) = boards.boards(snapshot)[0].groups
    told = re.sub(r"\s*<[^>]+>\s*", " ", about.held(snapshot)).split()
    assert told[told.index("TRUEBench") :][:5] == ["TRUEBench", "0", "0", "0", "1"], (
        "published, measured, submitted, others"
    )
    assert (group.what, boards.HEADINGS[group.what].startswith("Told by others")) == ("others", True)
    assert "nothing of it was measured or checked here" in leaderboard_page._notes("truebench", group)[0]
    done = command_here(capsys, "study", "export", str(folder), "--to", "csv", "--out", str(tmp_path / "out"))
    assert (done.returncode, "holds scores that others tell, and no run" in done.stderr) == (2, True), done.stderr


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(log(tmp_path / "x.json"))
    ours = finished(tmp_path / "a", "ann", numbered([True]))
    done = command_here(capsys, "study", "score", path, ours, "--out", str(tmp_path / "theirs"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "Scores of others" in done.stdout
    assert "62.50" in done.stdout
    assert "50.0 to 70.0" in done.stdout
    assert "Pass rate" in done.stdout, "ours behind them"
    assert len(list((tmp_path / "theirs").glob("teabench-Model-1-*/run.json"))) == 1
    for arguments, told in (
        (["--protocol", "official", path], "which holds no official tables"),
        ([ours, "--out", str(tmp_path / "o")], "is for Every Eval Ever files"),
    ):
        done = command_here(capsys, "study", "score", *arguments)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"evaluation_results": []}, "holds no evaluation results"),
        ({"evaluation_results": [{"evaluation_name": "x"}]}, "field 'evaluation_results[0].source_data' is needed"),
        ({"model_info": None}, "model_info"),
        ({"source_metadata": {**LOG["source_metadata"], "evaluator_relationship": "friend"}}, "evaluator_relationship"),
        ({"evaluation_results": [{**LOG["evaluation_results"][1], "score_details": {"score": float("nan")}}]}, "score"),
        ({"evaluation_results": [{**LOG["evaluation_results"][0], "metric_config": {"lower_is_better": False, "score_type": "continuous"}}]}, "needs min_score"),
        ({"evaluation_results": [{**LOG["evaluation_results"][0], "score_details": {"score": 160}}]}, "field 'evaluation_results[0]' score 160 is not within its min_score 0"),
        ({"evaluation_results": [{**LOG["evaluation_results"][0], "score_details": {"score": 0.5, "uncertainty": {"confidence_interval": {"lower": 0.9, "upper": 0.1}}}}]}, "goes from 0.9 to 0.1"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_of_the_form(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    path = log(tmp_path / "x.json", **change)
    assert is_log(path)
    with pytest.raises(UserError) as caught:
        read(path)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_hostile_files_stay_within_a_board(tmp_path: Path) -> None:
    many = [LOG["evaluation_results"][0] | {"evaluation_name": f"{'x' * 900}{number}"} for number in range(300)]
    twice = [LOG["evaluation_results"][0], LOG["evaluation_results"][0] | {"metric_config": LOG["evaluation_results"][1]["metric_config"]}]  # fmt: skip
    model = {"name": "\x1b[31m" + "m" * 2000, "id": "a/b"}
    (found,) = read(log(tmp_path / "x.json", evaluation_results=many, model_info=model))
    assert found.more == 100
    (folder,) = write([found], tmp_path / "theirs")
    run = runs.read(folder)
    assert run is not None
    assert len(run.columns) == 200
    assert run.entries[0].name.isprintable()
    (found,) = read(log(tmp_path / "x.json", evaluation_results=twice, evaluation_id="../../etc/passwd"))
    assert [column.title for column in found.board.columns] == ["Accuracy", "tea"]
    (folder,) = write([found], tmp_path / "theirs")
    assert folder.parent == tmp_path / "theirs"


@pytest.mark.parametrize("part", ["", "data", "data/tea", "data/tea/org", "data/tea/org/model"])
def test_a_part_of_a_data_store_is_read(tmp_path: Path, part: str) -> None:
    """A folder below `data/` was taken for a run that lacks its judgments."""
    folder = tmp_path / "data" / "tea" / "org" / "model"
    folder.mkdir(parents=True)
    log(folder / "x.json")
    assert [Path(one.where).name for one in read(tmp_path / part)] == ["x.json"]
    (folder / "y.json").write_text("{")
    with pytest.raises(UserError, match=r"y\.json"):
        read(tmp_path / part)


def test_other_files_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[1]")
    (tmp_path / "b.json").write_text('{"evaluation_results"')
    (tmp_path / "c.jsonl").write_text('{"evaluation_results": []}')
    assert not any(is_log(tmp_path / name) for name in ("a.json", "b.json", "c.jsonl", "absent.json", "."))
