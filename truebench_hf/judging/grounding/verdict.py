"""One verdict on an answer or a span, read as hostile text: in a closing JSON object, or alone on the first or last line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from truebench_hf.judging.choice import read_choice
from truebench_hf.judging.grounding.entries import json_objects, quotes_of
from truebench_hf.judging.words import visible
from truebench_hf.models.asking import Problem
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.types import Message

V = TypeVar("V")
ACCURATE: Mapping[str, bool] = {"accurate": True, "inaccurate": False}
ATTEMPTED: Mapping[str, str] = {word: word for word in ("accurate", "inaccurate", "not_attempted")}
KEY = "verdict"
_ALONE = r"(?:(?:the |my )?(?:final )?(?:answer|verdict|label|judge?ment|classification)\s*(?:is|:)?\s*)?"
_SUBJECT = r"(?:(?:therefore|thus|hence|so|overall|in conclusion)\W+)?(?:the )?(?:response|answer|span(?: \d+)?) is "
# What takes back an "Accurate" that was said first: "But the last sentence is not supported."
_RESTRICTS = re.compile(
    r"(?:^|[.!?;]\s+)(?:but|however|except|although|though|yet|unfortunately|wait)\b|\b(?:unsupported|ungrounded)\b"
    r"|\b(?:not|cannot|can't|never|isn't|aren't)\s+(?:be\s+|fully\s+|entirely\s+|all\s+)*(?:supported|verified|grounded|borne|found|stated)\b",
    re.IGNORECASE,
)
_ORNAMENT = re.compile(r"[*`\"'“”]+|(?<!\w)_+|_+(?!\w)|#+ ")


@dataclass(frozen=True, slots=True)
class Stated(Generic[V]):
    """A verdict with what was said for it and what was quoted from the source."""

    value: V
    reason: str
    quotes: tuple[str, ...] = ()


def read_verdict(text: str, words: Mapping[str, V]) -> Stated[V] | Problem:
    """The value of the one word that an answer states. Never raises.

    Without a JSON object the word counts where it stands alone on the first or last line ("Final answer: Accurate", as the
    paper's own templates have it), no other of the words occurs anywhere, and nothing behind an "Accurate" restricts it.
    """
    text = visible(text)
    found = json_objects(text)
    objects = [] if isinstance(found, Problem) else [made for _, _, made in found]
    if not any(key == KEY for made in objects for key, _ in made):
        return _in_prose(text, words) if "{" not in text else Problem(f"it has no JSON object with the key `{KEY}`")
    if any(sum(key == KEY for key, _ in made) > 1 for made in objects):
        return Problem(f"one object has more than one `{KEY}`")
    choice = read_choice(text, KEY, words)
    if isinstance(choice, Problem):
        return choice
    concluded = re.findall(rf"(?:response|answer|span)\W+is\W+(?:\w+ly\W+)?({'|'.join(words)})\b", choice.reason, re.I)
    if concluded and words[concluded[-1].casefold()] != choice.value:
        return Problem("its reason comes to another verdict")
    quotes = [one for key, value in objects[-1] if key in ("excerpts", "excerpt") for one in quotes_of(value)]
    return Stated(choice.value, choice.reason, tuple(quotes))


def _in_prose(text: str, words: Mapping[str, V]) -> Stated[V] | Problem:
    plain = _ORNAMENT.sub("", text)
    offered = "|".join(re.escape(word).replace("_", "[ _]") for word in words)
    lines = [line.strip(" \t.!:") for line in plain.splitlines() if line.strip(" \t.!:")]
    stated = [
        match.group(1)
        for line in {*lines[:1], *lines[-1:]}
        if (match := re.fullmatch(rf"(?:{_ALONE}|{_SUBJECT})({offered})", line, re.IGNORECASE))
    ]
    said = {_folded(word) for word in re.findall(rf"\b({offered})\b", plain, re.IGNORECASE)}
    if not stated:
        return Problem(f"it has no JSON object with the key `{KEY}`")
    if len(said) > 1 or re.search(rf"(?:\bnot|n't)\s+(?:\w+\s+)?(?:{offered})\b", plain, re.IGNORECASE):
        return Problem("it can be read as more than one verdict")
    word = _folded(stated[0])
    closes = re.fullmatch(rf"(?:{_ALONE}|{_SUBJECT})({offered})", lines[-1], re.IGNORECASE) is not None
    if word == "accurate" and not closes and any(map(_RESTRICTS.search, lines[1:])):
        return Problem("what follows its verdict restricts it")
    return Stated(words[word], text.strip())


def _folded(word: str) -> str:
    return word.casefold().replace(" ", "_")


def verdict_request(
    text: str, words: Mapping[str, Any], structured: bool, sampling: Sampling, quoting: bool = False
) -> ChatRequest:
    """A request for one of `words` under the key `verdict`, with `excerpts` where they are asked for."""
    reason = "The response claims this, and the document says so in its second part. " * (3 if quoting else 9)
    word = next(iter(words))
    quoted = '"excerpts": ["The document says so in its second part."], ' if quoting else ""
    closing = f'{quoted}"verdict": "{word}"'
    example = f'{{"reason": "{reason}", {closing}}}' if structured else f"{reason}\n```json\n{{{closing}}}\n```"
    fields: dict[str, Any] = {"reason": {"type": "string"}}
    if quoting:
        fields["excerpts"] = {"type": "array", "items": {"type": "string"}}
    fields[KEY] = {"type": "string", "enum": list(words)}
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return ChatRequest((Message("user", text),), sampling, schema=schema if structured else None, example=example)


def again(problem: str, words: Mapping[str, Any]) -> str:
    """The message that asks again for one of `words`."""
    return (
        f"Your answer cannot be used: {problem}. Decide again, in the form asked for above, and give the verdict once: "
        f"{' or '.join(words)}, under the key `{KEY}` of one JSON object at the end."
    )
