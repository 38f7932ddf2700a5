"""What a pipeline shows of a check: JUnit, the summary, and the commands of a job on GitHub."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.support.finished import finished, numbered
from tests.support.runs import ROOT, command_here, row, script, write_jsonl

OLD = [True] * 20
NEW = [True] * 12 + [False] * 7 + [None]
HOSTILE = "is <b>right</b> `code` ]]> \x00 \ud800 % ::error::forged"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    new = finished(folder / "new", "app", numbered(NEW), allow_unscored=True)
    return new, finished(folder / "old", "app", numbered(OLD))


def test_the_summary_says_the_verdict_the_worst_and_where_the_page_is(
    runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (tmp_path / "step.md").write_text("Earlier step.\n")
    new, old = runs
    done = command_here(capsys, "check", new, "--against", old, "--summary", str(tmp_path / "summary.md"))
    assert done.returncode == 1
    text = (tmp_path / "summary.md").read_text()
    assert text.startswith("## truebench: worse\n\nWorse by more than 3 points: all.\n")
    assert "| all | 19 | 100.00 | 63.16 |" in text
    assert [line.partition("`")[2].partition("`")[0] for line in text.splitlines() if line.startswith("- ")] == [
        f"q{number}" for number in range(12, 17)
    ]
    assert f"{new}/report.html" in text
    assert (tmp_path / "step.md").read_text() == f"Earlier step.\n{text}\n", "appended, by itself"
    lines = [line for line in done.stdout.splitlines() if line.startswith("::")]
    assert lines[0] == "::error title=truebench: worse::Worse by more than 3 points: all."
    assert lines[1] == "::warning title=truebench: q12::is right: scripted: FAIL"
    assert len(lines) == 6


def test_hostile_texts_end_no_line_and_break_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_jsonl(
        tmp_path / "data.jsonl", [row("a\n::error::b", [("Ask.\n# Head", [HOSTILE.replace("\ud800", "")])])]
    )
    model = script(tmp_path / "model.json", [], {"reply": "An answer."})
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {"right": "FAIL"}}])
    out = str(tmp_path / "out")
    assert command_here(capsys, "run", "--data", data, "--model", model, "--judge", judge, "--out", out).returncode == 0
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    files = ["--junit", str(tmp_path / "j.xml"), "--summary", str(tmp_path / "s.md")]
    done = command_here(capsys, "check", out, "--must", "forged", *files)
    assert done.returncode == 1
    (case,) = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert "<b>right</b> `code` ]]>" in str(case[0].text)
    commands = [line for line in done.stdout.splitlines() if line.startswith("::")]
    assert [command.split("::")[1].split(" ")[0] for command in commands] == ["error", "warning"]
    summary = (tmp_path / "s.md").read_text()
    assert not any(line.startswith("# ") for line in summary.splitlines())
    assert "\0" not in summary


def test_a_job_without_a_place_for_its_summary_keeps_the_verdict(
    runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "missing" / "step.md"))
    done = command_here(capsys, "check", runs[1], "--against", runs[1])
    assert done.returncode == 0, done
    assert "step.md: No such file or directory; the page of the job has no summary" in done.stderr


PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
ANSWER = 'import json, sys\nfor line in open(sys.argv[1]):\n    print(json.dumps({"id": json.loads(line)["id"], "response": "ANSWER"}))\n'
GOOD, BAD = "Sorry, it is late.", "I will not say."


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository as the page asks for: cases, the answers of the release, and a script that answers."""
    write_jsonl(
        tmp_path / "cases.jsonl",
        [{"id": f"q{n}", "prompt": f"Parcel {n}?", "criteria": ["apologises"]} for n in range(40)],
    )
    (tmp_path / "answers").mkdir()
    write_jsonl(tmp_path / "answers" / "released.jsonl", [{"id": f"q{n}", "response": GOOD} for n in range(40)])
    return tmp_path


