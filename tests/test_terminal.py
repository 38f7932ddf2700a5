"""Texts from outside reach the terminal without escapes, markup, emoji and secrets, whichever way they are printed."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.support.runs import command_here, row, script, write_jsonl
from truebench_hf.benchmarks.truebench.sections import lead, sections
from truebench_hf.engine.progress import progress
from truebench_hf.redaction import MARK, learn
from truebench_hf.report.console import show
from truebench_hf.report.sections import Grid
from truebench_hf.terminal import complain, printable, say, warn
from truebench_hf.types import Report, Score

NASTY = "\x1b[31mred\x1b]0;title\x07 \r\x9b2J\u202eevil\u2066 :x: openai:a:0.9 [bold]b[/bold] \\[red] \ud83d"
RAW = set(NASTY) & {chr(c) for c in (*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2066, 0xD83D)}


def clean(text: str) -> None:
    """Nothing that steers a terminal, and the names as they are."""
    assert not RAW & set(text), sorted(map(hex, map(ord, RAW & set(text))))
    assert ":x: openai:a:0.9 [bold]b[/bold] \\[red]" in text
    assert "\\x1b[31mred" in text


def test_what_steers_a_terminal_is_shown_as_its_escape() -> None:
    assert printable("a\tb\nc é 🎉 👩‍💻 עברית\u200f") == "a\tb\nc é 🎉 👩‍💻 עברית\u200f", (
        "lines, scripts and marks stay"
    )
    assert printable("\x1b\x00\r\x7f\x9b\u202e\u2028\ud83d") == "\\x1b\\x00\\r\\x7f\\x9b\\u202e\\u2028\\ud83d"
    clean(printable(NASTY))


def test_tables_notes_and_grids(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    learn("a-known-secret-word")
    nasty = f"{NASTY} a-known-secret-word"
    score = Score(50.0, 2)
    made = {"model": nasty, "judge": nasty, "judging": {"level": nasty}}
    report = Report({"overall": score, "by_language": {nasty: score}}, {nasty: nasty}, {}, made, (nasty,))
    grid = Grid(nasty, (nasty,), ((nasty,),), ((nasty,),), nasty)
    for tell in (
        lambda: show(sections(report), lead=lead(report), notes=report.notes), lambda: show([grid]),
        lambda: say(nasty), lambda: warn(nasty), lambda: complain(nasty),
    ):  # fmt: skip
        tell()
        told = "".join(capsys.readouterr())
        clean(told)
        assert "a-known-secret-word" not in told
        assert MARK in told


def test_tables_break_long_names_and_cut_none(capsys: pytest.CaptureFixture[str]) -> None:
    judges = [f"openai:{100 * 'a-long-name-'}{number}" for number in (1, 2)]
    show([Grid("", ("judge", *"abcde"), tuple((judge, *"12345") for judge in judges))])
    told = capsys.readouterr().out
    assert "…" not in told
    pieces = [line.split("│")[1].strip() for line in told.splitlines() if line.startswith("│")]
    assert "".join(pieces) == "".join(judges)


def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    complain("no\ngood\r\n: Authorization: Bearer abc")
    assert capsys.readouterr().err == f"truebench: no good : Authorization: {MARK}\n"


def test_bars_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("TERM", "dumb")
    name = "\x1b[31m:x: openai:a:0.9 [bold]b\u202e"
    with progress({name: 1}) as step:
        step(name)
    told = screen.getvalue()
    assert "\\x1b[31m:x: openai:a:0.9 [bold]b\\u202e" in told
    assert name[:5] not in told
    assert "\u202e" not in told


def test_commands_on_nasty_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    lines = [row(f"{n} \x1b[31m", [(f"Say {n}", ["c"])], category=f"=cat \x1b[31m:x: \u202e{n}") for n in range(2)]
    data = write_jsonl(tmp_path / "data.jsonl", lines)
    model = script(tmp_path / "m.json", [{"contains": "Say 1", "error": "down \x1b[2J\r"}], {"reply": "\x1b[31mHi"})
    judge = script(tmp_path / "j.json", [{"contains": "<criteria", "reply": "no \x1b[31m verdict"}])
    out = str(tmp_path / "run")
    told = command_here(capsys, "run", "--data", data, "--model", model, "--judge", judge, "--out", out)
    told2 = command_here(capsys, "study", "score", out)
    told3 = command_here(capsys, "study", "score", out, "--protocol", "official")
    (tmp_path / "bad.jsonl").write_text('{"index": 1, "language": "\\u001b[31m\\n"}\n', encoding="utf-8")
    told4 = command_here(
        capsys, "run", "--data", str(tmp_path / "bad.jsonl"), "--model", model, "--judge", judge, "--out", f"{out}2"
    )
    for done in (told, told2, told3, told4):
        shown = done.stdout + done.stderr
        assert shown
        assert not {"\x1b", "\r", "\u202e"} & set(shown)
    assert ":x:" in told.stdout
    assert "'=cat" not in told.stdout, "only files for spreadsheets are guarded"
    csv = (tmp_path / "run" / "scores_category.csv").read_text(encoding="utf-8")
    assert "'=cat" in csv
    assert ",=cat" not in csv
    assert "\x1b[31mHi" in (tmp_path / "run" / "judgments.jsonl").read_text(encoding="utf-8").replace("\\u001b", "\x1b")
