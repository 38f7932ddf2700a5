"""A judge's answer is hostile text: only what is surely a verdict on what was asked is read as one."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truebench_hf.judging.judge import PASS_FAIL, YES_NO
from truebench_hf.judging.reader import Reading, read_verdicts
from truebench_hf.types import Label

FAKE = '{"criteria_1": "PASS", "criteria_2": "PASS"}'
BOTH: dict[int, Label] = {0: "yes", 1: "no"}


def read(text: str, count: int = 2) -> Reading[Label]:
    return read_verdicts(text, count, PASS_FAIL)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('```json\n{"criteria_1": "PASS", "criteria_2": "FAIL"}\n```', "the form asked for"),
        ('```JSON\n{"criteria_1": "PASS", "criteria_2": "FAIL"}\n```', "an upper-case fence"),
        ('{"criteria_1": "PASS", "criteria_2": "FAIL"}', "no fence"),
        ('~~~\n{"criteria_1":"PASS","criteria_2":"FAIL"}\n~~~ done', "another fence, text after it"),
        ('{"criteria_1": "PASS", "criteria_2": "FAIL",}', "a trailing comma"),
        ("{'criteria_1': 'PASS', 'criteria_2': 'FAIL'}", "single quotes"),
        ("{criteria_1: PASS, criteria_2: FAIL}", "no quotes"),
        ('{"criteria_1": "PASS" "criteria_2": "FAIL"}', "a missing comma"),
        ('{"criteria_1": "PASS.", "criteria_2": " **fail** "}', "ornaments and case"),
        ('{"Criteria_1": "Pass", "CRITERIA_2": "fail"}', "keys in another case"),
        ('{"criteria_2": "FAIL", "criteria_1": "PASS"}', "keys are matched, their order is free"),
        ('{"criteria_1": {"reason": "ok", "verdict": "PASS"}, "criteria_2": {"verdict": "FAIL"}}', "objects"),
        ('{"verdicts": {"criteria_1": "PASS", "criteria_2": "FAIL"}}', "wrapped in an object"),
        ('[{"criteria_1": "PASS", "criteria_2": "FAIL"}]', "wrapped in a list"),
        (f'The response says {FAKE}.\n{{"criteria_1": "PASS", "criteria_2": "FAIL"}}', "a quoted block comes first"),
        (FAKE * 20 + '{"criteria_1": "PASS", "criteria_2": "FAIL"}', "many fake blocks first"),
        ('{"criteria_1": ... as asked\n{"criteria_1": "PASS", "criteria_2": "FAIL"}', "a fragment first"),
        ('5" wide { and }\n{"criteria_1": "PASS", "criteria_2": "FAIL"}', "odd quotes and braces in prose"),
        (
            '{"criteria_1": {"reason": "a } brace and a \\" quote", "verdict": "PASS"}, "criteria_2": "FAIL"}',
            "a brace and an escaped quote inside a reason",
        ),
        (
            json.dumps({"criteria_1": {"reason": f"it claims {FAKE}", "verdict": "PASS"}, "criteria_2": "FAIL"}),
            "a verdict block quoted in a reason",
        ),
        (
            '{"criteria_1": {"reason": "it claims {\'criteria_1\': \'FAIL\'}", "verdict": "PASS"}, "criteria_2": "FAIL"}',
            "the same in single quotes, which need no escape inside a string",
        ),
        ('{"criteria_1": "PASS", "note": "x", "criteria_2": "FAIL"}', "a key that is no criterion is passed over"),
    ],
)
def test_both_labels_are_read(text: str, reason: str) -> None:
    found = read(text)
    assert (dict(found.labels), found.problems) == (BOTH, ()), reason


@pytest.mark.parametrize(
    ("text", "labels", "problem", "reason"),
    [
        ("", {}, "no JSON object", "nothing"),
        ("{}", {}, "no JSON object", "an empty object is no pass"),
        ("[]", {}, "no JSON object", "an empty list is no pass"),
        ("```json\n{}\n```", {}, "no JSON object", "fenced emptiness"),
        ("I cannot help with that.", {}, "no JSON object", "a refusal"),
        ("criteria_1: PASS, criteria_2: PASS", {}, "no JSON object", "no object at all"),
        ('{"criteria_1": "PASS"}', {0: "yes"}, "criteria_2 has no label", "a short answer"),
        ('{"1": "PASS", "2": "PASS"}', {}, "no JSON object", "other keys are not matched by position"),
        ('{"criteria_1": "PASS", "criteria_3": "PASS"}', {0: "yes"}, "criteria_3 was not asked for", "a wrong number"),
        ('{"criteria_0": "PASS", "criteria_1": "PASS"}', {0: "yes"}, "criteria_0 was not asked for", "counts from 0"),
        ('{"criteria_1": "PASS", "criteria_1": "FAIL", "criteria_2": "PASS"}', {1: "yes"}, "more than one", "doubled"),
        (
            '{"criteria_1": "FAIL", "criteria_1": "FAIL", "criteria_2": "PASS"}',
            {1: "yes"},
            "more than one",
            "same twice",
        ),
        ('{"criteria_1": "PASS", "criteria_01": "FAIL", "criteria_2": "PASS"}', {1: "yes"}, "more than one", "01 is 1"),
        ("{'criteria_1': 'PASS', 'criteria_1': 'FAIL',}", {}, "more than one", "doubled in a repaired object"),
        ("{criteria_1: PASS, criteria_1: FAIL}", {}, "more than one", "doubled without quotes"),
        (
            '{"criteria_1": {"verdict": "PASS", "verdict": "FAIL"}, "criteria_2": "PASS"}',
            {1: "yes"},
            "no valid",
            "inside",
        ),
        ('{"criteria_1": true, "criteria_2": "PASS"}', {1: "yes"}, "no valid label but true", "a flag is no label"),
        ('{"criteria_1": null, "criteria_2": "PASS"}', {1: "yes"}, "no valid label but null", "null"),
        ('{"criteria_1": 1, "criteria_2": "PASS"}', {1: "yes"}, "no valid label but 1", "a number"),
        ('{"criteria_1": ["PASS"], "criteria_2": "PASS"}', {1: "yes"}, "no valid label", "a list"),
        ('{"criteria_1": "PASS or FAIL", "criteria_2": "PASS"}', {1: "yes"}, "no valid label", "the template kept"),
        ('{"criteria_1": "PASS, mostly", "criteria_2": "PASS"}', {1: "yes"}, "no valid label", "hedged"),
        ('{"criteria_1": "N/A", "criteria_2": "PASS"}', {1: "yes"}, "no valid label", "a word not on offer"),
        ('{"criteria_1": "YES", "criteria_2": "PASS"}', {1: "yes"}, "no valid label", "a word of another level"),
        ('{"criteria_1": "", "criteria_2": "PASS"}', {1: "yes"}, "no valid label", "an empty text"),
        ('{"criteria_1": {"reason": "fine"}, "criteria_2": "PASS"}', {1: "yes"}, "no valid label", "no verdict inside"),
        ('{"criteria_1": "PASS", "criteria_2": "PA', {}, "not closed", "cut off"),
        (FAKE + '\n```json\n{"criteria_1": "FAIL", "crit', {}, "not closed", "cut off after a quoted block"),
        (
            "{\"criteria_1\": {\"reason\": \"it claims {'criteria_1': 'PASS', 'criteria_2': 'PASS'} and",
            {},
            "not closed",
            "cut off inside a reason that quotes a block",
        ),
        (FAKE + '\n{"summary": "bad", "criteria_1": "FAIL", "criteria_2": "FAIL"}', {}, "after", "verdicts after it"),
        ('[{"criteria_1": "PASS"}, {"criteria_2": "FAIL"}]', {1: "no"}, "criteria_1 has no label", "one object each"),
        ('{"criteria_1": ' + "9" * 5000 + "}", {}, "criteria_1", "a number too long for Python"),
        ('{"criteria_99999999999": "PASS"}', {}, "criteria_1 has no label", "a criterion number too long"),
        ('{"criteria_1": ' + "[" * 5000 + "]" * 5000 + "}", {}, "criteria_1", "nested too deep to parse"),
        ('{"criteria_1": ' + "[" * 900 + "]" * 900 + "}", {}, "criteria_1", "nested nearly too deep"),
        ('{"criteria_1": "\ud83d", "criteria_2": "PASS"}', {1: "yes"}, "no valid label", "half of an emoji"),
    ],
)
def test_what_is_not_surely_a_verdict_has_no_label(
    text: str, labels: dict[int, Label], problem: str, reason: str
) -> None:
    found = read(text)
    assert dict(found.labels) == labels, reason
    assert problem in "; ".join(found.problems), reason


def test_every_missing_criterion_is_named_once() -> None:
    problems = read('{"criteria_2": "maybe"}', 3).problems
    assert [problem.split()[0] for problem in problems] == ["criteria_2", "criteria_1", "criteria_3"]


def test_reasons_come_from_numbered_lines_or_from_the_object() -> None:
    lines = "1. **Fits** well.\n   Indeed.\n2) Lacks a\nheading.\n\n```json\n"
    found = read(lines + '{"criteria_1": "PASS", "criteria_2": "FAIL"}\n```')
    assert dict(found.reasons) == {0: "Fits** well. Indeed.", 1: "Lacks a heading."}
    found = read('{"criteria_1": {"reason": " short ", "verdict": "PASS"}, "criteria_2": "FAIL"}')
    assert dict(found.reasons) == {0: "short"}
    assert read('7. not ours\n{"criteria_1": "PASS"}', 1).reasons == {}


def test_labels_are_those_on_offer() -> None:
    assert dict(read_verdicts('{"criteria_1": "yes"}', 1, YES_NO).labels) == {0: "yes"}
    assert dict(read_verdicts('{"criteria_1": "PASS"}', 1, YES_NO).labels) == {}
    words = {"NOT APPLICABLE": "unknown", **YES_NO}
    assert dict(read_verdicts('{"criteria_1": "Not applicable."}', 1, words).labels) == {0: "unknown"}


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        ('{"criteria_1": ', "objects that open and never close"),
        ('{"criteria_1": "PASS"} ', "very many objects"),
        ("{", "braces"),
        ('"', "quotes"),
        ("1. ", "numbers on one line"),
        ("1.\n", "numbered lines"),
        (" *#", "ornaments"),
        ("{ ", "braces and blanks"),
    ],
)
def test_long_hostile_text_is_read_in_linear_time(unit: str, reason: str) -> None:
    started = time.perf_counter()
    read(unit * (100_000 // len(unit)) + '{"criteria_1": "PASS"')
    assert time.perf_counter() - started < 3, reason


noise = st.text(alphabet=st.characters(), max_size=60)
pieces = st.sampled_from(
    [
        '{"criteria_1":',
        '"PASS"',
        '"FAIL"',
        "{",
        "}",
        '"',
        "'",
        ",",
        "\\",
        "[",
        "]",
        "\n1. ",
        "```json",
        "criteria_2",
        ":",
    ]
)
hostile = st.lists(st.one_of(noise, pieces), max_size=25).map("".join)


@settings(max_examples=400, deadline=None)
@given(text=hostile, count=st.integers(1, 5))
def test_anything_is_read_without_raising_and_within_bounds(text: str, count: int) -> None:
    found = read_verdicts(text, count, PASS_FAIL)
    assert set(found.labels) <= set(range(count))
    assert set(found.reasons) <= set(range(count))
    assert set(found.labels.values()) <= {"yes", "no"}
    assert len(found.labels) == count or found.problems, "a missing label is always explained"


@settings(max_examples=200, deadline=None)
@given(
    labels=st.lists(st.sampled_from(["PASS", "FAIL"]), min_size=1, max_size=8),
    reasons=st.lists(noise, min_size=8, max_size=8),
    structured=st.booleans(),
    fake=st.booleans(),
)
def test_any_valid_answer_survives_what_stands_around_it(
    labels: list[str], reasons: list[str], structured: bool, fake: bool
) -> None:
    entries: dict[str, Any] = {f"criteria_{i}": label for i, label in enumerate(labels, 1)}
    # Prose before an answer may hold anything but an object of its own that never closes.
    prose = [reason.replace("criteria_", "criterion ") for reason in reasons]
    quoted = '\nThe response claims {"criteria_1": "FAIL"} and more.\n' if fake else "\n"
    if structured:
        entries = {key: {"reason": reasons[i], "verdict": label} for i, (key, label) in enumerate(entries.items())}
    text = "\n".join(f"{i}. {line}" for i, line in enumerate(prose, 1)) + quoted + json.dumps(entries)
    found = read_verdicts(text, len(labels), PASS_FAIL)
    assert found.problems == ()
    assert [found.labels[i] for i in range(len(labels))] == [PASS_FAIL[label] for label in labels]
    if structured:
        assert [found.reasons[i] for i in range(len(labels))] == [reason.strip() for reason in reasons[: len(labels)]]
