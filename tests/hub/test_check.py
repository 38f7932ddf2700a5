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
from tests.support.finished import finished
from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from truebench_hf.cli.studies import _COMMANDS, load
from truebench_hf.errors import UserError
from truebench_hf.hub.layout import TABLE, read_table, table_of, write_table
from truebench_hf.hub.results import check_results as check
from truebench_hf.hub.staging import NOTHING, stage
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


def table_edit(edit: Callable[[list[dict[str, Any]]], Any]) -> Callable[[Path], None]:
    """An edit of the table of ann."""

    def spoil(repo: Path) -> None:
        rows = read_table(ann(repo) / TABLE)
        edit(rows)
        write_table(rows, ann(repo) / TABLE)

    return spoil


def score_edit(name: str, **changes: Any) -> Callable[[Path], None]:
    return table_edit(lambda rows: next(row for row in rows if row["score"] == name).update(changes))


def file_edit(name: str, edit: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def spoil(repo: Path) -> None:
        content = json.loads((ann(repo) / name).read_text())
        edit(content)
        (ann(repo) / name).write_text(json.dumps(content))

    return spoil


def other_columns(repo: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"model": ["ann"], "value": ["1"]}), ann(repo) / TABLE)


def board_edit(edit: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """An edit of the board in ann's run.json."""
    return file_edit("run.json", lambda info: edit(info["board"]))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (table_edit(list.pop), ": is not what the run gives"),
        (score_edit("overall", value=0.9), "ann.json, overall: is not what the run gives"),
        (score_edit("language:JA", value=0.0), "language:JA: a value over nothing; what is not known is null"),
        (score_edit("language:JA", reason=None), "language:JA: is not what the run gives"),
        (lambda repo: (ann(repo) / TABLE).write_text("x"), "scores.parquet "),
        (other_columns, "has other columns than a table of scores: data, "),
        (lambda repo: (repo / "runs" / "stray.json").write_text("{}"), "runs/stray.json: holds no scores.parquet"),
        (lambda repo: shutil.copytree(ann(repo), repo / "runs" / "again"), "ann.json, overall, "),
        (lambda repo: shutil.copytree(ann(repo), repo / "runs" / "again"), "runs/again: is the run scripted-ann-json--"),
        (file_edit("run.json", lambda info: info.update(settings=[])), "cannot be laid out again"),
        (board_edit(lambda board: board["rows"][0]["scores"]["overall"].update(value=0.9)), "run.json: ann.json, overall: is not what the run gives"),
        (board_edit(lambda board: board["rows"][0]["scores"].pop("language:DE")), "run.json: ann.json, language:DE: is not"),
        (board_edit(lambda board: board["rows"][0].update(setting="x")), "run.json: ann.json, overall: is not what"),
        (board_edit(dict.clear), "run.json: ann.json, overall: is not what the run gives"),
        (file_edit("scores.json", lambda s: s["scores"][0]["score"].update(value=1)), "overall is given as"),
        (lambda repo: (ann(repo) / "judgments.jsonl").unlink(), "judgments.jsonl: cannot be read"),
        (lambda repo: (ann(repo) / "notes.txt").write_text("x"), "/notes.txt: is no file of a run"),
        (lambda repo: (ann(repo) / "results").mkdir(), "/results: is no file of a run"),
        (lambda repo: (ann(repo) / "report.html").unlink(), ": holds no report.html"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(repo: Path, spoil: Callable[[Path], Any], told: str) -> None:
    spoil(repo)
    faults = check(repo).faults
    assert any(told in fault for fault in faults), faults
    assert not any("\n" in fault for fault in faults)


def test_nothing_vanishes_from_one_state_to_the_next(made: Path, repo: Path, tmp_path: Path) -> None:
    shutil.rmtree(ann(repo))
    assert check(repo).faults == (), "whole in itself"
    gone = [fault for fault in check(repo, made).faults if fault.startswith("ann.json, overall, ")]
    assert len(gone) == 1
    assert gone[0].endswith(": is gone; it stood there before")
    assert check(made, repo).faults == (), "more is no fault"
    with pytest.raises(UserError, match="no results data set there"):
        check(repo / "runs")
    # Against any other folder nothing could vanish. One with its card alone is where the first results are to go.
    before = tmp_path / "before"
    before.mkdir()
    for files, fits in (((), False), ((".gitattributes", "README.md"), True), (("x.txt",), False)):
        for name in files:
            (before / name).write_text("")
        if fits:
            assert check(made, before).faults == ()
        else:
            with pytest.raises(UserError, match=r"--before .*: no results data set there \(it has no folder `runs`"):
                check(made, before)


def measured(
    identity: dict[str, Any], served: dict[str, Any], spec: str, **settings: Any
) -> tuple[dict[str, Any], str]:
    """The row of a model in the table of a run, and what it says was measured."""
    settings = {"model": spec, "models": {"model": identity}, "data": "org/set@v2", **settings}
    info = {"kind": "tick", "settings": settings, "served": {spec: served}, "sessions": []}
    board = Board("x", (BoardColumn("x", "X"),), (BoardRow(spec, "s", {"x": Score(None, 0)}),))
    (row,) = table_of("id", info, board)
    return row, row["measurement"]


HF, GPT = {"provider": "transformers", "model": "Q/m"}, {"provider": "openai", "model": "gpt"}


@pytest.mark.parametrize(
    ("spec", "identity", "served", "told", "reason"),
    [
        ("hf:Q/m", HF | {"revision": "v1"}, {}, ("Q/m", "v1", "transformers"), "asked for"),
        ("hf:Q/m", HF, {"revision": {"abc": 3}}, ("Q/m", "abc", "transformers"), "told"),
        ("openai:gpt", GPT, {"model": {"gpt-1": 3}}, ("gpt", "gpt-1", "openai"), "its own name"),
        ("openai:gpt", GPT, {"model": {"gpt": 3}}, ("gpt", None, "openai"), "-"),
        ("openai:Q/m:groq", {"provider": "huggingface:groq", "model": "Q/m:groq"}, {"model": {"q/M": 1}},
         ("Q/m", None, "groq"), "the provider's way to write it"),
        ("openai:gpt", GPT, {"model": {"a": 1, "b": 1}}, ("gpt", None, "openai"), "two of them"),
        ("openai:Q/m", {"provider": "huggingface:not pinned", "model": "Q/m"}, {}, ("Q/m", None, "not pinned"), "left open"),
        ("mine", {}, {}, ("mine", None, None), "its answers were given"),
    ],
)  # fmt: skip
def test_what_is_known_of_a_model(
    spec: str, identity: dict[str, Any], served: dict[str, Any], told: tuple[str | None, ...], reason: str
) -> None:
    row, _ = measured(identity, served, spec)
    assert (row["model"], row["revision"], row["provider"]) == told, reason
    assert (row["data"], row["data_revision"]) == ("org/set", "v2")
    assert row["reason"] == "nothing of it was measured"


def test_a_model_that_was_asked_otherwise_is_another_measurement() -> None:
    _, plain = measured(GPT, {}, "openai:gpt")
    others = [
        measured(GPT, {}, "openai:gpt", temperature=0.7),
        measured(GPT | {"options": {"reasoning_effort": "low"}}, {}, "openai:gpt"),
        measured(GPT, {}, "openai:gpt", samples=4, model_concurrency=9, limit=3),  # of which the data hash tells
    ]
    assert [measurement == plain for _, measurement in others] == [False, False, True]


def test_every_kind_of_study_is_published_or_says_why_not(tmp_path: Path) -> None:
    """Folders that the real commands made with scripted models, as tests/golden holds them to be."""
    kinds: dict[str, str] = {}
    for file in sorted(EXPECTED.rglob("run.json")):
        kind = json.loads(file.read_text())["kind"]
        if kind == "truebench" or kind in kinds:  # its records are held in another layout
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
    assert "org/nothing: the Hub refused with 404: " in done.stderr
