"""How alike the questions of two decompositions are, partner by partner (paper 001, Table 1a).

Every human question has the nearest of ours for a partner, by sentence cosine: 1,560 pairs over 248 instructions are
all human questions there are. One-to-one alignment stands beside it, where no question serves twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.flexbench.decompose.data import Pair
from truebench_hf.metrics.texts import Spread, nearest, one_to_one, rouge_l, spread

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
