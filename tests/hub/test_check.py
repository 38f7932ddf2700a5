"""The layout of a results data set, and the check that finds what vanished, stands twice, or does not follow from a run."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.golden.compare import EXPECTED
from tests.hub.test_publish import judged, needs_real, release_instances, write_run
from tests.support.finished import finished
from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.runs import command_here
from truebench_hf.cli.studies import _COMMANDS, load
from truebench_hf.errors import UserError
from truebench_hf.hub.layout import PARTS, TABLE, measurements, read_table, table_of, write_table
from truebench_hf.hub.results import check_results as check
from truebench_hf.hub.staging import NOTHING, stage, stage_file
from truebench_hf.hub.submission import validate
from truebench_hf.study.ranking import Board, BoardColumn, BoardRow
from truebench_hf.types import Score

OUTCOMES = {"a": True, "b": False, "c": None}
LANGUAGES = {"a": "DE", "b": "FR", "c": "JA"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results data set of two models, one language of which nothing is decided."""
    folder = tmp_path_factory.mktemp("repository")
    for model in ("ann", "bob"):
        stage(Path(finished(folder / model, model, OUTCOMES, languages=LANGUAGES)), folder / "repo")
    return folder / "repo"


@pytest.fixture
def repo(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "repo")


def ann(repo: Path) -> Path:
    """The folder of a run."""
    return next(repo.glob("runs/scripted-ann-json--*"))


