"""Ratings and other single choices: stated once, or asked for again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from truebench_hf.data.judged import Case
from truebench_hf.engine.ledger import Calls
from truebench_hf.judging.ratings import ask_ratings, rate
from truebench_hf.judging.signed import SignedAnswer
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.models.scripted import ScriptedModel
from truebench_hf.prompts import Prompts, sections
from truebench_hf.types import Criterion


def test_a_rating_is_asked_with_and_without_a_checklist(tmp_path: Path) -> None:
    seen: list[ChatRequest] = []

    def reply(request: ChatRequest) -> str:
        seen.append(request)
        return '{"reason": "fine", "rating": 9}'

    caller = Caller(ScriptedModel("x", reply), Calls(tmp_path / "ledger.sqlite"), "judge", 1)
    bare, listed = Case("Q", "A", ()), Case("Q", "A", (Criterion("Is it short?"),))
    of_ten = asyncio.run(rate(SchemaFallback(caller), listed, Prompts(), 10))
    assert (of_ten.value, of_ten.reason) == (9, "fine")
    assert "Is it short?" in seen[0].messages[0].content
    of_five = asyncio.run(rate(SchemaFallback(caller), bare, Prompts(), 5))
    assert of_five.value is None, "9 of 5 is no rating, however often it is given"
    assert "not 1" in of_five.reason
    assert "checklist" not in seen[1].messages[0].content
    assert len(seen) == 1 + 3
    with pytest.raises(ValueError, match="scale"):
        asyncio.run(rate(SchemaFallback(caller), bare, Prompts(), 7))


KEYS = ("logical_correctness", "factuality", "final_score")
SKILLS = [{"name": key, "key": key, "levels": ["..."] * 5} for key in KEYS[:2]]
WHOLE = '{"logical_correctness": 4, "factuality": 2, "final_score": 3}'


def several(tmp_path: Path, *answers: str) -> tuple[SignedAnswer[int], list[ChatRequest]]:
    """What comes of a judge that answers so, one answer after the other; and what it was asked."""
    seen: list[ChatRequest] = []

    def reply(request: ChatRequest) -> str:
        seen.append(request)
        return answers[min(len(seen), len(answers)) - 1]

    caller = Caller(ScriptedModel("x", reply), Calls(tmp_path / "ledger.sqlite"), "judge", 1)
    values = {**sections(Case("Q", "A", ())), "turns": 1, "skills": SKILLS}
    found = asyncio.run(ask_ratings(SchemaFallback(caller, "off"), Prompts(), "rating_skills", values, KEYS, 5))
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
    assert dict(found.labels) == {"logical_correctness": 4, "factuality": 2, "final_score": 3}, why
    assert len(seen) == 1, why


@pytest.mark.parametrize(
    ("answer", "left", "said", "why"),
    [
        ("4 2 3", {}, "no JSON object", "bare numbers may be anything"),
        (f"{WHOLE}\nFinal score: 5", {}, "behind", "taken back"),
        (WHOLE.replace("2", "6"), {"logical_correctness": 4, "final_score": 3}, "not 1", "beyond the scale"),
        (WHOLE.replace("2", "null"), {"logical_correctness": 4, "final_score": 3}, "not 1", "no number"),
        (WHOLE.replace("2", '2, "factuality": 5'), {}, "2 times", "who gives a key twice is unreliable"),
        (WHOLE.replace("factuality", "facts"), {"logical_correctness": 4, "final_score": 3}, "missing", "another key"),
    ],
)
def test_an_answer_that_lacks_one_is_asked_again_and_the_rest_stands(
    tmp_path: Path, answer: str, left: dict[str, int], said: str, why: str
) -> None:
    found, seen = several(tmp_path, answer)
    assert dict(found.labels) == left, why
    assert said in found.problem, (why, found)
    assert len(seen) == 3, why
    assert "logical_correctness, factuality, final_score" in seen[-1].messages[-1].content


def test_ratings_that_differ_from_answer_to_answer_are_open(tmp_path: Path) -> None:
    lacking = ('{"logical_correctness": 4, "factuality": 2}', '{"logical_correctness": 4, "factuality": 3}')
    found, _ = several(tmp_path, *lacking)
    assert dict(found.labels) == {"logical_correctness": 4}
