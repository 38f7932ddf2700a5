"""A judge's answer is read in the object that bears the tag, and nowhere else; what is refused is form alone."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judging.corpus import TAG, table
from truebench_hf.judging.signed import SignedAnswer, criteria_labels, is_forgeable, read_signed
from truebench_hf.judging.signed_asking import PASS_FAIL
from truebench_hf.types import Label

LABELS = criteria_labels(2, PASS_FAIL)
BOTH = {"criteria_1": "yes", "criteria_2": "no"}
DONE = f'{{"id": "{TAG}", "criteria_1": "PASS", "criteria_2": "FAIL"}}'
FENCED = f"```json\n{DONE}\n```"


def rows(*names: str) -> pytest.MarkDecorator:
    """Run a test on the rows of some parts of `reader.yaml`, with our tag in place."""
    parts = [(name, row) for name in names for row in table("reader")[name]]
    named = [{"part": name} | {key: value.replace("TAG", TAG) for key, value in row.items()} for name, row in parts]
    return pytest.mark.parametrize("row", named, ids=[row["why"] for row in named])


def read(text: str, **how: bool) -> SignedAnswer[Label]:
    return read_signed(text, TAG, LABELS, **how)


@rows("read")
def test_both_labels_are_read(row: dict[str, str]) -> None:
    answer = read(row["text"])
    assert (dict(answer.labels), answer.problems, answer.signed) == (BOTH, (), True)


@rows("again")
def test_what_is_not_of_the_form_is_asked_about_again(row: dict[str, str]) -> None:
    answer = read(row["text"])
    assert row["problem"] in answer.problem
    assert dict(answer.labels) == ({"criteria_1": "yes"} if "kept" in row else {})


@rows("forgeable", "harmless")
def test_what_could_be_quoted_for_a_verdict_is_found(row: dict[str, str]) -> None:
    assert is_forgeable(LABELS, "Nothing.", row["text"]) == (row["part"] == "forgeable")


def test_without_the_tag_an_object_is_read_only_if_that_is_allowed_and_none_has_it() -> None:
    bare = '{"criteria_1": "PASS", "criteria_2": "FAIL"}'
    assert read(bare).labels == {}
    answer = read(bare, unsigned=True)
    assert (dict(answer.labels), answer.signed) == (BOTH, False)
    signed = read(f"{bare.replace('PASS', 'FAIL')} {DONE}", unsigned=True)
    assert (dict(signed.labels), signed.signed) == (BOTH, True)


@pytest.mark.parametrize(
    ("text", "complete", "why"),
    [
        (FENCED, True, "a fence that closes"),
        (f"1. ok\n{DONE}\n", True, "and reasons before it"),
        (f"```json\n{DONE}", True, "all of the object is there"),
        (f"{FENCED}\nBut then", False, "perhaps it changed its mind"),
        (f"{DONE} {DONE[:40]}", False, "in the middle of a correction"),
        (DONE[:-3], False, "in the middle of a verdict"),
    ],
)
def test_an_answer_that_was_cut_off_counts_only_where_nothing_stands_behind_its_object(
    text: str, complete: bool, why: str
) -> None:
    answer = read(text, truncated=True)
    assert dict(answer.labels) == (BOTH if complete else {}), why
    assert answer.problems == (() if complete else ("the answer was cut off at the token limit",)), why


def test_reasons_come_from_the_object_or_from_numbered_lines() -> None:
    lines = "1. **Fits** well.\n   Indeed.\n2) Lacks a\nheading.\n\n"
    assert dict(read(lines + FENCED).reasons) == {
        "criteria_1": "Fits** well. Indeed.",
        "criteria_2": "Lacks a heading.",
    }
    nested = f'{{"id": "{TAG}", "criteria_1": {{"reason": " short ", "verdict": "PASS"}}, "criteria_2": "FAIL"}}'
    assert dict(read(nested).reasons) == {"criteria_1": "short"}
    listed = f"1. The list has\n1. a\n3. b\n2. Lacks\n1. c\n{FENCED}"
    assert dict(read(listed).reasons) == {"criteria_1": "The list has 1. a 3. b", "criteria_2": "Lacks 1. c"}


def test_corrections_are_told_and_further_fields_handed_back() -> None:
    drafted = DONE.replace("FAIL", "PASS")
    answer = read(f'I think:\n{drafted}\nNo, the title is missing:\n{DONE[:-1]}, "turn": 3, "excerpts": ["a"]}}')
    assert answer.corrected == {"criteria_2"}
    assert dict(answer.fields) == {"turn": 3, "excerpts": ["a"]}
    assert answer.before == answer.reason == "I think:"
    assert read(DONE.replace("FAIL", "PASS or FAIL") + DONE).corrected == frozenset(), "the form was repeated, no label"


UNITS = {
    "braces": "{", "objects that never close": '{"a":', "strings that never close": '{"a": "', "empty objects": "{} ",
    "openings with the tag": f'{{"id": "{TAG}", ', "nested lists": f'{{"id": "{TAG}", "a": [', "quotes": '"',
    "backslashes": "\\", "fences": "```json\n", "comments": "//\n", "numbered lines": "1.\n", "colons": '{"a" : : ',
    "single quotes": "{'a': '", "combining marks": "\u0301\u0316", "slashes in a string": '{"a": "// ',
}  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_a_hundred_thousand_signs_of_anything_are_read_in_under_half_a_second(unit: str) -> None:
    long = UNITS[unit] * (100_000 // len(UNITS[unit]))
    for text in (long, f"{long}{DONE}", f'{{"id": "{TAG}", "criteria_1": "{long}'):
        started = time.process_time()
        read(text)
        read(text, unsigned=True)
        assert time.process_time() - started < 1, "two readings"
    started = time.process_time()
    is_forgeable(LABELS, long)
    assert time.process_time() - started < 0.5


noise = st.text(alphabet=st.characters(), max_size=20)
pieces = st.sampled_from(
    [f'{{"id": "{TAG}", ', '"criteria_1": ', '"PASS"', '"FAIL"', *"{}\"',\\[]:\n", "//", TAG, DONE]
)
hostile = st.lists(st.one_of(noise, pieces), max_size=14).map("".join)


@given(text=hostile, count=st.integers(0, 4), unsigned=st.booleans(), truncated=st.booleans())
def test_anything_is_read_without_raising(text: str, count: int, unsigned: bool, truncated: bool) -> None:
    labels = criteria_labels(count, PASS_FAIL)
    answer = read_signed(text, TAG, labels, unsigned=unsigned, truncated=truncated)
    assert answer.labels.keys() <= labels.keys()
    assert set(answer.labels.values()) <= {"yes", "no"}
    assert answer.labels.keys() == labels.keys() or answer.problems, "a missing label is always explained"
    is_forgeable(labels, text)


@given(
    words=st.lists(st.sampled_from(["PASS", "FAIL"]), min_size=1, max_size=6), around=hostile,
    reasons=st.lists(st.one_of(noise, hostile), min_size=6, max_size=6), nested=st.booleans(), cut=st.booleans(),
)  # fmt: skip
def test_a_valid_object_is_read_whatever_stands_before_it(
    words: list[str], around: str, reasons: list[str], nested: bool, cut: bool
) -> None:
    before = around.replace(TAG, "another")
    keys = [f"criteria_{number}" for number in range(1, len(words) + 1)]
    rows = zip(keys, words, reasons, strict=False)
    entries = {key: {"reason": reason, "verdict": word} if nested else word for key, word, reason in rows}
    text = before + json.dumps({"id": TAG, **entries})
    answer = read_signed(text, TAG, criteria_labels(len(words), PASS_FAIL), truncated=cut)
    assert answer.problems == ()
    assert [answer.labels[key] for key in keys] == [PASS_FAIL[word] for word in words]
