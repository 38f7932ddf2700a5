"""Results by model, revision and task, and the check that finds what vanished, stands twice, or is 0 though unknown."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.golden.compare import EXPECTED
from tests.hub.test_model_page import judged, needs_real, release_instances, write_run
from tests.support.finished import finished, golden
from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.runs import command_here
from truebench_hf.cli.studies import _COMMANDS, load
from truebench_hf.errors import UserError
from truebench_hf.hub.check import check
from truebench_hf.hub.figures import FIGURES, NOTHING
from truebench_hf.hub.layout import results_of
from truebench_hf.hub.results import _stage
from truebench_hf.hub.staging import stage_file
from truebench_hf.hub.submission import validate
from truebench_hf.hub.tasks import PARTS
from truebench_hf.study.board import Board, Column, Row
from truebench_hf.types import Score

OUTCOMES = {"a": True, "b": False, "c": None}
LANGUAGES = {"a": "DE", "b": "FR", "c": "JA"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results repository of two models, one language of which nothing is decided."""
    folder = tmp_path_factory.mktemp("repository")
    for model in ("ann", "bob"):
        run = finished(folder / model, model, OUTCOMES, languages=LANGUAGES)
        _stage(Path(run), folder / f"of-{model}")
        shutil.copytree(folder / f"of-{model}", folder / "repo", dirs_exist_ok=True)
    return folder / "repo"


@pytest.fixture
def repo(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "repo")


def results(repo: Path) -> list[Path]:
    return sorted(path for path in repo.glob("results/*/*/*.json") if path.name != "model_meta.json")


def test_results_stand_by_model_revision_and_task(repo: Path) -> None:
    ann, _ = results(repo)
    assert ann.relative_to(repo).parts[:3] == ("results", "ann.json", "no_revision_available--scripted")
    assert ann.name.startswith("truebench--data.jsonl--")
    told = json.loads(ann.read_text())
    run = json.loads((repo / told["run"] / "run.json").read_text())
    assert (told["task"], told["model"], told["provider"]) == (ann.stem, "ann.json", "scripted")
    assert told["data_sha256"] == run["settings"]["data_sha256"]
    assert told["tool_version"] == run["versions"]["truebench-hf"]
    assert told["scores"]["overall"] | {"low": 0, "high": 0} == {
        "title": "Overall", "share": True, "value": 0.5, "n": 2, "unscored": 1, "low": 0, "high": 0,
    }  # fmt: skip
    japanese = told["scores"]["language:JA"]
    assert (japanese["value"], japanese["reason"]) == (None, "none of 1 is decided")
    assert (told["data_revision"], told["revision"]) == (None, None)
    assert set(told["missing"]) == {"data_revision", "revision"}
    meta = json.loads((ann.parent / "model_meta.json").read_text())
    assert {name for name, value in meta.items() if value is None} == set(meta["missing"])
    assert check(repo) == check(repo, repo)
    assert (check(repo).runs, check(repo).results, check(repo).faults) == (2, 2, ())