def executed(project: Path, steps: Sequence[str], answer: str, **environment: str) -> tuple[int, str]:
    """The exit code and the output of steps, one after the other as a runner does; installing is left out."""
    (project / "answer.py").write_text(ANSWER.replace("ANSWER", answer), encoding="utf-8")
    judging: list[Any] = [
        {"contains": "broken", "error": "judge out of order"},
        {"contains": "I will not", "verdicts": {"apologises": "FAIL"}},
        {"contains": "<criteria", "verdicts": {}},
    ]
    known = {
        "JUDGE": script(project / "judge.json", judging), "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(project / "summary.md"), "GITHUB_OUTPUT": str(project / "output"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TRUEBENCH_CACHE": str(project / "cache"),
    }  # fmt: skip
    printed = ""
    for step in steps:
        if "pip install" in step:
            continue
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", step], cwd=project, env={**os.environ, **known, **environment},
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        printed += done.stdout + done.stderr
        if done.returncode:
            return done.returncode, printed
    return 0, printed


def steps_of(which: str) -> list[str]:
    github, _, gitlab, _ = map(yaml.safe_load, blocks("yaml"))
    steps: list[str] = {
        "github": [step["run"] for step in github["jobs"]["gate"]["steps"] if "run" in step],
        "gitlab": gitlab["gate"]["script"],
    }[which]
    return steps


@pytest.mark.slow
@pytest.mark.parametrize("which", ["github", "gitlab"])
def test_the_pipelines_of_the_page_are_green_and_red(project: Path, which: str) -> None:
    steps = steps_of(which)
    assert len(steps) == 5
    code, printed = executed(project, steps, GOOD)
    assert code == 0, printed
    shutil.rmtree(project / "runs")  # the next job begins with a fresh checkout
    code, printed = executed(project, steps, BAD)
    assert code == 1, printed
    assert "::error title=truebench: worse::" in printed
    assert (project / "truebench.xml").is_file()
    shutil.rmtree(project / "runs")
    code, printed = executed(project, steps, "broken")
    assert (code, "40 of 40 pairs are undecided" in printed) == (3, True), "said by check, which is reached"


@pytest.mark.slow
def test_the_composite_action_hands_on_the_verdict(project: Path) -> None:
    action = yaml.safe_load((ROOT / ".github" / "actions" / "truebench" / "action.yml").read_text(encoding="utf-8"))
    write_jsonl(project / "answers" / "new.jsonl", [{"id": f"q{n}", "response": BAD} for n in range(40)])
    steps = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    inputs = {
        "DATA": "cases.jsonl",
        "OLD": "answers/released.jsonl",
        "NEW": "answers/new.jsonl",
        "MARGIN": "3",
        "ARGUMENTS": "--must apologises --summary 'my summary.md'",
    }
    named = {name for step in action["runs"]["steps"] for name in step.get("env", {})}
    assert named == {*inputs, "JUDGE"}, "inputs reach the shell as variables, never as text of a command"
    assert not any("${{" in step for step in steps)
    code, printed = executed(project, steps, GOOD, **inputs)
    assert code == 1, printed
    assert "::error title=truebench: worse::" in printed
    assert (project / "output").read_text() == "exit-code=1\n"
    assert (project / "summary.md").read_text().startswith("## truebench: worse")
    assert (project / "my summary.md").is_file(), "quotes hold words together"
    assert (project / "truebench.xml").is_file()


@pytest.mark.slow
def test_the_tests_of_the_page_pass_and_its_hook_runs_them_offline(project: Path) -> None:
    folder = project / "tests" / "answers"
    folder.mkdir(parents=True)
    (folder / "test_page.py").write_text(blocks("python")[0], encoding="utf-8")
    (settings,) = blocks("toml")
    judge = script(project / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
    (project / "pyproject.toml").write_text(settings.replace("openai:gpt-5-mini", judge), encoding="utf-8")
    hook = yaml.safe_load(blocks("yaml")[-1])["repos"][0]["hooks"][0]["entry"]
    assert hook == "pytest --truebench-offline tests/answers"
    for command, outcome in (
        (hook, "1 passed, 1 skipped"),
        (hook.replace(" --truebench-offline", ""), "2 passed"),
        (hook, "2 passed"),
    ):
        code, printed = executed(project, [command.replace("pytest", f"{sys.executable} -m pytest")], GOOD)
        assert (code, outcome in printed) == (0, True), printed
