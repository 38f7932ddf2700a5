"""`truebench demo`: stored answers whose every requirement is counted before one's eyes, and a page of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.runs import command_here

Capsys = pytest.CaptureFixture[str]


def test_every_requirement_of_every_stored_answer_is_decided_and_on_the_page(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    done = command_here(capsys, "demo", "--no-live")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "runs" / "demo" / "judgments.jsonl").read_text(encoding="utf-8").splitlines()
    verdicts = [verdict for line in lines for turn in json.loads(line)["verdicts"] for verdict in turn]
    assert len(lines) == 3 * 24, "three answers to each of 24 prompts"
    assert {verdict["label"] for verdict in verdicts} == {"yes", "no"}
    assert {verdict["judge"] for verdict in verdicts} == {"rules"}
    assert "24 prompts in 6 languages, 42 requirements" in done.stdout
    assert "24 of 24" in done.stdout, "what was written by hand meets all"
    assert "What SmolLM2 misses most" in done.stdout
    assert "lowercase letters" in done.stdout, "with what was measured"
    page = (tmp_path / "runs" / "demo" / "report.html").read_text(encoding="utf-8")
    table = page.split("<h2>Requirements</h2>")[1].split("</section>")[0]
    assert table.count("<summary") == 42
    assert table.count("✓") + table.count("✗") == 3 * 42, "a sign for each answer"
    assert "The sea is a deep, dark, and mysterious blue color." in table, "the answers are behind a click"


def test_without_torch_one_line_says_how_to_get_the_live_part(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = command_here(capsys, "demo")
    assert done.returncode == 0, done.stderr
    assert "pip install '.[local]'" in done.stdout.splitlines()[-1]


@pytest.mark.slow
def test_smollm2_answers_live_and_is_judged_by_counting(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 s. Eight prompts, token by token."""
    monkeypatch.chdir(tmp_path)
    done = command_here(capsys, "demo")
    assert done.returncode == 0, done.stderr
    assert "As a judge it is at chance" in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith("SmolLM2 passes ")
    assert "✗ does not contain the word \"blue\"   ('blue' 1 time)" in done.stdout
