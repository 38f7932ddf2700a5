"""`truebench study refine-criteria`: the whole loop through the real command, what it refuses, and what it never loses."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import Done, command_here, script, write_jsonl
from truebench_hf.api.labels import ask_people, take_labels
from truebench_hf.benchmarks.truebench.data import load
from truebench_hf.benchmarks.truebench.refinement import HISTORY, RefineCriteria, RefineCriteriaOptions
from truebench_hf.benchmarks.truebench.worklist import WorkRow, read
from truebench_hf.engine.folder import RunFolder
from truebench_hf.errors import UserError
from truebench_hf.study.labelling import LabelInOptions, LabelOutOptions
from truebench_hf.types import Criterion

Cells = Mapping[str, str]
Capsys = pytest.CaptureFixture[str]
EMPTY: dict[str, Any] = {"errors": [], "excessive": [], "missing": [], "composite": []}
# One criterion is unclear, one is missing, one too strict; of the rest judge and people say the same.
DATA = [
    {"id": "greet", "prompt": "Greet the customer.", "criteria": ["It greets nicely."]},
    {"id": "lines", "prompt": "Write three lines.", "criteria": ["It is about rain."]},
    {"id": "colour", "prompt": "Name a colour.", "criteria": ["It names a colour.", "It is in capitals."]},
    *({"id": f"sum {n}", "prompt": f"What is {n} + {n}?", "criteria": ["It is right."]} for n in range(9)),
]
FAILS = {
    "Hey you.": ["polite"], "One line.": ["three lines"], "blue": ["capitals"], "dog": ["colour", "capitals"],
    "no idea": ["right"],
}  # fmt: skip
ONE = {"greet": "Hey you.", "lines": "One line.", "colour": "blue"} | {f"sum {n}": "no idea" for n in range(9)}
OTHER = {"greet": "Dear customer.", "lines": "1\n2\n3", "colour": "dog"} | {f"sum {n}": f"{2 * n}" for n in range(9)}
BAD = {"Hey you.", "One line.", "dog", "no idea"}  # to people


def said(verdict: str, **lists: Any) -> dict[str, str]:
    return {"reply": f"Looked.\n```json\n{json.dumps(EMPTY | lists | {'verdict': verdict})}\n```"}


def judge_rules() -> list[dict[str, Any]]:
    own = [{"contains": text, "verdicts": dict.fromkeys(keys, "FAIL")} for text, keys in FAILS.items()]
    return [*own, {"contains": "<criteria", "verdicts": {}}]


class Loop:
    """A folder that goes forward by repeating one command with what people filled in."""

    def __init__(self, folder: Path, capsys: Capsys, validator: Sequence[Mapping[str, Any]] = ()) -> None:
        self.folder, self.out, self._capsys = folder, folder / "out", capsys
        self.judged, self.validated = folder / "judge.log", folder / "validator.log"
        data = write_jsonl(folder / "data.jsonl", DATA)
        files = [
            write_jsonl(folder / f"{name}.jsonl", [{"id": key, "response": text} for key, text in of.items()])
            for name, of in (("one", ONE), ("other", OTHER))
        ]
        self.base = [
            "--data", data, "--responses", files[0], "--responses", files[1],
            "--judge", script(folder / "judge.json", judge_rules()), "--judge-arg", f"record={self.judged}",
            "--validator", script(folder / "validator.json", [*validator, {"contains": "", **said("PASS")}]),
            "--validator-arg", f"record={self.validated}", "--out", str(self.out),
        ]  # fmt: skip

    def run(self, *more: str) -> Done:
        return command_here(self._capsys, "study", "refine-criteria", *self.base, *more)

    def labelled(self) -> None:
        """The first run, and what people say of its responses."""
        done = self.run()
        assert done.returncode == 0, done.stderr
        ask(self.out, lambda row: "fail" if row["Response"] in BAD else "pass")

    def take_in(self, *sheets: str) -> Done:
        return command_here(self._capsys, "label", "in", str(self.out), *sheets)

    def result(self) -> dict[str, Any]:
        return refined(self.out)

    def calls(self) -> tuple[int, int]:
        return tuple(len(f.read_text().splitlines()) if f.exists() else 0 for f in (self.judged, self.validated))  # type: ignore[return-value]


def refined(out: Path) -> dict[str, Any]:
    """What scores.json says, by round."""
    tables = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    rounds = [
        row | row["kappa"] | {"kappa": row["kappa"]["value"], "ci95": row["kappa"]["interval"]}
        for row in tables["rounds"]
    ]
    return {
        "rounds": rounds, "clean": not tables.get("open"),
        "open": tables.get("open", []),
    }  # fmt: skip


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def write(path: Path, found: Sequence[Cells], encoding: str = "utf-8-sig", delimiter: str = ",") -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in found for name in row)), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(found)
    path.write_bytes(text.getvalue().encode(encoding))


def fill_sheet(path: Path, answer: Callable[[Cells], str]) -> None:
    write(path, [row | {"answer": answer(row)} for row in rows(path)])


def ask(out: Path, answer: Callable[[Cells], str], **more: Any) -> list[Path]:
    """Ask one annotator about what a folder holds, and read the answers back; returns the sheets."""
    files = ask_people(LabelOutOptions(folder=str(out), **more)).files
    for file in files:
        if file.suffix == ".csv":
            fill_sheet(file, answer)
    take_labels(LabelInOptions(folder=str(out)))
    return list(files)


def listed(out: Path) -> list[WorkRow]:
    """The open rows of the work list."""
    return read(out)


Decided = Mapping[
    tuple[str, str], tuple[str, str]
]  # by instance and first word of the matter: what to do, and the text


def answered(sheet: Path, decided: Decided, note: str = "") -> None:
    """Answer the sheet of a work list."""
    table = rows(sheet)
    keys = [(row["What"].split("; instance ")[1].split(",")[0], row["What"].split()[0]) for row in table]
    assert set(decided) <= set(keys), keys
    pairs = [decided.get(key, ("", "")) for key in keys]
    write(sheet, [row | {"answer": do, "note": text or note} for row, (do, text) in zip(table, pairs, strict=True)])


def decide(loop: Loop, decided: Decided, who: str = "eva", note: str = "") -> Done:
    """Ask an annotator about the work list, and take the answers in."""
    sheet = next(file for file in ask_people(LabelOutOptions(folder=str(loop.out), annotators=who)).files)
    answered(sheet, decided, note)
    return loop.take_in()


FIRST: Decided = {
    ("greet", "people"): ("criterion 1: unclear", "It is polite."),
    ("lines", "people"): ("turn 1: missing", "It has three lines."),
    ("colour", "people"): ("Criterion 2: Too Strict", "remove"),  # as spreadsheet programs like to have it
}


def test_the_loop_ends_where_judge_and_people_agree_and_the_validator_finds_nothing(
    tmp_path: Path, capsys: Capsys
) -> None:
    loop = Loop(tmp_path, capsys)
    loop.labelled()
    assert loop.calls() == (24, 0), "every response once, and nothing to validate yet"
    done = loop.run()
    assert done.returncode == 0, done.stderr
    # 24 responses: people pass 12, the judge passes 13 of them; 21 alike. By chance 1/2: (21/24 - 1/2) / (1/2) = 0.75.
    before = loop.result()["rounds"][0]
    assert (before["n"], before["kappa"], before["band"]) == (24, pytest.approx(0.75), "substantial")
    assert before["ci95"][0] < 0.75 < before["ci95"][1]
    assert (before["fp"], before["fn"]) == (2, 1)
    assert [(row.instance, row.choices) for row in listed(loop.out)] == [
        ("greet", ("criterion 1: unclear", "turn 1: missing", "turn 1: prompt", "keep")),
        ("lines", ("criterion 1: unclear", "turn 1: missing", "turn 1: prompt", "keep")),
        ("colour", ("criterion 1: too strict", "criterion 2: too strict", "turn 1: prompt", "keep")),
    ]
    assert "2. It is in capitals. [no]" in listed(loop.out)[2].criteria
    assert "label open" in done.stdout
    done = decide(loop, FIRST)
    assert (done.returncode, "changes taken in: 3" in done.stdout) == (0, True), done.stderr
    again = loop.take_in()
    assert (again.returncode, "changes taken in: 3" in again.stdout) == (0, True), "the same answers count once"
    done = loop.run()
    assert done.returncode == 0, done.stderr
    result = loop.result()
    after = result["rounds"][1]
    assert (after["kappa"], after["band"], after["n"]) == (1.0, "almost perfect", 24)
    assert after["changed"] == 3
    assert (after["validated"], after["clean"], result["clean"], result["open"]) == (3, 3, True, [])
    assert loop.calls() == (24 + 2, 3), (
        "only what changed is judged again, and validated; rules count lines and see capitals"
    )
    assert listed(loop.out) == []
    assert "Nothing is open" in done.stdout
    assert "after round 1" in done.stdout
    # Every version, of changed criteria and others.
    lines = [json.loads(line) for line in (loop.out / HISTORY).read_text(encoding="utf-8").splitlines()]
    told = {one: [(v["version"], v["text"], v["change"], v["round"]) for v in lines if v["id"] == one] for one in (
        "greet#1", "lines#2", "colour#2", "sum 3#1", "greet#prompt 1")}  # fmt: skip
    assert told == {
        "greet#1": [(1, "It greets nicely.", "original", 0), (2, "It is polite.", "revised", 1)],
        "lines#2": [(1, "It has three lines.", "added", 1)],
        "colour#2": [(1, "It is in capitals.", "original", 0), (2, None, "removed", 1)],
        "sum 3#1": [(1, "It is right.", "original", 0)],
        "greet#prompt 1": [(1, "Greet the customer.", "original", 0)],
    }
    assert next((v["why"], v["who"], v["kind"]) for v in lines if v["round"]) == ("", "eva", "unclear")
    # What `truebench run` takes back.
    criteria = {one.id: [c.text for c in one.turns[0].criteria] for one in load(str(loop.out / "data.jsonl"))}
    assert list(criteria) == [row["id"] for row in DATA]
    assert criteria["greet"] == ["It is polite."]
    assert criteria["lines"] == ["It is about rain.", "It has three lines."]
    assert criteria["colour"] == ["It names a colour."]
    # The same command again changes and asks nothing.
    kept = {file.name: file.read_bytes() for file in loop.out.iterdir() if file.suffix in (".jsonl", ".csv")}
    again = loop.run()
    assert again.returncode == 0, again.stderr
    assert loop.calls() == (26, 3)
    assert kept == {name: (loop.out / name).read_bytes() for name in kept}


LONG = {"criterion": 2, "why": "Three is the number.", "instead": ["It has exactly three lines."]}
GONE = {"criterion": 1, "why": "Nobody asks for rain.", "instead": []}


def test_a_second_round_mends_what_the_validator_finds(tmp_path: Path, capsys: Capsys) -> None:
    validator = [
        {"contains": ["It is about rain.", "It has three lines."], **said("FAIL", errors=[LONG], excessive=[GONE])},
        {"contains": "It is polite.", **said("FAIL", missing=[{"turn": 1, "why": "Whom?", "add": "It names the customer."}])},
    ]  # fmt: skip
    loop = Loop(tmp_path, capsys, validator)
    loop.labelled()
    assert loop.run().returncode == 0
    assert decide(loop, FIRST).returncode == 0
    assert loop.run().returncode == 0
    first = loop.result()
    assert (first["clean"], first["rounds"][1]["kappa"]) == (False, 1.0)
    assert (first["rounds"][1]["clean"], first["rounds"][1]["defects"]) == (1, 3)
    assert [(row.instance, row.criterion, row.proposal, row.choices) for row in listed(loop.out)] == [
        ("greet", None, ("It names the customer.",), ("accept", "turn 1: missing", "turn 1: prompt", "keep")),
        ("lines", 2, ("It has exactly three lines.",), ("accept", "criterion 2: error", "turn 1: prompt", "keep")),
        ("lines", 1, (), ("accept", "criterion 1: too strict", "turn 1: prompt", "keep")),
    ]
    done = decide(loop, {("greet", "validator:"): ("keep", ""), ("lines", "validator:"): ("accept", "")}, note="One.")
    assert done.returncode == 0, done.stderr
    assert loop.run().returncode == 0
    second = loop.result()
    assert second["clean"], second
    assert [one["kappa"] for one in second["rounds"]] == [pytest.approx(0.75), 1.0, 1.0]
    assert second["rounds"][2]["changed"] == 2, "one was kept as it was"
    versions = [json.loads(line) for line in (loop.out / HISTORY).read_text(encoding="utf-8").splitlines()]
    assert {version["why"] for version in versions if version["round"] == 2} == {"One."}
    criteria = {one.id: [c.text for c in one.turns[0].criteria] for one in load(str(loop.out / "data.jsonl"))}
    assert criteria["lines"] == ["It has exactly three lines."]
    assert criteria["greet"] == ["It is polite."]


# What comes back is hostile.


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with inputs, and in `out` the first work list."""
    folder = tmp_path_factory.mktemp("labelled")
    loop = Loop(folder, None)  # type: ignore[arg-type]
    base: dict[str, Any] = {}
    for flag, value in zip(loop.base[::2], loop.base[1::2], strict=True):
        name = flag.removeprefix("--").replace("-", "_")
        base[name] = (
            (*base.get(name, ()), value) if name in ("responses", "judge_arg", "validator_arg", "judge") else value
        )
    RefineCriteria(RefineCriteriaOptions(**base)).run()
    ask(loop.out, lambda row: "fail" if row["Response"] in BAD else "pass")
    RefineCriteria(RefineCriteriaOptions(**base)).run()
    return folder


