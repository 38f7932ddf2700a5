"""Three facts on a requirement in a conversation, and the tri-valued verdict they make (paper 001, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.judging.signed_asking import JUDGE_SAMPLING, Entries, ask_by_prompt
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import DecisionRequest
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
class DimensionFacts:
    """What a judge found of a requirement in a conversation; None where it settled nothing, and `reason` says why.

    What does not apply has nothing attempted, and what was not attempted nothing correct: then these are None, too.
    `turn` is the number (from 1) of the message that shows it.
    """

    applies: bool | None
    attempted: bool | None = None
    correct: bool | None = None
    reason: str = ""
    turn: int | None = None


def verdict(facts: DimensionFacts, *, base: bool) -> Label | None:
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
    schemas: SchemaFallback, messages: Sequence[Message], requirement: Requirement, prompts: Prompts, *,
    clash: str = "",
) -> DimensionFacts:  # fmt: skip
    """The facts that a judge states in writing. `clash` is a requirement that excludes this one, both found to apply.

    An answer whose facts contradict each other, or that names a message that is not there, is asked again.
    """
    values = shown(messages, requirement, clash)
    turns: dict[str, Any] = {str(number): number for number in range(1, len(messages) + 1)} | {"null": None}
    labels: dict[str, dict[str, Any]] = {"turn": turns, "applies": _YES_NO, "attempted": _MAYBE, "correct": _MAYBE}
    answer = await ask_by_prompt(
        schemas, prompts, "tri_valued", values, labels, sampling=JUDGE_SAMPLING, reason=_REASON, entries=_FORMS,
        met=lambda answer: answer.labels["correct"] is True,
        check=lambda answer: _contradiction(*(answer.labels[key] for key in ("applies", "attempted", "correct"))),
    )  # fmt: skip
    if answer.problem:
        return DimensionFacts(None, reason=answer.problem)
    applies, attempted, correct, turn = (answer.labels[key] for key in ("applies", "attempted", "correct", "turn"))
    return DimensionFacts(applies, attempted if applies else None, correct if attempted else None, answer.reason, turn)


def _contradiction(applies: bool, attempted: bool | None, correct: bool | None) -> str:
    """What is wrong with three facts together, "" where they go together."""
    if not applies and (attempted or correct):
        return "it says that the requirement does not apply, and also that it was attempted or correct"
    if applies and attempted is None:
        return "it says that the requirement applies, and not whether it was attempted"
    if attempted and correct is None:
        return "it says that the requirement was attempted, and not whether correctly"
    if not attempted and correct:
        return "it says that the requirement was not attempted, and also that it was done correctly"
    return ""


async def decide(
    schemas: SchemaFallback, messages: Sequence[Message], requirements: Sequence[Requirement], prompts: Prompts, *,
    threshold: float = 0.5,
) -> list[DimensionFacts]:  # fmt: skip
    """The facts from the probabilities of a judge that writes nothing, each yes from `threshold` on.

    All requirements are asked in one request: a judge in this process reads the conversation once.
    """
    texts = [text for requirement in requirements for text in (_with_condition(requirement), requirement.measured)]
    values = shown(messages, Requirement(""), "", beside=texts)
    figures = {"measured": any(requirement.measured for requirement in requirements)}
    state = prompts.render("tri_valued_state", **figures | {name: values[name] for name in ("conversation", "tag")})
    statements = [
        _with_condition(requirement)
        + (f" (measured_{values['tag']}: {requirement.measured})" if requirement.measured else "")
        for requirement in requirements
    ]
    questions = tuple(text.format(requirement) for requirement in statements for text in _QUESTIONS)
    try:
        shares = (await schemas.caller.decide(DecisionRequest(state, questions))).probabilities
    except RequestFailed as error:
        return [DimensionFacts(None, reason=f"the judge gave no answer: {error}")] * len(requirements)
    facts, names = [], ("applies", "attempted", "correct")
    for place in range(0, len(shares), len(names)):
        by_name = dict(zip(names, shares[place : place + len(names)], strict=True))
        reason = ", ".join(f"P({n}) = {'declined' if p is None else f'{p:.3f}'}" for n, p in by_name.items())
        applies, attempted, correct = (None if share is None else share >= threshold for share in by_name.values())
        attempted = attempted if applies else None
        facts.append(DimensionFacts(applies, attempted, correct if attempted else None, reason))
    return facts


def _with_condition(requirement: Requirement) -> str:
    """A requirement in one line, with its condition."""
    question, condition = (" ".join(text.split()) for text in (requirement.question, requirement.condition))
    return f"{question} (It applies only where this came true: {condition})" if requirement.condition else question


def shown(
    messages: Sequence[Message], requirement: Requirement, clash: str, beside: Sequence[str] = ()
) -> dict[str, Any]:
    """The values of the prompts; the tag occurs in none of the texts, nor in those `beside`."""
    values = asdict(requirement) | {"clash": clash}
    tag = fence(*(message.content for message in messages), beside=(*values.values(), *beside))
    turns = [f"[{number} {m.role}_{tag}]\n{m.content or '(empty)'}" for number, m in enumerate(messages, 1)]
    return values | {"conversation": "\n\n".join(turns), "tag": tag}


_WORD: dict[str, Any] = {"type": "string", "enum": ["yes", "no"]}
_OR_NULL: dict[str, Any] = {"anyOf": [_WORD, {"type": "null"}]}
_FORMS: Entries = {
    "turn": ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 1),
    "applies": (_WORD, "yes"), "attempted": (_OR_NULL, "yes"), "correct": (_OR_NULL, "yes"),
}  # fmt: skip
_REASON = "The assistant comes to the matter in one of its messages, and the user answers it there. " * 2
