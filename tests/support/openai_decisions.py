"""Typed decisions of the test server, in the two shapes in use: `/v1/systemone` and `/v1/decisions`.

Shapes read from transformers 5.23 (`cli/serving/systemone.py`, `decision/template_utils.py`) and openai 3.54
(`types/decision.py`). Every answer is a deterministic function of the state and the question.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .openai_answers import Json, probability, section, share, strings, tokens

MAX_SYSTEMONE = 64
MAX_DECISIONS = 400


class BadRequest(Exception):
    """A request the real server would refuse; the text says why."""


def judged_text(state: Any) -> str:
    """The text under judgment inside `state`: its `response` key or section, or the whole of it."""
    if isinstance(state, dict) and isinstance(state.get("response"), str):
        return str(state["response"])
    text = "\n".join(strings(state))
    return section(text, "response") or text


def _spread(seed: str, question: str, options: Sequence[str]) -> list[float]:
    """Probabilities over `options` that sum to one."""
    weights = [share(seed, question, option) + 0.01 for option in options]
    return [weight / sum(weights) for weight in weights]


def _confidence(probabilities: Sequence[float]) -> float:
    chance = 1 / len(probabilities)
    return 1.0 if len(probabilities) == 1 else max(0.0, (max(probabilities) - chance) / (1 - chance))


def _systemone_answer(text: str, name: str, question: Json) -> Json:
    asked = "\n".join(strings(question.get("instructions"))) or name
    criteria = question.get("criteria")
    match question.get("type"):
        case "noul":
            return {"type": "noul", "noul": probability(text, asked)}
        case "choice" if isinstance(criteria, dict) and criteria:
            by_option = dict(zip(criteria, _spread(text, asked, list(criteria)), strict=True))
            best = max(by_option, key=lambda option: by_option[option])
            confidence = _confidence(list(by_option.values()))
            return {"type": "choice", "choice": best, "confidence": confidence, "probabilities": by_option}
        case "score" if isinstance(criteria, list) and criteria:
            levels = [str(level) for level in range(len(criteria))]
            weights = _spread(text, asked, levels)
            return {
                "type": "score",
                "score": sum(level * weight for level, weight in enumerate(weights)),
                "legend": dict(zip(levels, criteria, strict=True)),
                "confidence": _confidence(weights),
                "probabilities": dict(zip(levels, weights, strict=True)),
            }
    raise BadRequest(f"question {name!r} is not a valid noul, choice or score question")


def systemone(body: Json) -> Json:
    """Answer a System One request: `{model, state, questions: {name: question}, assets?}`.

    Raises BadRequest for what `transformers serve` refuses: missing or unknown fields, no or more than 64 questions.
    """
    extra = set(body) - {"model", "state", "questions", "assets"}
    questions = body.get("questions")
    if extra or "model" not in body or "state" not in body or not isinstance(questions, dict):
        raise BadRequest(f"needs model, state and questions; unknown fields: {sorted(extra)}")
    if not 1 <= len(questions) <= MAX_SYSTEMONE:
        raise BadRequest(f"1 to {MAX_SYSTEMONE} questions, got {len(questions)}")
    text = judged_text(body["state"])
    answers = {name: _systemone_answer(text, name, question) for name, question in questions.items()}
    usage = {"input_tokens": len(questions) * tokens(json.dumps(body["state"])), "output_tokens": 0}
    return {"model": body["model"], "answers": answers, "usage": usage}


def _decision_answer(text: str, question: Json) -> Json:
    asked, name = "\n".join(strings(question.get("instructions"))), question.get("name")
    match question.get("type"):
        case "predicate":
            return {"type": "predicate", "name": name, "probability": probability(text, asked)}
        case "choice":
            values = [choice["value"] for choice in question["choices"]]
            weights = _spread(text, asked, [repr(value) for value in values])
            return {
                "type": "choice",
                "name": name,
                "choice": values[weights.index(max(weights))],
                "confidence": _confidence(weights),
                "probabilities": [
                    {"value": value, "probability": weight} for value, weight in zip(values, weights, strict=True)
                ],
            }
        case "score":
            labels = [level["label"] for level in question["levels"]]
            weights = _spread(text, asked, labels)
            return {
                "type": "score",
                "name": name,
                "score": sum(level * weight for level, weight in enumerate(weights)),
                "confidence": _confidence(weights),
                "probabilities": [
                    {"label": label, "value": level, "probability": weight}
                    for level, (label, weight) in enumerate(zip(labels, weights, strict=True))
                ],
            }
    raise BadRequest(f"question {name!r} is not a predicate, choice or score question")


def decisions(body: Json) -> Json:
    """Answer a Decisions request: `{model, input, questions: [...]}`; answers come in the order of the questions.

    Raises BadRequest without model or input, and for no or more than 400 questions.
    """
    questions = body.get("questions")
    if "model" not in body or "input" not in body or not isinstance(questions, list):
        raise BadRequest("needs model, input and a list of questions")
    if not 1 <= len(questions) <= MAX_DECISIONS:
        raise BadRequest(f"1 to {MAX_DECISIONS} questions, got {len(questions)}")
    text, read = judged_text(body["input"]), tokens(json.dumps(body["input"]))
    try:
        answers = [_decision_answer(text, question) for question in questions]
    except (KeyError, TypeError) as error:
        raise BadRequest(f"a question lacks {error}") from error
    usage = {
        "input_tokens": read,
        "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
        "output_tokens": len(answers),
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + len(answers),
    }
    return {"model": body["model"], "answers": answers, "usage": usage}
