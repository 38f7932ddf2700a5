"""`truebench label` out, in and open, on every kind of folder and file: one way to ask people, and to take answers."""

from __future__ import annotations

import csv
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.golden.case import Case, play
from tests.golden.cases import case_named
from tests.support.corpus import each_row
from tests.support.finished import finished
from tests.support.runs import ROOT, command_here

Capsys = pytest.CaptureFixture[str]


class Kind(NamedTuple):
    """The golden case whose first steps make the folder, what is labelled there, and where the labels go."""

    case: Case
    place: str
    taken: str
    question: str  # what a sheet asks, in part
    options: str


KINDS = {
    "run": Kind(case_named("label"), "out", "out/labels.jsonl", "Does the response meet this", "yes|no"),
    "arbitration": Kind(
        case_named("arbitrate"), "out", "out/human.jsonl", "Does the response meet this requirement", "yes|no"
    ),
    "criteria": Kind(
        case_named("compare-criteria"), "out", "out/labels.jsonl", "Judge by the user's request alone", "pass|fail"
    ),
    "refinement": Kind(
        case_named("refinement"), "out", "out/labels.jsonl", "Judge by the user's request alone", "pass|fail"
    ),
    "flex": Kind(case_named("flex"), "scored", "scored/labels.jsonl", "(unknown: it did not apply", "yes|no|unknown"),
    "rows": Kind(case_named("annotate"), "data.jsonl", "back.jsonl", "Is it kind?", "yes|no"),
}
EACH = pytest.mark.parametrize("name", KINDS)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of every kind, as it is before people are asked."""
    folders = {}
    for name, kind in KINDS.items():
        before = []
        for step in kind.case.steps:
            if isinstance(step, str) and step.startswith("label "):
                break
            before.append(step)
        folders[name] = tmp_path_factory.mktemp(name)
        told = play(Case(name, kind.case.write, tuple(before)), folders[name])
        assert "Traceback" not in told
    return folders


@pytest.fixture
def folder(made: dict[str, Path], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = Path(shutil.copytree(made[name], tmp_path / "copy"))
    monkeypatch.chdir(copy)
    return copy


def rows(sheet: Path) -> list[dict[str, str]]:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def answer(sheet: Path) -> list[dict[str, str]]:
    """Answer everything with the first option."""
    filled = [row | {"answer": row["options"].split("|")[0], "note": "I think."} for row in rows(sheet)]
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(filled[0]))
        writer.writeheader()
        writer.writerows(filled)
    return filled


def to(kind: Kind) -> list[str]:
    """Rows of a file go to another."""
    return ["--out", kind.taken] if kind.place.endswith(".jsonl") else []


@EACH
def test_sheets_go_out_blind_and_answers_come_back(name: str, folder: Path, capsys: Capsys) -> None:
    kind = KINDS[name]
    done = command_here(capsys, "label", "out", kind.place, "--annotators", "eva, jon", "--out", "sheets")
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in (folder / "sheets").iterdir()) == ["eva.csv", "eva.html", "jon.csv", "jon.html"]
    for file in (folder / "sheets").iterdir():
        text = file.read_text(encoding="utf-8-sig")
        assert "scripted" not in text, "who answered or judged"
        assert kind.question in text.replace("&#39;", "'")
    assert kind.options in {row["options"] for row in rows(folder / "sheets" / "eva.csv")}
    again = command_here(capsys, "label", "out", kind.place, "--annotators", "eva", "--out", "sheets")
    assert (again.returncode, "may hold answers" in again.stderr) == (2, True), "nothing is written over"
    asked = len(answer(folder / "sheets" / "eva.csv"))
    renewed = name in ("run", "criteria")  # whose report is made anew
    if renewed:
        file = folder / kind.place / "run.json"
        info = json.loads(file.read_text(encoding="utf-8"))
        for cost in info["reading"].values():
            cost["again"] = 1  # as if a judge had been asked a second time
        file.write_text(json.dumps(info), encoding="utf-8")
    done = command_here(capsys, "label", "in", kind.place, "sheets", *to(kind))
    assert (done.returncode, f"written: {kind.taken}" in done.stdout) == (0, True), done.stderr
    text = (folder / kind.taken).read_text(encoding="utf-8")
    assert "eva" in text
    if renewed:
        page = (folder / kind.place / "report.html").read_text(encoding="utf-8")
        assert "How well the judges&#39; answers could be read" in page, "what the study noted stays in its report"
    if name != "rows":  # which keep answers by what they are about
        assert text.count('"annotator": "eva", "label": "' + kind.options.partition("|")[0]) == asked
        assert text.count('"note": "I think."') == asked, "what annotators noted is kept"
        later = command_here(capsys, "label", "in", kind.place, "sheets/jon.csv")
        assert later.returncode == 0, "a second annotator's sheet, blank as it is, takes nothing back"
        assert (folder / kind.taken).read_text(encoding="utf-8").count('"eva", "label": "') == asked


@EACH
def test_sheets_of_another_kind_are_refused_and_change_nothing(
    name: str, folder: Path, made: dict[str, Path], capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, other = KINDS[name], "flex" if name != "flex" else "run"
    monkeypatch.chdir(made[other])
    sheets = folder / "strange"
    assert command_here(capsys, "label", "out", KINDS[other].place, "--out", str(sheets)).returncode == 0
    monkeypatch.chdir(folder)
    for sheet in sheets.glob("*.csv"):
        answer(sheet)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = command_here(capsys, "label", "in", kind.place, str(sheets), *to(kind))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    reasons = ("in a sheet", "a sheet asks for yes or no", "asks about no row of the data")
    assert any(words in done.stderr for words in reasons), done.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@EACH
def test_nobody_was_asked_yet(name: str, folder: Path, capsys: Capsys) -> None:
    done = command_here(capsys, "label", "in", KINDS[name].place)
    if name == "rows":
        assert (done.returncode, "table 6" in done.stdout) == (0, True), "what the rows hold is shown"
        return
    assert (done.returncode, done.stderr.count("\n"), "truebench label out" in done.stderr) == (2, 1, True), done.stderr


@pytest.mark.parametrize("name", ["criteria", "refinement"])
def test_a_study_that_was_killed_while_it_wrote_is_finished_first(name: str, folder: Path, capsys: Capsys) -> None:
    assert command_here(capsys, "label", "out", "out", "--out", "sheets").returncode == 0
    answer(folder / "sheets" / {"criteria": "first.csv", "refinement": "A.csv"}[name])
    info = json.loads((folder / "out" / "run.json").read_text(encoding="utf-8"))
    del info["sessions"][-1]["finished"]
    (folder / "out" / "run.json").write_text(json.dumps(info), encoding="utf-8")
    done = command_here(capsys, "label", "in", "out", "sheets")
    assert (done.returncode, done.stderr.count("\n"), "is not finished" in done.stderr) == (2, 1, True), done.stderr


@each_row(__file__, "label_any_folder", "what_means_nothing_is_refused_in_a_line")
def test_what_means_nothing_is_refused_in_a_line(
    name: str, folder: Path, line: str, message: str, capsys: Capsys
) -> None:
    done = command_here(capsys, "label", *line.split())
    assert (done.returncode, done.stderr.count("\n"), message in done.stderr) == (2, 1, True), done.stderr
    assert not (folder / "sheets").exists()


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
