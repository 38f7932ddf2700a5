"""A study goes on: at another address, after a kill, with a larger `--limit`, and never with other models or data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.rubric_rows import few
from tests.support.runs import command_here, held, row, script, write_jsonl
from tests.support.stages import generate, judge, run
from truebench_hf.benchmarks.rubric_eval.arbitration import ArbitrateOptions, arbitrate
from truebench_hf.benchmarks.rubric_eval.calibration import CalibrateOptions, calibrate
from truebench_hf.benchmarks.rubric_eval.contrast import ContrastOptions, contrast
from truebench_hf.benchmarks.rubric_eval.data import mini_rows
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.benchmarks.rubric_eval.taxonomy import TaxonomyOptions, taxonomy
from truebench_hf.benchmarks.truebench.data import GenerateOptions, JudgeGivenOptions, RunOptions, load
from truebench_hf.comparing.runs import read_board
from truebench_hf.engine.folder import RunFolder
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import stage_run
from truebench_hf.text.redaction import shown

# By study: what runs it, its options, the models' argument options, and how much a smaller and a larger sample are.
STUDIES: dict[str, tuple[Any, Any, dict[str, Any], tuple[str, ...], tuple[int, int]]] = {
    "run": (run, RunOptions, {"data": "mini", "model": "openai:a", "judge": ("openai:b",)}, ("model_arg", "judge_arg"), (3, 6)),
    "arbitrate": (arbitrate, ArbitrateOptions, {"judge": ("openai:a", "openai:b"), "meta_judge": ("openai:c", "openai:d")},
                  ("judge_arg", "meta_judge_arg"), (2, 5)),
    "metaeval": (metaeval, MetaevalOptions, {"judge": ("openai:a",), "paradigms": "checklist"}, ("judge_arg",), (4, 9)),
    "calibrate": (calibrate, CalibrateOptions, {"judge": "openai:a"}, ("judge_arg",), (12, 20)),
    "contrast": (contrast, ContrastOptions, {"writer": "openai:a", "judge": "openai:b"}, ("writer_arg", "judge_arg"), (4, 9)),
    "taxonomy": (taxonomy, TaxonomyOptions, {"model": "openai:a", "tsne": False}, ("model_arg",), (4, 9)),
}  # fmt: skip


def study(name: str, out: Path, *arguments: str, **more: Any) -> object:
    """Run a study whose models have these arguments."""
    if name == "stages":
        base = arguments[0].removeprefix("base_url=")
        generate(
            GenerateOptions(**{"data": "mini", "model": "openai:a", "model_base_url": base, "out": str(out), **more})
        )
        return judge(JudgeGivenOptions(judge=("openai:b",), judge_base_url=base, out=str(out)))
    call, options, values, roles, (small, _) = STUDIES[name]
    given = {"data": few(out.parent), "limit": small, **values, "out": str(out), **dict.fromkeys(roles, arguments)}
    return call(options(**given | more))


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[OpenAIServer, OpenAIServer]]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)  # a login in a URL goes without one
    with OpenAIServer() as first, OpenAIServer() as second:
        yield first, second


def with_login(server: OpenAIServer) -> str:
    return server.url.replace("http://", "http://somebody:geheim@") + "?key=geheim"


def written(out: Path) -> str:
    files = [file for file in out.rglob("*") if file.is_file()]
    return "".join(file.read_bytes().decode("utf-8", "replace") for file in files)


def results(out: Path) -> dict[str, bytes]:
    """What a study writes, but for times and what was spent when."""
    left = ("run.json", "ledger.sqlite", "report.html", "scores.json", "calibration.json")
    files = [file for file in out.rglob("*") if file.is_file() and file.name not in left and file.suffix != ".part"]
    return {str(file.relative_to(out)): file.read_bytes() for file in files}


@pytest.mark.parametrize("name", ["arbitrate", "taxonomy"])
def test_a_study_goes_on_at_another_address(
    tmp_path: Path, servers: tuple[OpenAIServer, OpenAIServer], name: str
) -> None:
    first, second = servers
    out = tmp_path / "out"
    study(name, out, f"base_url={first.url}", "timeout=30")
    assert first.stats()["total"] > 0
    study(name, out, f"base_url={with_login(second)}", "timeout=99")
    assert second.stats()["total"] == 0, "everything was paid for"
    noted = held(out / "run.json")["settings"][STUDIES[name][3][0]]
    assert noted == [f"base_url={second.url}", "timeout=99"], "what was last given, without the login"
    assert "geheim" not in written(out)
    with pytest.raises(UserError, match=r'other options \(.*models\..*reasoning_effort: null there, "high" now'):
        study(name, out, f"base_url={second.url}", "reasoning_effort=high")
    assert second.stats()["total"] == 0, "what shapes the answers binds"


@pytest.mark.parametrize("name", ["stages", *(pytest.param(name, marks=pytest.mark.slow) for name in STUDIES)])
def test_a_study_is_extended_and_pays_only_for_the_new(
    tmp_path: Path, servers: tuple[OpenAIServer, OpenAIServer], name: str
) -> None:
    server, (small, large) = servers[0], STUDIES["run" if name == "stages" else name][4]
    data = "mini" if name in ("stages", "run") else few(tmp_path, 12)

    def calls(out: str, limit: int) -> int:
        before = server.stats()["total"]
        study(name, tmp_path / out, f"base_url={server.url}", limit=limit, data=data)
        return int(server.stats()["total"]) - before

    first = calls("out", small)
    kept = results(tmp_path / "out")
    more = calls("out", large)
    larger = results(tmp_path / "out")
    assert (first > 0, more > 0) == (True, True)
    assert calls("at once", large) == first + more, "nothing is paid for twice"
    assert results(tmp_path / "at once") == larger != kept, "as if it had been the first"
    assert [calls("out", limit) for limit in (large, small)] == [0, 0], "the ledger lost nothing"
    assert results(tmp_path / "out") == kept, "results over the smaller sample"
    assert calls("out", large) == 0


@pytest.mark.parametrize("name", ["run", "metaeval"])
def test_other_data_are_another_study(tmp_path: Path, servers: tuple[OpenAIServer, OpenAIServer], name: str) -> None:
    server = servers[0]
    official = [row(n, [(f"Say {n}.", [f"says {n}"])], category=("Editing", "Safety")[n % 2]) for n in range(20)]
    rows, other = (official, official[:-1]) if name == "run" else (mini_rows()[:60], mini_rows()[60:120])
    file, given = write_jsonl(tmp_path / "data.jsonl", rows), f"base_url={server.url}"
    study(name, tmp_path / "out", given, data=file, limit=12)
    asked = server.stats()["total"]
    write_jsonl(tmp_path / "data.jsonl", other)
    with pytest.raises(UserError, match=r"the data changed in|selection_sha256"):
        study(name, tmp_path / "out", given, data=file, limit=13)
    write_jsonl(tmp_path / "data.jsonl", rows)
    study(name, tmp_path / "out", given, data=file, limit=12)
    assert server.stats()["total"] == asked


def test_a_session_is_finished_when_its_files_are_there(
    tmp_path: Path, servers: tuple[OpenAIServer, OpenAIServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = RunFolder.write_lines

    def full(self: RunFolder, file: str, parts: Any) -> Path:
        if file == "report.html":
            raise UserError("no room")
        return write(self, file, parts)

    given = f"base_url={servers[0].url}"
    with monkeypatch.context() as broken:
        broken.setattr(RunFolder, "write_lines", full)
        with pytest.raises(UserError, match="no room"):
            study("metaeval", tmp_path / "out", given)
    (session,) = held(tmp_path / "out" / "run.json")["sessions"]
    assert (session["finished"], "results" in held(tmp_path / "out" / "run.json")) == (None, False), "it binds nobody"
    study("metaeval", tmp_path / "out", given)
    assert held(tmp_path / "out" / "run.json")["sessions"][-1]["finished"]


# Runs over a sample


class Folder:
    """A run on twenty instances in two languages, by scripts."""

    def __init__(self, tmp_path: Path) -> None:
        rows = [row(n, [(f"Say {n}.", ["is said"])], language=("DE", "KO")[n % 2]) for n in range(20)]
        self.out = tmp_path / "out"
        self.options: dict[str, Any] = {
            "data": write_jsonl(tmp_path / "data.jsonl", rows), "out": str(self.out),
            "model": script(tmp_path / "model.json", [{"contains": "Say", "reply": "so"}]),
            "judge": (script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}]),),
        }  # fmt: skip

    def run(self, limit: int | None, **more: Any) -> Any:
        return run(RunOptions(**self.options | {"limit": limit} | more))

    def ids(self) -> list[int]:
        text = (self.out / "judgments.jsonl").read_text(encoding="utf-8")
        return [int(json.loads(line)["id"]) for line in text.split("\n") if line]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_results_say_how_many_they_are_over(folder: Folder) -> None:
    report, six = folder.run(6), held(folder.out / "run.json")["settings"]
    assert report.scores["overall"].n == 6
    assert {name: score.n for name, score in report.scores["by_language"].items()} == {"DE": 3, "KO": 3}
    assert folder.ids() == sorted(folder.ids()), "in the order of the data"
    assert (six["limit"], six["items"]) == (6, 6)
    report, twelve = folder.run(12), held(folder.out / "run.json")["settings"]
    assert (report.scores["overall"].n, report.usage["now"]["model"]["calls"]) == (12, 6)
    assert twelve["selection_sha256"] == six["selection_sha256"]
    assert twelve["data_sha256"] != six["data_sha256"], "not ranked with the smaller sample"
    for limit in (20, 99, None):
        folder.run(limit)
        full = held(folder.out / "run.json")["settings"]
        assert (full["limit"], full["items"], full["data_sha256"]) == (None, 20, full["selection_sha256"])


def test_results_of_an_interrupted_extension_are_not_taken_for_its_own(
    folder: Folder, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder.run(6)
    assert read_board(folder.out) is not None
    settings = held(folder.out / "run.json")["settings"] | {"items": 12, "limit": 12, "data_sha256": "0" * 64}
    RunFolder(str(folder.out), settings, tuple(settings)).ledger.close()  # as a killed `--limit 12` leaves it
    for arguments in (("study", "score", str(folder.out)), ("label", "out", str(folder.out), "--n", "2")):
        done = command_here(capsys, *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert "is not finished; repeat its command" in done.stderr
    assert read_board(folder.out) is None, "nor does the board show it"
    with pytest.raises(UserError, match="is not finished; repeat its command"):
        stage_run(folder.out, tmp_path / "staged")
    folder.run(12)
    assert command_here(capsys, "study", "score", str(folder.out)).returncode == 0
    info = held(folder.out / "run.json")
    info["settings"]["data_sha256"] = "0" * 64
    (folder.out / "run.json").write_text(json.dumps(info))
    with pytest.raises(UserError, match="judgments are not over the data that run"):
        stage_run(folder.out, tmp_path / "staged")


def test_a_login_in_the_url_of_a_server_is_not_written(
    tmp_path: Path, servers: tuple[OpenAIServer, OpenAIServer]
) -> None:
    first, second = servers
    for name, option in (("metaeval", "judge_base_url"), ("taxonomy", "model_base_url")):
        out = tmp_path / name
        study(name, out, f"base_url={first.url}")
        study(name, out, f"base_url={first.url}", **{option: with_login(second)})
        assert held(out / "run.json")["settings"][option] == second.url
        assert "geheim" not in written(out)
    for flag in ("2.base_url", "base_url", " base_url "):
        assert shown({"judge_arg": (f"{flag}=http://u:geheim@h:1/v1",)}) == {"judge_arg": [f"{flag}=http://h:1/v1"]}


def test_the_same_results_are_the_same_files_however_they_were_spent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one session or in several; what each took stands in run.json alone."""
    model = script(tmp_path / "model.json", [], {"reply": "Yes."})
    base = ("run", "--data", "mini", "--model", model, "--judge", "none")
    calls: list[tuple[int, int]] = []
    for out, limits in (("one", ("12",)), ("two", ("5", "12", "12"))):
        for limit in limits:
            done = command_here(capsys, *base, "--out", str(tmp_path / out), "--limit", limit)
            assert done.returncode == 0, done.stderr
            usage = held(tmp_path / out / "run.json")["usage"]
            calls.append((usage["total"]["model"]["calls"], usage["now"].get("model", {}).get("calls", 0)))
    (at_once, _), (first, same), (second, more), last = calls
    assert (same, second, more, last) == (first, at_once, at_once - first, (at_once, 0))
    for name in ("scores.json", "judgments.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert "usage" not in json.loads((tmp_path / "one" / "scores.json").read_text())
    mini = {instance.id: instance for instance in load("mini")}
    lines = (tmp_path / "one" / "judgments.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    assert len({mini[json.loads(line)["id"]].language for line in lines}) == 12, "one of each"
