"""Which of two decompositions a judge prefers on six criteria and overall, asked in both orders (paper 001, Table 1b)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.flexbench.decompose.data import Pair
from truebench_hf.judging.choice import read_choice
from truebench_hf.metrics.binary import ratio
from truebench_hf.metrics.comparison import PairedDifference, paired_difference
from truebench_hf.metrics.preference import PositionBias, joined, position_bias, turned
from truebench_hf.models.asking import Problem, SchemaFallback, ask
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts, fence
from truebench_hf.types import Message

PROMPT = "flex_compare"
CRITERIA = {
    "overall": "Overall", "granularity": "Granularity", "evaluation_suitability": "Eval. Suitability",
    "completeness": "Completeness", "coverage": "Coverage", "task_alignment": "Task Alignment", "clarity": "Clarity",
}  # fmt: skip
_WORDS = {"A": "win", "B": "loss", "TIE": "tie"}  # of the list shown first
Labels = Mapping[str, str | None]


@dataclass(frozen=True)
class Preferences:
    """What a judge says of our list by criterion, "win", "tie" or "loss", shown first (`as_given`) and second (`swapped`).

    None is undecided, and `reason` says why; else it is what the judge says of both lists, in either order.
    """

    as_given: Labels
    swapped: Labels
    reason: str = ""

    @property
    def labels(self) -> dict[str, str | None]:
        """Of both orders: where they differ, a tie."""
        return {name: joined((self.as_given[name], self.swapped[name])) for name in CRITERIA}


@dataclass(frozen=True)
class Said:
    """One answer: what it says of the list shown first, by criterion, and why."""

    labels: Labels
    reason: str


@dataclass(frozen=True)
class Tally:
    """One criterion over instructions: shares 0..1 of those decided, ours less human, and what the order does."""

    win: float | None
    tie: float | None
    loss: float | None
    difference: PairedDifference
    bias: PositionBias


async def compare(schemas: SchemaFallback, pair: Pair, prompts: Prompts, sampling: Sampling) -> Preferences:
    """Our list against the human one; an answer that leaves out a criterion, or says two things of it, is asked again."""
    ours, human = pair.ours.questions, pair.human.questions
    said = await asyncio.gather(*(
        _asked(schemas, pair.human.instruction, lists, prompts, sampling) for lists in ((ours, human), (human, ours))
    ))  # fmt: skip
    first, second = (dict.fromkeys(CRITERIA) if isinstance(one, Problem) else one.labels for one in said)
    told = list(zip(("as given", "swapped"), said, strict=True))
    told = [(order, one) for order, one in told if isinstance(one, Problem)] or told
    reasons = [f"{order}: {one.text if isinstance(one, Problem) else one.reason}" for order, one in told]
    return Preferences(first, {name: turned(label) for name, label in second.items()}, "; ".join(reasons))


async def _asked(
    schemas: SchemaFallback, instruction: str, lists: tuple[Sequence[str], Sequence[str]], prompts: Prompts,
    sampling: Sampling,
) -> Said | Problem:  # fmt: skip
    """What the judge says of the first list."""
    first, second = ([" ".join(question.split()) for question in one] for one in lists)
    # In either order the same, so that what is asked differs in nothing else.
    tag = fence(instruction, *sorted([*first, *second]))
    values = {"instruction": instruction, "first": first, "second": second, "tag": tag}

    def request(structured: bool) -> ChatRequest:
        text = prompts.render(PROMPT, **values, structured=structured)
        schema = _SCHEMA if structured else None
        return ChatRequest((Message("user", text),), sampling, 0, schema, example=_example(structured))

    def repair(problem: str) -> str:
        return (
            f"Your answer cannot be used: {problem}. Compare the lists again, call them list A and list B, and give each "
            f"choice once: A, B or TIE under {', '.join(f'`{name}`' for name in CRITERIA)} of one JSON object at the end "
            "of your answer, in the form asked for above."
        )

    return await schemas.ask(request, lambda made: ask(schemas.caller, made, read, repair, who="the judge"))


def read(text: str, truncated: bool = False) -> Said | Problem:
    """What an answer says; a Problem where a criterion is missing, or named with two choices. Never raises."""
    labels: dict[str, str | None] = {}
    reason = ""
    for name in CRITERIA:
        choice = read_choice(text, name, _WORDS)
        if isinstance(choice, Problem):
            return choice
        labels[name], reason = choice.value, choice.reason
    return Said(labels, reason)


def tally(found: Sequence[Preferences]) -> dict[str, Tally]:
    """Every criterion over the instructions."""
    return {name: _tally(name, found) for name in CRITERIA}


def _tally(name: str, found: Sequence[Preferences]) -> Tally:
    labels = [one.labels[name] for one in found]
    decided = [label for label in labels if label is not None]
    win, tie, loss = (ratio(decided.count(label), len(decided)) for label in ("win", "tie", "loss"))
    columns = ([None if label is None else float(label == side) for label in labels] for side in ("win", "loss"))
    bias = position_bias([one.as_given[name] for one in found], [one.swapped[name] for one in found])
    return Tally(win, tie, loss, paired_difference(*columns), bias)


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, **{name: {"type": "string", "enum": [*_WORDS]} for name in CRITERIA}},
    "required": ["reason", *CRITERIA],
    "additionalProperties": False,
}


def _example(structured: bool) -> str:
    reason = "One list splits a demand in two that belong together, the other one leaves out the number it names. " * 14
    choices = dict.fromkeys(CRITERIA, "A")
    return json.dumps({"reason": reason} | choices) if structured else f"{reason}\n```json\n{json.dumps(choices)}\n```"