@pytest.fixture
def ready(labelled: Path, tmp_path: Path, capsys: Capsys) -> Loop:
    """The same folder, for one test."""
    shutil.copytree(labelled / "out", tmp_path / "out")
    loop = Loop(labelled, capsys)
    loop.out = tmp_path / "out"
    loop.base[-1] = str(loop.out)
    return loop


Table = list[dict[str, str]]


GREET, LINES, COLOUR = ("greet", "people"), ("lines", "people"), ("colour", "people")
UNCLEAR, MISSING = "criterion 1: unclear", "turn 1: missing"
REFUSED: list[tuple[Decided, str, str]] = [
    ({GREET: ("wrong", "It is polite.")}, "answer 'wrong' is none of criterion 1: unclear, turn 1: missing", "no choice"),
    ({GREET: (UNCLEAR, "")}, "no new text in the note (or the word remove)", "no text"),
    ({GREET: ("turn 1: prompt", "")}, "turn 1: prompt, and no new text", "no prompt"),
    ({COLOUR: ("criterion 2: too strict", "It names  a colour.")},
     "a criterion would stand twice in instance colour", "the text of another"),
    ({LINES: (MISSING, "It is about rain.")}, "would stand twice", "added again"),
    ({GREET: (UNCLEAR, "Remove")}, "nothing is left of the criteria of instance greet", "the last criterion"),
    ({GREET: (MISSING, "remove")}, "turn 1: missing, and no new text", "missing, and removed"),
]  # fmt: skip


