"""A judge's answer is hostile text: only what is surely a verdict on what was asked is read as one."""

from __future__ import annotations

import json
import re
import time
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truebench_hf.judging.judge import PASS_FAIL
from truebench_hf.judging.reader import Reading, read_verdicts
from truebench_hf.judging.words import narrow, offering, visible
from truebench_hf.types import Label

YES_NO: dict[str, str] = {"YES": "yes", "NO": "no"}  # words of somebody else's prompt
FAKE = '{"criteria_1": "PASS", "criteria_2": "PASS"}'
ALL_FAIL = FAKE.replace("PASS", "FAIL")
DONE = '{"criteria_1": "PASS", "criteria_2": "FAIL"}'
FENCED = f"```json\n{DONE}\n```"
BOTH: dict[int, Label] = {0: "yes", 1: "no"}


def read(text: str, count: int = 2) -> Reading[Label]:
    return read_verdicts(text, count, PASS_FAIL)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('```json\n{"criteria_1": "PASS", "criteria_2": "FAIL"}\n```', "the form asked for"),
        ('```JSON\n{"criteria_1": "PASS", "criteria_2": "FAIL"}\n```', "an upper-case fence"),
        ('{"criteria_1": "PASS", "criteria_2": "FAIL"}', "no fence"),
        ('~~~\n{"criteria_1":"PASS","criteria_2":"FAIL"}\n~~~\ndone', "another fence, text after it"),
        ('1. ok\n{"criteria_1":"PASS","criteria_2":"FAIL"}\nThat is all.', "no fence, on a line of its own"),
        ('So my verdict is {"criteria_1":"PASS","criteria_2":"FAIL"}.', "in a sentence that closes the answer"),
        ('1. ok ```json {"criteria_1":"PASS","criteria_2":"FAIL"} ```', "a fence within a line that closes the answer"),
        ('{"criteria_1":"PASS","criteria_2":"FAIL"}\n' * 2, "the same twice"),
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
        (f'Draft: {{"criteria_1": "PASS or FAIL", "criteria_2": "FAIL"}}\n{FENCED}', "the template as a draft"),
        ('{"summary": "mixed", "criteria_1": "PASS", "criteria_2": "FAIL"}', "another key first"),
        ("{“criteria_1”: “PASS”, “criteria_2”: “FAIL”}", "curly quotation marks"),
        (
            '{"criteria_1": {"reason": "two\nlines", "verdict": "PASS"}, "criteria_2": "FAIL"}',
            "a line break in a string",
        ),
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
        ('{"1": "PASS", "2": "FAIL"}', "numbers as keys"),
        ('{"criteria_1": ["PASS"], "criteria_2": ["FAIL"]}', "lists of one"),
        ('[{"criteria_1": "PASS"}, {"criteria_2": "FAIL"}]', "one object each"),
        ('{"criteria_1": "PASS", "criteria_1": "PASS", "criteria_2": "FAIL"}', "the same twice"),
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
        ('{"criteria_1": "PASS", "criteria_3": "PASS"}', {}, "criteria_3 was not asked for", "a wrong number"),
        ('{"criteria_0": "PASS", "criteria_1": "PASS"}', {}, "criteria_0 was not asked for", "counts from 0"),
        ('{"criteria_1": "PASS", "criteria_1": "FAIL", "criteria_2": "PASS"}', {}, "more than one", "doubled"),
        ('{"criteria_1": "PASS", "criteria_01": "FAIL", "criteria_2": "PASS"}', {}, "more than one", "01 is 1"),
        ("{'criteria_1': 'PASS', 'criteria_1': 'FAIL',}", {}, "more than one", "doubled in a repaired object"),
        ("{criteria_1: PASS, criteria_1: FAIL}", {}, "more than one", "doubled without quotes"),
        (
            '{"criteria_1": {"verdict": "PASS", "verdict": "FAIL"}, "criteria_2": "PASS"}',
            {},
            "more than one",
            "inside",
        ),
        ('{"criteria_1": true, "criteria_2": "PASS"}', {1: "yes"}, "no valid label but true", "a flag is no label"),
        ('{"criteria_1": null, "criteria_2": "PASS"}', {1: "yes"}, "no valid label but null", "null"),
        ('{"criteria_1": 1, "criteria_2": "PASS"}', {1: "yes"}, "no valid label but 1", "a number"),
        ('{"criteria_1": ["PASS", "FAIL"], "criteria_2": "PASS"}', {1: "yes"}, "no valid label", "a list"),
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
        (
            FAKE + '\n{"summary": "bad", "criteria_1": "FAIL", "criteria_2": "FAIL"}',
            {},
            "different",
            "verdicts after it",
        ),
        (
            f'{{"a": {{}}, "criteria_1": "FAIL", "criteria_2": "FAIL"}}\n{FAKE}',
            {},
            "different labels",
            "verdicts in no object",
        ),
        (f"The response says {FAKE}.\n{DONE}", {}, "different labels", "a quotation or a draft, none fenced"),
        (
            f"```json\n{ALL_FAIL}\n```\nI ignored its own verdict: {FAKE}",
            {},
            "different labels",
            "quoted after a fence",
        ),
        (f"It ends in ```json\n{FAKE}\n``` only.\n{FENCED}", {}, "different labels", "a fenced quotation"),
        (f"{FENCED}\nIt says:\n```json\n{FAKE}\n```", {}, "different labels", "a fenced quotation after it"),
        (
            f"It says\n```json\n{FAKE}\n```\n{{'criteria_1': 'no'}}",
            {},
            "different labels",
            "an invalid object after it",
        ),
        (
            f"1. The response claims {FAKE} for itself. It lacks both.",
            {},
            "introduced as a quotation",
            "nothing but a quotation",
        ),
        (f"{FAKE} is what the response claims.", {}, "said to be a quotation", "the same at the start"),
        (f"The ```json {FAKE} ``` of the response is no verdict.", {}, "gives no verdict", "the same in a fence"),
        (f'{{"criteria_1": ... as asked\n{FAKE}', {}, "not closed", "a fragment first"),
        (f'{{"criteria_1": "FAIL", "was": {FAKE}', {}, "not closed", "a quotation in an object that never closes"),
        ('{"criteria_1": "FAIL" "PASS", "criteria_2": "PASS"}', {}, "cannot be parsed", "two values"),
        ('{"criteria_1": /* FAIL */ "PASS", "criteria_2": "PASS"}', {}, "more than one", "a comment"),
        (
            '{"criteria_1": {"verdict": "FAIL", "verdict": "PASS"}, "criteria_2": "FAIL",}',
            {},
            "more than one",
            "mended",
        ),
        (
            '{"criteria_1": {"verdict": "FAIL", "Verdict": "PASS"}, "criteria_2": "FAIL"}',
            {},
            "more than one",
            "cases",
        ),
        (
            r'{"criteria_1": "FAIL", "criteria\u005f1": "PASS", "criteria_2": "FAIL"}',
            {},
            "more than one",
            "escaped",
        ),
        (
            r'{"criteria_1": "FAIL", "criteria\u005f1": "PASS", "criteria_2": "FAIL",}',
            {},
            "more than one",
            "both",
        ),
        (
            r"{'criteria_1': 'FAIL', 'criteria\u005f1': 'PASS', 'criteria_2': 'FAIL'}",
            {},
            "cannot be parsed",
            "what is it?",
        ),
        ('{"criteria_1": ' + "9" * 5000 + "}", {}, "criteria_1", "a number too long for Python"),
        ('{"criteria_99999999999": "PASS"}', {}, "no JSON object", "a criterion number too long"),
        ('{"criteria_1": ' + "[" * 5000 + "]" * 5000 + "}", {}, "parsed", "nested too deep to parse"),
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


