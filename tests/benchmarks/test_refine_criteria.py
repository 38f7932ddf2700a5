"""`truebench study refine-criteria`: the whole loop through the real command, what it refuses, and what it never loses."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.refine_loop import (
    BAD,
    DATA,
    Capsys,
    Decided,
    Loop,
    answered,
    ask,
    criteria,
    decide,
    history,
    said,
)
from tests.support.people import rows_of, write_sheet
from tests.support.runs import command_here, script
from truebench_hf.api.labels import ask_people
from truebench_hf.benchmarks.truebench.data import load
from truebench_hf.benchmarks.truebench.refinement import HISTORY, RefineCriteria, RefineCriteriaOptions
from truebench_hf.benchmarks.truebench.worklist import read
from truebench_hf.errors import UserError
from truebench_hf.study.labelling import LabelOutOptions
from truebench_hf.types import Criterion

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
    assert [(row.instance, row.choices) for row in read(loop.out)] == [
        ("greet", ("criterion 1: unclear", "turn 1: missing", "turn 1: prompt", "keep")),
        ("lines", ("criterion 1: unclear", "turn 1: missing", "turn 1: prompt", "keep")),
        ("colour", ("criterion 1: too strict", "criterion 2: too strict", "turn 1: prompt", "keep")),
    ]
    assert "2. It is in capitals. [no]" in read(loop.out)[2].criteria
    assert "label open" in done.stdout
    for done in (decide(loop, FIRST), loop.take_in()):  # the same answers count once
        assert (done.returncode, "changes taken in: 3" in done.stdout) == (0, True), done.stderr
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
    assert read(loop.out) == []
    assert "Nothing is open" in done.stdout
    assert "after round 1" in done.stdout
    # Every version, of changed criteria and others.
    lines = history(loop.out)
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
    texts = criteria(loop.out)
    assert list(texts) == [row["id"] for row in DATA]
    assert texts["greet"] == ["It is polite."]
    assert texts["lines"] == ["It is about rain.", "It has three lines."]
    assert texts["colour"] == ["It names a colour."]


# What comes back is hostile.


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with inputs, and in `out` the first work list."""
    loop = Loop(tmp_path_factory.mktemp("labelled"), None)  # type: ignore[arg-type]
    named: dict[str, Any] = {}
    for flag, value in zip(loop.base[::2], loop.base[1::2], strict=True):
        name = flag.removeprefix("--").replace("-", "_")
        named[name] = value if name in ("data", "validator", "out") else (*named.get(name, ()), value)
    options = RefineCriteriaOptions(**named)
    RefineCriteria(options).run()
    ask(loop.out, lambda row: "fail" if row["Response"] in BAD else "pass")
    RefineCriteria(options).run()
    return loop.folder


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
    ({GREET: (UNCLEAR, "Remove")}, "nothing is left of the criteria of instance greet", "the last criterion"),
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
        texts = criteria(ready.out)
        assert texts["greet"] == ["It is polite."]


def test_answers_to_a_work_list_may_change_until_the_study_has_read_them(ready: Loop) -> None:
    assert decide(ready, {GREET: (UNCLEAR, "It is polite.")}).returncode == 0
    (sheet,) = (ready.out / "sheets" / "revisions_1").glob("*.csv")
    answered(sheet, {GREET: (UNCLEAR, "It is kind.")})
    assert ready.take_in(str(sheet)).returncode == 0
    assert ready.run().returncode == 0
    texts = criteria(ready.out)
    assert texts["greet"] == ["It is kind."]
    answered(sheet, {GREET: (UNCLEAR, "It is warm.")})
    old = ready.take_in(str(sheet))
    assert (old.returncode, "Nothing on the work list is answered yet" in old.stdout) == (0, True)
    assert ready.take_in().returncode == 0
    assert len(ready.result()["rounds"]) == 2


