"""docs/ci.md and the composite action: their steps are run here, with a scripted judge in place of the server's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.runs import ROOT, script, write_jsonl

pytestmark = pytest.mark.slow
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
