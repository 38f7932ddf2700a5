"""What a distilled judge learns from: the very prompts of a decision judge, every verdict once, no instruction twice."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.data.judged import Judged
from truebench_hf.distil import verdicts as reading
from truebench_hf.distil.split import held_out, instructions
from truebench_hf.distil.verdicts import AGAIN, BOTH, OPEN, OTHERS, RULES, Example, read
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import decision_questions
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Turn, Verdict

PROMPTS = Prompts()
ROWS: list[dict[str, Any]] = [
    {"prompt": "Name a colour.", "criteria": ["names a colour", "has at most 3 words", "is kind"]},
    {"prompt": "Wie heißt du?", "criteria": ["is in German"], "system": "Be brief.", "context": "A long document."},
    {"turns": [{"prompt": "Say hello.", "criteria": ["greets"]}, {"prompt": "Shorter.", "criteria": ["is short", "greets"]}]},
    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"},
                  {"role": "user", "content": "How are you?"}], "criteria": ["tells how it is"], "reference": "Well."},
    {"prompt": "Sum 1 and 2.", "criteria": [{"text": "says 3", "weight": 2}, {"text": "is rude", "weight": -1}]},
]  # fmt: skip


def run(folder: Path, capsys: pytest.CaptureFixture[str], judge: str, *more: str, command: str = "run") -> str:
    data = write_jsonl(folder / "data.jsonl", ROWS)
    model = script(folder / "model.json", [], {"reply": "Blue it is."})
    given = ("--data", data, "--model", model, "--judge", judge, "--out", str(folder / "run"), *more)
    assert command_here(capsys, command, *given).returncode == 0
    return str(folder / "run")


@pytest.mark.parametrize("rules", ["off", "evidence", "decide"])
@pytest.mark.parametrize("command", ["run", "tick"])
def test_what_is_learned_is_what_a_decision_judge_was_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rules: str, command: str
) -> None:
    """Held against the record of a judge that was really asked, in a run of the same mode of rules."""
    record = tmp_path / "asked.jsonl"
    judge = script(tmp_path / "judge.json", [{"contains": "greets", "probability": 0.2}], {"probability": 0.9})
    own = ("--judge-level", "decision", "--judge-arg", f"record={record}", "--rules", rules)
    where = run(tmp_path, capsys, judge, *own, command=command)
    asked = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    found = read([where], None, rules, PROMPTS)
    assert sorted([one.state, *decision_questions(one.shown, PROMPTS)] for one in found.examples) == sorted(asked)
    assert found.teacher == judge
    for one in found.examples:
        for text, label in zip(one.shown, one.labels, strict=True):
            assert label == ("no" if "greets" in text else "yes")
    if command == "run":
        told = next(one for one in found.examples if "Name a colour." in one.state)
        assert ("has at most 3 words" in told.shown[1]) == (rules != "decide")
        assert ("measured_" in told.state) == (rules == "evidence")
    assert sum(len(one.labels) for one in found.examples) + sum(found.left_out.values()) == sum(
        len(turn) for row, *_ in reading.finished.rows_of(where)[3] for turn in row.verdicts
    )


def judged(prompt: str, said: str, *given: tuple[str, Label | None, str], name: str = "1") -> Judged:
    """A response with a verdict per criterion: its text, label and judge."""
    found = tuple(Verdict(Criterion(text), label, "", judge) for text, label, judge in given)
    instance = Instance(name, "EN", "", "", (Turn(prompt, tuple(one.criterion for one in found)),))
    return Judged(instance, Response(name, "m", (Message("user", prompt), Message("assistant", said))), (found,))


def given_rows(monkeypatch: pytest.MonkeyPatch, **runs: list[Judged]) -> None:
    """Runs as `finished.rows_of` would read them."""
    found = {name: ("truebench", "", {}, [(one, None, "") for one in rows]) for name, rows in runs.items()}
    monkeypatch.setattr(reading.finished, "rows_of", found.__getitem__)


def used(found: reading.Found) -> list[tuple[str, str]]:
    return [(c.text, label) for one in found.examples for c, label in zip(one.criteria, one.labels, strict=True)]


def test_every_verdict_is_used_once_or_counted_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    first = judged(
        "p", "r", ("a", "yes", "J"), ("b", None, "J"), ("c", "unknown", "J"), ("d", "no", "K"), ("e", "no", "rules")
    )
    again = judged("p", "r", ("a", "yes", "J"), ("f", "no", "J"), name="other")
    against = judged("p", "r", ("f", "yes", "J"), ("g", "no", "J"))
    other = judged("p", "another", ("a", "no", "J"))  # another response: another question
    unanswered = replace(judged("q", "r", ("a", None, "")), response=Response("1", "m", (), error="away"))
    given_rows(monkeypatch, one=[first, again], two=[against, other, unanswered])
    found = read(["one", "two"], "J", "off", PROMPTS)
    assert used(found) == [("a", "yes"), ("g", "no"), ("a", "no")]
    assert found.left_out == {OPEN: 3, OTHERS: 1, RULES: 1, AGAIN: 1, BOTH: 2}
    assert [one.verdicts for one in found.sources] == [3, 3]
    assert len({one.name for one in found.examples}) == len(found.examples)


def test_what_rules_decide_where_the_judge_is_used_is_not_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    given_rows(monkeypatch, run=[judged("p", "one two", ("has at most 3 words", "no", "J"), ("is kind", "yes", "J"))])
    assert read(["run"], None, "decide", PROMPTS).left_out == {RULES: 1}
    assert used(read(["run"], None, "evidence", PROMPTS)) == [("has at most 3 words", "no"), ("is kind", "yes")]
    (shown,) = read(["run"], None, "evidence", PROMPTS).examples
    assert "2 words" in shown.shown[0]


def test_a_folder_named_twice_counts_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given_rows(monkeypatch, **{str(tmp_path): [judged("p", "r", ("a", "yes", "J"))]})
    assert read([str(tmp_path), str(tmp_path)], None, "off", PROMPTS).left_out == {}


@pytest.mark.parametrize(
    ("rows", "teacher", "told"),
    [
        ([("a", "yes", "J"), ("b", "no", "K")], None, r"several judges: J \(1 verdicts\), K \(1 verdicts\); name one by --teacher"),
        ([("a", "yes", "J")], "j", "unknown teacher 'j': did you mean J"),
        ([("a", None, "J"), ("b", "no", "rules")], None, "no criterion has a judge's yes or no"),
        ([], None, "no criterion has a judge's yes or no"),
    ],
)  # fmt: skip
def test_the_teacher_is_one_judge(
    monkeypatch: pytest.MonkeyPatch, rows: list[Any], teacher: str | None, told: str
) -> None:
    given_rows(monkeypatch, run=[judged("p", "r", *rows)])
    with pytest.raises(UserError, match=told):
        read(["run"], teacher, "off", PROMPTS)


def test_verdicts_of_an_official_file_have_an_unnamed_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    given_rows(monkeypatch, run=[judged("p", "r", ("a", "yes", ""))])
    assert read(["run"], None, "off", PROMPTS).teacher == reading.UNNAMED


def instance(name: str, *texts: str, history: tuple[str, ...] = ()) -> Instance:
    before = tuple(Message("user", text) for text in history)
    return Instance(name, "EN", "", "", tuple(Turn(text, ()) for text in texts), history=before)


@pytest.mark.parametrize(
    ("some", "pieces"),
    [
        ([instance("1", "a"), instance("2", "b")], 2),
        ([instance("1", "a"), instance("2", "a")], 1),  # one text under two ids
        ([instance("1", "a"), instance("1", "b")], 1),  # a prompt that was edited between two runs
        ([instance("1", "Name  a\ncolour "), instance("2", "name a COLOUR")], 1),
        ([instance("1", "ｆull width"), instance("2", "full width")], 1),
        ([instance("1", "a", "more"), instance("2", "b", "more"), instance("3", "c")], 2),  # a later turn counts
        ([instance("1", "a"), instance("2", "b", history=("a",))], 1),  # said before
        ([instance("1", "a", "b"), instance("2", "b", "c"), instance("3", "c", "d")], 1),  # by way of another
        ([instance("1", ""), instance("2", " ")], 1),
        ([], 0),
    ],
)  # fmt: skip
def test_what_is_one_instruction(some: list[Instance], pieces: int) -> None:
    assert len(set(instructions(some))) == pieces
    assert instructions(some[::-1]) == instructions(some)[::-1]


@given(
    st.lists(st.tuples(st.sampled_from("12345678"), st.lists(st.sampled_from(["a", "A ", "b", "c", "d", "e", "f", "é"]), min_size=1, max_size=2))),
    st.floats(0.05, 0.95),
    st.integers(0, 5),
)  # fmt: skip
def test_nothing_leaks(rows: list[tuple[str, list[str]]], share: float, seed: int) -> None:
    some = [instance(name, *texts) for name, texts in rows]
    names = instructions(some)
    apart = held_out(names, share, seed)
    sides: dict[bool, set[str]] = {True: set(), False: set()}
    for one, name in zip(some, names, strict=True):
        sides[name in apart] |= {f"id {one.id}", *(turn.prompt.strip().casefold() for turn in one.turns)}
    assert not sides[True] & sides[False]
    assert bool(apart) == bool(rows)
    assert apart == held_out(names[::-1], share, seed)


def test_an_instruction_stays_on_its_side_when_others_join() -> None:
    names = [str(number) for number in range(400)]
    few, many = held_out(names[:200], 0.2, 1), held_out(names, 0.2, 1)
    changed = few ^ (many & set(names[:200]))
    assert (len(few), len(many)) == (40, 80)
    assert len(changed) <= 20  # at the border of the share alone
    assert held_out(names, 0.2, 2) != many


def test_examples_are_told_apart_by_what_is_shown() -> None:
    one = Example("run", "1", "i", "state", (Criterion("a"),), ("a",), ("yes",))
    assert one.name == replace(one, instance="2").name != replace(one, state="other").name
    assert Counter([one.name]) == {one.name: 1}