@pytest.mark.parametrize(("decided", "told", "why"), REFUSED, ids=[why for _, _, why in REFUSED])
def test_a_decision_that_says_too_little_or_two_things_is_refused(
    ready: Loop, decided: Decided, told: str, why: str
) -> None:
    before, calls = (ready.out / HISTORY).read_bytes(), ready.calls()
    done = decide(ready, decided)
    assert done.returncode == 2, (why, done.stdout, done.stderr)
    assert told in done.stderr, why
    assert len(done.stderr.strip().splitlines()) == 1, why
    assert ((ready.out / HISTORY).read_bytes(), ready.calls()) == (before, calls), why


@pytest.mark.parametrize(
    ("second", "told", "why"),
    [
        ({GREET: (UNCLEAR, "It is polite.")}, "", "the same of two people counts once"),
        ({LINES: (MISSING, "It has three lines.")}, "", "each looks at a part"),
        ({GREET: (UNCLEAR, "It is kind.")}, "jon on row", "two texts of one criterion"),
        ({GREET: (UNCLEAR, "remove")}, "is answered otherwise by eva on row", "revised and removed"),
        ({GREET: ("keep", "")}, "is answered otherwise by eva", "kept and changed"),
    ],
)
def test_what_two_people_decide_is_joined_or_refused(ready: Loop, second: Decided, told: str, why: str) -> None:
    eva, _, jon, _ = ask_people(LabelOutOptions(folder=str(ready.out), annotators="eva, jon")).files
    answered(eva, {GREET: (UNCLEAR, "It is polite.")})
    answered(jon, second)
    done = ready.take_in()
    assert (done.returncode, told in done.stderr) == (2 if told else 0, True), (why, done.stderr)
    if not told:
        assert ready.run().returncode == 0
        criteria = {one.id: [c.text for c in one.turns[0].criteria] for one in load(str(ready.out / "data.jsonl"))}
        assert criteria["greet"] == ["It is polite."]


