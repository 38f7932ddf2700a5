"""What came of one instruction that people and we took apart, and of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.benchmarks.flexbench.decompose.data import Matched, Pair
from truebench_hf.benchmarks.flexbench.decompose.preference import Preferences, tally
from truebench_hf.benchmarks.flexbench.decompose.similarity import Partners, Similarity, left_over, summary

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
