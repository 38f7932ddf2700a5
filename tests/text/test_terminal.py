"""Texts from outside reach the terminal without escapes, markup, emoji and secrets, whichever way they are printed."""

from __future__ import annotations

import io
import itertools
import sys
from pathlib import Path

import pytest

from tests.support.corpus import each_row
from tests.support.runs import command_here, row, script, write_jsonl
from truebench_hf.engine.pool import progress
from truebench_hf.text.redaction import MARK
from truebench_hf.text.terminal import complain, how_many, printable, shortened

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


def test_without_a_terminal_a_long_run_tells_seldom(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("answers", "\x1b[31mjudgments")
    with progress(dict.fromkeys(names, 50)) as step:
        for name in names:
            step(name)
    assert capsys.readouterr().err == ""
    clock = itertools.count(1000)  # a second for every look at it
    monkeypatch.setattr("tqdm.std.time", lambda: next(clock))
    with progress(dict.fromkeys(names, 500)) as step:
        for name in names * 500:
            step(name)
    lines = capsys.readouterr().err.replace("\r", "\n").splitlines()
    assert 0 < len([line for line in lines if line]) <= 1000 / 60 + 2
    assert lines[-1].startswith("answers, \\x1b[31mjudgments: 100%")


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
    (tmp_path / "bad.jsonl").write_text('{"index": 1, "language": "\\u001b[31m\\n"}\n', encoding="utf-8")
    told3 = command_here(
        capsys, "run", "--data", str(tmp_path / "bad.jsonl"), "--model", model, "--judge", judge, "--out", f"{out}2"
    )
    for done in (told, told2, told3):
        shown = done.stdout + done.stderr
        assert shown
        assert not {"\x1b", "\r", "\u202e"} & set(shown)
    assert ":x:" in told.stdout
    assert "'=cat" not in told.stdout, "only files for spreadsheets are guarded"
    csv = (tmp_path / "run" / "scores_category.csv").read_text(encoding="utf-8")
    assert "'=cat" in csv
    assert ",=cat" not in csv
    assert "\x1b[31mHi" in (tmp_path / "run" / "judgments.jsonl").read_text(encoding="utf-8").replace("\\u001b", "\x1b")


@each_row(__file__, "shortened", "texts")
def test_a_text_is_shortened_to_a_line(text: object, shown: str) -> None:
    assert shortened(text, 10) == shown


def test_numbers_with_their_nouns() -> None:
    assert [how_many(n, "item") for n in (0, 1, 2, 1200)] == ["0 items", "1 item", "2 items", "1,200 items"]
    assert [how_many(n, "criterion", "criteria") for n in (1, 3)] == ["1 criterion", "3 criteria"]