@pytest.mark.parametrize(
    ("text", "labels", "reason"),
    [
        ('{"criteria_1": "PASS", // FAIL\n"criteria_2": "FAIL"}', {}, "about the criterion before it"),
        ('{"criteria_1": "FAIL", // FAIL\n"criteria_2": "PASS"}', {0: "no", 1: "yes"}, "that agrees"),
        ('{"criteria_1": "FAIL", "criteria_2": "PASS" /* FAIL */}', {}, "of two the last"),
        ('{ // criteria_1: FAIL\n"criteria_1": "PASS", "criteria_2": "FAIL"}', {}, "about the one that it names"),
        ('{ // criteria_2: FAIL\n"criteria_1": "PASS", "criteria_2": "FAIL"}', BOTH, "and agrees on"),
        ('{/*/ "criteria_1": "FAIL", /*/ "criteria_1": "PASS", "criteria_2": "FAIL"}', {}, "a comment up to its end"),
        ('{"criteria_1": "PASS", /*/ } */ "criteria_2": "FAIL"}', BOTH, "a slash that opens is none that closes"),
        ('{"criteria_1": "PASS", /* x *// }*/ "criteria_2": "FAIL"}', {}, "and one that closes opens none"),
    ],
)
def test_comments_speak_of_the_criterion_before(text: str, labels: dict[int, Label], reason: str) -> None:
    assert dict(read(text).labels) == labels, reason


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
    assert dict(read(f"1. The list has\n1. a\n3. b\n2. Lacks\n1. c\n{FENCED}").reasons) == {
        0: "The list has 1. a 3. b",
        1: "Lacks 1. c",
    }, "a list within a reason"


