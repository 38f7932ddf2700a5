"""Ratings and other single choices: stated once, or asked for again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truebench_hf.engine.ledger import Ledger
from truebench_hf.judging.case import Case
from truebench_hf.judging.choice import Choice, read_choice
from truebench_hf.judging.ratings import Ratings, _Answers, ask_ratings, rate
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.models.scripted import ScriptedModel
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion

FIVE = {str(n): n for n in range(1, 6)}


@pytest.mark.parametrize(
    ("text", "value", "why"),
    [
        ('Good.\n```json\n{"rating": 4}\n```', 4, "the form asked for"),
        ('{"reason": "Good.", "rating": 4}', 4, "the form with a schema"),
        ('{"rating": "4"}', 4, "a number as text"),
        ('{"rating": 4.0}', 4, "a whole number with a point"),
        ('The rating is 4.\n{"rating": 4}', 4, "said twice, the same"),
        ('A rating of 1 to 5 is asked for.\n{"rating": 4}', 4, "a span of values states none"),
        ('First {"rating": 4}, then:\n{"rating": 4}', 4, "two objects that agree"),
    ],
)
def test_one_value(text: str, value: int, why: str) -> None:
    found = read_choice(text, "rating", FIVE)
    assert isinstance(found, Choice), (why, found)
    assert found.value == value, (why, found)


@pytest.mark.parametrize(
    ("text", "said", "why"),
    [
        ("", "no JSON object", "nothing"),
        ("4", "no JSON object", "a bare number may be anything"),
        ("Rating: 4", "no JSON object", "prose alone"),
        ('{"rating": 6}', "not 1", "beyond the scale"),
        ('{"rating": 4.5}', "not 1", "between two numbers"),
        ('{"rating": true}', "not 1", "true is no number"),
        ('{"rating": [4]}', "not 1", "a list"),
        ('{"rating": null}', "not 1", "nothing"),
        ('{"rating": 2}\n{"rating": 4}', "more than one", "two that differ"),
        ('{"draft": {"rating": 2}}\n{"rating": 4}', "more than one", "a draft that differs"),
        ('The rating is 2.\n{"rating": 4}', "more than one", "prose that differs"),
        ('{"reason": "I settle on a rating of 3.", "rating": 4}', "more than one", "the reason differs"),
        ('{"rating": 2, "rating": 4}', "more than one", "one object with the key twice"),
        ('{"rating": 4} or rather 3', "text behind", "taken back"),
        ('{"rating": 4', "no JSON object", "cut off"),
    ],
)
def test_no_value(text: str, said: str, why: str) -> None:
    found = read_choice(text, "rating", FIVE)
    assert isinstance(found, Problem), (why, found)
    assert said in found.text, (why, found)


@given(st.text(alphabet='{}"[]:,1234567890 ratingRATING\n`~.eE-\\u0000', max_size=80) | st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    found = read_choice(text + '\n{"rating": 3}', "rating", FIVE)
    assert isinstance(found, Problem) or found.value == 3


def test_a_rating_is_asked_with_and_without_a_checklist(tmp_path: Path) -> None:
    seen: list[ChatRequest] = []

    def reply(request: ChatRequest) -> str:
        seen.append(request)
        return '{"reason": "fine", "rating": 9}'

    caller = Caller(ScriptedModel("x", reply), Ledger(tmp_path / "ledger.sqlite"), "judge", 1)
    bare, listed = Case("Q", "A", ()), Case("Q", "A", (Criterion("Is it short?"),))
    of_ten = asyncio.run(rate(SchemaFallback(caller), listed, Prompts(), 10))
    assert (of_ten.value, of_ten.reason) == (9, "fine")
    assert "Is it short?" in seen[0].messages[0].content
    of_five = asyncio.run(rate(SchemaFallback(caller), bare, Prompts(), 5))
    assert of_five.value is None, "9 of 5 is no rating, however often it is given"
    assert "not 1 to 5" in of_five.reason
    assert "checklist" not in seen[1].messages[0].content
    assert len(seen) == 1 + 3
    with pytest.raises(ValueError, match="scale"):
        asyncio.run(rate(SchemaFallback(caller), bare, Prompts(), 7))


KEYS = ("logical_correctness", "factuality", "final_score")
WHOLE = '{"logical_correctness": 4, "factuality": 2, "final_score": 3}'


def several(tmp_path: Path, *answers: str) -> tuple[Ratings, list[ChatRequest]]:
    """What comes of a judge that answers so, one answer after the other; and what it was asked."""
    seen: list[ChatRequest] = []

    def reply(request: ChatRequest) -> str:
        seen.append(request)
        return answers[min(len(seen), len(answers)) - 1]

    caller = Caller(ScriptedModel("x", reply), Ledger(tmp_path / "ledger.sqlite"), "judge", 1)
    found = asyncio.run(ask_ratings(SchemaFallback(caller, "off"), lambda structured: "Rate.", KEYS, 5))
    return found, seen


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (f"Fine.\n```json\n{WHOLE}\n```", "the form asked for"),
        (f"{WHOLE}", "bare"),
        (f"Logical correctness: 4. The final score is 3.\n{WHOLE}", "said twice, the same"),
        (WHOLE.replace("4", '"4"').replace("2", "2.0"), "numbers as text, or with a point"),
        (WHOLE[:-1] + ', "note": "x"}', "another entry beside"),
    ],
)
def test_several_ratings_in_one_answer(tmp_path: Path, answer: str, why: str) -> None:
    found, seen = several(tmp_path, answer)
    assert dict(found.values) == {"logical_correctness": 4, "factuality": 2, "final_score": 3}, why
    assert len(seen) == 1, why


@pytest.mark.parametrize(
    ("answer", "left", "said", "why"),
    [
        ("", {}, "no JSON object", "nothing"),
        ("4 2 3", {}, "no JSON object", "bare numbers may be anything"),
        (f"{WHOLE} or so", {}, "text behind", "taken back"),
        (f"Final score: 5\n{WHOLE}", {"logical_correctness": 4, "factuality": 2}, "more than one", "prose with a blank differs"),
        (WHOLE.replace("2", "6"), {"logical_correctness": 4, "final_score": 3}, "not 1 to 5", "beyond the scale"),
        (WHOLE.replace("2", "0"), {"logical_correctness": 4, "final_score": 3}, "not 1 to 5", "below the scale"),
        (WHOLE.replace("2", "null"), {"logical_correctness": 4, "final_score": 3}, "not 1 to 5", "no number"),
        (WHOLE.replace("2", "[2]"), {"logical_correctness": 4, "final_score": 3}, "not 1 to 5", "a list"),
        (WHOLE.replace("2", "2.5"), {"logical_correctness": 4, "final_score": 3}, "not 1 to 5", "between two numbers"),
        (WHOLE.replace("2", "2, \"factuality\": 5"), {"logical_correctness": 4, "final_score": 3}, "more than one", "a key twice"),
        (WHOLE.replace("factuality", "Factuality"), {"logical_correctness": 4, "final_score": 3}, "`factuality`", "another key"),
        (f'{{"ratings": {WHOLE}}}', {}, "no JSON object", "nested in another object"),
        (WHOLE[:-1], {}, "no JSON object", "cut off"),
    ],
)  # fmt: skip
def test_an_answer_that_lacks_one_is_asked_again_and_the_rest_stands(
    tmp_path: Path, answer: str, left: dict[str, int], said: str, why: str
) -> None:
    found, seen = several(tmp_path, answer)
    assert dict(found.values) == left, why
    assert said in found.problem, (why, found)
    assert len(seen) == 3, why
    again = seen[-1].messages[-1].content
    assert "`logical_correctness`, `factuality`, `final_score`" in again


def test_ratings_that_differ_from_answer_to_answer_are_open(tmp_path: Path) -> None:
    lacking = ('{"logical_correctness": 4, "factuality": 2}', '{"logical_correctness": 4, "factuality": 3}')
    found, _ = several(tmp_path, *lacking)
    assert dict(found.values) == {"logical_correctness": 4}


def test_an_answer_read_in_full_counts_by_itself(tmp_path: Path) -> None:
    found, seen = several(tmp_path, '{"factuality": 5}', WHOLE)
    assert (dict(found.values)["factuality"], found.problem, len(seen)) == (2, "", 2)


@given(st.text(alphabet='{}"[]:,12345 finalscorefactuality_\n`~.', max_size=80) | st.text())
def test_no_text_breaks_the_reader_of_several(text: str) -> None:
    answers = _Answers(KEYS, 5)
    found = answers.read(f"{text}\n{WHOLE}", False)
    assert isinstance(found, Problem) or dict(found.values) == {
        "logical_correctness": 4,
        "factuality": 2,
        "final_score": 3,
    }
    answers.read(text, True)
    assert set(answers.agreed("?").values.values()) <= {1, 2, 3, 4, 5}
