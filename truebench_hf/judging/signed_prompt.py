"""Asking one prompt whose answer is signed: its schema, and an answer of the usual form, follow from the labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from truebench_hf.judging.signed import ID, Labels, ListOf, SignedAnswer, signed_schema
from truebench_hf.judging.signed_asking import ask_signed, texts_of
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Message

L = TypeVar("L")
Entries = Mapping[str, tuple[Mapping[str, Any], Any]]  # key -> (its JSON schema, an example of its value)
TEXTS: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}


async def ask_by_prompt(
    schemas: SchemaFallback, prompts: Prompts, name: str, values: Mapping[str, Any], labels: Labels[L], *,
    sampling: Sampling, sample: int = 0, reason: str = "", entries: Entries | None = None,
    check: Callable[[SignedAnswer[L]], str] = lambda answer: "", long: bool = False,
    met: Callable[[SignedAnswer[L]], bool] | None = None,
) -> SignedAnswer[L]:  # fmt: skip
    """The answer to the prompt of that name, filled with `values` (its `tag` among them); see `ask_signed`.

    `reason` is how a reason reads; "" where none is asked for. `entries` are further keys of the object, which come
    before those of `labels`, or say of one of these what it looks like. A `long` answer is not asked for again where it
    is cut off.
    Raises what `Caller.complete` raises, but for a request that failed.
    """
    tag, forms = str(values["tag"]), dict(entries or {})
    forms |= {key: _form(words) for key, words in labels.items() if key not in forms}

    def request(structured: bool) -> ChatRequest:
        text = prompts.render(name, **values, structured=structured)
        schema = _schema(tag, bool(reason), {key: form for key, (form, _) in forms.items()}) if structured else None
        example = _example(tag, reason, {key: value for key, (_, value) in forms.items()}, structured)
        return ChatRequest((Message("user", text),), sampling, sample, schema, example=example)

    return await schemas.ask(
        request,
        lambda made: ask_signed(
            schemas.caller, made, tag, labels, prompts, material=[*texts_of(values)], check=check, long=long, met=met
        ),
    )


def problem_of(value: object) -> str:
    """What is wrong with what was made of an answer; "" where nothing is."""
    return value.text if isinstance(value, Problem) else ""


def _schema(tag: str, reason: bool, forms: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON schema of the object; definitions that a form refers to stand at its root."""
    definitions = {name: value for form in forms.values() for name, value in form.get("$defs", {}).items()}
    properties = {key: {name: value for name, value in form.items() if name != "$defs"} for key, form in forms.items()}
    schema = signed_schema(tag, ({"reason": {"type": "string"}} if reason else {}) | properties)
    return schema | ({"$defs": definitions} if definitions else {})


def _example(tag: str, reason: str, values: Mapping[str, Any], structured: bool) -> str:
    """An answer of the usual form and length (see `ChatRequest.example`)."""
    if structured:
        return json.dumps({ID: tag, **({"reason": reason} if reason else {}), **values})
    return f"{reason}\n```json\n{json.dumps({ID: tag, **values})}\n```"


def _form(words: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """The JSON schema of a key with these words on offer, and the first of them."""
    if isinstance(words, ListOf):
        return {"type": "array", "items": {"type": "string", "enum": [*words]} if words else {}}, []
    named = [
        json.loads(word) if word in ("true", "false") or word.isdigit() else word for word in words if word != "null"
    ]
    form: dict[str, Any] = {"enum": named}
    if all(isinstance(value, bool) for value in named):
        form = {"type": "boolean"}
    elif all(isinstance(value, int) for value in named):
        form = {"type": "integer", "minimum": min(named), "maximum": max(named)}
    elif all(isinstance(value, str) for value in named):
        form = {"type": "string", "enum": named}
    return ({"anyOf": [form, {"type": "null"}]} if "null" in words else form), named[0]
