"""How alike the questions of two decompositions are, partner by partner (paper 001, Table 1a).

Every human question has the nearest of ours for a partner, by sentence cosine: 1,560 pairs over 248 instructions are
all human questions there are. One-to-one alignment stands beside it, where no question serves twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.benchmarks.flexbench.decomposition import Matched, Pair
from truebench_hf.judging.signed import SignedAnswer
from truebench_hf.judging.signed_asking import ask_by_prompt
from truebench_hf.metrics.binary import ratio
from truebench_hf.metrics.comparison import PairedDifference, paired_difference
from truebench_hf.metrics.preference import PositionBias, joined, position_bias, turned
from truebench_hf.metrics.texts import Spread, nearest, one_to_one, rouge_l, spread
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts, fence

Embed = Callable[[Sequence[str]], Any]  # unit vectors, one a text
Score = Callable[[Sequence[str], Sequence[str]], list[tuple[float, float, float]]]  # precision, recall, F1
BERTSCORE = ("bertscore_p", "bertscore_r", "bertscore_f1")
MEASURES = {
    "cosine": "sentence cosine", **dict(zip(BERTSCORE, ("BERTScore P", "BERTScore R", "BERTScore F1"), strict=True)),
    "rouge_l": "ROUGE-L",
}  # fmt: skip


@dataclass(frozen=True)
class Partners:
    """A human question and one of ours, by their places, and how alike they are, each measure 0..1 (cosine -1..1)."""

    human: int
    ours: int
    measures: Mapping[str, float]


@dataclass(frozen=True)
class Similarity:
    """The questions of one instruction, aligned both ways."""

    nearest: tuple[Partners, ...]
    one_to_one: tuple[Partners, ...]

    @property
    def cosine(self) -> float | None:
        """The mean over the human questions."""
        return spread([one.measures["cosine"] for one in self.nearest]).mean


def similarities(pairs: Sequence[Pair], embed: Embed, bert_scores: Score | None = None) -> list[Similarity]:
    """How alike the decompositions of each instruction are; BERTScore only with a function that gives it."""
    texts = list(dict.fromkeys(text for pair in pairs for text in (*pair.human.questions, *pair.ours.questions)))
    place = {text: number for number, text in enumerate(texts)}
    vectors = embed(texts)
    # Rounding takes the cosine of equal texts a little above 1.
    likeness = [
        (vectors[[place[q] for q in pair.human.questions]] @ vectors[[place[q] for q in pair.ours.questions]].T).clip(-1, 1)
        for pair in pairs
    ]  # fmt: skip
    aligned = [(nearest(found), one_to_one(found)) for found in likeness]
    both = [list(dict.fromkeys([*near, *alone])) for near, alone in aligned]
    scored = iter(_bert(pairs, both, bert_scores))
    measured = [
        {
            (h, o): {"cosine": float(found[h, o]), **next(scored), "rouge_l": rouge_l(*_texts(pair, h, o))}
            for h, o in places
        }
        for pair, found, places in zip(pairs, likeness, both, strict=True)
    ]
    return [
        Similarity(*(tuple(Partners(h, o, known[h, o]) for h, o in places) for places in ways))
        for ways, known in zip(aligned, measured, strict=True)
    ]


def summary(found: Sequence[Partners]) -> dict[str, Spread]:
    """Mean and deviation of every measure over partners."""
    names = [name for name in MEASURES if not found or name in found[0].measures]
    return {name: spread([one.measures[name] for one in found]) for name in names}


def left_over(pair: Pair, partners: Sequence[Partners]) -> tuple[list[str], list[str]]:
    """Questions without a partner: the human ones, and ours."""
    human, ours = {one.human for one in partners}, {one.ours for one in partners}
    return (
        [text for number, text in enumerate(pair.human.questions) if number not in human],
        [text for number, text in enumerate(pair.ours.questions) if number not in ours],
    )


def _texts(pair: Pair, human: int, ours: int) -> tuple[str, str]:
    """Ours, which is held against the human one."""
    return pair.ours.questions[ours], pair.human.questions[human]


def _bert(
    pairs: Sequence[Pair], places: Sequence[Sequence[tuple[int, int]]], bert_scores: Score | None
) -> list[dict[str, float]]:
    """The BERTScores of all partners, in one go."""
    texts = [_texts(pair, h, o) for pair, found in zip(pairs, places, strict=True) for h, o in found]
    if bert_scores is None:
        return [{} for _ in texts]
    return [dict(zip(BERTSCORE, one, strict=True)) for one in bert_scores([a for a, _ in texts], [b for _, b in texts])]


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


DISSIMILAR = 0.85  # mean cosine under which the two lists of an instruction count as dissimilar (appendix C.2)


@dataclass(frozen=True)
class Compared:
    """An instruction's two decompositions, how alike they are, and which one a judge prefers, where one was asked."""

    pair: Pair
    similarity: Similarity
    preferences: Preferences | None = None

    @property
    def counts(self) -> tuple[int, int]:
        """How many questions people have, and how many we."""
        return len(self.pair.human.questions), len(self.pair.ours.questions)

    @property
    def dissimilar(self) -> bool:
        """Whether the mean cosine of the human questions lies below `DISSIMILAR`."""
        return self.similarity.cosine is not None and self.similarity.cosine < DISSIMILAR

    def row(self) -> dict[str, Any]:
        """As it stands in comparisons.jsonl."""
        pair = self.pair
        human, ours = left_over(pair, self.similarity.one_to_one)
        row: dict[str, Any] = {
            "id": pair.human.id, "our_id": pair.ours.id, "cosine": self.similarity.cosine,
            "human": pair.human.questions, "ours": pair.ours.questions,
            "nearest": self._partners(self.similarity.nearest), "one_to_one": self._partners(self.similarity.one_to_one),
            "human_left_over": human, "ours_left_over": ours, "never_nearest": left_over(pair, self.similarity.nearest)[1],
        }  # fmt: skip
        if self.preferences:
            row["preferences"] = asdict(self.preferences) | {"labels": self.preferences.labels}
        return row

    def _partners(self, found: Sequence[Partners]) -> list[dict[str, Any]]:
        human, ours = self.pair.human.questions, self.pair.ours.questions
        return [{"human": human[one.human], "ours": ours[one.ours], **one.measures} for one in found]


def preferences(done: Sequence[Compared]) -> list[Preferences]:
    """Those there are."""
    return [one.preferences for one in done if one.preferences is not None]


def scores(done: Sequence[Compared], matched: Matched) -> dict[str, Any]:
    """The totals, as they stand in scores.json."""
    few = [one for one in done if one.dissimilar]
    return {
        "instructions": len(done), "human_questions": sum(one.counts[0] for one in done),
        "our_questions": sum(one.counts[1] for one in done), "human_only": matched.human_only,
        "ours_only": matched.ours_only, "other_text": matched.other_text, **_totals(done),
        "dissimilar": {"below": DISSIMILAR, "ids": [one.pair.human.id for one in few], **_totals(few)},
    }  # fmt: skip


def _totals(done: Sequence[Compared]) -> dict[str, Any]:
    found = preferences(done)
    ways = ("nearest", "one_to_one")
    partners = {way: [one for each in done for one in getattr(each.similarity, way)] for way in ways}
    similarity = {way: {name: asdict(one) for name, one in summary(found).items()} for way, found in partners.items()}
    judged = {"preferences": {name: asdict(one) for name, one in tally(found).items()}} if found else {}
    return {"similarity": similarity, **judged}
