"""A run with a larger `--limit` goes on where the smaller one ended; a smaller one later loses nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.test_rubric_eval_resuming import _arbitrate, _calibrate, _contrast, _metaeval, _taxonomy
from tests.support.openai_server import OpenAIServer
from tests.support.runs import command_here, row, script, write_jsonl
from tests.support.stages import generate, judge, run
from truebench_hf.benchmarks.rubric_eval.data import mini_rows
from truebench_hf.benchmarks.truebench.data import GenerateOptions, JudgeGivenOptions, RunOptions, load
from truebench_hf.comparing.runs import read_board
from truebench_hf.engine.folder import RunFolder
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import stage_run

Study = Callable[..., object]  # (out, address of the models, further options)


def _run(out: Path, given: str, **more: Any) -> object:
    url = given.removeprefix("base_url=")
    named = {"data": "mini", "model": "openai:a", "judge": ("openai:b",), "model_base_url": url, "judge_base_url": url}
    return run(RunOptions(**{**named, "out": str(out), **more}))


def _stages(out: Path, given: str, **more: Any) -> object:
    url = given.removeprefix("base_url=")
    generate(GenerateOptions(**{"data": "mini", "model": "openai:a", "model_base_url": url, "out": str(out), **more}))
    return judge(JudgeGivenOptions(judge=("openai:b",), judge_base_url=url, out=str(out)))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with OpenAIServer() as one:
        yield one


def results(out: Path) -> dict[str, bytes]:
    """What a study writes, but for times and what was spent when."""
    left = (
        "run.json",
        "ledger.sqlite",
        "report.html",
        "scores.json",
        "calibration.json",
    )
    files = [file for file in out.rglob("*") if file.is_file() and file.name not in left and file.suffix != ".part"]
    return {str(file.relative_to(out)): file.read_bytes() for file in files}


@pytest.mark.parametrize(
    ("study", "small", "large"),
    [
        (_stages, 3, 6), (_metaeval, 4, 9),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in (
            (_run, 5, 12), (_arbitrate, 2, 5), (_calibrate, 12, 20), (_contrast, 4, 9), (_taxonomy, 4, 9)
        )),
    ],
    ids=lambda made: made.__name__[1:] if callable(made) else str(made),
)  # fmt: skip
def test_a_study_is_extended_and_pays_only_for_the_new(
    tmp_path: Path, server: OpenAIServer, study: Study, small: int, large: int
) -> None:
    def calls(out: str, limit: int | None) -> int:
        before = server.stats()["total"]
        study(tmp_path / out, f"base_url={server.url}", limit=limit)
        return int(server.stats()["total"]) - before

    first = calls("out", small)
    kept = results(tmp_path / "out")
    more = calls("out", large)
    whole = results(tmp_path / "out")
    assert (first > 0, more > 0) == (True, True)
    assert calls("at once", large) == first + more, "nothing is paid for twice"
    assert results(tmp_path / "at once") == whole != kept, "as if it had been the first"
    assert calls("out", large) == 0
    assert calls("out", small) == 0, "the ledger lost nothing"
    assert results(tmp_path / "out") == kept, "results over the smaller sample"
    assert calls("out", large) == 0


@pytest.mark.parametrize(
    ("study", "data"),
    [
        (_run, "truebench"), (_metaeval, "rows"),
        *(pytest.param(one, "rows", marks=pytest.mark.slow) for one in (_arbitrate, _calibrate, _contrast, _taxonomy)),
    ],
    ids=lambda made: made.__name__[1:] if callable(made) else "",
)  # fmt: skip
def test_other_data_are_another_study(tmp_path: Path, server: OpenAIServer, study: Study, data: str) -> None:
    official = [row(n, [(f"Say {n}.", [f"says {n}"])], category=("Editing", "Safety")[n % 2]) for n in range(20)]
    every, other = {
        "truebench": (official, official[:-1]), "rows": (mini_rows()[:60], mini_rows()[60:120])
    }[data]  # fmt: skip
    file = write_jsonl(tmp_path / "data.jsonl", every)
    study(tmp_path / "out", f"base_url={server.url}", data=file, limit=12)
    asked = server.stats()["total"]
    write_jsonl(tmp_path / "data.jsonl", other)
    with pytest.raises(UserError, match=r"the data changed in|selection_sha256"):
        study(tmp_path / "out", f"base_url={server.url}", data=file, limit=13)
    write_jsonl(tmp_path / "data.jsonl", every)
    study(tmp_path / "out", f"base_url={server.url}", data=file, limit=12)
    assert server.stats()["total"] == asked


class Folder:
    """A run on twenty instances in two languages, by scripts."""

    def __init__(self, tmp_path: Path) -> None:
        rows = [row(n, [(f"Say {n}.", ["is said"])], language=("DE", "KO")[n % 2]) for n in range(20)]
        self.data, self.out = write_jsonl(tmp_path / "data.jsonl", rows), tmp_path / "out"
        self.model = script(tmp_path / "model.json", [{"contains": "Say", "reply": "so"}])
        self.judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])

    def run(self, limit: int | None, **more: Any) -> Any:
        named = {"data": self.data, "model": self.model, "judge": (self.judge,), "out": str(self.out)}
        return run(RunOptions(**{**named, "limit": limit, **more}))

    def settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = json.loads((self.out / "run.json").read_text(encoding="utf-8"))["settings"]
        return settings

    def ids(self) -> list[int]:
        text = (self.out / "judgments.jsonl").read_text(encoding="utf-8")
        return [int(json.loads(line)["id"]) for line in text.split("\n") if line]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_results_say_how_many_they_are_over(folder: Folder) -> None:
    report = folder.run(6)
    assert report.scores["overall"].n == 6
    assert {name: score.n for name, score in report.scores["by_language"].items()} == {"DE": 3, "KO": 3}
    assert folder.ids() == sorted(folder.ids()), "in the order of the data"
    assert (folder.settings()["limit"], folder.settings()["items"]) == (6, 6)
    six = folder.settings()
    report = folder.run(12)
    assert report.scores["overall"].n == 12
    assert report.usage["now"]["model"]["calls"] == 6
    assert folder.settings()["selection_sha256"] == six["selection_sha256"]
    assert folder.settings()["data_sha256"] != six["data_sha256"], "not ranked with the smaller sample"
    for limit in (20, 99, None):
        folder.run(limit)
        whole = folder.settings()
        assert (whole["limit"], whole["items"], whole["data_sha256"]) == (None, 20, whole["selection_sha256"])


def test_a_filter_comes_before_the_sample(folder: Folder) -> None:
    report = folder.run(4, language=("KO",))
    assert report.scores["overall"].n == 4
    assert {n % 2 for n in folder.ids()} == {1}
    with pytest.raises(UserError, match=r"the data changed in|selection_sha256"):
        folder.run(4)


def test_results_of_an_interrupted_extension_are_not_taken_for_its_own(
    folder: Folder, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder.run(6)
    assert read_board(folder.out) is not None
    info = json.loads((folder.out / "run.json").read_text(encoding="utf-8"))
    info["settings"] |= {"items": 12, "limit": 12, "data_sha256": "0" * 64}  # as a killed `--limit 12` leaves it
    RunFolder(str(folder.out), info["settings"], tuple(info["settings"])).ledger.close()
    for arguments in (("study", "score", str(folder.out)), ("label", "out", str(folder.out), "--n", "2")):
        done = command_here(capsys, *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert "is not finished; repeat its command" in done.stderr
    assert read_board(folder.out) is None, "nor does the board show it"
    with pytest.raises(UserError, match="judgments are not over the data that run"):
        stage_run(folder.out, tmp_path / "staged")
    folder.run(12)
    assert command_here(capsys, "study", "score", str(folder.out)).returncode == 0


def test_the_command_goes_on_and_counts_its_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judges = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
    model = script(tmp_path / "model.json", [], {"reply": "Yes."})
    turns: dict[int, int] = {}
    for limit in (5, 12):
        base = ["run", "--data", "mini", "--model", model, "--judge", judges, "--out", str(tmp_path / "out")]
        done = command_here(capsys, *base, "--limit", str(limit))
        assert done.returncode == 0, done.stderr
        spent = json.loads((tmp_path / "out" / "run.json").read_text())["usage"]
        turns[limit] = spent["total"]["model"]["calls"]
        assert spent["now"]["model"]["calls"] == turns[limit] - turns.get(5, 0) * (limit > 5)
    mini = {instance.id: instance for instance in load("mini")}
    lines = (tmp_path / "out" / "judgments.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    chosen = [mini[json.loads(line)["id"]] for line in lines]
    assert len({instance.language for instance in chosen}) == 12, "one of each"


def test_the_same_results_are_the_same_files_however_they_were_spent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one session or in two; what each took stands in run.json alone."""
    base = (
        "run",
        "--data",
        "mini",
        "--model",
        script(tmp_path / "model.json", [], {"reply": "Yes."}),
        "--judge",
        "none",
    )
    for out, limits in (("one", ("6",)), ("two", ("3", "6", "6"))):
        for limit in limits:
            done = command_here(capsys, *base, "--out", str(tmp_path / out), "--limit", limit)
            assert done.returncode == 0, done.stderr
    for name in ("scores.json", "judgments.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert "usage" not in json.loads((tmp_path / "one" / "scores.json").read_text())
    one, two = (json.loads((tmp_path / out / "run.json").read_text())["usage"] for out in ("one", "two"))
    assert one["total"] == two["total"]
    assert two["now"] == {}, "the last session found everything"