def change(path: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def edit_table(repo: Path, edit: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Change the table of ann."""
    rows = read_table(ann(repo) / TABLE)
    edit(rows)
    write_table(rows, ann(repo) / TABLE)


def edit_score(name: str, **changes: Any) -> Callable[[Path], None]:
    def edit(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if row["score"] == name).update(changes)

    return lambda repo: edit_table(repo, edit)


def other_columns(repo: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"model": ["ann"], "value": ["1"]}), ann(repo) / TABLE)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda repo: edit_table(repo, lambda rows: rows.pop()), ": is not what the run gives"),
        (edit_score("overall", value=0.9), "ann.json, overall: is not what the run gives"),
        (edit_score("language:JA", value=0.0), "language:JA: a value over nothing; what is not known is null"),
        (edit_score("language:JA", reason=None), "language:JA: is not what the run gives"),
        (edit_score("overall", score="best"), "ann.json, best: is not what the run gives"),
        (edit_score("overall", revision="v9"), "ann.json, overall: is not what the run gives"),
        (lambda repo: (ann(repo) / TABLE).write_text("x"), "scores.parquet "),
        (lambda repo: (ann(repo) / TABLE).unlink(), "holds no scores.parquet"),
        (other_columns, "has other columns than a table of scores: data, "),
        (lambda repo: (repo / "runs" / "stray.json").write_text("{}"), "runs/stray.json: holds no scores.parquet"),
        (lambda repo: shutil.copytree(ann(repo), repo / "runs" / "again"), "ann.json, overall, "),
        (lambda repo: shutil.copytree(ann(repo), repo / "runs" / "again"), "runs/again: is the run scripted-ann-json--"),
        (lambda repo: change(ann(repo) / "run.json", lambda i: i.update(settings=[])), "cannot be laid out again"),
        (lambda repo: (ann(repo) / "run.json").unlink(), "cannot be laid out again: is no run folder"),
        (lambda repo: change(ann(repo) / "scores.json", lambda s: s["scores"][0]["score"].update(value=1)), "overall is given as"),
        (lambda repo: (ann(repo) / "judgments.jsonl").unlink(), "judgments.jsonl: cannot be read"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(repo: Path, spoil: Callable[[Path], Any], told: str) -> None:
    spoil(repo)
    faults = check(repo).faults
    assert any(told in fault for fault in faults), faults
    assert not any("\n" in fault for fault in faults)


def test_nothing_vanishes_from_one_state_to_the_next(made: Path, repo: Path) -> None:
    shutil.rmtree(ann(repo))
    assert check(repo).faults == (), "whole in itself"
    gone = [fault for fault in check(repo, made).faults if fault.startswith("ann.json, overall, ")]
    assert len(gone) == 1
    assert gone[0].endswith(": is gone; it stood there before")
    assert check(made, repo).faults == (), "more is no fault"
    with pytest.raises(UserError, match="no results data set there"):
        check(repo / "runs")


@needs_real
@pytest.mark.slow
def test_a_run_over_a_whole_release_has_every_language_and_category(tmp_path: Path) -> None:
    """2 s."""
    run = write_run(tmp_path / "run", [judged(i, len(i.turns)) for i in release_instances()])
    (staged,) = stage(run, tmp_path / "repo")
    assert {row["data_revision"] for row in staged.rows} == {"v0.6.1"}
    assert len(staged.rows) == len(PARTS["v0.6.1"])


def info_of(identity: dict[str, Any], served: dict[str, Any], spec: str) -> dict[str, Any]:
    settings = {"model": spec, "models": {"model": identity}, "data": "org/set@v2"}
    return {"kind": "tick", "settings": settings, "served": {"model": served}, "sessions": []}


@pytest.mark.parametrize(
    ("spec", "identity", "served", "told", "reason"),
    [
        ("hf:Q/m", {"provider": "transformers", "model": "Q/m", "revision": "v1"}, {}, ("Q/m", "v1", "transformers"), "asked for"),
        ("hf:Q/m", {"provider": "transformers", "model": "Q/m"}, {"revision": {"abc": 3}}, ("Q/m", "abc", "transformers"), "told"),
        ("openai:gpt", {"provider": "openai", "model": "gpt"}, {"model": {"gpt-1": 3}}, ("gpt", "gpt-1", "openai"), "its own name"),
        ("openai:gpt", {"provider": "openai", "model": "gpt"}, {"model": {"gpt": 3}}, ("gpt", None, "openai"), "-"),
        ("openai:Q/m:groq", {"provider": "huggingface:groq", "model": "Q/m:groq"}, {"model": {"q/M": 1}},
         ("Q/m", None, "groq"), "the provider's way to write it"),
        ("openai:gpt", {"provider": "openai", "model": "gpt"}, {"model": {"a": 1, "b": 1}}, ("gpt", None, "openai"), "two of them"),
        ("openai:Q/m", {"provider": "huggingface:not pinned", "model": "Q/m"}, {}, ("Q/m", None, "not pinned"), "left open"),
        ("mine", {}, {}, ("mine", None, None), "its answers were given"),
    ],
)  # fmt: skip
def test_what_is_known_of_a_model(
    spec: str, identity: dict[str, Any], served: dict[str, Any], told: tuple[str | None, ...], reason: str
) -> None:
    board = Board("x", (BoardColumn("x", "X"),), (BoardRow(spec, "s", {"x": Score(None, 0)}),))
    (row,) = table_of("id", info_of(identity, served, spec), board)
    assert (row["model"], row["revision"], row["provider"]) == told, reason
    assert (row["data"], row["data_revision"]) == ("org/set", "v2")
    assert row["reason"] == "nothing of it was measured"


def test_every_kind_of_study_is_published_or_says_why_not(tmp_path: Path) -> None:
    """Folders that the real commands made with scripted models, as tests/golden holds them to be."""
    kinds: dict[str, str] = {}
    for file in sorted(EXPECTED.rglob("run.json")):
        kind = json.loads(file.read_text())["kind"]
        if kind == "truebench":  # its records are held in another layout
            continue
        out = tmp_path / str(len(list(tmp_path.iterdir())))
        try:
            (staged,) = stage(file.parent, out)
        except UserError as error:
            kinds[kind] = str(error)
            continue
        assert all(row["value"] is not None or row["reason"] for row in staged.rows), file
        names = {path.name for path in (out / "runs" / staged.run_id).iterdir()}
        assert names - {"run.json", "scores.parquet", "report.html"} <= {"scores.json"}
        for path in (path for path in out.rglob("*.json*") if path.is_file()):
            for name in ("eva", "jon", "kim"):  # who filled in the sheets
                assert not re.search(rf'"{name}\b', path.read_text()), path
        assert check(out).faults == (), file
        assert not any("/sheets/" in path.read_text() for path in out.rglob("run.json"))
        kinds[kind] = "board" if staged.rows[0]["score"] else "figures"
    assert set(kinds) | {"truebench"} == {load(name)[1].kind for name in _COMMANDS}  # type: ignore[attr-defined]
    assert {kind for kind, what in kinds.items() if "it holds no figures to publish" in what} == set(NOTHING)
    assert {kind for kind, what in kinds.items() if what == "figures"} == {
        "arbitrate", "calibrate", "checklists", "contrast", "criteria-refinement", "criteria-types", "criteria-validation",
        "facts-classify", "facts-select", "flexdecompose", "rules", "taxonomy",
    }  # fmt: skip


def test_answers_that_nobody_judged_are_no_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.support.runs import script

    out = tmp_path / "out"
    model = script(tmp_path / "m.json", [])
    done = command_here(
        capsys, "study", "generate", "--data", "mini", "--limit", "2", "--model", model, "--out", str(out)
    )
    assert done.returncode == 0, done.stderr
    done = command_here(capsys, "publish", "results", str(out), "--repo-id", "org/r", "--dry-run", "--force")
    assert done.returncode == 2
    assert "holds answers that nobody has judged; `truebench judge --out" in done.stderr


def test_a_submission_stands_among_them_by_itself(repo: Path, tmp_path: Path) -> None:
    """Two people may submit runs of one model: each has a folder of its own, and is marked."""
    owned = ann(repo)
    submitted = stage_file(validate(owned / "judgments.jsonl"), repo)
    assert submitted.run_id != owned.name
    assert (submitted.rows[0]["submitted"], submitted.rows[0]["tool_version"]) == (True, None)
    assert check(repo).faults == ()


@pytest.mark.parametrize(
    ("files", "fits"), [((), False), (("README.md", "x.txt"), False), ((".gitattributes", "README.md"), True)]
)
def test_what_stood_there_before_is_a_results_repository_too(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], files: tuple[str, ...], fits: bool
) -> None:
    """Against any other folder nothing could vanish. One with its card alone is where the first results are to go."""
    before = tmp_path / "before"
    before.mkdir()
    for name in files:
        (before / name).write_text("")
    done = command_here(capsys, "publish", "results", "--check", str(repo), "--before", str(before))
    told = f"truebench: --before {before}: no results data set there (it has no folder `runs`); give a checkout"
    assert (done.returncode, told in done.stderr, done.stderr.count("\n")) == ((0, False, 0) if fits else (2, True, 1))


@pytest.mark.parametrize(
    ("change", "same", "reason"),
    [
        ({"temperature": 0.7}, False, "drawn otherwise"),
        (
            {"models": {"model": {"provider": "openai", "model": "q", "options": {"reasoning_effort": "low"}}}},
            False,
            "-",
        ),
        ({"samples": 4, "model_concurrency": 9, "limit": 3}, True, "the data hash tells of samples of the data"),
    ],
)
def test_a_model_that_was_asked_otherwise_is_another_measurement(
    change: dict[str, Any], same: bool, reason: str
) -> None:
    board = Board("x", (BoardColumn("x", "X"),), (BoardRow("openai:q", "s", {"x": Score(0.5, 2)}),))
    plain = info_of({"provider": "openai", "model": "q"}, {}, "openai:q")
    other = plain | {"settings": plain["settings"] | change}
    assert (measurements(plain, board) == measurements(other, board)) is same, reason


@pytest.mark.slow
def test_what_was_measured_stands_once_on_the_hub(hub: HubStub, client: HubClient, tmp_path: Path) -> None:
    """8 s. Another run of the same model takes the place of the first only where it is told to."""
    one, other = (
        finished(tmp_path / name, "ann", OUTCOMES | {"b": passed}, languages=LANGUAGES, judge="j")
        for name, passed in (("x", False), ("y", True))
    )
    where = ("--repo-id", "org/results", "--force", "--public")
    assert client.truebench("publish", "results", one, *where).returncode == 0
    first = {name for name in hub.files("dataset", "org/results") if name.startswith("runs/")}
    done = client.truebench("publish", "results", other, *where)
    assert done.returncode == 2
    assert "what was measured stands there once: add --replace to put this run in its place" in done.stderr
    assert done.stderr.count("\n") == 1
    assert client.truebench("publish", "results", one, *where).stdout.startswith("  ")  # the same run is nothing new
    done = client.truebench("publish", "results", other, *where, "--replace")
    assert done.returncode == 0, done.stderr
    assert {name for name in hub.files("dataset", "org/results") if name.startswith("runs/")} == first
    done = client.truebench("publish", "results", "--check", "org/results")
    assert (done.returncode, done.stdout) == (0, "runs: 1, scores: 5; nothing vanished, nothing stands twice\n"), (
        done.stderr
    )
    done = client.truebench("publish", "results", "--check", "org/nothing")
    assert done.returncode == 2
    assert "org/nothing: the Hub has no such repository" in done.stderr


def test_a_data_set_without_results_is_told_by_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was told by the folder of a cache."""
    monkeypatch.setattr("truebench_hf.hub.results._fetched", lambda place: tmp_path)
    done = command_here(capsys, "publish", "results", "--check", "org/other")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "truebench: org/other: no results data set there (it has no folder `runs`); give a checkout of one, or "
        "ORG/NAME[@REVISION]\n"
    )


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (403, "your token may not read there"),  # all of these were a traceback
        (429, "refused with 429: injected failure 429; try again"),
        (500, "refused with 500: injected failure 500; try again"),
    ],
)
def test_a_hub_that_refuses_a_check_is_one_line(hub: HubStub, client: HubClient, status: int, told: str) -> None:
    hub.fail_next("GET", "org/results", status, times=20)
    done = client.truebench("publish", "results", "--check", "org/results")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("truebench: org/results: ")
    assert told in done.stderr
    assert "pushed" not in done.stderr
    assert done.stderr.count("\n") == 1
