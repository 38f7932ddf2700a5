"""`truebench study prompts`: what judges are asked, to look at and to begin one's own with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.runs import command_here

Capsys = pytest.CaptureFixture[str]


def test_show_shows_what_is_put_in_place(capsys: Capsys, tmp_path: Path) -> None:
    mine = tmp_path / "mine.jinja"
    mine.write_text(command_here(capsys, "study", "prompts", "checklist", "--source").stdout)
    ours = command_here(capsys, "study", "prompts", "checklist").stdout
    show = ("study", "prompts", "checklist", "--prompt")
    assert command_here(capsys, *show, f"checklist={mine}").stdout == ours, "a copy of the source is the same prompt"
    mine.write_text("Mine: {{ criteria | length }}")
    assert command_here(capsys, *show, f"checklist={mine}").stdout == "Mine: 2\n"
    assert command_here(capsys, *show, f"checklist={mine}", "--source").stdout == "Mine: {{ criteria | length }}"
    assert command_here(capsys, *show, "checklist=plain").stdout.startswith("You assess")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("checklst", "unknown prompt 'checklst': did you mean checklist"),
        ("_rules", "unknown prompt '_rules'"),
        ("rubric.plain", "unknown prompt 'rubric.plain'"),
        ("rubric --prompt rubric=nowhere.jinja", "no such file, and no variant of ours (plain, second, third)"),
        ("rubric --prompt rubric={tmp}/evil.jinja", "SecurityError"),
        ("--official {tmp}/prompts.csv", "--official goes with --out"),
    ],
)
def test_what_cannot_be_shown_is_one_line(capsys: Capsys, tmp_path: Path, line: str, words: str) -> None:
    evil = f"{{{{ cycler.__init__.__globals__.os.popen('touch {tmp_path}/run').read() }}}}"
    (tmp_path / "evil.jinja").write_text(evil)
    done = command_here(capsys, "study", "prompts", *line.replace("{tmp}", str(tmp_path)).split())
    assert (done.returncode, done.stdout, done.stderr.count("\n"), words in done.stderr) == (2, "", 1, True), done
    assert not (tmp_path / "run").exists(), "and nothing was run"


def test_official_prompts_become_flags(capsys: Capsys, tmp_path: Path) -> None:
    csv = tmp_path / "evaluation_prompts.csv"
    csv.write_text("evaluation_method,evaluation_prompt\njson,E: {{context_document}} R: {{response}}\n")
    done = command_here(capsys, "study", "prompts", "--official", str(csv), "--out", str(tmp_path / "p"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"--prompt grounding_json={tmp_path}/p/grounding_json.jinja\n"
    shown = command_here(capsys, "study", "prompts", "grounding_json", *done.stdout.split())
    assert shown.stdout.startswith("E: The workshop moves to Friday at 10.")
    csv.write_text("evaluation_method,evaluation_prompt\njson,E: {{document}} R: {{response}}\n")
    done = command_here(capsys, "study", "prompts", "--official", str(csv), "--out", str(tmp_path / "p"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "unknown placeholder '{{document}}'" in done.stderr
