"""Criteria taken apart: what is read of a model's answer, what stays whole, and rows that come back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

import truebench_hf
from tests.support.runs import script
from truebench_hf import Criterion, Judge, UserError
from truebench_hf.judging.signed import ListOf, read_signed
from truebench_hf.judging.splitting import demands_of
from truebench_hf.models.asking import Problem
from truebench_hf.rewards import split_criteria

WHOLE = "is polite and has at most 40 words"


def said(*demands: Any, before: str = "Two.\n", fence: bool = True) -> str:
    body = json.dumps({"demands": list(demands)}, ensure_ascii=False)
    return f"{before}```json\n{body}\n```" if fence else before + body


def read_demands(text: str, criterion: str) -> tuple[str, ...] | Problem:
    """What an answer says, the tag aside."""
    answer = read_signed(text, "none", {"demands": ListOf()}, unsigned=True)
    return Problem(answer.problem) if answer.problem else demands_of(answer.labels["demands"], criterion)


@pytest.mark.parametrize(
    ("text", "demands", "why"),
    [
        (said("is polite", "has at most 40 words"), ("is polite", "has at most 40 words"), "the form asked for"),
        (
            said("is polite", "has at most 40 words", before="", fence=False),
            ("is polite", "has at most 40 words"),
            "bare",
        ),
        (said("  is\npolite ", "has at most 40 words"), ("is polite", "has at most 40 words"), "blanks"),
        (
            said("می\u200cنویسد", "40 \U0001f468\u200d\U0001f469"),
            ("می\u200cنویسد", "40 \U0001f468\u200d\U0001f469"),
            "joiners are part of words and signs",
        ),
        (said("a", "b 40") + "\u200b\n", ("a", "b 40"), "what nobody sees is no text behind it"),
        (said("is polite and has at most 40 words"), (), "a single demand"),
        (said("has 50 words"), (), "a single demand stays as it was written, whatever is made of it"),
        (said("a", "b 40") + "\n" + said("a", "b 40"), ("a", "b 40"), "said twice, the same"),
        ('{"reason": "Two.", "demands": ["a", "b 40"]}', ("a", "b 40"), "the form with a schema"),
    ],
)
def test_what_is_read(text: str, demands: tuple[str, ...], why: str) -> None:
    assert read_demands(text, WHOLE) == demands, why


@pytest.mark.parametrize(
    ("text", "told", "why"),
    [
        ("", "no JSON object", "nothing"),
        ("1. is polite\n2. has at most 40 words", "no JSON object", "prose"),
        ('["is polite", "has at most 40 words"]', "no JSON object", "a bare list may be anything"),
        ('{"demands": ["a", "b 40"], "demands": ["c", "d 40"]}', "2 times", "one key with two lists"),
        (said("a", "b 40") + "\nDemands: a", "behind", "taken back"),
        ('{"demands": "is polite"}', "is no list", "a text"),
        ('{"demands": {"a": 1}}', "is no list", "an object"),
        (said("a 40", 3), "no list of texts", "a number"),
        (said("a 40", ["b"]), "no list of texts", "a list within"),
        ('{"demands": ["a 40", "half \\ud83d"]}', "no list of texts", "half a character"),
        (said(), "is empty", "none"),
        (said("a 40", " . "), "is empty", "signs alone"),
        (said("Is polite!", "is polite", "40"), "twice", "letter case and signs make no other demand"),
        (said(WHOLE + ".", "is polite"), "the whole criterion", "nothing is taken apart"),
        (said("is polite", "is short"), "40 is missing or new", "a number is lost"),
        (said("is polite", "has at most 40 words", "names 3 colours"), "3 is missing or new", "one is made up"),
        (said("is polite", "has at most 30 words"), "30, 40 is missing or new", "another number"),
    ],
)
def test_what_is_asked_for_again(text: str, told: str, why: str) -> None:
    found = read_demands(text, WHOLE)
    assert isinstance(found, Problem), why
    assert told in found.text, why


def test_the_numbers_of_a_list_are_no_demands() -> None:
    listed = "1. greets Kim (2) names 3.5 per cent\n3) closes"
    assert read_demands(said("greets Kim", "names 3.5 per cent", "closes"), listed) == (
        "greets Kim", "names 3.5 per cent", "closes",
    )  # fmt: skip


@given(st.text(alphabet='{}"[]:, demands40ab\n`~\\u0000', max_size=80) | st.text(), st.text())
def test_no_text_breaks_the_reader(text: str, criterion: str) -> None:
    for behind in ("", '\n{"demands": ["a", "b"]}', '\n{"demands": ' + "[" * 3000):
        found = read_demands(text + behind, criterion)
        assert isinstance(found, Problem) or found == () or len(found) > 1


ANSWERS = {
    "greets Kim and is short": ["greets Kim", "is short"],
    "is rude and long": ["is rude", "is long"],
    "Nennt er zwei Farben und grüßt er?": ["Nennt er zwei Farben?", "Grüßt er?"],
}


def splitter(messages: list[dict[str, str]]) -> str:
    if "hopeless" in messages[0]["content"]:
        return "I cannot tell."
    whole = messages[0]["content"].partition("<criterion_")[2].partition(">\n")[2].partition("\n</criterion_")[0]
    return said(*ANSWERS.get(whole, [whole]))


ROWS = [
    {"prompt": "Write to Kim.", "criteria": ["greets Kim and is short", "is a letter"], "source": "a"},
    {"prompt": "Write to Kim.", "rubric": [{"text": "greets Kim and is short", "points": 3, "kind": "tone"},
                                           {"text": "is rude and long", "weight": -2}]},
    {"prompt": [{"role": "user", "content": "Farben?"}], "checklist": "Nennt er zwei Farben und grüßt er?\nIst er kurz?"},
    {"messages": [{"role": "user", "content": "Hi."}], "criteria": ["is hopeless and lost"]},
    {"prompt": "Nothing to ask.", "criteria": None},
]  # fmt: skip


def test_rows_come_back_with_one_demand_a_criterion_and_a_report() -> None:
    split = split_criteria(ROWS, splitter)
    one = lambda text, weight=1.0, **more: {"text": text, "weight": weight} | more  # noqa: E731
    assert split.rows == [
        ROWS[0] | {"criteria": [one("greets Kim", 0.5), one("is short", 0.5), one("is a letter")]},
        ROWS[1] | {"rubric": [one("greets Kim", 1.5, kind="tone"), one("is short", 1.5, kind="tone"),
                              one("is rude and long", -2.0)]},
        ROWS[2] | {"checklist": [one("Nennt er zwei Farben?", 0.5), one("Grüßt er?", 0.5), one("Ist er kurz?")]},
        ROWS[3] | {"criteria": [one("is hopeless and lost")]},
        ROWS[4],
    ]  # fmt: skip
    assert split.changed == [
        (1, "greets Kim and is short", ("greets Kim", "is short")),
        (2, "greets Kim and is short", ("greets Kim", "is short")),
        (3, "Nennt er zwei Farben und grüßt er?", ("Nennt er zwei Farben?", "Grüßt er?")),
    ]
    assert [(row, text) for row, text, _ in split.problems] == [(4, "is hopeless and lost")]
    assert split.criteria == 7
    assert str(split).splitlines()[:3] == [
        "3 of 7 criteria hold several demands, 6 in all",
        "row 1: greets Kim and is short",
        "  - greets Kim",
    ]
    again = split_criteria(split.rows, splitter)
    assert (again.rows, again.changed) == (split.rows, []), "what is split stays as it is"
    assert Dataset.from_list([{"criteria": row["criteria"]} for row in split.rows[:1]])[0] == {
        "criteria": split.rows[0]["criteria"]
    }


def test_a_data_set_is_rows_and_a_cache_keeps_the_answers(tmp_path: Path) -> None:
    asked: list[str] = []

    def counting(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
        return splitter(messages)

    model = truebench_hf.model(counting, name="splitter")
    rows = Dataset.from_list(ROWS[:1] * 3)
    first = split_criteria(rows, model, cache=tmp_path)
    assert len(asked) == 2, "equal criteria of equal prompts are asked about once"
    assert split_criteria(rows, model, cache=tmp_path) == first
    assert len(asked) == 2


def test_what_is_split_earns_what_it_did_where_all_must_pass(tmp_path: Path) -> None:
    rules = [{"contains": "<criteria", "verdicts": {"greets": "FAIL"}}]
    with Judge(script(tmp_path / "judge.json", rules)) as judge:
        for row in (ROWS[0], split_criteria(ROWS[:1], splitter).rows[0]):
            reward = truebench_hf.checklist_reward(judge, shape="pass_all")
            assert reward(["Hi."], prompts=[row["prompt"]], criteria=[row["criteria"]]) == [0.0]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"criteria": ["a"]}, "row 2: has no prompt"),
        ({"prompt": " ", "criteria": ["a"]}, "row 2: its prompt must be"),
        ({"prompt": "Hi.", "criteria": [3]}, "row 2: field 'criteria[0]'"),
        ({"prompt": "Hi.", "criteria": ["a"], "rubric": ["b"]}, "row 2: has 'criteria' and 'rubric'"),
    ],
)
def test_rows_that_cannot_be_used_are_named(row: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError) as caught:
        split_criteria([ROWS[0], row], splitter)
    assert str(caught.value).startswith(told)


def test_a_nameless_function_has_no_cache(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"truebench_hf\.model"):
        split_criteria(ROWS, splitter, cache=tmp_path)


def test_conditions_and_the_column_of_another_name_are_kept() -> None:
    row = {"prompt": "Hi.", "demands": [{"text": "greets Kim and is short", "condition": "Kim is there"}]}
    (made,) = split_criteria([row], splitter, column="demands").rows
    assert [one["condition"] for one in made["demands"]] == ["Kim is there"] * 2
    assert Criterion("x").weight == 1.0
