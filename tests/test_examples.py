"""The examples, as they stand: what is named openai: is answered by a server on this machine."""

from __future__ import annotations

import ast
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT, command_here, row, script, write_jsonl
from tests.support.tiny_chat import import_trl, tiny_chat
from tests.vllm import export_smollm2

EXAMPLES = ROOT / "examples"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.chdir(tmp_path)
    with OpenAIServer() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        yield running


def run(name: str, *arguments: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of an example once it has run as a script."""
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    return runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_judge(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run("judge.py", monkeypatch=monkeypatch)
    assert capsys.readouterr().out.splitlines()[0] in ("passed", "failed")
    assert server.stats()["by_kind"] == {"model": 0, "judge": 1}


def test_own_data(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    report = run("own_data.py", monkeypatch=monkeypatch)["report"]
    assert [len(item.verdicts) for item in report.judged] == [1, 2]
    assert server.stats()["by_kind"] == {"model": 3, "judge": 2}


def test_own_prompts(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    report = run("own_prompts.py", monkeypatch=monkeypatch)["report"]
    assert {name: score.n for name, score in report.scores["pass_rate"].items()} == {
        "openai:gpt-4.1-nano": 2, "openai:gpt-4.1-mini": 2
    }  # fmt: skip
    assert server.stats()["by_kind"] == {"model": 2 + 4, "judge": 8}, "checklists and answers, questions"
    assert (tmp_path / "runs" / "own-prompts" / "checklists.jsonl").is_file()


@pytest.mark.slow
def test_job(server: OpenAIServer, tmp_path: Path) -> None:
    """3 s. What a job does, with the real client and everybody on this machine."""
    data = write_jsonl(tmp_path / "data.jsonl", [{"prompt": "Name a colour.", "criteria": ["names one"]}])
    with HubStub() as hub:
        done = HubClient(hub, tmp_path).process(
            str(EXAMPLES / "job.py"), "--data", data, "--model", "openai:tea", "--judge", "openai:org/judge:one",
            "--judge-base-url", server.url, "--repo-id", "org/results", "--private",
            OPENAI_BASE_URL=server.url,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        names = hub.files("dataset", "org/results")
    assert any(re.fullmatch(r"runs/[^/]*tea[^/]*/scores\.parquet", name) for name in names), names


def test_leaderboard(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run("leaderboard.py", monkeypatch=monkeypatch)
    table = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[0] for line in table) == ["gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"]
    shares = [float(line.split()[1]) for line in table]
    assert shares == sorted(shares, reverse=True)
    assert (tmp_path / "runs" / "gpt-4.1" / "report.html").is_file()


@pytest.mark.slow
def test_trainer_callback(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for part in tiny_chat():
        part.save_pretrained(tmp_path / "model")
    found = run("trainer_callback.py", str(tmp_path / "model"), monkeypatch=monkeypatch)
    logged = [line for line in found["rate"].trainer.state.log_history if "eval_pass_rate" in line]
    assert [line["step"] for line in logged] == [2, 4]
    assert all(0 <= line["eval_pass_rate"] <= 1 for line in logged)
    assert ["eval_pass_rate_gain" in line for line in logged] == [False, True]


@pytest.mark.slow
def test_train_with_checklists(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import_trl()
    for part in tiny_chat():
        part.save_pretrained(tmp_path / "model")
    found = run("train_with_checklists.py", str(tmp_path / "model"), monkeypatch=monkeypatch)
    steps = [line for line in found["trainer"].state.log_history if "reward" in line]
    assert [line["step"] for line in steps] == [1, 2, 3]
    judged = [line["rewards/checklist_fraction/mean"] for line in steps if line["checklist_fraction/not_judged"] < 1]
    assert judged
    assert all(0 <= share <= 1 for share in judged)
    assert any("rewards/held_out/mean" in line for line in steps)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_train_judge(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The embedded model learns what a run's judge said, so that what was held out surprises it less."""
    import_trl()
    pytest.importorskip("peft")
    write_jsonl(tmp_path / "d.jsonl", [row(f"q{n}", [(f"Name colour {n}.", ["names a colour"])]) for n in range(2)])
    judge = script(tmp_path / "j.json", [{"contains": "<criteria", "verdicts": {}}])
    model = script(tmp_path / "m.json", [{"contains": "", "reply": "Blue."}])
    given = ["run", "--data", "d.jsonl", "--model", model, "--judge", judge, "--out", "run", "--judge-level", "rubric"]
    assert command_here(capsys, *given).returncode == 0
    assert command_here(capsys, "study", "export", "run", "--to", "sft", "--out", "sft").returncode == 0
    export_smollm2.export(tmp_path / "base")
    found = run("train_judge.py", "sft/sft.jsonl", str(tmp_path / "base"), "judge", monkeypatch=monkeypatch)
    assert (len(found["learned"]), len(found["measured"])) == (1, 1)
    assert found["after"] < found["before"]
    asked = ["judge", "--data", "d.jsonl", "--responses", "run/judgments.jsonl", "--judge", "hf:judge", "--limit", "1"]
    again = command_here(capsys, *asked, "--judge-level", "decision", "--out", "again", "--allow-unscored")
    assert again.returncode == 0, again.stderr


def test_each_example_is_tested_and_explained() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert {name.removeprefix("test_") for name in globals() if name.startswith("test_")} >= names
    for path in EXAMPLES.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text))
        assert text.count("\n") <= 60
        assert "try:" not in text
