"""What a pipeline shows of a check: JUnit, the summary, and the commands of a job on GitHub."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.finished import finished, numbered
from tests.support.runs import command_here, row, script, write_jsonl

OLD = [True] * 20
NEW = [True] * 12 + [False] * 7 + [None]
HOSTILE = "is <b>right</b> `code` ]]> \x00 \ud800 % ::error::forged"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    new = finished(folder / "new", "app", numbered(NEW), allow_unscored=True)
    return new, finished(folder / "old", "app", numbered(OLD))


def test_junit_has_a_case_per_instance_and_skips_what_is_not_judged(
    runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = command_here(capsys, "check", runs[0], "--junit", str(tmp_path / "made" / "report.xml"))
    assert done.returncode == 0, "nothing is gated; the file is written"
    suite = ElementTree.parse(tmp_path / "made" / "report.xml").getroot()
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "20", "failures": "7", "skipped": "1",
    }  # fmt: skip
    cases = {case.get("name"): case for case in suite}
    assert list(cases["q0"]) == []
    (failure,) = cases["q12"]
    assert (failure.tag, failure.get("message"), failure.text) == (
        "failure", "1 missed: is right", "is right: scripted: FAIL",
    )  # fmt: skip
    (skipped,) = cases["q19"]
    assert (skipped.tag, "judge out of order" in str(skipped.get("message"))) == ("skipped", True)


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


def test_a_report_that_cannot_be_written_is_a_line(
    runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = command_here(capsys, "check", runs[0], "--junit", str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
