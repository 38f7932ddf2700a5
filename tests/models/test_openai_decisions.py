"""Typed yes/no questions at the two endpoints for them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.openai_answers import probability
from tests.support.openai_client import decide, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.models.protocol import DecisionRequest


@pytest.mark.parametrize(("kind", "path", "size"), [("systemone", "systemone", 64), ("decisions", "decisions", 400)])
def test_both_decision_endpoints(server: OpenAIServer, kind: str, path: str, size: int) -> None:
    questions = tuple(f"Question {i}?" for i in range(size + 1))
    decision = decide(open_at(server.url, decisions=kind), DecisionRequest("The state.", questions))
    expected = [probability("The state.", question) for question in questions]
    assert list(decision.probabilities) == pytest.approx(expected), "in order, across two requests"
    assert server.stats()["by_path"] == {f"/v1/{path}": 2}
    assert decision.usage.calls == 2
    assert decision.usage.input_tokens > 0


def test_a_server_of_ones_own_is_asked_at_systemone(server: OpenAIServer) -> None:
    decide(open_at(server.url), DecisionRequest("s", ("q",)))
    assert server.stats()["by_path"] == {"/v1/systemone": 1}


@pytest.mark.parametrize(
    ("kind", "answers", "expected", "reason"),
    [
        ("systemone", {"criteria_2": {"type": "noul", "noul": 0.25}}, (None, 0.25), "one answer is missing"),
        ("systemone", {"criteria_1": {"type": "refusal"}, "criteria_2": {"noul": 1}}, (None, 1.0), "one was refused"),
        ("systemone", {"criteria_1": {"noul": 1.5}, "criteria_2": {"noul": True}}, (None, None), "no probabilities"),
        ("systemone", {"criteria_1": {"noul": float("nan")}, "criteria_2": "yes"}, (None, None), "no numbers"),
        ("decisions", [{"name": "criteria_2", "probability": 0.25}], (None, 0.25), "the first is left out"),
        (
            "decisions",
            [{"name": "criteria_2", "probability": 0.1}, {"name": "criteria_1", "probability": 0.9}],
            (0.9, 0.1),
            "answers are matched by name",
        ),
        ("decisions", [{"name": "criteria_1", "type": "refusal"}, None], (None, None), "a refusal and a null"),
    ],
)
def test_a_question_without_a_probability_is_declined(
    server: OpenAIServer, kind: str, answers: Any, expected: tuple[float | None, ...], reason: str
) -> None:
    server.add_faults([{"body": {"answers": answers, "usage": None}}])
    decision = decide(open_at(server.url, decisions=kind), DecisionRequest("s", ("first?", "second?")))
    assert decision.probabilities == expected, reason


@pytest.mark.parametrize("kind", ["systemone", "decisions"])
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"error": {"message": "upstream failed"}}, "an error sent with status 200"),
        ({"error": {"message": "upstream failed"}, "answers": {"criteria_1": {"noul": 0.0}}}, "beside an answer"),
        ({}, "nothing"),
        ({"answers": None}, "null"),
        ({"answers": {}}, "an empty object"),
        ({"answers": []}, "an empty list"),
        ({"answers": "yes"}, "a text"),
        ({"answers": {"criteria_9": {"noul": 0.0}}}, "an object with a name that was not asked"),
        ({"answers": [{"name": "criteria_9", "probability": 0.0}, {"name": ["criteria_1"]}, 1]}, "a list with others"),
    ],
)
def test_a_body_that_answers_nothing_is_no_refusal_but_asked_again(
    server: OpenAIServer, kind: str, body: Any, reason: str
) -> None:
    server.add_faults([{"body": body}])
    decision = decide(open_at(server.url, decisions=kind), DecisionRequest("s", ("q",)))
    assert decision.probabilities == (pytest.approx(probability("s", "q")),), reason
    assert server.stats()["total"] == 2, reason