def test_answers_to_a_work_list_may_change_until_the_study_has_read_them(ready: Loop) -> None:
    assert decide(ready, {GREET: (UNCLEAR, "It is polite.")}).returncode == 0
    (sheet,) = (ready.out / "sheets" / "revisions_1").glob("*.csv")
    answered(sheet, {GREET: (UNCLEAR, "It is kind.")})
    assert ready.take_in(str(sheet)).returncode == 0
    assert ready.run().returncode == 0
    criteria = {one.id: [c.text for c in one.turns[0].criteria] for one in load(str(ready.out / "data.jsonl"))}
    assert criteria["greet"] == ["It is kind."]
    answered(sheet, {GREET: (UNCLEAR, "It is warm.")})
    old = ready.take_in(str(sheet))
    assert (old.returncode, "Nothing on the work list is answered yet" in old.stdout) == (0, True)
    assert ready.take_in().returncode == 0
    assert len(ready.result()["rounds"]) == 2


def test_going_back_to_an_earlier_text_is_a_round_of_its_own(ready: Loop) -> None:
    for number, text in enumerate(("It is kind.", "It is warm.", "It is kind."), 1):
        assert decide(ready, {GREET: (UNCLEAR, text)}).returncode == 0
        assert ready.run().returncode == 0
        assert len(ready.result()["rounds"]) == number + 1
    criteria = {one.id: [c.text for c in one.turns[0].criteria] for one in load(str(ready.out / "data.jsonl"))}
    assert criteria["greet"] == ["It is kind."]


