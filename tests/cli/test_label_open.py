"""`truebench label open`: one annotator asked on this machine, by what a browser would send."""

from __future__ import annotations

import csv
import html
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.finished import finished
from tests.support.runs import ROOT

HOSTILE = "</script><script>alert(1)</script>"


class Opened:
    """The command, and the page it serves."""

    def __init__(self, folder: str, *arguments: str) -> None:
        command = [sys.executable, "-m", "truebench_hf.cli.main", "label", "open", folder, *arguments]
        self.process = subprocess.Popen(
            command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "500"},
        )  # fmt: skip
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        match = re.search(r"http://\S+", self.line)
        assert match, (self.line, self.process.communicate())
        self.address = urlsplit(match[0])

    def request(self, method: str, path: str = "", body: Any = None) -> tuple[int, str]:
        connection = HTTPConnection("127.0.0.1", self.address.port or 0, timeout=30)
        connection.request(method, path or self.address.path, None if body is None else json.dumps(body))
        reply = connection.getresponse()
        return reply.status, reply.read().decode("utf-8")

    def answer(self, name: str, text: str | None, note: str = "") -> int:
        return self.request("POST", body={"id": name, "answer": text, "note": note})[0]


@pytest.fixture
def run(tmp_path: Path) -> str:
    return finished(tmp_path / "run", "m", {"a": True, HOSTILE: False, "c": True})


@pytest.fixture
def opened(run: str) -> Iterator[Opened]:
    page = Opened(run, "--annotator", "eva")
    yield page
    page.process.kill()
    page.process.communicate()


def ids(page: str) -> list[str]:
    return [html.unescape(name) for name in re.findall(r'class="item" data-id="([^"]+)"', page)]


def kept(run: str) -> dict[str, str]:
    with (Path(run) / "sheets" / "eva-answers.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["id"]: row["answer"] for row in csv.DictReader(file)}


REFUSED: list[tuple[str, str, Any, int]] = [
    ("GET", "/", None, 404),  # whoever does not know the address
    ("POST", "/", {"done": True}, 404),
    ("POST", "", {"id": "x", "answer": "yes"}, 400),  # no such question
    ("POST", "", {"id": ["x"]}, 400),
    ("POST", "", [], 400),
    ("POST", "", None, 400),  # nothing is sent
]


def test_answers_go_straight_back_into_the_run(run: str, opened: Opened) -> None:
    assert opened.address.hostname == "127.0.0.1"
    status, page = opened.request("GET")
    assert (status, HOSTILE in page) == (200, False)
    first, second, third = ids(page)
    assert [opened.request(*sent)[0] for *sent, _ in REFUSED] == [status for *_, status in REFUSED]
    assert opened.answer(first, "maybe") == 400, "none of the options"
    assert not (Path(run) / "sheets" / "eva-answers.csv").exists()
    assert opened.answer(first, "yes", "sure") == 200
    assert kept(run) == {first: "yes", second: "", third: ""}, "it is in the file before the page goes on"
    assert opened.answer(second, "yes") == 200
    assert opened.answer(second, None) == 200, "taken back"
    assert opened.answer(third, "no") == 200
    assert opened.request("POST", body={"done": True})[0] == 200
    told, problem = opened.process.communicate(timeout=60)
    assert (opened.process.returncode, problem) == (0, "")
    assert "What human labels say" in told
    rows = [json.loads(line) for line in (Path(run) / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["id"]: row["label"] for row in rows if row["label"]} == {first: "yes", third: "no"}
    assert next(row["annotations"] for row in rows if row["id"] == first)[0]["note"] == "sure"


def test_ctrl_c_keeps_what_was_answered_and_the_command_goes_on(run: str, opened: Opened) -> None:
    first, second, _ = ids(opened.request("GET")[1])
    assert opened.answer(first, "no") == 200
    opened.process.send_signal(signal.SIGINT)
    _, problem = opened.process.communicate(timeout=60)
    assert (opened.process.returncode, problem.count("\n")) == (130, 1), problem
    assert not (Path(run) / "labels.jsonl").exists(), "nobody has ended"
    again = Opened(run, "--annotator", "eva")
    try:
        assert '"answer": "no"' in again.request("GET")[1], "the page begins with what was answered"
        assert again.answer(second, "yes") == 200
        assert (kept(run)[first], kept(run)[second]) == ("no", "yes")
    finally:
        again.process.kill()
        again.process.communicate()