@pytest.mark.parametrize(
    ("edit", "code", "told"),
    [
        (lambda t: t[:3], 0, "Responses without a label"),  # rows are missing
        (lambda t: [t[0] | {"id": "abc"}, *t[1:]], 0, "Labels of other responses, left out: 1 (the first: abc)"),
        (lambda t: [row | {"id": f"x{n}"} for n, row in enumerate(t)], 2, "x0: is in a sheet, but not among what"),
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
    write_sheet(sheet, edit(rows_of(labelled / "out" / "sheets" / "A.csv")))
    done = command_here(capsys, "label", "in", str(tmp_path / "out"), str(sheet))
    assert done.returncode == code, done.stderr
    done = done if code else loop.run()
    assert told in done.stdout + done.stderr


# Prompts, several turns, and being killed.


def test_a_revised_prompt_is_answered_anew_and_asked_about_anew(tmp_path: Path, capsys: Capsys) -> None:
    turns = [{"prompt": "Hello.", "criteria": ["It greets."]}, {"prompt": "Now shorter.", "criteria": ["It is short."]}]
    data = [{"id": "t", "turns": turns}, {"id": "u", "prompt": "Name a colour.", "criteria": ["It is a colour."]}]
    model = script(tmp_path / "m.json", [
        {"contains": "one word", "reply": "Ho."}, {"contains": "shorter", "reply": "Hullo there."},
        {"contains": "Hello", "reply": "Hullo."}, {"contains": "colour", "reply": "blue"},
    ])  # fmt: skip
    given = {"t": ["Hi there.", "Hi."], "u": "red"}
    loop = Loop(tmp_path, capsys, data=data, answers=[given], more=["--model", model])
    assert loop.run().returncode == 0
    ask(loop.out, lambda row: "fail" if "Hullo there." in row["Response"] else "pass")
    assert loop.run().returncode == 0
    (row,) = read(loop.out)
    assert (row.instance, row.criteria) == ("t", "Turn 1\n1. It greets. [yes]\nTurn 2\n2. It is short. [yes]")
    assert row.choices[2:] == ("turn 1: missing", "turn 2: missing", "turn 1: prompt", "turn 2: prompt", "keep")
    assert decide(loop, {("t", "people"): ("turn 2: prompt", "Now in one word.")}).returncode == 0
    done = loop.run()
    assert done.returncode == 0, done.stderr
    before, after, _ = loop.result()["rounds"]
    assert (before["n"], after["n"], after["changed"]) == (4, 2, 1)
    assert (after["unscored"], after["unlabelled"]) == (0, 2), "the given answer is to another prompt, the other is new"
    assert f"`truebench label out {loop.out} --unlabelled` asks about them" in done.stdout
    sheet, _ = ask(loop.out, lambda row: "pass", unlabelled=True)
    assert sheet == loop.out / "sheets" / "round_1" / "A.csv"
    assert [row["Response"] for row in rows_of(sheet)] == ["Ho."]
    assert loop.run().returncode == 0
    after = loop.result()["rounds"][1]
    assert (after["n"], after["unlabelled"], after["fp"]) == (3, 1, 0)
    assert [turn.prompt for turn in load(str(loop.out / "data.jsonl"))[0].turns] == ["Hello.", "Now in one word."]
    with pytest.raises(UserError, match="every response has a label"):
        ask(loop.out, lambda row: "pass", unlabelled=True)


# Pieces.


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"instance": "greet"}', "missing field 'turn'"),
        ('{"instance": "other", "turn": 1, "criterion": 1, "text": "x", "round": 1}', "would be dropped"),
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
    split, unread = read(loop.out)
    assert split.what == "validator: several conditions in one criterion"
    assert split.proposal == ("It is polite.", "It is short.")
    assert (unread.instance, unread.what) == ("lines", "validator: nothing could be read")
    assert unread.choices == ("turn 1: prompt", "keep")
    assert unread.reason
    decided = {
        ("greet", "validator:"): ("criterion 1: composite", "It is polite.\n\nIt is brief."),
        ("lines", "validator:"): ("keep", ""),
    }
    assert decide(loop, decided).returncode == 0
    done = loop.run()
    assert done.returncode == 0, done.stderr
    assert loop.result()["clean"]
    texts = criteria(loop.out)
    assert texts["greet"] == ["It is polite.", "It is brief."]
    # What was removed or added has a number of its own for life.
    ids = [version["id"] for version in history(loop.out) if version["instance"] == "greet"]
    assert ids == ["greet#prompt 1", "greet#1", "greet#1", "greet#1", "greet#2"]


POINTS = [
    {"id": "mail", "prompt": "Reply.", "criteria": [
        {"text": "It is short and kind.", "weight": 3, "condition": "a complaint came first"},
        {"text": "It is rude or late.", "weight": -2},
    ]},
    {"id": "bill", "prompt": "Sum up.", "criteria": [{"text": "It is wrong.", "weight": -1}, "It has a sum."]},
]  # fmt: skip


def test_conditions_and_points_are_shown_and_stay_with_what_is_split_off(tmp_path: Path, capsys: Capsys) -> None:
    both = {"criterion": 1, "why": "Two.", "instead": ["It is short.", "It is kind."]}
    validator = [{"contains": "It is short and kind.", **said("PASS", composite=[both])}]
    failed = {"contains": "<criteria", "verdicts": {"rude": "FAIL", "polite": "FAIL"}}
    judge = [{"contains": "Sum: 7", "verdicts": {}}, failed]
    loop = Loop(tmp_path, capsys, validator, judge, POINTS, [{"mail": "Hi.", "bill": "Sum: 7"}])
    assert loop.run().returncode == 0
    ask(loop.out, lambda row: "pass" if "7" in row["Response"] else "fail")
    assert loop.run().returncode == 0
    mail, bill = read(loop.out)
    assert mail.criteria.splitlines() == [
        "1. It is short and kind. (It rests on this: a complaint came first) [yes, 3 points]",
        "2. It is rude or late. (This names a fault; it is met where the response has it.) [no, -2 points]",
    ]
    assert bill.reason == "1. scripted: PASS", "what fails a response is a fault that it has"
    unclear, remove = ("criterion 2: unclear", "It is not polite or late."), ("criterion 1: too strict", "remove")
    added: Decided = {("mail", "people"): (MISSING, "It is friendly."), ("mail", "validator:"): ("accept", "")}
    for decided in ({("mail", "people"): unclear, ("bill", "people"): remove}, added):
        assert decide(loop, decided).returncode == 0
        assert loop.run().returncode == 0
    mailed, billed = (item.turns[0].criteria for item in load(str(loop.out / "data.jsonl")))
    rests = "a complaint came first"
    assert mailed == (
        Criterion("It is short.", None, rests, 3.0), Criterion("It is not polite or late.", None, None, -2.0),
        Criterion("It is friendly."), Criterion("It is kind.", None, rests, 3.0),
    )  # fmt: skip
    assert billed == (Criterion("It has a sum."),)


def test_what_is_not_judged_is_named_and_the_data_as_it_stands_is_not_edited_in_vain(
    ready: Loop, tmp_path: Path, capsys: Capsys
) -> None:
    loop = ready
    refined = loop.out / "data.jsonl"
    refined.write_text(refined.read_text(encoding="utf-8").replace("nicely", "well"), encoding="utf-8")
    done = loop.run()
    assert done.returncode == 2
    assert "data.jsonl was edited since it was written; use another --out" in done.stderr
    (tmp_path / "mute").mkdir()
    done = Loop(tmp_path / "mute", capsys, judge=[{"contains": "", "reply": "I would rather not."}]).run("--limit", "2")
    assert done.returncode == 3
    assert "Responses not judged: 4 of 4 (the first: " in done.stdout, "and why"