@pytest.mark.parametrize(
    ("edit", "code", "told"),
    [
        (lambda t: t[:3], 0, "Responses without a label"),  # rows are missing
        (lambda t: [row | {"answer": ""} for row in t], 0, "No response is labelled yet"),
        (lambda t: [t[0] | {"id": "abc"}, *t[1:]], 0, "Labels of other responses, left out: 1 (the first: abc)"),
        (lambda t: [row | {"id": f"x{n}"} for n, row in enumerate(t)], 2, "x0: is in a sheet, but not among what"),
        (lambda t: [*t, t[0] | {"answer": "pass"}, t[0] | {"answer": "fail"}], 2, "remove one"),
        (lambda t: [row | {"options": "yes|no", "answer": ""} for row in t], 2, "asks for yes or no, not for pass or fail"),
    ],
)  # fmt: skip
def test_sheets_that_are_not_as_they_went_out(
    labelled: Path, tmp_path: Path, capsys: Capsys, edit: Callable[[Table], Table], code: int, told: str
) -> None:
    loop = Loop(labelled, capsys)
    loop.base[-1] = str(tmp_path / "out")
    assert loop.run().returncode == 0
    sheet = tmp_path / "sheet.csv"
    write(sheet, edit(rows(labelled / "out" / "sheets" / "A.csv")))
    done = command_here(capsys, "label", "in", str(tmp_path / "out"), str(sheet))
    assert done.returncode == code, done.stderr
    done = done if code else loop.run()
    assert told in done.stdout + done.stderr


# Prompts, several turns, and being killed.


