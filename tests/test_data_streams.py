"""Rows that come through a pipe, and names that can be no path: read as they come, or one line that helps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.benchmarks.truebench import data
from truebench_hf.data.answer_files import read_answers
from truebench_hf.data.row_files import one_split, splits
from truebench_hf.errors import UserError

ROWS = [{"id": "1", "prompt": "Greet."}, {"id": "2", "prompt": "Part."}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
TABLE = b"id,prompt\n1,Greet.\n2,Part.\n"


@contextmanager
def piped(content: bytes) -> Iterator[str]:
    """The path of a pipe through which this content comes, as `<(...)` of a shell is."""
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(content)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        writer.join()


@pytest.mark.parametrize(
    "content",
    [
        LINES, b"\xef\xbb\xbf" + LINES, json.dumps(ROWS).encode(), TABLE,
        TABLE.replace(b",", b"\t"), TABLE.replace(b",", b";"),
    ],
    ids=["lines", "byte order mark", "list", "table", "tabs", "semicolons"],
)  # fmt: skip
def test_a_pipe_is_read_by_what_comes_through_it(content: bytes) -> None:
    with piped(content) as path:
        rows = one_split(path)
        assert [dict(record.row) for record in rows] == ROWS
        assert [dict(record.row) for record in rows] == ROWS, "read again from what came"


def test_a_named_pipe_is_read_by_its_ending(tmp_path: Path) -> None:
    pipe = tmp_path / "rows.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(TABLE))
    writer.start()
    assert [dict(record.row) for record in splits(str(pipe))[""]] == ROWS
    writer.join()


def test_answers_of_a_piped_table_that_are_empty_are_none() -> None:
    with piped(b"id,response\n1,\n2,Bye.\n") as path:
        assert [row.answers for row in read_answers(Path(path))] == [None, "Bye."]


def test_a_file_without_an_ending_is_read_by_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(LINES)
    assert [dict(record.row) for record in splits(str(tmp_path / "rows"))[""]] == ROWS


def test_nothing_comes(tmp_path: Path) -> None:
    with piped(b"") as path, pytest.raises(UserError, match=f"{path}: holds no records"):
        list(one_split(path))


def test_standard_input(tmp_path: Path) -> None:
    rows = [row | {"criteria": ["at most 3 words"]} for row in ROWS]
    command = [
        sys.executable, "-m", "truebench_hf", "run", "--data", "/dev/stdin", "--model", script(tmp_path / "model.json", []),
        "--judge", "none", "--out", str(tmp_path / "out"),
    ]  # fmt: skip
    content = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run(command, input=content, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out" / "judgments.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("name", ["x" * 5000, "~" + "x" * 5000, "a/" + "x" * 5000, "x" * 5000 + ".jsonl"])
def test_a_text_that_is_no_path(name: str) -> None:
    with pytest.raises(UserError, match=r"x…: no such file; give mini") as raised:
        data.load(name)
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize("option", ["--out", "--model", "--prompt", "--criteria"])
def test_nor_is_any_other_option_a_traceback(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = {"--model": "scripted:", "--prompt": "checklist="}.get(option, "") + "x" * 5000
    given = {
        "--data": write_jsonl(tmp_path / "data.jsonl", [ROWS[0] | {"criteria": ["is kind"]}]),
        "--model": script(tmp_path / "model.json", []), "--judge": script(tmp_path / "judge.json", []),
        "--out": str(tmp_path / "out"), option: long,
    }  # fmt: skip
    done = command_here(capsys, "run", *(word for pair in given.items() for word in pair))
    assert (done.returncode, "Traceback" in done.stderr, "too long" in done.stderr) == (2, False, True), done.stderr