def change(path: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def again(repo: Path) -> None:
    """The run of ann once more, under another name and of another content."""
    first = json.loads(results(repo)[0].read_text())["run"].removeprefix("runs/")
    shutil.copytree(repo / "runs" / first, repo / "runs" / "again")
    change(repo / "runs" / "again" / "run.json", lambda info: info.update(content="other"))
    row = json.loads((repo / "index" / f"{first}.jsonl").read_text())
    (repo / "index" / "again.jsonl").write_text(json.dumps(row | {"run_id": "again"}))


def copied(repo: Path) -> None:
    again(repo)
    first = json.loads(results(repo)[0].read_text())["run"]
    content = json.loads((repo / first / "run.json").read_text())["content"]
    change(repo / "runs" / "again" / "run.json", lambda info: info.update(content=content))


def zero(repo: Path) -> None:
    run = repo / json.loads(results(repo)[0].read_text())["run"] / "run.json"
    change(run, lambda info: info["board"]["rows"][0]["scores"]["language:JA"].update(value=0.0))


def tampered_index(repo: Path) -> None:
    change(next((repo / "index").iterdir()), lambda row: row["overall"].update(value=0.9))


def tampered_board(repo: Path) -> None:
    """The board alone, and all that follows from it: the judgments know better."""
    run = repo / json.loads(results(repo)[0].read_text())["run"] / "run.json"
    change(run, lambda info: info["board"]["rows"][0]["scores"]["overall"].update(value=0.9))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda repo: results(repo)[0].unlink(), "is not there; runs/scripted-ann-json--"),
        (lambda repo: change(results(repo)[0], lambda r: r["scores"].pop("language:DE")), "score language:DE is gone"),
        (lambda repo: change(results(repo)[0], lambda r: r["scores"]["overall"].update(value=0.9)), "overall is not that"),
        (lambda repo: change(results(repo)[0], lambda r: r["scores"]["language:JA"].update(value=0)), "JA is not that of"),
        (lambda repo: change(results(repo)[0], lambda r: r["scores"]["language:JA"].pop("reason")), "JA is not that of"),
        (lambda repo: change(results(repo)[0], lambda r: r.update(scores=3)), "score overall is gone"),
        (lambda repo: change(results(repo)[0], lambda r: r.update(revision="v9")), "revision is 'v9', in runs/scripted-ann"),
        (lambda repo: results(repo)[0].write_text("[1"), "not JSON"),
        (lambda repo: results(repo)[0].write_text("[1]"), "is no JSON object"),
        (lambda repo: (repo / "results" / "stray.json").write_text("{}"), "is not results/MODEL/REVISION/TASK.json"),
        (lambda repo: shutil.copy(results(repo)[0], results(repo)[0].with_stem("more")), "belongs to no run"),
        (lambda repo: (results(repo)[0].parent / "model_meta.json").unlink(), "model_meta.json: is not there"),
        (lambda repo: next((repo / "index").iterdir()).unlink(), "should hold 1 line of this run, and holds 0"),
        (lambda repo: next((repo / "index").iterdir()).write_text("[]\n"), "should hold 1 line of this run"),
        (lambda repo: (repo / "index" / "stray.jsonl").write_text("{}"), "index/stray.jsonl: belongs to no run"),
        (tampered_index, "scripted:"),
        (tampered_board, "run.json gives (0.9, 2, 1) for overall (value, n, unscored), its judgments (0.5, 2, 1)"),
        (again, "stands twice, by runs/"),
        (copied, "is the same run as runs/"),
        (zero, "language:JA: has the value 0 over nothing; what is not known is null"),
        (lambda repo: change(next(repo.glob("runs/*/run.json")), lambda i: i.update(board=3)), "is not as a run writes"),
        (lambda repo: change(next(repo.glob("runs/*/run.json")), lambda i: i.update(settings=[])), "not as a run writes"),
        (lambda repo: change(next(repo.glob("runs/*/run.json")), lambda i: i.pop("kind")), "is not as a run writes it"),
        (lambda repo: next(repo.glob("runs/*/run.json")).unlink(), "holds no run.json"),
        (lambda repo: change(next(repo.glob("runs/*/scores.json")), lambda s: s["overall"].update(value=1)), "given as 1"),
        (lambda repo: next(repo.glob("runs/*/judgments.jsonl")).unlink(), "judgments.jsonl: cannot be read"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(repo: Path, spoil: Callable[[Path], Any], told: str) -> None:
    spoil(repo)
    faults = check(repo).faults
    assert any(told in fault for fault in faults), faults
    assert not any("\n" in fault for fault in faults)


def test_nothing_vanishes_from_one_state_to_the_next(made: Path, repo: Path) -> None:
    gone = results(repo)[0]
    name = gone.relative_to(repo).as_posix()
    run = json.loads(gone.read_text())["run"]
    shutil.rmtree(gone.parent)
    shutil.rmtree(repo / run)
    (repo / "index" / f"{run.removeprefix('runs/')}.jsonl").unlink()
    assert check(repo).faults == (), "whole in itself"
    assert f"{name}: is gone; it stood there before" in check(repo, made).faults
    assert check(made, repo).faults == (), "more is no fault"
    with pytest.raises(UserError, match="no results repository there"):
        check(gone.parent.parent)


@needs_real
@pytest.mark.slow
def test_a_run_over_a_whole_release_needs_every_language_and_category(tmp_path: Path) -> None:
    """2 s."""
    run = write_run(tmp_path / "run", [judged(i, len(i.turns)) for i in release_instances()])
    (run_id,) = _stage(run, tmp_path / "repo")
    assert check(tmp_path / "repo", again=False).faults == ()
    (file,) = results(tmp_path / "repo")
    assert (file.stem.rpartition("--")[0], file.parts[-3]) == ("truebench--v0.6.1-all", "tea")
    assert json.loads(file.read_text())["data_revision"] == "v0.6.1"
    assert len(json.loads(file.read_text())["scores"]) == len(PARTS["v0.6.1"])

    def drop(info: dict[str, Any]) -> None:
        info["board"]["columns"] = [c for c in info["board"]["columns"] if c["title"] != "DE"]
        del info["board"]["rows"][0]["scores"]["language:DE"]

    change(tmp_path / "repo" / "runs" / run_id / "run.json", drop)
    assert any(
        "is over all of v0.6.1 and has no score for de" in f for f in check(tmp_path / "repo", again=False).faults
    )


def info_of(identity: dict[str, Any], served: dict[str, Any], spec: str) -> dict[str, Any]:
    settings = {"model": spec, "models": {"model": identity}, "data": "org/set@v2"}
    return {"kind": "tick", "settings": settings, "served": {"model": served}, "sessions": []}


@pytest.mark.parametrize(
    ("spec", "identity", "served", "folder", "reason"),
    [
        ("hf:Q/m", {"provider": "transformers", "model": "Q/m", "revision": "v1"}, {}, "Q__m/v1--transformers", "asked for"),
        ("hf:Q/m", {"provider": "transformers", "model": "Q/m"}, {"revision": {"abc": 3}}, "Q__m/abc--transformers", "told"),
        ("openai:gpt", {"provider": "openai", "model": "gpt"}, {"model": {"gpt-1": 3}}, "gpt/gpt-1--openai", "its own name"),
        ("openai:gpt", {"provider": "openai", "model": "gpt"}, {"model": {"gpt": 3}}, "gpt/no_revision_available--openai", "-"),
        ("openai:Q/m:groq", {"provider": "huggingface:groq", "model": "Q/m:groq"}, {"model": {"q/M": 1}},
         "Q__m/no_revision_available--groq", "the provider's way to write it"),
        ("openai:gpt", {"provider": "openai", "model": "gpt"}, {"model": {"a": 1, "b": 1}},
         "gpt/no_revision_available--openai", "two of them"),
        ("openai:Q/m:together", {"provider": "huggingface:together", "model": "Q/m:together"}, {"model": {"Q/m": 1}},
         "Q__m/no_revision_available--together", "pinned"),
        ("openai:Q/m", {"provider": "huggingface:not pinned", "model": "Q/m"}, {},
         "Q__m/no_revision_available--not-pinned", "left open"),
        ("mine", {}, {}, "mine/no_revision_available", "its answers were given"),
        ("openai:../../x", {"provider": "openai", "model": "../../x"}, {}, "x/no_revision_available--openai", "no way out"),
        ("모델", {}, {}, "unnamed-f9f4d411/no_revision_available", "another than 다른 모델, which went for it"),
        ("org/mo del:free", {}, {}, "org__mo-del-free/no_revision_available", "a name, and no spec"),
        ("openai:..", {"provider": "openai", "model": ".."}, {}, "unnamed/no_revision_available--openai", "nor here"),
    ],
)  # fmt: skip
def test_the_folder_of_a_model(
    spec: str, identity: dict[str, Any], served: dict[str, Any], folder: str, reason: str
) -> None:
    from truebench_hf.text import anonymous

    board = Board("x", (Column("x", "X"),), (Row(anonymous.name(spec), "s", {"x": Score(None, 0)}),))
    (path, content), (meta, about) = results_of("id", info_of(identity, served, spec), board).items()
    assert path.rpartition("/")[0] == meta.rpartition("/")[0] == f"results/{folder}", reason
    assert (content["data"], content["data_revision"]) == ("org/set", "v2")
    assert content["scores"]["x"]["reason"] == "nothing of it was measured"
    assert all(content["missing"][name] for name, value in content.items() if value is None)
    assert all(about["missing"][name] for name, value in about.items() if value is None)


def test_every_kind_of_study_is_published_or_says_why_not(tmp_path: Path) -> None:
    """Folders that the real commands made with scripted models, as tests/golden holds them to be."""
    kinds: dict[str, str] = {}
    for file in sorted(EXPECTED.rglob("run.json")):
        kind = json.loads(file.read_text())["kind"]
        if kind == "truebench":  # its records are held in another layout
            continue
        out = tmp_path / str(len(list(tmp_path.iterdir())))
        try:
            (run_id,) = _stage(file.parent, out)
        except UserError as error:
            kinds[kind] = str(error)
            continue
        (row, *_) = [json.loads(line) for line in (out / "index" / f"{run_id}.jsonl").read_text().splitlines()]
        assert (row["overall"] and row["overall"]["value"] is not None) or row["reason"], file
        found = {path.name for path in (out / "runs" / run_id).iterdir()}
        assert found - {"run.json"} <= set(FIGURES)
        for path in out.rglob("*.json*"):
            for name in ("eva", "jon", "kim"):  # who filled in the sheets
                assert not path.is_file() or not re.search(rf'"{name}\b', path.read_text()), path
        assert not any("/sheets/" in path.read_text() for path in out.rglob("run.json"))
        kinds[kind] = "board" if (out / "results").is_dir() else "figures"
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
    """Two people may submit runs of one model: each has a file of its own, and is marked."""
    file = next(repo.glob("runs/*/judgments.jsonl"))
    stage_file(file, validate(file), tmp_path / "submitted")
    (theirs,) = results(tmp_path / "submitted")
    told = json.loads(theirs.read_text())
    assert (told["submitted"], told["tool_version"]) == (True, None)
    assert told["missing"]["tool_version"] == "a submission tells of none"
    assert check(tmp_path / "submitted").faults == ()


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
    told = f"truebench: --before {before}: no results repository there (it has no folder `runs`); give a checkout"
    assert (done.returncode, told in done.stderr, done.stderr.count("\n")) == ((0, False, 0) if fits else (2, True, 1))


def test_the_command_says_what_is_wrong(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_here(capsys, "publish", "results", "--check", str(repo), "--before", str(repo)).returncode == 0
    results(repo)[0].unlink()
    done = command_here(capsys, "publish", "results", "--check", str(repo))
    assert (done.returncode, done.stdout) == (1, "runs: 2, results: 1; faults: 1\n")
    assert "is not there; runs/" in done.stderr
    done = command_here(capsys, "publish", "results", "--check", str(repo / "nowhere"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no such folder" in done.stderr


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
    board = Board("x", (Column("x", "X"),), (Row("openai:q", "s", {"x": Score(0.5, 2)}),))
    plain = info_of({"provider": "openai", "model": "q"}, {}, "openai:q")
    other = plain | {"settings": plain["settings"] | change}
    assert (results_of("id", plain, board).keys() == results_of("id", other, board).keys()) is same, reason


def test_two_local_models_of_one_name_both_stand() -> None:
    rows = tuple(Row("hf:m", "s", {"x": Score(0.5, 2)}) for _ in range(2))
    files = results_of("id", {"kind": "tick", "settings": {"data": "d"}}, Board("x", (Column("x", "X"),), rows))
    assert len([path for path in files if "tick--" in path]) == 2


@pytest.mark.slow
def test_a_model_revision_and_task_stand_once_on_the_hub(hub: HubStub, client: HubClient, tmp_path: Path) -> None:
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
    assert "a model, revision and task stand there once: add --replace to put this run in its place" in done.stderr
    assert done.stderr.count("\n") == 1
    assert client.truebench("publish", "results", one, *where).stdout.startswith("  ")  # the same run is nothing new
    done = client.truebench("publish", "results", other, *where, "--replace")
    assert done.returncode == 0, done.stderr
    files = hub.files("dataset", "org/results")
    assert not first & set(files)
    assert len([name for name in files if name.startswith("index/")]) == 1
    done = client.truebench("publish", "results", "--check", "org/results")
    assert (done.returncode, done.stdout) == (0, "runs: 1, results: 1; nothing vanished, nothing stands twice\n"), (
        done.stderr
    )
    done = client.truebench("publish", "results", "--check", "org/nothing")
    assert done.returncode == 2
    assert "org/nothing: the Hub has no such repository" in done.stderr


def test_a_study_of_several_models_does_not_go_for_the_run_of_one(tmp_path: Path) -> None:
    from truebench_hf.hub import former

    folder = golden("tick", tmp_path / "tick")
    _stage(Path(folder), tmp_path / "staged")
    there = {
        path.relative_to(tmp_path / "staged").as_posix(): path for path in (tmp_path / "staged").rglob("*--*.json")
    }
    names = [name for name in there if name.startswith("results/") and not name.endswith("model_meta.json")]
    contents = {name: json.loads(there[name].read_text()) for name in names}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(former, "_content", lambda repo, name, place: contents[name])
        run = contents[names[0]]["run"]
        assert former._patterns("org/r", run, None, names, names) == [f"{run}/*", f"index/{run[5:]}.jsonl"]
        with pytest.raises(UserError, match=r"holds results/two.* too, which would go with it"):
            former._patterns("org/r", run, None, names, names[:1])
        with pytest.raises(UserError, match="which is no run there"):
            former._patterns("org/r", "runs/../x", None, names, names)


def test_a_data_set_without_results_is_told_by_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was told by the folder of a cache."""
    monkeypatch.setattr("truebench_hf.hub.former.fetched", lambda place: tmp_path)
    done = command_here(capsys, "publish", "results", "--check", "org/other")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "truebench: org/other: no results repository there (it has no folder `runs`); give a checkout of one, or "
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