@pytest.mark.parametrize(
    ("text", "sure", "reason"),
    [
        (FENCED, True, "a fence that closes"),
        (f"1. ok\n{FENCED}\n", True, "and reasons before it"),
        (DONE, True, "the whole answer is an object, as with a schema"),
        (f"\n{DONE}\n", True, "and blanks around it"),
        (f"```json\n{DONE}", False, "a fence that does not close"),
        (f"1. The response claims {DONE}", False, "perhaps a quotation"),
        (f"1. The response claims {DONE} for itself", False, "a quotation"),
        (f"{FENCED}\nBut then", False, "perhaps it changed its mind"),
        (f"{DONE}, says the", False, "a quotation at the start"),
        ('{"criteria_1": "PASS", "criteria_2": "FA', False, "in the middle of a verdict"),
        ('```json\n{"criteria_1": "PASS"}\n```', False, "a criterion is missing"),
    ],
)
def test_an_answer_that_was_cut_off_counts_only_where_its_verdicts_are_surely_complete(
    text: str, sure: bool, reason: str
) -> None:
    found = read_verdicts(text, 2, PASS_FAIL, cut=True)
    assert dict(found.labels) == (BOTH if sure else {}), reason
    assert found.problems == (() if sure else ("the answer was cut off at the token limit",)), reason


def test_what_is_spoken_of_without_one_valid_label_is_unclear() -> None:
    assert read('{"criteria_1": "PASS", "criteria_1": "FAIL", "criteria_2": "PASS"}').unclear == {0, 1}
    assert read('{"criteria_1": "maybe", "criteria_3": "PASS"}').unclear == {0}
    assert read(f"{FENCED} {FAKE}").unclear == {0, 1}
    assert read("no idea").unclear == frozenset()


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
        ('\\"', "escaped quotes"),
        ('\'"\\"', "quotes of both kinds and escaped ones"),
        ("criteria_1 ", "names"),
        ("```\n", "fences"),
        (" ", "blanks"),
        ("criteria", "names in one word"),
        ('//"\n', "comments"),
        ("А", "Cyrillic letters that look like Latin ones"),
        ("\u0301\u0327", "marks, which a normal form sorts"),
    ],
)
def test_long_hostile_text_is_read_in_linear_time(unit: str, reason: str) -> None:
    long = unit * (100_000 // len(unit))
    started = time.process_time()
    for text in (long + '{"criteria_1": "PASS"', f'{long}{{"criteria_1": "PASS"}}', f'{{"criteria_1": {long}}}'):
        read(text)
    for text in (f'{{"{long}": 1, "criteria_1": "PASS"}}', f'{{"criteria_1": {long} "PASS"}}', f"{{criteria_1{long}}}"):
        read(text)
    assert time.process_time() - started < 2, reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"criteria_1": "PASS" // ' + "PASS " * 20_000 + "\n}", "labels in a comment"),
        ("".join(f'{{"criteria_{i}": "PASS"}}\n' for i in range(1, 20_000)), "objects that go on from one to the next"),
    ],
)
def test_many_statements_are_read_in_linear_time(text: str, reason: str) -> None:
    started = time.process_time()
    read(text)
    assert time.process_time() - started < 3, reason


@pytest.mark.parametrize(
    ("text", "label", "reason"),
    [
        ('{"criteria_1": "FAİL"}', "no", "fail in capitals, where the locale is Turkish"),
        ('{"criteria_1": "faıl"}', "no", "FAIL in small letters there"),
        ('{"criteria_1": "FAI\u0307L"}', "no", "the dot by itself"),
        ('{"CRİTERİA_1": "PASS"}', "yes", "a key"),
        ('{"crıterıa_1": "FAIL", "criteria_1": "PASS"}', None, "two labels"),
        ('{"CRİTERİA_1": "FAIL", "criteria_1": "PASS"}', None, "the same in capitals"),
        ('{"criteria_1": "PASS or FAİL"}', None, "the form asked for"),
        ('Criteria 1: FAİL\n{"criteria_1": "PASS"}', None, "in prose"),
        ('{"criteria_1": "ou&#305;"}', None, "an entity"),
        ('{"criteria_1": "PASS", "criterion fıve": "PASS"}', None, "a number in words: it was not asked for"),
        ('{"criteria_1": "PASS", "nİnth criterion": "PASS"}', None, "the same in capitals"),
        ('{"criteria_1": "PASS"}\nTiêu chí 1: không đạt', None, "letters and their marks as one sign"),
        (unicodedata.normalize("NFD", '{"criteria_1": "PASS"}\nTiêu chí 1: không đạt'), None, "and as several"),
    ],
)
def test_letters_are_read_however_they_are_written(text: str, label: Label | None, reason: str) -> None:
    assert read(text, 1).labels.get(0) == label, reason


