"""Answers and verdicts on disk: what is read equals what was written, and a document stands once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.corpus import each_row
from truebench_hf.benchmarks.truebench.scores import score
from truebench_hf.data import jsonl
from truebench_hf.data.judged import Judged, Mark, Marked, Tone, filled
from truebench_hf.data.records import (
    JUDGMENTS,
    RESPONSES,
    Reader,
    judgment_lines,
    read_lines,
    read_outcomes,
    response_lines,
)
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import public_judgments
from truebench_hf.text import anonymous
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Role, Turn, Usage, Verdict

LABELS = st.sampled_from([*get_args(Label), None])


def whole(text: str) -> str:
    """Two halves of a character beside each other are that character in JSON."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


TEXTS = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=12).map(whole)
MAYBE = st.none() | TEXTS
USAGES = st.builds(Usage, *[st.integers(0, 10**12)] * 4)
MESSAGES = st.builds(Message, st.sampled_from(get_args(Role)), TEXTS)
CRITERIA = st.builds(
    Criterion, TEXTS, MAYBE, MAYBE, st.sampled_from([1.0, 0.5, -2.0, 3]) | st.floats(-10, 10, allow_nan=False)
)

MARKS = st.builds(
    Mark, TEXTS, st.sampled_from(get_args(Tone)), TEXTS, TEXTS, st.lists(TEXTS, max_size=2).map(tuple)
)  # fmt: skip
MARKED = st.builds(Marked, TEXTS, st.lists(MARKS, max_size=3).map(tuple))


def verdict(criterion: Criterion) -> st.SearchStrategy[Verdict]:
    judges, votes = st.sampled_from(["j", "", "another"]), st.lists(LABELS, max_size=3).map(tuple)
    return st.builds(
        Verdict, st.just(criterion), LABELS, TEXTS, judges, st.none() | st.floats(0, 1), votes, st.booleans()
    )


@st.composite
def judged(draw: st.DrawFn) -> Judged:
    """A conversation in any state: answered, broken off, with other messages than the turns asked for, or with none."""
    turns = tuple(draw(st.lists(st.builds(Turn, TEXTS, st.lists(CRITERIA, max_size=3).map(tuple), MAYBE), max_size=3)))
    texts = [draw(TEXTS) for _ in range(4)]
    instance = Instance(*texts, turns, draw(MAYBE), draw(MAYBE), tuple(draw(st.lists(MESSAGES, max_size=2))))
    said = [Message("system", instance.system)] if instance.system and draw(st.booleans()) else []
    for turn in turns:
        said += [Message("user", turn.prompt), Message("assistant", draw(TEXTS))]
    said = said[: draw(st.integers(0, len(said)))]
    if draw(st.integers(0, 4)) == 0:
        said = draw(st.lists(MESSAGES, max_size=4))
    answers = sum(message.role == "assistant" for message in said)
    response = Response(
        instance.id, draw(TEXTS), tuple(said), tuple(draw(TEXTS) for _ in range(answers)), draw(USAGES), draw(MAYBE),
        tuple(draw(st.lists(st.integers(1, 3), max_size=2))), draw(st.integers(1, 3)),
    )  # fmt: skip
    verdicts = tuple(tuple(draw(verdict(criterion)) for criterion in turn.criteria) for turn in turns)
    usage = draw(st.dictionaries(st.sampled_from(["model", "judge", "cascade"]), USAGES, max_size=3))
    if draw(st.booleans()):
        usage = usage | {"model": response.usage}
    marked = tuple(draw(st.lists(MARKED, max_size=2)))
    return Judged(instance, response, verdicts, usage, draw(st.none() | st.booleans()), marked)


def written(folder: Path, name: str, lines: Any) -> Path:
    """The lines in a file, half characters as run folders write them."""
    file = folder / name
    file.write_text("".join(lines), encoding="utf-8", errors="backslashreplace")
    return file


def read(file: Path) -> list[Judged]:
    reader = Reader()
    return [reader.judged(row, where)[0] for where, row in jsonl.read(file)]


@settings(max_examples=20, deadline=None)
@given(st.lists(judged(), max_size=4))
@example([])
def test_what_is_read_is_what_was_written(tmp_path_factory: pytest.TempPathFactory, items: list[Judged]) -> None:
    folder = tmp_path_factory.mktemp("records")
    file = written(folder, JUDGMENTS, judgment_lines(items, "j"))
    assert read(file) == items
    assert [item for item, _ in read_lines(file, "")] == items
    passed: dict[str, dict[str, list[bool]]] = {}
    for item in items:
        own = passed.setdefault(anonymous.name(item.response.model), {}).setdefault(item.instance.id, [])
        own += [item.passed] if item.passed is not None else []
    shares = [
        {name: sum(found) / len(found) if found else None for name, found in own.items()} for own in passed.values()
    ]
    if len(passed) == len({item.response.model for item in items}):  # else two models are called alike
        assert list(read_outcomes(file).values()) == shares
    reader = Reader()
    answered = [(item.instance, item.response) for item in items]
    lines = jsonl.read(written(folder, RESPONSES, response_lines(answered)))
    assert [reader.answered(row, where) for where, row in lines] == answered


def test_every_row_of_several_samples_has_its_number_and_a_lone_answer_has_none() -> None:
    item = about("a", None)
    items = [item, replace(item, response=replace(item.response, sample=2))]
    pairs = [(each.instance, each.response) for each in items]
    for lines in (judgment_lines(items, "j"), response_lines(pairs)):
        assert [json.loads(line)["sample"] for line in lines] == [1, 2]
    for lines in (judgment_lines(items[:1], "j"), response_lines(pairs[:1])):
        assert "sample" not in json.loads(*lines)
    unscored = [replace(each, verdicts=()) for each in items]
    assert list(score(unscored).unscored) == ["a (sample 1)", "a (sample 2)"]
    assert list(score(unscored[:1]).unscored) == ["a"]


