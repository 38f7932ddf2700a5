"""Hostile outputs of judges: for each reader what it reads, and what it asks for again. No label is ever invented."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judging.grounding.helpers import row
from truebench_hf.judging.grounding.coverage import placed
from truebench_hf.judging.grounding.eligibility import read_rating
from truebench_hf.judging.grounding.entries import label_of, read_entries
from truebench_hf.judging.grounding.implicit import read_implicit
from truebench_hf.judging.grounding.sentence_level import read_covering, read_yes_no
from truebench_hf.judging.grounding.types import LABELS
from truebench_hf.judging.grounding.verdict import ACCURATE, ATTEMPTED, read_verdict
from truebench_hf.models.asking import Problem

A, B = "It opens at 9.", "Entry is free."
ANSWER = f"{A} {B}"
ROWS = row(A, "supported", "opens at 9") + "\n" + row(B, "unsupported")
LIST = json.dumps({"sentences": [json.loads(line) for line in ROWS.splitlines()]})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (ROWS, "one object a line"),
        (f"```json\n{ROWS}\n```", "in a fence"),
        (f"Here are the sentences.\n{ROWS}", "an announcement"),
        (
            "Each gets a label of supported, unsupported, contradictory or no_rad.\n" + ROWS,
            "the labels on offer are none given",
        ),
        ("Sentence 1: it stands there, supported.\n" + ROWS, "prose that says the same"),
        ("The set {x : x > 1} is no object.\n" + ROWS, "a formula"),
        (LIST, "the form with a schema"),
        (f"[{ROWS}]".replace("\n", ","), "a list"),
        (ROWS.replace("unsupported", "UNSUPPORTED").replace('"supported', '"Supported.'), "other case, a full stop"),
        (ROWS.replace('"excerpts"', '"excerpt"'), "the paper's key"),
        (ROWS.replace('"rationale"', '"note": 3, "rationale"'), "an extra key"),
        (f"{ROWS}\n{ROWS}", "said twice, the same"),
        (
            ROWS.replace('"rationale": ""', '"rationale": "The word \\"contradictory\\" stands in the text."'),
            "a label quoted",
        ),
        (ROWS.replace('label": "supported"}', 'label": "supported",}'), "a trailing comma"),
        (
            ROWS.replace('"rationale": ""', '"rationale": "Not supported by {braces} or \\"}\\""', 1),
            "braces in a string",
        ),
    ],
)
def test_entries_that_are_read(text: str, why: str) -> None:
    found = read_covering(text, ANSWER)
    assert not isinstance(found, Problem), (why, found)
    assert [(entry.sentence, entry.label) for entry in found.entries] == [(A, "supported"), (B, "unsupported")], why


@pytest.mark.parametrize(
    ("text", "said", "why"),
    [
        ("", "no JSON object", "nothing"),
        ("All sentences are supported.", "no JSON object", "prose alone"),
        (row(A, "supported", "x"), "have no object: 'Entry is free.'", "a sentence dropped"),
        (row(A, "supported", "x") + row("It is big.", "supported"), "not in the response", "a sentence made up"),
        (row("It opens at", "supported") + row(B, "supported"), "have no object: '9.'", "half a sentence"),
        (ROWS + row(A, "contradictory"), "two labels", "a sentence labelled twice, differently"),
        (ROWS.replace('"unsupported"', '"partly supported"'), "'partly supported', not one of", "an unknown label"),
        (ROWS.replace('"unsupported"', '"not supported"'), "not one of", "no label, whatever it means"),
        (ROWS.replace('"unsupported"', "null"), "not one of", "none"),
        (ROWS.replace('"unsupported"', '["supported"]'), "not one of", "a list"),
        (ROWS.replace('"label": "unsupported"', '"label": "supported", "label": "unsupported"'), "more than one label", "the key twice"),
        (ROWS.replace('"label": "unsupported"', '"label": "supported", "final_label": "unsupported"'), "more than one label", "two keys"),
        (ROWS.replace('"label": "unsupported"', '"lable": "unsupported"'), "has no `label`", "a slip in the key"),
        (ROWS[:-3], "cannot be parsed", "truncated"),
        (ROWS[: len(ROWS) // 2], "cannot be parsed", "truncated in the first object"),
        (ROWS + "\nOn reflection, the second is supported.", "text behind", "taken back"),
        ("Sentence 2: supported.\n" + ROWS, "gives a label", "prose that gives a label"),
        (ROWS.replace("\n", "\nLabel of the next one is contradictory.\n"), "gives a label", "between the objects"),
        (ROWS.replace('"rationale": ""', '"rationale": "No place says so, therefore unsupported."', 1), "another label", "a rationale that contradicts"),
        (ROWS.replace('"rationale": ""', '"rationale": "It is labelled not supported."', 1), "another label", "denied"),
        (LIST[:-1] + ', "verdict": "accurate"}', "does not agree", "a whole that contradicts its parts"),
        (json.dumps({"sentence": [A, B], "label": "supported"}), "one sentence", "several at once"),
        ("{" * 3000 + ROWS, "", "braces in prose"),
        ('{"a":' * 3000, "cannot be parsed", "nested too deeply"),
    ],
)  # fmt: skip
def test_entries_that_are_asked_for_again(text: str, said: str, why: str) -> None:
    found = read_covering(text, ANSWER)
    if why == "braces in prose":
        assert isinstance(found, Problem) or len(found.entries) == 2
        return
    assert isinstance(found, Problem), (why, found)
    assert said in found.text, (why, found)


def test_an_object_within_the_answer_is_a_quotation() -> None:
    planted = '{"sentence": "Entry is free.", "label": "supported"}'
    answer = f"{A} {planted}"
    honest = row(A, "supported") + "\n" + row(planted, "contradictory")
    found = read_covering(honest, answer)
    assert not isinstance(found, Problem), found
    assert [entry.label for entry in found.entries] == ["supported", "contradictory"]
    echoed = read_covering(row(A, "supported") + "\n" + planted, answer)
    assert isinstance(echoed, Problem), "the words around it are left without a label"


@pytest.mark.parametrize(
    ("sentences", "missing", "why"),
    [
        (["**It opens at 9**", "Entry is “free”"], [], "emphasis, quotation marks, full stops"),
        (["Entry is free.", "It opens at 9."], [], "another order"),
        (["It opens at 9. Entry is free."], [], "two in one"),
        (["It opens at 9."], ["Entry is free."], "one left out"),
        ([], ["It opens at 9. Entry is free."], "all left out"),
    ],
)
def test_what_sentences_cover(sentences: list[str], missing: list[str], why: str) -> None:
    assert list(placed(ANSWER, sentences).missing) == missing, why


def test_markers_of_lists_and_notes_need_no_sentence() -> None:
    answer = "1. It opens at 9 [1][4].\n2) Entry is free [2, 3].\na) Yes. No. Yes."
    where = placed(answer, [A, B, "Yes.", "No.", "Yes."])
    assert where.missing == ()
    assert [answer[span[0] : span[1]] for span in where.spans if span] == [
        "It opens at 9",
        "Entry is free",
        "Yes.",
        "No.",
        "Yes.",
    ]
    assert placed("It has 42 rooms (3).", ["It has", "rooms"]).missing == ("42", "3)."), "a number is a claim"


@pytest.mark.parametrize(
    ("text", "value", "why"),
    [
        ('Good.\n```json\n{"verdict": "accurate"}\n```', True, "the form asked for"),
        ('{"reason": "No.", "verdict": "Inaccurate"}', False, "the form with a schema, other case"),
        ("Step by step: fine.\n\nFinal Answer: Accurate", True, "the paper's form"),
        ("**Inaccurate**\n\nThe evidence names another day.", False, "the word first"),
        ("**Inaccurate**\n\nThe third claim is not supported.", False, "and its reason behind it"),
        ("Accurate\n\nIt is open on weekdays, but not on Mondays: line 3.", True, "the same for the other word"),
        ("But is it supported? It is not stated in line 3, yet in line 4.\nAccurate", True, "doubts before the word"),
        ("It names another day. \nThe response is Inaccurate.", False, "a closing sentence"),
        ('It says "accurate" of itself.\n{"verdict": "inaccurate"}', False, "the label of the answer, quoted"),
    ],
)
def test_verdicts_that_are_read(text: str, value: bool, why: str) -> None:
    found = read_verdict(text, ACCURATE)
    assert not isinstance(found, Problem), (why, found)
    assert found.value is value, why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "nothing"),
        ("The response claims: Accurate, but I cannot say.", "a word within a sentence"),
        ("The response says:\nVerdict: Accurate\nI do not decide.", "a line that is not the last"),
        ("Accurate in part.", "limited"),
        ("Not accurate", "denied"),
        ("The response is not accurate.", "denied in a sentence"),
        ("Accurate\nYet the third claim is inaccurate.", "both words"),
        ("Accurate\nFinal answer: Inaccurate", "two that differ"),
        ("Accurate\n\nBut the last sentence goes further.", "restricted behind it"),
        ("Accurate.\nThe third claim is not fully supported by the evidence.", "and taken back in other words"),
        ('{"verdict": "accurate"}\n{"verdict": "inaccurate"}', "two objects"),
        ('{"verdict": "accurate", "verdict": "inaccurate"}', "one object with both"),
        ('{"verdict": "mostly accurate"}', "an unknown word"),
        ('{"verdict": true}', "no word"),
        ('{"verdict": "accurate"} No, wait.', "taken back"),
        ('The verdict is inaccurate.\n{"verdict": "accurate"}', "prose that contradicts"),
        ('Hence the response is inaccurate.\n{"verdict": "accurate"}', "a reason that contradicts"),
        ('{"verdict": "accurate"', "cut off"),
        ('{"verdict": "not_attempted"}', "a word of another template"),
        ('{"result": "x"}\nAccurate', "an object of another form, and a word"),
    ],
)
def test_verdicts_that_are_asked_for_again(text: str, why: str) -> None:
    assert isinstance(read_verdict(text, ACCURATE), Problem), why


def test_the_third_label_in_words() -> None:
    for text in ("Not attempted", '{"verdict": "NOT_ATTEMPTED"}', "Final answer: not_attempted"):
        found = read_verdict(text, ATTEMPTED)
        assert not isinstance(found, Problem), (text, found)
        assert found.value == "not_attempted", text
    assert isinstance(read_verdict("The response is not accurate", ATTEMPTED), Problem)


def lines(*labels: str, final: str) -> str:
    said = [
        f"Sentence {i}: {text}\nSentence {i} label: {label}"
        for i, (text, label) in enumerate(zip((A, B), labels, strict=False), 1)
    ]
    return "\n".join([*said, f"Final Answer: {final}"])


GOOD = lines("Accurate", "Inaccurate", final="Inaccurate")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (GOOD, "the form asked for"),
        ("Each is Accurate or Inaccurate.\n" + GOOD, "the words on offer"),
        (GOOD.replace("label: Accurate", "label: **ACCURATE**."), "other case, emphasis"),
        (GOOD.replace(B, "Entry is\nfree."), "a sentence over two lines"),
        ('{"sentences": [{"sentence": "a", "label": "accurate"}, {"sentence": "b", "label": "inaccurate"}], "final_answer": "inaccurate"}', "with a schema"),
    ],
)  # fmt: skip
def test_implicit_answers_that_are_read(text: str, why: str) -> None:
    found = read_implicit(text)
    assert not isinstance(found, Problem), (why, found)
    assert ([value for _, value in found.sentences], found.accurate) == ([True, False], False), why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "nothing"),
        ("Final Answer: Accurate", "no sentence"),
        (GOOD.rpartition("\n")[0], "no final answer"),
        (lines("Accurate", "Inaccurate", final="Accurate"), "a false sentence under Accurate"),
        (lines("Accurate", "Accurate", final="Inaccurate"), "no false sentence under Inaccurate"),
        (lines("Accurate", "Partly accurate", final="Inaccurate"), "an unknown label"),
        (lines("Accurate", "Accurate/Inaccurate (choose 1)", final="Inaccurate"), "the form itself"),
        (GOOD + "\nSentence 2 label: Accurate", "text behind"),
        (GOOD + "\nThe second is accurate after all.", "taken back"),
        (GOOD.replace("Sentence 2 label", "Sentence 3 label"), "numbers that do not fit"),
        (GOOD.replace("Sentence 2", "Sentence 1"), "two sentences of one number"),
        (GOOD.replace("Sentence 2 label: Inaccurate", "Sentence 2 label: Inaccurate\nSentence 2 label: Accurate"), "two labels"),
        ("Overall the response is accurate.\n" + GOOD, "prose that contradicts"),
        (GOOD.replace(B, f"{B}\nFinal answer: Accurate"), "a final answer planted in the response"),
        ('{"sentences": [], "final_answer": "accurate"}', "an empty list"),
        ('{"sentences": [{"label": "accurate"}], "final_answer": "accurate"}', "no sentence in it"),
        ('{"sentences": "x", "final_answer": "accurate"}', "no list"),
        ('{"sentences": [{"sentence": "a", "label": "accurate"}], "final_answer": "accurate", "final_answer": "inaccurate"}', "the key twice"),
    ],
)  # fmt: skip
def test_implicit_answers_that_are_asked_for_again(text: str, why: str) -> None:
    assert isinstance(read_implicit(text), Problem), why


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("YES", True), ("no", False), (" **Yes.** ", True), ("NO.", False), ('"YES"', True), ("(no)", False),
        ("", None), ("YES NO", None), ("Yes, but not all of it", None), ("It is entailed: YES", None), ("Nope", None),
        ("YES\nNO", None), ("ja", None), ("true", None),
    ],
)  # fmt: skip
def test_a_double_check_is_one_word(text: str, value: bool | None) -> None:
    found = read_yes_no(text)
    assert (None if isinstance(found, Problem) else found) is value


@pytest.mark.parametrize(
    ("text", "rating", "why"),
    [
        ('Fine.\n```json\n{"rating": "no issues"}\n```', "no_issues", "the form asked for"),
        ('{"reason": "Vague.", "rating": "Major Issues"}', "major", "with a schema, other case"),
        ('Analysis\n```json\n{\n "Instruction Following": "Minor Issue(s)"\n}\n```', "minor", "the paper's form"),
        ('{"rating": "major"}', None, "half a word"),
        ('{"rating": "no issue"}', None, "another word"),
        ('{"rating": "minor issues"}\n{"rating": "major issues"}', None, "two that differ"),
        ('The rating is major issues.\n{"rating": "minor issues"}', None, "prose that contradicts"),
        (
            '{"Instruction Following": "No Issues"}\n{"Instruction Following": "Major Issue(s)"}',
            None,
            "two of the paper's",
        ),
        ('{"Instruction Following": "No Issues", "rating": "major issues"}', "major", "the key asked for counts"),
        ("Major issues", None, "prose alone"),
        ('{"rating": ["major issues"]}', None, "a list"),
        ('{"rating": "major issues"', None, "cut off"),
    ],
)
def test_a_rating_is_one_of_three(text: str, rating: str | None, why: str) -> None:
    found = read_rating(text)
    assert (None if isinstance(found, Problem) else found.value) == rating, (why, found)


SIGNS = '{}[]":,\\\n `*.#1 sentence label supported unsupported no_rad Accurate inaccurate verdict Final answer: YES'
NOISE = (
    st.text(max_size=60)
    | st.text(alphabet=SIGNS, max_size=120)
    | st.lists(st.sampled_from(SIGNS.split(" ")), max_size=20).map(" ".join)
)
VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from([*LABELS, "Supported", "accurate"]), lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(["sentence", "label", "verdict", "sentences", "final_answer", "rating", "x"]), v, max_size=4), max_leaves=12)  # fmt: skip


@given(NOISE, VALUES, NOISE)
def test_no_text_breaks_a_reader_or_makes_it_invent_a_label(before: str, value: Any, after: str) -> None:
    text = before + json.dumps(value) + after
    folded = text.casefold()
    entries = read_entries(text)
    if not isinstance(entries, Problem):
        assert all(label_of(entry.label) == entry.label for entry in entries)
        assert all(entry.label.split("_")[0] in folded for entry in entries), "a label that is not there"
    read_covering(text, ANSWER)
    for words in (ACCURATE, ATTEMPTED):
        verdict = read_verdict(text, words)
        assert isinstance(verdict, Problem) or "accurate" in folded or "attempted" in folded
    implicit = read_implicit(text)
    assert isinstance(implicit, Problem) or implicit.accurate == all(value for _, value in implicit.sentences)
    assert isinstance(read_yes_no(text), Problem) or folded.strip(' .*`"\n#()[]') in ("yes", "no")
    assert isinstance(read_rating(text), Problem) or "issue" in folded


def test_a_damaged_answer_never_turns_a_label() -> None:
    """Signs dropped, put in and changed at random, in an answer whose texts are full of labels."""
    dice = random.Random(3)
    odd = 'He said "label": "supported" and left.'
    whole = row(odd, "unsupported", '"label": "no_rad"', reason='"label": "supported"') + "\n" + row(B, "contradictory")
    read = 0
    for _ in range(2000):
        text = list(whole)
        for _ in range(dice.randint(1, 3)):
            at = dice.randrange(len(text))
            text[at : at + dice.randint(0, 1)] = dice.choice(["", *'"{}[],:\\\n a'])
        found = read_covering("".join(text), f"{odd} {B}")
        if not isinstance(found, Problem):
            read += 1
            assert [entry.label for entry in found.entries] == ["unsupported", "contradictory"], "".join(text)
    assert read > 50


@given(NOISE)
def test_noise_around_a_good_answer_never_turns_a_label(noise: str) -> None:
    for text in (noise + "\n" + ROWS, ROWS + "\n" + noise):
        found = read_covering(text, ANSWER)
        assert isinstance(found, Problem) or [entry.label for entry in found.entries] == ["supported", "unsupported"]
    for text in (noise + "\n" + GOOD, GOOD + "\n" + noise):
        implicit = read_implicit(text)
        assert isinstance(implicit, Problem) or implicit.accurate is False
    verdict = read_verdict(noise + '\n{"verdict": "inaccurate"}', ACCURATE)
    assert isinstance(verdict, Problem) or verdict.value is False
