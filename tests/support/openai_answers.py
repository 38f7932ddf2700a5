"""What the OpenAI-compatible test server answers: pure functions, the same request always gets the same answer.

Typed decisions come in the two shapes in use, `/v1/systemone` and `/v1/decisions`, read from transformers 5.23
(`cli/serving/systemone.py`) and openai 3.54 (`types/decision.py`); yes or no alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from truebench_hf.models.scripted import verdicts

Json = dict[str, Any]


def probability(*parts: str) -> float:
    """A number in [0, 1) that looks random and depends on `parts` alone: P(yes) on a state and a question."""
    digest = hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def strings(value: Any) -> Iterator[str]:
    """Every string value inside parsed JSON, depth first."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def judge_prompt(messages: Sequence[Json]) -> str | None:
    """The last user message with numbered criteria: a judge that is asked again still answers the original question."""
    users = (message for message in reversed(messages) if message.get("role") == "user")
    texts = ("\n".join(strings(message.get("content"))) for message in users)
    return next((text for text in texts if criteria_of(text)), None)


def criteria_of(prompt: str) -> list[str]:
    """The criteria that a judge's prompt shows."""
    sections = re.findall(r"<criteria[^>]*>\n(.*?)\n</criteria", prompt, re.DOTALL)
    return re.findall(r"^[ \t]*\d+\. (.*)$", sections[-1] if sections else "", re.MULTILINE)


def fitting(schema: Json, root: Json) -> Any:
    """A value that fits a JSON schema, with PASS, yes or true where there is a choice."""
    if "$ref" in schema:
        target: Any = root
        for key in schema["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        return fitting(target, root)
    if "enum" in schema or "const" in schema:
        options = schema.get("enum", [schema.get("const")])
        return next((option for option in options if str(option).casefold() in ("pass", "yes", "true")), options[0])
    if "properties" in schema:
        return {key: fitting(part, root) for key, part in schema["properties"].items()}
    if schema.get("type") == "array":
        return [fitting(schema["items"], root)]
    by_type = {"boolean": True, "integer": schema.get("minimum", 1), "number": 0.5, "object": {}, "null": None}
    return by_type.get(schema.get("type", "string"), "It is met.")


def plain_answer(body: Json) -> str:
    """A short answer to the last user message that depends on the model's name and the whole conversation.

    Where that asks for a checklist, a checklist.
    """
    messages = body.get("messages", [])
    last = " ".join(strings(messages[-1].get("content") if messages else ""))
    if last.endswith("Questions:\none question a line"):
        return "Analysis: plain.\nQuestions:\nIs it to the point?\nIs it polite?"
    words = last.split()
    return f"Answer {int(probability(str(body.get('model')), *strings(messages)) * 10**6):06d}: {' '.join(words[:12])}."


def chat_text(body: Json, prompt: str | None) -> str:
    """The content of the chat answer: of a judge on a prompt, four fifths of the criteria pass.

    A `json_schema` response format is obeyed.
    """
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        schema = wanted["json_schema"]["schema"]
        return json.dumps(fitting(schema, schema))
    if prompt is None:
        return plain_answer(body)
    return verdicts(prompt, {text: "PASS" if probability(text) < 0.8 else "FAIL" for text in criteria_of(prompt)})


def tokens(text: str) -> int:
    """A stand-in for a token count: one per four characters, at least one."""
    return max(1, len(text) // 4)


def chat_usage(body: Json, message: Json) -> Json:
    """The `usage` object of a chat completion."""
    prompt = sum(tokens(text) for item in body.get("messages", []) for text in strings(item.get("content")))
    reasoning = tokens(message["reasoning_content"]) if message.get("reasoning_content") else 0
    completion = tokens(message.get("content") or "") + reasoning
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


MOST = {"noul": 64, "predicate": 400}  # questions of a request


class BadRequest(Exception):
    """A request the real server would refuse; the text says why."""


def systemone(body: Json) -> Json:
    """Answer `{model, state, questions: {name: question}, assets?}`. Raises BadRequest for what `transformers serve` refuses."""
    if extra := set(body) - {"model", "state", "questions", "assets"}:
        raise BadRequest(f"unknown fields: {sorted(extra)}")
    shares = _shares(body["state"], body["questions"], "noul")
    usage = {"input_tokens": len(shares) * tokens(json.dumps(body["state"])), "output_tokens": 0}
    answers = {name: {"type": "noul", "noul": share} for name, share in shares.items()}
    return {"model": body["model"], "answers": answers, "usage": usage}


def decisions(body: Json) -> Json:
    """Answer `{model, input, questions: [...]}`, in the order of the questions. Raises BadRequest."""
    shares = _shares(body["input"], dict(enumerate(body["questions"])), "predicate")
    answers = [
        {"type": "predicate", "name": question.get("name"), "probability": share}
        for question, share in zip(body["questions"], shares.values(), strict=True)
    ]
    read = tokens(json.dumps(body["input"]))
    usage = {
        "input_tokens": read, "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
        "output_tokens": len(answers), "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + len(answers),
    }  # fmt: skip
    return {"model": body["model"], "answers": answers, "usage": usage}


def _shares(state: Any, questions: dict[Any, Json], kind: str) -> dict[Any, float]:
    """P(yes) of every question on a state."""
    if not 1 <= len(questions) <= MOST[kind]:
        raise BadRequest(f"1 to {MOST[kind]} questions, got {len(questions)}")
    if any(question.get("type") != kind for question in questions.values()):
        raise BadRequest(f"a question is no {kind}")
    text = "\n".join(strings(state))
    return {name: probability(text, "\n".join(strings(q.get("instructions")))) for name, q in questions.items()}
