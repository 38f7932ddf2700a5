"""Which of two decompositions a judge prefers on six criteria and overall, asked in both orders (paper 001, Table 1b)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from truebench_hf.benchmarks.flexbench.decompose.data import Pair
from truebench_hf.judging.signed import SignedAnswer
from truebench_hf.judging.signed_prompt import ask_by_prompt
from truebench_hf.metrics.binary import ratio
from truebench_hf.metrics.comparison import PairedDifference, paired_difference
from truebench_hf.metrics.preference import PositionBias, joined, position_bias, turned
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts, fence

PROMPT = "flex_compare"
CRITERIA = {
    "overall": "Overall", "granularity": "Granularity", "evaluation_suitability": "Eval. Suitability",
    "completeness": "Completeness", "coverage": "Coverage", "task_alignment": "Task Alignment", "clarity": "Clarity",
}  # fmt: skip
_WORDS = {"A": "win", "B": "loss", "TIE": "tie"}  # of the list shown first
_REASON = "One list splits a demand in two that belong together, the other one leaves out the number it names. " * 14
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
    first, second = (dict.fromkeys(CRITERIA) if one.problem else one.labels for one in said)
    told = list(zip(("as given", "swapped"), said, strict=True))
    told = [(order, one) for order, one in told if one.problem] or told
    reasons = [f"{order}: {one.problem or one.reason}" for order, one in told]
    return Preferences(first, {name: turned(label) for name, label in second.items()}, "; ".join(reasons))


async def _asked(
    schemas: SchemaFallback, instruction: str, lists: tuple[Sequence[str], Sequence[str]], prompts: Prompts,
    sampling: Sampling,
) -> SignedAnswer[str]:  # fmt: skip
    """What the judge says of the first list."""
    first, second = ([" ".join(question.split()) for question in one] for one in lists)
    # In either order the same, so that what is asked differs in nothing else.
    tag = fence(instruction, *sorted([*first, *second]))
    values = {"instruction": instruction, "first": first, "second": second, "tag": tag}
    labels = dict.fromkeys(CRITERIA, _WORDS)
    return await ask_by_prompt(schemas, prompts, PROMPT, values, labels, sampling=sampling, reason=_REASON)


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