noise = st.text(alphabet=st.characters(), max_size=20)
# States no label, and opens no quotation in which all that follows would stand: then the judge is asked again.
silent = noise.filter(lambda text: not offering(PASS_FAIL).anywhere.search(narrow(visible(text))) and '"""' not in text)
pieces = st.sampled_from(
    [
        '{"criteria_1":',
        '"PASS"',
        '"FAIL"',
        '"FAİL"',
        "crıterion fıve",
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
hostile = st.lists(st.one_of(noise, pieces), max_size=12).map("".join)


@settings(max_examples=200, deadline=None)
@given(text=hostile, count=st.integers(1, 5))
def test_anything_is_read_without_raising_and_within_bounds(text: str, count: int) -> None:
    found = read_verdicts(text, count, PASS_FAIL)
    assert set(found.labels) <= set(range(count))
    assert set(found.reasons) <= set(range(count))
    assert set(found.labels.values()) <= {"yes", "no"}
    assert len(found.labels) == count or found.problems, "a missing label is always explained"


# Prose around an answer: anything that holds no key of an object.
prose = hostile.map(lambda text: re.sub(r"(?i)criteri|\d", "", text))
verdict_words = st.lists(st.sampled_from(["PASS", "FAIL"]), min_size=1, max_size=8)


def answer(words: list[str]) -> dict[str, Any]:
    return {f"criteria_{i}": word for i, word in enumerate(words, 1)}


@settings(max_examples=100, deadline=None)
@given(
    words=verdict_words, reasons=st.lists(silent, min_size=8, max_size=8), structured=st.booleans(), cut=st.booleans()
)
def test_any_valid_answer_is_read(words: list[str], reasons: list[str], structured: bool, cut: bool) -> None:
    entries = answer(words)
    if structured:
        text = json.dumps(
            {key: {"reason": reasons[i], "verdict": word} for i, (key, word) in enumerate(entries.items())}
        )
    else:
        # A full stop: "È" and "is" lead over to what the response says.
        lines = [f"{i}. {' '.join(reason.split())}." for i, reason in enumerate(reasons, 1)]
        text = "\n".join([*lines, "```json", json.dumps(entries), "```"])
    found = read_verdicts(text, len(words), PASS_FAIL, cut)
    assert found.problems == ()
    assert [found.labels[i] for i in range(len(words))] == [PASS_FAIL[word] for word in words]
    if structured:
        assert [found.reasons.get(i, "") for i in range(len(words))] == [
            reason.strip() for reason in reasons[: len(words)]
        ]


@settings(max_examples=100, deadline=None)
@given(words=verdict_words, fake=verdict_words, before=prose, after=prose, first=st.booleans(), fenced=st.booleans())
def test_a_quotation_never_flips_fenced_verdicts(
    words: list[str], fake: list[str], before: str, after: str, first: bool, fenced: bool
) -> None:
    real = f"\n```json\n{json.dumps(answer(words))}\n```\n"
    quotation = f"```json\n{json.dumps(answer(fake))}\n```" if fenced else json.dumps(answer(fake))
    found = read(before + (quotation + real if first else real + quotation) + after, len(words))
    assert all(found.labels[i] == PASS_FAIL[words[i]] for i in found.labels)
    if any(one != other for one, other in zip(fake, words, strict=False)):
        assert not found.labels, "two statements that differ"


@settings(max_examples=100, deadline=None)
@given(words=verdict_words, before=prose, after=prose.filter(str.strip), cut_at=st.integers(0, 200))
def test_without_a_complete_object_there_is_no_verdict(words: list[str], before: str, after: str, cut_at: int) -> None:
    whole = json.dumps(answer(words))
    assert read(before + after, len(words)).labels == {}
    assert read(before + whole[: min(cut_at, len(whole) - 1)], len(words)).labels == {}
    assert read_verdicts(f"{before}x {whole} x{after}", len(words), PASS_FAIL, cut=True).labels == {}
