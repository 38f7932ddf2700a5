"""What the OpenAI-compatible test server answers: pure functions, the same request always gets the same answer.

Typed decisions come in the two shapes in use, `/v1/systemone` and `/v1/decisions`, read from transformers 5.23
(`cli/serving/systemone.py`) and openai 3.54 (`types/decision.py`); yes or no alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

PASS_SHARE = 0.8


@dataclass(frozen=True)
class JudgePrompt:
    """The parts of a judge prompt that settle its verdicts."""

    response: str
    criteria: tuple[str, ...]
    tag: str = ""  # signs the answer


def share(*parts: str) -> float:
    """A number in [0, 1) that looks random and depends on `parts` alone."""
    digest = hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def passes(response: str, criterion: str) -> bool:
    """The verdict the server gives on `criterion` for `response`: true for about 80 % of the pairs."""
    return share(response.strip(), criterion.strip()) < PASS_SHARE


def probability(response: str, criterion: str) -> float:
    """P(yes) of the same verdict: above 0.5 exactly when `passes`, and spread over the whole of (0, 1)."""
    value = share(response.strip(), criterion.strip())
    if value < PASS_SHARE:
        return 1.0 - 0.499 * value / PASS_SHARE
    return 0.499 * (1.0 - value) / (1.0 - PASS_SHARE)


def strings(value: Any) -> Iterator[str]:
    """Every string value inside parsed JSON, depth first."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def section(text: str, tag: str) -> str | None:
    """The body of the last `<tag...>` ... `</tag...>` pair in `text`, whatever suffix both tags carry."""
    for close in reversed(list(re.finditer(rf"</{tag}([^>\s]*)>", text))):
        opening = f"<{tag}{close[1]}>"
        begin = text.rfind(opening, 0, close.start())
        if begin >= 0:
            return text[begin + len(opening) : close.start()]
    return None


def numbered(text: str) -> tuple[str, ...]:
    """The lines `1. ...`, `2. ...` of `text` in order; a number out of sequence belongs to the item above."""
    found: list[str] = []
    for match in re.finditer(r"^[ \t]*(\d+)\.[ \t]+(.*\S)", text, re.MULTILINE):
        if int(match[1]) == len(found) + 1:
            found.append(match[2])
    return tuple(found)


def judge_prompt(messages: Sequence[Json]) -> JudgePrompt | None:
    """The judge prompt in the conversation, or None: the last user message with numbered criteria, so that a judge
    asked again in a follow-up message still answers the original question."""
    for message in reversed(messages):
        text = "\n".join(strings(message.get("content")))
        if message.get("role") == "user" and "<criteria" in text:
            criteria = numbered(section(text, "criteria") or "")
            if criteria:
                tag = re.search(r'"id", which is "(\w+)"', text)
                return JudgePrompt((section(text, "response") or "").strip(), criteria, tag[1] if tag else "")
    return None


def judge_answer(prompt: JudgePrompt, schema: Json | None = None) -> str:
    """A numbered line of reasoning per criterion and a fenced JSON object; with `schema`, bare JSON that fits it."""
    verdicts = [passes(prompt.response, criterion) for criterion in prompt.criteria]
    if schema is not None:
        return json.dumps(_fill(schema, schema, verdicts, 0))
    lines = [
        f"{number}. The response {'meets' if ok else 'does not meet'} this criterion."
        for number, ok in enumerate(verdicts, 1)
    ]
    signature = {"id": prompt.tag} if prompt.tag else {}
    labels = signature | {f"criteria_{number}": "PASS" if ok else "FAIL" for number, ok in enumerate(verdicts, 1)}
    return "\n".join([*lines, "", "```json", json.dumps(labels), "```"])


def _fill(schema: Json, root: Json, verdicts: Sequence[bool], number: int) -> Any:
    """A value that fits `schema`; `number` is the criterion in whose part of the schema we are (0 = none yet)."""
    if "$ref" in schema:
        target: Any = root
        for key in schema["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        return _fill(target, root, verdicts, number)
    ok = verdicts[number - 1] if 0 < number <= len(verdicts) else True
    if "enum" in schema or "const" in schema:
        options = schema.get("enum", [schema.get("const")])
        wanted = ("pass", "yes", "true") if ok else ("fail", "no", "false")
        return next((option for option in options if str(option).casefold() in wanted), options[0])
    if "properties" in schema:
        value = {}
        for key, part in schema["properties"].items():
            digits = re.search(r"(\d+)$", key)
            value[key] = _fill(part, root, verdicts, int(digits[1]) if digits else number)
        return value
    if schema.get("type") == "array":
        return [_fill(schema["items"], root, verdicts, position) for position in range(1, len(verdicts) + 1)]
    if "minimum" in schema and "maximum" in schema:
        return schema["minimum"] + number % (schema["maximum"] - schema["minimum"] + 1)
    by_type = {"boolean": ok, "integer": number, "number": probability("", str(number)), "object": {}, "null": None}
    return by_type.get(schema.get("type", "string"), f"Criterion {number} is {'met' if ok else 'not met'}.")


def plain_answer(body: Json) -> str:
    """A short answer to the last user message that depends on the model's name and the whole conversation.

    Where that asks for a checklist, a checklist.
    """
    messages = body.get("messages", [])
    last = " ".join(strings(messages[-1].get("content") if messages else ""))
    if last.endswith("Questions:\none question a line"):
        return "Analysis: plain.\nQuestions:\nIs it to the point?\nIs it polite?"
    words = last.split()
    return f"Answer {int(share(str(body.get('model')), *strings(messages)) * 10**6):06d}: {' '.join(words[:12])}."


def chat_text(body: Json, prompt: JudgePrompt | None) -> str:
    """The content of the chat answer; a `json_schema` response format is obeyed."""
    wanted = body.get("response_format") or {}
    schema = wanted["json_schema"]["schema"] if wanted.get("type") == "json_schema" else None
    if prompt is None and schema is None:
        return plain_answer(body)
    return judge_answer(prompt or JudgePrompt("", ()), schema)


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