def test_a_revised_prompt_is_answered_anew_and_asked_about_anew(tmp_path: Path, capsys: Capsys) -> None:
    data = write_jsonl(tmp_path / "d.jsonl", [
        {"id": "t", "turns": [{"prompt": "Hello.", "criteria": ["It greets."]}, {"prompt": "Now shorter.", "criteria": ["It is short."]}]},
        {"id": "u", "prompt": "Name a colour.", "criteria": ["It is a colour."]},
    ])  # fmt: skip
    given = write_jsonl(
        tmp_path / "g.jsonl", [{"id": "t", "response": ["Hi there.", "Hi."]}, {"id": "u", "response": "red"}]
    )
    model = script(tmp_path / "m.json", [
        {"contains": "one word", "reply": "Ho."}, {"contains": "shorter", "reply": "Hullo there."},
        {"contains": "Hello", "reply": "Hullo."}, {"contains": "colour", "reply": "blue"},
    ])  # fmt: skip
    base = [
        "study", "refine-criteria", "--data", data, "--responses", given, "--model", model, "--out", str(tmp_path / "out"),
        "--judge", script(tmp_path / "j.json", [{"contains": "<criteria", "verdicts": {"one word": "PASS"}}]),
        "--validator", script(tmp_path / "v.json", [{"contains": "", **said("PASS")}]),
    ]  # fmt: skip
    assert command_here(capsys, *base).returncode == 0
    out, sheets = tmp_path / "out", tmp_path / "out" / "sheets"
    ask(out, lambda row: "fail" if "Hullo there." in row["Response"] else "pass")
    assert command_here(capsys, *base).returncode == 0
    assert "Nobody has judged" not in command_here(capsys, *base).stdout, "labels are there"
    (row,) = listed(out)
    assert (row.instance, row.criteria) == ("t", "Turn 1\n1. It greets. [yes]\nTurn 2\n2. It is short. [yes]")
    assert row.choices[2:] == ("turn 1: missing", "turn 2: missing", "turn 1: prompt", "turn 2: prompt", "keep")
    sheet = next(file for file in ask_people(LabelOutOptions(folder=str(out))).files)
    answered(sheet, {("t", "people"): ("turn 2: prompt", "Now in one word.")})
    assert command_here(capsys, "label", "in", str(out)).returncode == 0
    done = command_here(capsys, *base)
    assert done.returncode == 0, done.stderr
    result = refined(out)
    before, after, _ = result["rounds"]
    assert (before["n"], after["n"], after["changed"]) == (4, 2, 1)
    assert (after["unscored"], after["unlabelled"]) == (0, 2), (
        "the given one answers another prompt, the new one is new"
    )
    assert f"`truebench label out {tmp_path / 'out'} --unlabelled` asks about them" in done.stdout
    sheet, _ = ask(tmp_path / "out", lambda row: "pass", unlabelled=True)
    assert sheet == sheets / "round_1" / "A.csv"
    assert [one["Response"] for one in rows(sheet)] == ["Ho."]
    assert command_here(capsys, *base).returncode == 0
    after = refined(out)["rounds"][1]
    assert (after["n"], after["unlabelled"], after["fp"]) == (3, 1, 0)
    (one, _) = load(str(tmp_path / "out" / "data.jsonl"))
    assert [turn.prompt for turn in one.turns] == ["Hello.", "Now in one word."]
    with pytest.raises(UserError, match="every response has a label"):
        ask(tmp_path / "out", lambda row: "pass", unlabelled=True)


FILES = ["criteria_history.jsonl", "data.jsonl", "worklist.jsonl", "scores.json"]


@pytest.mark.parametrize("file", FILES)
def test_killed_before_any_file_the_same_command_goes_on(
    ready: Loop, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    loop = ready
    assert decide(loop, FIRST).returncode == 0
    write_lines = RunFolder.write_lines

    def killed(self: RunFolder, name: str, parts: Any) -> Path:
        if name == file:
            raise KeyboardInterrupt
        return write_lines(self, name, parts)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "write_lines", killed)
        assert loop.run().returncode != 0
    calls = loop.calls()
    done = loop.run()
    assert done.returncode == 0, done.stderr
    result = loop.result()
    assert (result["clean"], len(result["rounds"]), result["rounds"][1]["kappa"]) == (True, 2, 1.0)
    assert loop.calls() == calls
    assert listed(loop.out) == []


