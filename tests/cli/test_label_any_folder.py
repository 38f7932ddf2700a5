"""`truebench label out` and `label in` on every kind of folder and file: one way to ask people, and to take answers in."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.golden.case import Case, play
from tests.golden.cases import arbitration, checklists, compare, flex, refinement, runs
from tests.support.runs import command_here

Capsys = pytest.CaptureFixture[str]


class Kind(NamedTuple):
    """The golden case whose first steps make the folder, what is labelled there, and where the labels go."""

    case: Case
    place: str
    taken: str
    question: str  # what a sheet asks, in part
    options: str


def _case(module: object, name: str) -> Case:
    return next(case for case in module.CASES if case.name == name)  # type: ignore[attr-defined]


KINDS = {
    "run": Kind(_case(runs, "label"), "out", "out/labels.jsonl", "Does the response meet this", "yes|no"),
    "arbitration": Kind(
        _case(arbitration, "arbitrate"), "out", "out/human.jsonl", "Does the response meet this requirement", "yes|no"
    ),
    "criteria": Kind(
        _case(compare, "compare-criteria"), "out", "out/labels.jsonl", "Judge by the user's request alone", "pass|fail"
    ),
    "refinement": Kind(
        _case(refinement, "refinement"), "out", "out/labels.jsonl", "Judge by the user's request alone", "pass|fail"
    ),
    "flex": Kind(_case(flex, "flex"), "scored", "scored/labels.jsonl", "(unknown: it did not apply", "yes|no|unknown"),
    "rows": Kind(_case(checklists, "annotate"), "data.jsonl", "back.jsonl", "Is it kind?", "yes|no"),
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


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("run", "open out --annotator ../eva", "annotator '../eva'"),
        ("run", "open out --port 99999", "--port 99999: cannot be opened"),
        ("rows", "out data.jsonl --n 0", "--n 0: must be at least 1"),
        ("rows", "out data.jsonl --ask dirct", "did you mean direct"),
        ("rows", "out data.jsonl --annotators eva,Eva", "each with a name of its own"),
        ("rows", "out data.jsonl --annotators ../eva", "annotator '../eva'"),
        ("flex", "out talks", "is a study of kind flexsimulate, about which people are not asked"),
        ("run", "out absent", "absent"),
    ],
)
def test_what_means_nothing_is_refused_in_a_line(
    name: str, folder: Path, line: str, message: str, capsys: Capsys
) -> None:
    done = command_here(capsys, "label", *line.split())
    assert (done.returncode, done.stderr.count("\n"), message in done.stderr) == (2, 1, True), done.stderr
    assert not (folder / "sheets").exists()
