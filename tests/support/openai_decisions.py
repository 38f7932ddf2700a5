"""Typed decisions of the test server, in the two shapes in use: `/v1/systemone` and `/v1/decisions`; yes or no alone.

Shapes read from transformers 5.23 (`cli/serving/systemone.py`) and openai 3.54 (`types/decision.py`). Every answer is a
deterministic function of the state and the question.
"""

from __future__ import annotations

import json
from typing import Any

from .openai_answers import Json, probability, section, strings, tokens

MOST = {"noul": 64, "predicate": 400}  # questions of a request


class BadRequest(Exception):
    """A request the real server would refuse; the text says why."""


def systemone(body: Json) -> Json:
    """Answer `{model, state, questions: {name: question}, assets?}`. Raises BadRequest for what `transformers serve` refuses."""
    questions = body.get("questions")
    if extra := set(body) - {"model", "state", "questions", "assets"}:
        raise BadRequest(f"unknown fields: {sorted(extra)}")
    if "model" not in body or "state" not in body or not isinstance(questions, dict):
        raise BadRequest("needs model, state and questions")
    shares = _shares(body["state"], questions, "noul")
    usage = {"input_tokens": len(questions) * tokens(json.dumps(body["state"])), "output_tokens": 0}
    answers = {name: {"type": "noul", "noul": share} for name, share in shares.items()}
    return {"model": body["model"], "answers": answers, "usage": usage}


def decisions(body: Json) -> Json:
    """Answer `{model, input, questions: [...]}`, in the order of the questions. Raises BadRequest."""
    questions = body.get("questions")
    if "model" not in body or "input" not in body or not isinstance(questions, list):
        raise BadRequest("needs model, input and a list of questions")
    shares = _shares(body["input"], dict(enumerate(questions)), "predicate")
    answers = [
        {"type": "predicate", "name": question.get("name"), "probability": share}
        for question, share in zip(questions, shares.values(), strict=True)
    ]
    read = tokens(json.dumps(body["input"]))
    usage = {
        "input_tokens": read, "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
        "output_tokens": len(answers), "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + len(answers),
    }  # fmt: skip
    return {"model": body["model"], "answers": answers, "usage": usage}


def _shares(state: Any, questions: dict[Any, Json], kind: str) -> dict[Any, float]:
    """P(yes) of every question on the response in a state, or on the whole of it."""
    if not 1 <= len(questions) <= MOST[kind]:
        raise BadRequest(f"1 to {MOST[kind]} questions, got {len(questions)}")
    if any(question.get("type") != kind for question in questions.values()):
        raise BadRequest(f"a question is no {kind}")
    text = "\n".join(strings(state))
    text = section(text, "response") or text
    if isinstance(state, dict) and isinstance(state.get("response"), str):
        text = state["response"]
    return {
        name: probability(text, "\n".join(strings(question.get("instructions"))) or str(name))
        for name, question in questions.items()
    }
