"""Three facts on a requirement in a conversation, and the tri-valued verdict they make (paper 001, section 3.1)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.judging.choice import Choice, read_choice
from truebench_hf.models.asking import CUT_OFF, Problem, SchemaFallback, ask
from truebench_hf.models.protocol import ChatRequest, DecisionRequest, Sampling
from truebench_hf.prompts import Prompts, fence
from truebench_hf.types import Label, Message

PROMPTS = ("tri_valued",)
_YES_NO: dict[str, bool | None] = {"yes": True, "no": False, "true": True, "false": False}
_MAYBE: dict[str, bool | None] = _YES_NO | {"null": None}
# What a judge that gives probabilities is asked of one requirement.
_QUESTIONS = (
    "Does this requirement apply to the conversation: {}",
    "Did the assistant do what this requirement is about, well or badly: {}",
    "Did the assistant do entirely what this requirement says: {}",
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A question on a conversation, when it applies, and the excerpts of the instruction that it comes from.

    `measured` is what programs counted for it in the messages, each by its number.
    """

    question: str
    condition: str = ""
    excerpts: str = ""
    measured: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a judge found of a requirement in a conversation; None where it settled nothing, and `reason` says why.

    What does not apply has nothing attempted, and what was not attempted nothing correct: then these are None, too.
    `turn` is the number (from 1) of the message that shows it.
    """

    applies: bool | None
    attempted: bool | None = None
    correct: bool | None = None
    reason: str = ""
    turn: int | None = None


def verdict(facts: Facts, *, base: bool) -> Label | None:
    """Equation 2: the verdict on a requirement; `base`: it is a base action, which others depend on, or in no group.

    What does not apply is unknown. A base action that was skipped is unknown, that is not attempted: said to be "no" it
    would count as covered. A branch that was left out although its condition held is no.
    """
    if facts.applies is False:
        return "unknown"
    if facts.applies is None or facts.attempted is None:
        return None
    if not facts.attempted:
        return "unknown" if base else "no"
    return None if facts.correct is None else "yes" if facts.correct else "no"


async def establish(
    schemas: SchemaFallback, messages: Sequence[Message], one: Requirement, prompts: Prompts, *,
    knowledge: str = "", clash: str = "", sampling: Sampling = Sampling(max_tokens=8192),
) -> Facts:  # fmt: skip
    """The facts that a judge states in writing. `clash` is a requirement that excludes this one, both found to apply.

    An answer whose facts contradict each other, or that names a message that is not there, is asked again.
    """
    values = shown(messages, one, knowledge, clash)

    def request(structured: bool) -> ChatRequest:
        text = prompts.render("tri_valued", **values, structured=structured)
        schema = _SCHEMA if structured else None
        return ChatRequest((Message("user", text),), sampling, 0, schema, example=_example(structured))

    def read(text: str, truncated: bool) -> Facts | Problem:
        return Problem(CUT_OFF) if truncated else read_facts(text, len(messages))

    found = await schemas.ask(request, lambda made: ask(schemas.caller, made, read, _repair, who="the judge"))
    return Facts(None, reason=found.text) if isinstance(found, Problem) else found


async def decide(
    schemas: SchemaFallback, messages: Sequence[Message], requirements: Sequence[Requirement], prompts: Prompts, *,
    knowledge: str = "", threshold: float = 0.5,
) -> list[Facts]:  # fmt: skip
    """The facts from the probabilities of a judge that writes nothing, each yes from `threshold` on.

    All requirements are asked in one request: a judge in this process reads the conversation once.
    """
    every = [text for one in requirements for text in (_told(one), one.measured)]
    values = shown(messages, Requirement(""), knowledge, "", beside=every)
    figures = {"measured": any(one.measured for one in requirements)}
    state = prompts.render(
        "tri_valued_state", **figures | {name: values[name] for name in ("conversation", "knowledge", "tag")}
    )
    told = [
        _told(one) + (f" (measured_{values['tag']}: {one.measured})" if one.measured else "") for one in requirements
    ]
    questions = tuple(text.format(one) for one in told for text in _QUESTIONS)
    try:
        shares = (await schemas.caller.decide(DecisionRequest(state, questions))).probabilities
    except RequestFailed as error:
        return [Facts(None, reason=f"the judge gave no answer: {error}")] * len(requirements)
    step = len(_QUESTIONS)
    return [_decided(shares[place : place + step], threshold) for place in range(0, len(shares), step)]


def _told(one: Requirement) -> str:
    """A requirement in one line, with its condition."""
    condition = f" (It applies only where this came true: {' '.join(one.condition.split())})" if one.condition else ""
    return " ".join(one.question.split()) + condition


def _decided(shares: Sequence[float | None], threshold: float) -> Facts:
    told = ", ".join(
        f"P({name}) = {'declined' if share is None else f'{share:.3f}'}"
        for name, share in zip(("applies", "attempted", "correct"), shares, strict=True)
    )
    applies, attempted, correct = (None if share is None else share >= threshold for share in shares)
    if not applies:
        return Facts(applies, reason=told)
    return Facts(applies, attempted, correct if attempted else None, told)


def read_facts(text: str, count: int) -> Facts | Problem:
    """The facts of an answer on a conversation of `count` messages. Never raises."""
    turns: dict[str, int | None] = {str(number): number for number in range(1, count + 1)} | {"null": None}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("applies", _YES_NO), ("attempted", _MAYBE), ("correct", _MAYBE), ("turn", turns)
    ]  # fmt: skip
    found: dict[str, Choice[Any]] = {}
    for key, words in asked:
        said = read_choice(text, key, words)
        if isinstance(said, Problem):
            return said
        found[key] = said
    applies, attempted, correct, turn = (found[key].value for key, _ in asked)
    if not applies and (attempted or correct):
        return Problem("it says that the requirement does not apply, and also that it was attempted or correct")
    if applies and attempted is None:
        return Problem("it says that the requirement applies, and not whether it was attempted")
    if attempted and correct is None:
        return Problem("it says that the requirement was attempted, and not whether correctly")
    if not attempted and correct:
        return Problem("it says that the requirement was not attempted, and also that it was done correctly")
    reason = found["applies"].reason
    return Facts(applies, attempted if applies else None, correct if attempted else None, reason, turn)


def shown(
    messages: Sequence[Message], one: Requirement, knowledge: str, clash: str, beside: Sequence[str] = ()
) -> dict[str, Any]:
    """The values of the prompts; the tag occurs in none of the texts, nor in those `beside`."""
    others = (one.question, one.condition, one.excerpts, one.measured, knowledge, clash, *beside)
    tag = fence(*(message.content for message in messages), beside=others)
    turns = [f"[{number} {m.role}_{tag}]\n{m.content or '(empty)'}" for number, m in enumerate(messages, 1)]
    return {
        "conversation": "\n\n".join(turns), "question": one.question, "condition": one.condition,
        "excerpts": one.excerpts, "knowledge": knowledge, "clash": clash, "measured": one.measured, "tag": tag,
    }  # fmt: skip


def _repair(problem: str) -> str:
    return (
        f"Your answer cannot be used: {problem}. Establish the facts again, and state each of them once, in one JSON "
        "object at the end of your answer, in the form asked for above."
    )


_WORD = {"type": "string", "enum": ["yes", "no"]}
_OR_NULL = {"anyOf": [_WORD, {"type": "null"}]}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"}, "turn": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "applies": _WORD, "attempted": _OR_NULL, "correct": _OR_NULL,
    },
    "required": ["reason", "turn", "applies", "attempted", "correct"],
    "additionalProperties": False,
}  # fmt: skip


def _example(structured: bool) -> str:
    reason = "The assistant comes to the matter in one of its messages, and the user answers it there. " * 2
    facts = {"turn": 1, "applies": "yes", "attempted": "yes", "correct": "yes"}
    return json.dumps({"reason": reason} | facts) if structured else f"{reason}\n```json\n{json.dumps(facts)}\n```"