# --- one document, many rows ----------------------------------------------------------------------------------------

DOCUMENT = "A long document. " * 500


def about(name: str, context: str | None, model: str = "m") -> Judged:
    turn = Turn("What does it say?", (Criterion("is brief", weight=-1.0),), "Right answer.")
    instance = Instance(name, "EN", "QA", "t", (turn,), "Be kind.", context, (Message("user", "Hi."),))
    messages = (Message("system", "Be kind."), Message("user", turn.prompt), Message("assistant", "Little."))
    verdict = Verdict(turn.criteria[0], "no", "long", "j")
    return Judged(instance, Response(name, model, messages), ((verdict,),))


@pytest.mark.parametrize(
    ("items", "times", "reason"),
    [
        ([about("a", DOCUMENT), about("a", DOCUMENT, "n"), about("a", DOCUMENT, "o")], 1, "three models"),
        ([about("a", DOCUMENT), about("b", DOCUMENT)], 1, "two questions on one document"),
        ([about("a", DOCUMENT), about("b", None), about("a", DOCUMENT)], 1, "none is between them"),
        ([about("a", DOCUMENT), about("a", "Other."), about("b", DOCUMENT)], 2, "the id now names another document"),
        ([about("a", ""), about("b", "")], 0, "an empty one is one, too"),
    ],
)
def test_a_document_stands_once(tmp_path: Path, items: list[Judged], times: int, reason: str) -> None:
    lines = {
        JUDGMENTS: list(judgment_lines(items, "j")),
        RESPONSES: list(response_lines((item.instance, item.response) for item in items)),
    }
    for name, made in lines.items():
        assert written(tmp_path, name, made).read_text().count(DOCUMENT) == times, reason
    assert read(tmp_path / JUDGMENTS) == items
    reader = Reader()
    again = [reader.answered(row, where) for where, row in jsonl.read(tmp_path / RESPONSES)]
    assert again == [(item.instance, item.response) for item in items]


def test_files_written_apart_may_be_joined(tmp_path: Path) -> None:
    items = [about("a", "One."), about("b", "One."), about("a", "Two.", "n"), about("b", "Two.", "n")]
    lines = [*judgment_lines(items[:2], "j"), *judgment_lines(items[2:], "j")]
    assert read(written(tmp_path, JUDGMENTS, lines)) == items


def test_a_line_without_the_one_that_holds_its_document_is_named(tmp_path: Path) -> None:
    lines = list(judgment_lines([about("a", DOCUMENT), about("b", DOCUMENT)], "j"))
    with pytest.raises(UserError, match="line 1: its context is that of instance 'a', of which no line is before it"):
        read(written(tmp_path, JUDGMENTS, lines[1:]))


# --- what a line looks like -----------------------------------------------------------------------------------------


def test_messages_are_not_told_twice() -> None:
    item = about("a", None)
    (line,) = judgment_lines([item], "j")
    row = json.loads(line)
    assert not {"prompts", "system", "context"} & set(row)
    assert row["verdicts"][0][0] == {
        "criterion": "is brief", "weight": -1.0, "label": "no", "reason": "long", "probability": None, "votes": [],
        "conflicting": False,
    }  # fmt: skip
    assert line.startswith('{"id": "a", "language": "EN", "category": "QA", "task": "t", "model": "m", "judge": "j", ')


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"prompts": []}, "field 'prompts' must give"),
        ({"passed": "yes"}, "field 'passed' must be true or false"),
        ({"verdicts": [[{"label": "yes"}]]}, "field 'verdicts[0][0].criterion' is needed"),
        ({"x" * 10_000: 1}, f"field '{'x' * 60}' is unknown; leave it out"),
        ({"usage": {"model": {"calls": -1}}}, "field 'usage.model.calls' must be greater than or equal to 0"),
        ({"usage": {"model": {"calls": 10**4000}}}, "field 'usage.model.calls' must be less than or equal to 1000000"),
        ({"response_usage": {"tokens": 1}}, "'response_usage.tokens.[key]' is 'tokens', which is none of input_tokens"),
        *(({"sample": number}, "field 'sample'") for number in (0, -1, 1.0, "1", True, None)),
    ],
)
def test_a_line_of_another_form_is_named(change: dict[str, Any], said: str) -> None:
    (line,) = judgment_lines([about("a", None)], "j")
    with pytest.raises(UserError) as caught:
        Reader().judged(json.loads(line) | change, "here")
    assert str(caught.value).startswith("here: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_published_lines_name_no_folder_also_where_another_judged() -> None:
    item = about("a", DOCUMENT, "hf:/home/me/models/small")
    other = replace(
        item.verdicts[0][0], judge="vllm:/home/me/models/large", label=None, reason="http://me:80/v1 is down"
    )
    published = public_judgments([replace(item, verdicts=((other,),))], "hf:/home/me/j")
    assert b"/home/me" not in published
    assert b"me:80" not in published
    again, judge = Reader().judged(json.loads(published), "here")
    assert (again.response.model, judge, again.verdicts[0][0].judge) == ("hf:small", "hf:j", "vllm:large")
    assert again.instance == item.instance


# --- pieces of a text -----------------------------------------------------------------------------------------------


@each_row(__file__, "records", "a_text_in_pieces_is_whole")
def test_a_text_in_pieces_is_whole(text: str, marks: Any, expected: list[str]) -> None:
    pieces = filled(text, [(start, Mark(part, "yes", "supported")) for start, part in marks])
    assert [mark.text for mark in pieces] == expected
    assert "".join(mark.text for mark in pieces).startswith(text)