# Pieces.


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"instance": "greet"}', "missing field 'turn'"),
        ('{"instance": "greet", "turn": 1, "criterion": 1, "version": "x"}', "field 'version'"),
        ('{"instance": "other", "turn": 1, "criterion": 1, "text": "x", "round": 1}', "would be dropped"),
        ("{", "criteria_history.jsonl, line"),
    ],
)  # fmt: skip
def test_a_history_that_was_tampered_with_is_refused(ready: Loop, line: str, told: str) -> None:
    loop = ready
    with (loop.out / HISTORY).open("a") as file:
        file.write(line + "\n")
    done = loop.run()
    assert done.returncode == 2, done.stdout
    assert told in done.stderr


def test_what_cannot_be_read_of_the_validator_is_looked_at_by_people(tmp_path: Path, capsys: Capsys) -> None:
    both = {"criterion": 1, "why": "Two things.", "instead": ["It is polite.", "It is short."]}
    validator = [
        {"contains": "polite and short", **said("PASS", composite=[both])},
        {"contains": "three lines.\n", "reply": "No idea."},
        {"contains": "cannot be used", "reply": "Still none."},
    ]
    loop = Loop(tmp_path, capsys, validator)
    loop.labelled()
    assert loop.run().returncode == 0
    first = FIRST | {("greet", "people"): ("criterion 1: unclear", "It is polite and short.")}
    assert decide(loop, first).returncode == 0
    assert loop.run().returncode == 3
    split, unread = listed(loop.out)
    assert (split.what, split.proposal) == (
        "validator: several conditions in one criterion",
        ("It is polite.", "It is short."),
    )
    assert (unread.instance, unread.what, unread.choices) == (
        "lines",
        "validator: nothing could be read",
        ("turn 1: prompt", "keep"),
    )
    assert unread.reason
    decided = {
        ("greet", "validator:"): ("criterion 1: composite", "It is polite.\n\nIt is brief."),
        ("lines", "validator:"): ("keep", ""),
    }
    assert decide(loop, decided).returncode == 0
    done = loop.run()
    assert done.returncode == 0, done.stderr
    assert loop.result()["clean"]
    criteria = {one.id: [c.text for c in one.turns[0].criteria] for one in load(str(loop.out / "data.jsonl"))}
    assert criteria["greet"] == ["It is polite.", "It is brief."]
    # What was removed or added has a number of its own for life.
    ids = [json.loads(line)["id"] for line in (loop.out / HISTORY).read_text(encoding="utf-8").splitlines()]
    assert [one for one in ids if one.startswith("greet#")] == [
        "greet#prompt 1",
        "greet#1",
        "greet#1",
        "greet#1",
        "greet#2",
    ]


def test_samples_are_responses_of_their_own_and_what_nobody_answered_is_left_out(
    tmp_path: Path, capsys: Capsys
) -> None:
    data = write_jsonl(tmp_path / "d.jsonl", [{"id": n, "prompt": f"Say {n}.", "criteria": ["x"]} for n in (1, 2)])
    given = write_jsonl(tmp_path / "g.jsonl", [{"id": 1, "response": text} for text in ("one", "uno")])
    base = ["--data", data, "--responses", given, "--judge", script(tmp_path / "j.json", judge_rules())]
    base += ["--validator", script(tmp_path / "v.json", []), "--out", str(tmp_path / "out")]
    estimate = command_here(capsys, "study", "refine-criteria", *base, "--estimate")
    assert (estimate.returncode, (tmp_path / "out").exists()) == (0, False)
    assert "How many rounds people need is not known" in estimate.stdout
    done = command_here(capsys, "study", "refine-criteria", *base)
    assert done.returncode == 0, done.stderr
    assert "left out: 1 (the first: instance 2, to which there is no response)" in done.stdout
    sheet, _ = ask(tmp_path / "out", lambda row: "pass")
    assert {row["Response"] for row in rows(sheet)} == {"one", "uno"}


