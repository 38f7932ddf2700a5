"""Reads answers to the paper's own prompts (see `official`) as these prescribe, and to others that ask for no id.

They know no tag: a judge of theirs can be made to quote a label of the response. That is the paper's protocol, and why
ours is the default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from truebench_hf.judging.grounding.types import RatingLabel
from truebench_hf.judging.loose_json import JsonObject, TooManyObjects, find_objects, strip_invisible
from truebench_hf.judging.signed import CUT_OFF, SignedAnswer, read_signed
from truebench_hf.models.asking import Problem, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Message

T = TypeVar("T")
V = TypeVar("V")
_RATINGS: Mapping[str, RatingLabel] = {"no": "no_issues", "minor": "minor", "major": "major"}
_RATING = re.compile(r"(no|minor|major) issues?(?:\(s\))?", re.IGNORECASE)
_NO_TAG = "\0"
_ORNAMENT = " \t\r\n.*_`\"'“”#()[]"
_SENTENCE = re.compile(r"[\s*_#>-]*sentence\s*(\d{1,4})(\s+label)?[\s*_]*:[\s*_]*(.*)", re.IGNORECASE)


async def ask_as_prescribed(
    caller: Caller, prompts: Prompts, name: str, values: Mapping[str, Any], sampling: Sampling,
    read: Callable[[str], T | Problem], *, long: bool = False, met: Callable[[T], bool] | None = None,
) -> T | Problem:  # fmt: skip
    """What `read` makes of an answer to such a prompt; a `long` one that is cut off is not asked for again.

    `met` says whether it is a yes, for the count of what reading cost.
    """
    asks = 0

    def read_whole(text: str, truncated: bool) -> T | Problem:
        nonlocal asks
        asks += 1
        return Problem(CUT_OFF, final=long) if truncated else read(strip_invisible(text))

    request = ChatRequest((Message("user", prompts.render(name, **values, structured=False)),), sampling)
    value = await ask(caller, request, read_whole, _repair, who="the judge")
    problem = value if isinstance(value, Problem) else Problem("")
    labels = {} if isinstance(value, Problem) else {"answer": value}
    outcomes = [] if met is None else [None if isinstance(value, Problem) else met(value)]
    caller.reading.add(SignedAnswer(labels, asks=asks, failed=problem.failed), {"answer": ()}, outcomes)
    return value


def _repair(problem: str) -> str:
    return f"Your answer cannot be used: {problem}. Answer again, in the form asked for above."


def read_word(text: str, words: Mapping[str, V]) -> V | Problem:
    """The word under `verdict` of a JSON object, else the one that the last line ends in ("Final answer: Accurate")."""
    answer = read_signed(text, _NO_TAG, {"verdict": words}, unsigned=True)
    if "verdict" in answer.labels:
        return answer.labels["verdict"]
    lines = [line for line in text.splitlines() if line.strip(_ORNAMENT)]
    last = lines[-1].rpartition(":")[2].strip(_ORNAMENT).casefold().replace(" ", "_") if lines else ""
    return words[last] if last in words else Problem(f"its last line does not end in {' or '.join(words)}")


def read_objects(text: str) -> list[JsonObject] | Problem:
    """The JSON objects with a sentence of an answer, one a line, in a list, or in an object around them."""
    try:
        found = [made for _, _, made in find_objects(text)]
    except TooManyObjects:
        return Problem("it holds too many braces to be read")
    rows = [row for made in found for row in _rows(made)]
    return rows or Problem("it has no JSON object with a sentence")


def _rows(made: Any) -> list[JsonObject]:
    if isinstance(made, JsonObject) and "sentence" in made:
        return [made]
    inner = made.values() if isinstance(made, JsonObject) else made if isinstance(made, list) else ()
    return [row for value in inner for row in _rows(value)]


def read_lines(text: str) -> list[dict[str, str]] | Problem:
    """The sentences with their labels in lines `Sentence 1: ...` and `Sentence 1 label: ...`, as objects."""
    rows: dict[str, dict[str, str]] = {}
    for match in filter(None, map(_SENTENCE.match, text.splitlines())):
        row = rows.setdefault(match[1], {})
        row["label" if match[2] else "sentence"] = match[3].strip(_ORNAMENT) if match[2] else match[3].strip()
    if not rows or any(len(row) < 2 for row in rows.values()):
        return Problem("it has no sentences with a label each")
    return list(rows.values())


def read_yes_no(text: str) -> bool | Problem:
    """The one word YES or NO that an answer is, ornament aside."""
    return {"yes": True, "no": False}.get(text.strip(_ORNAMENT).casefold(), Problem("it is not YES or NO alone"))


def read_rating(text: str) -> tuple[RatingLabel, str] | Problem:
    """The rating under `Instruction Following` of the last object, and what is said before the object."""
    try:
        objects = [(start, made) for start, _, made in find_objects(text) if "Instruction Following" in made]
    except TooManyObjects:
        objects = []
    rating = _RATING.fullmatch(str(objects[-1][1]["Instruction Following"]).strip()) if objects else None
    if rating is None:
        return Problem('it has no JSON object with one of three ratings under "Instruction Following"')
    return _RATINGS[rating[1].casefold()], re.sub(r"(?:`{3,}|~{3,})\w*\s*\Z", "", text[: objects[-1][0]]).strip()
