"""A study goes on: at another address, after a kill, with a larger `--limit`, and never with other models or data."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.golden import compare
from tests.golden.case import Case, Step, play, run_command
from tests.golden.cases import COMMANDS
from tests.golden.held import held as held_files
from tests.support.openai_server import OpenAIServer
from tests.support.rubric_rows import few
from tests.support.runs import command_here, held, row, script, write_jsonl
from tests.support.stages import generate, judge, run
from truebench_hf.benchmarks.rubric_eval.arbitration import ArbitrateOptions, arbitrate
from truebench_hf.benchmarks.rubric_eval.calibration import CalibrateOptions, calibrate
from truebench_hf.benchmarks.rubric_eval.contrast import ContrastOptions, contrast
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.benchmarks.rubric_eval.taxonomy import TaxonomyOptions, taxonomy
from truebench_hf.benchmarks.truebench.data import GenerateOptions, JudgeGivenOptions, RunOptions
from truebench_hf.comparing.runs import read_board
from truebench_hf.engine.folder import RunFolder
from truebench_hf.engine.ledger import Calls
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import stage_run

# By study: what runs it, its options, the models' argument options, and how much a smaller and a larger sample are.
STUDIES: dict[str, tuple[Any, Any, dict[str, Any], tuple[str, ...], tuple[int, int]]] = {
    "run": (run, RunOptions, {"model": "openai:a", "judge": ("openai:b",)}, ("model_arg", "judge_arg"), (3, 6)),
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
        generate(GenerateOptions(**{"model": "openai:a", "model_base_url": base, "out": str(out), **more}))
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


@pytest.mark.parametrize(
    "name",
    ["taxonomy", *(pytest.param(name, marks=pytest.mark.slow) for name in ("stages", *STUDIES) if name != "taxonomy")],
)
def test_a_study_is_extended_and_pays_only_for_the_new(
    tmp_path: Path, servers: tuple[OpenAIServer, OpenAIServer], name: str
) -> None:
    server, (small, large) = servers[0], STUDIES["run" if name == "stages" else name][4]
    short = [row(n, [(f"Say {n}.", ["is said", "is kind"])]) for n in range(8)]
    data = write_jsonl(tmp_path / "data.jsonl", short) if name in ("stages", "run") else few(tmp_path, 12)

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


# Killed in each command of a golden case and repeated, a study ends as if nothing had happened; asked again it asks nothing

QUICK = {"run-decision", "criteria", "contrast", "tick", "checklist"}
KILLED = QUICK | {
    "categories", "refine",
    "run", "run-panel", "stages", "refinement", "compare-criteria", "rules", "calibrate", "arbitrate", "taxonomy", "metaeval",
    "metaeval-attacks", "facts", "facts-more", "validate", "pairwise", "flex",
}  # fmt: skip
CASES = [
    pytest.param(case, id=case.name, marks=() if case.name in QUICK else pytest.mark.slow)
    for case in COMMANDS
    if case.name in KILLED
]
RESULTS = (".jsonl", ".csv", ".yaml", "scores.json", "calibration.json", "rank.json")


def answered() -> dict[str, int]:
    """How many answers the ledgers below this folder hold."""
    counts = {}
    for path in Path().rglob("ledger.sqlite"):
        with closing(sqlite3.connect(path)) as ledger:
            (counts[str(path)],) = ledger.execute("SELECT COUNT(*) FROM calls").fetchone()
    return counts


@pytest.mark.parametrize("case", CASES)
def test_killed_and_repeated_it_ends_the_same(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put, left, killed = Calls.put, 0, 0

    def dying(self: Calls, *arguments: Any, **more: Any) -> Any:
        nonlocal left, killed
        left -= 1
        if left == 0:
            killed += 1
            raise KeyboardInterrupt
        return put(self, *arguments, **more)

    def thrice(step: Step) -> Callable[[], str | None]:
        def play_step() -> str | None:
            nonlocal left
            if not isinstance(step, str):
                return step()
            left = 2
            run_command(step)
            left = 0
            printed = run_command(step)
            before = answered()
            run_command(step)
            assert answered() == before, step
            return printed

        return play_step

    monkeypatch.setattr(Calls, "put", dying)
    play(replace(case, steps=tuple(map(thrice, case.steps))), tmp_path)
    assert killed
    here = {name: text for name, text in held_files(tmp_path, "").items() if name.endswith(RESULTS)}
    expected = {name: text for name, text in compare.read(case.name).items() if name.endswith(RESULTS)}
    assert not (told := compare.differences(case.name, expected, here)), told