POINTS = [
    {"id": "mail", "prompt": "Reply.", "criteria": [
        {"text": "It is short and kind.", "weight": 3, "condition": "a complaint came first"},
        {"text": "It is rude or late.", "weight": -2},
    ]},
    {"id": "bill", "prompt": "Sum up.", "criteria": [{"text": "It is wrong.", "weight": -1}, "It has a sum."]},
]  # fmt: skip


def test_conditions_and_points_are_shown_and_stay_with_what_is_split_off(tmp_path: Path, capsys: Capsys) -> None:
    data = write_jsonl(tmp_path / "d.jsonl", POINTS)
    given = write_jsonl(tmp_path / "g.jsonl", [{"id": "mail", "response": "Hi."}, {"id": "bill", "response": "Sum: 7"}])
    both = {"criterion": 1, "why": "Two.", "instead": ["It is short.", "It is kind."]}
    judge = [
        {"contains": "Sum: 7", "verdicts": {}},
        {"contains": "<criteria", "verdicts": {"rude": "FAIL", "polite": "FAIL"}},
    ]
    base = [
        "--data", data, "--responses", given, "--judge", script(tmp_path / "j.json", judge), "--out", str(tmp_path / "out"),
        "--validator",
        script(tmp_path / "v.json", [
            {"contains": "It is short and kind.", **said("PASS", composite=[both])}, {"contains": "", **said("PASS")},
        ]),
    ]  # fmt: skip
    assert command_here(capsys, "study", "refine-criteria", *base).returncode == 0
    out = tmp_path / "out"
    ask(out, lambda row: "pass" if "7" in row["Response"] else "fail")
    assert command_here(capsys, "study", "refine-criteria", *base).returncode == 0
    mail, bill = listed(out)
    assert mail.criteria.splitlines() == [
        "1. It is short and kind. (It rests on this: a complaint came first) [yes, 3 points]",
        "2. It is rude or late. (This names a fault; it is met where the response has it.) [no, -2 points]",
    ]
    assert bill.reason == "1. scripted: PASS", "what fails a response is a fault that it has"
    rounds: list[Decided] = [
        {
            ("mail", "people"): ("criterion 2: unclear", "It is not polite or late."),
            ("bill", "people"): ("criterion 1: too strict", "remove"),
        },
        {("mail", "people"): (MISSING, "It is friendly."), ("mail", "validator:"): ("accept", "")},
    ]
    for decided in rounds:
        sheet = next(file for file in ask_people(LabelOutOptions(folder=str(out))).files)
        answered(sheet, decided)
        assert command_here(capsys, "label", "in", str(out)).returncode == 0
        assert command_here(capsys, "study", "refine-criteria", *base).returncode == 0
    criteria = {one.id: one.turns[0].criteria for one in load(str(tmp_path / "out" / "data.jsonl"))}
    rests = "a complaint came first"
    assert criteria["mail"] == (
        Criterion("It is short.", None, rests, 3.0),
        Criterion("It is not polite or late.", None, None, -2.0),
        Criterion("It is friendly."),
        Criterion("It is kind.", None, rests, 3.0),
    )
    assert criteria["bill"] == (Criterion("It has a sum."),)


def test_what_is_not_judged_is_named_and_the_data_as_it_stands_is_not_edited_in_vain(
    ready: Loop, tmp_path: Path, capsys: Capsys
) -> None:
    loop = ready
    refined = loop.out / "data.jsonl"
    refined.write_text(refined.read_text(encoding="utf-8").replace("nicely", "well"), encoding="utf-8")
    done = loop.run()
    assert done.returncode == 2
    assert "data.jsonl was edited since it was written; use another --out" in done.stderr
    judge = script(tmp_path / "mute.json", [{"contains": "", "reply": "I would rather not."}])
    base = [judge if one == loop.base[7] else one for one in loop.base]
    done = command_here(capsys, "study", "refine-criteria", *base[:-1], str(tmp_path / "mute"), "--limit", "2")
    assert done.returncode == 3
    assert "Responses not judged: 4 of 4 (the first: " in done.stdout, "and why"
