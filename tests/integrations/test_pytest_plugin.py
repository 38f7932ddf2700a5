"""The pytest plugin, as a project of its own uses it: pyproject.toml, tests, and a pytest of its own process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.runs import script

pytestmark = pytest.mark.slow  # pytest within pytest

JUDGING = [
    {"contains": "unheard of", "error": "no judge"},
    {"contains": "I will not", "verdicts": {"apologises": "FAIL"}},
    {"contains": "<criteria", "verdicts": {}},
]
TESTS = """
import itertools
import pytest

def test_good(judge):
    assert judge("Where is my parcel?", "Sorry, it is late.", ["apologises", "at most 120 words"]).passed

def test_bad(judge):
    judge("Where is my parcel?", "I will not say.", ["apologises", "at most 120 words"])

def test_open(judge):
    judge("Where is my parcel?", "unheard of", ["apologises"])

draws = itertools.count()

@pytest.mark.truebench(samples=5, at_least=4)
def test_drawn(judge):
    judge("Where?", "I will not." if next(draws) == 2 else f"Sorry, {next(draws)}.", ["apologises"])

@pytest.mark.truebench(samples=3)
@pytest.mark.parametrize("answer", ["I will not."])
async def test_awaited(judge, answer):
    judge("Where?", answer, ["apologises"])

@pytest.mark.truebench(samples=2, at_least=3)
def test_marked_wrongly(judge):
    pass

def test_without():
    pass
"""


def project(folder: Path, settings: str | None, tests: str = TESTS) -> Path:
    folder.mkdir(exist_ok=True)
    table = "" if settings is None else f"[tool.truebench]\n{settings}\n"
    (folder / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{table}", encoding="utf-8")
    (folder / "test_app.py").write_text(tests, encoding="utf-8")
    return folder


def pytest_in(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "OPENAI"))}
    cache = {"TRUEBENCH_CACHE": str(folder / "cache"), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments], cwd=folder,
        env=known | cache | environment, capture_output=True, text=True, timeout=100,
    )  # fmt: skip


def counted(done: subprocess.CompletedProcess[str]) -> dict[str, tuple[int, ...]]:
    """The table at the end: passed, missed, open and skipped judgments by test."""
    _, _, table = done.stdout.partition(" truebench ===")
    rows = [line.split(None, 4) for line in table.splitlines() if line[:7].strip().isdigit() and len(line.split()) > 4]
    return {row[4].partition("::")[2] or row[4]: tuple(map(int, row[:4])) for row in rows}


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)])
def test_a_judgment_asserts_by_itself_and_is_counted(tmp_path: Path, workers: tuple[str, ...]) -> None:
    judge = script(tmp_path / "judge.json", JUDGING)
    done = pytest_in(project(tmp_path / "app", f'judge = "{judge}"\nlevel = "checklist"'), *workers)
    assert (done.returncode, done.stderr) == (1, ""), done.stdout
    assert "4 failed, 3 passed" in done.stdout
    assert "the answer misses criteria" in done.stdout
    assert "no      apologises: scripted: FAIL" in done.stdout
    assert "answer: I will not say." in done.stdout
    assert "NotJudged: the judge left criteria open, which is no failure of the answer" in done.stdout
    assert "0 of 3 samples pass, at least 3 have to" in done.stdout
    assert "write it as (samples=5, at_least=4)" in done.stdout
    assert counted(done) == {
        "test_bad": (0, 1, 0, 0), "test_open": (0, 0, 1, 0), "test_drawn": (4, 1, 0, 0),
        "test_awaited[I will not.]": (0, 3, 0, 0), "all 5 tests with a judge": (5, 5, 1, 0),
    }  # fmt: skip


def test_offline_rules_and_cache_decide_and_the_rest_is_skipped(tmp_path: Path) -> None:
    """First with a server; then without server and key, as a pull request from a fork has it."""
    tests = """
def test_asked_before(judge):
    judge("Where is my parcel?", "Sorry, it is late.", ["apologises"])

def test_counted(judge):
    judge("Where is my parcel?", "One two three.", ["at most 10 words"])
"""
    new = (
        tests
        + """
def test_new(judge):
    judge("Where is my parcel?", "It comes tomorrow.", ["apologises"])

def test_none(judge):
    judge("Where?", None, ["apologises"])
"""
    )
    with OpenAIServer() as server:
        settings = f'judge = "openai:any"\nbase_url = "{server.url}"'
        app = project(tmp_path / "app", settings, tests)
        done = pytest_in(app, OPENAI_API_KEY="sk-of-a-test")
        assert done.returncode == 0, done.stdout
        calls = server.stats()["total"]
    assert calls == 1, "what can be counted is not asked"
    project(tmp_path / "app", settings, new)
    done = pytest_in(app, "--truebench-offline", "-rs")
    assert done.returncode == 0, done.stdout
    assert "2 passed, 2 skipped" in done.stdout
    assert "--truebench-offline: there is no answer" in done.stdout
    assert "the cache has no answer to this" in done.stdout
    assert counted(done)["all 4 tests with a judge"] == (2, 0, 0, 2)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ('judge = "opnai:x"', "unknown spec 'opnai:x'"),
        ('judge = "none"\nlevle = "rubric"', "levle"),
    ],
)
def test_a_wrong_setting_is_a_line(tmp_path: Path, settings: str, line: str) -> None:
    done = pytest_in(project(tmp_path / "app", settings, "def test_one(judge):\n    pass\n"))
    assert done.returncode == 1
    assert line in done.stdout
    assert "Traceback" not in done.stdout


def test_nothing_is_loaded_before_the_fixture_is_used_and_it_needs_a_judge(tmp_path: Path) -> None:
    tests = """
def test_it():
    import sys
    assert not {name for name in sys.modules if name.startswith("truebench_hf.")} - {
        "truebench_hf.integrations", "truebench_hf.integrations.pytest_plugin", "truebench_hf.version"}

def test_judged(judge):
    pass
"""
    done = pytest_in(project(tmp_path / "app", None, tests))
    assert ("1 passed, 1 error" in done.stdout, "truebench ==" in done.stdout) == (True, False), done.stdout
    assert 'name a judge: [tool.truebench] with judge = "openai:MODEL"' in done.stdout


def test_strange_answers_and_markers_are_told_and_stop_no_worker(tmp_path: Path) -> None:
    """Half a character, which xdist cannot send; no answer at all; a marker where unittest runs the method itself."""
    tests = """
import unittest
import pytest

def test_half(judge):
    judge("Where?", "I will not \\ud800", ["apologises"])

def test_none(judge):
    judge("Where?", None, ["apologises"])

class TestUnit(unittest.TestCase):
    @pytest.mark.truebench(samples=2)
    def test_unit(self):
        pass
"""
    judge = script(tmp_path / "judge.json", JUDGING)
    done = pytest_in(project(tmp_path / "app", f'judge = "{judge}"', tests), "-n", "1")
    assert "2 failed, 1 error" in done.stdout, done.stdout
    assert "answer: I will not \\ud800" in done.stdout
    assert "NotJudged: the judge left criteria open" in done.stdout
    assert "a method of unittest.TestCase runs once" in done.stdout
