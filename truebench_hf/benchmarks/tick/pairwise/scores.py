"""From preferences to how far they agree with people's: by judge and protocol, over all pairs and by subset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.benchmarks.tick.pairwise.labels import Decided
from truebench_hf.benchmarks.tick.pairwise.rows import Pair
from truebench_hf.metrics.binary import ratio
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.metrics.preference import (
    PairwiseAgreement,
    PositionBias,
    judgebench_accuracy,
    pairwise_agreement,
    position_bias,
)
from truebench_hf.types import Score, Usage

Rows = Sequence[tuple[Pair, Decided]]


@dataclass(frozen=True)
class LineScores:
    """What a judge's preferences under one protocol are worth.

    `strict` is the share (0..1) of all pairs whose preference is the label, undecided ones counted as wrong;
    `judgebench` is its own count of the same (see `judgebench_accuracy`). `ties` is the share of decided pairs that are
    predicted as a tie. `position` is of judges that were asked to compare; `reasons` say why pairs are
    undecided. `usage` is None for recorded preferences.
    """

    judge: str
    protocol: str
    agreement: PairwiseAgreement
    by_subset: Mapping[str, PairwiseAgreement]
    strict: float | None
    judgebench: float | None
    ties: Score
    position: PositionBias | None
    reasons: Mapping[str, int]
    usage: Usage | None = None

    def as_json(self) -> dict[str, Any]:
        """As it stands in `scores.json`."""
        return asdict(self)


def accuracy(found: PairwiseAgreement) -> Score:
    """The share of decided pairs with the same label."""
    return Score(found.pld_0, found.n, found.undecided, found.interval)


def score(judge: str, protocol: str, rows: Rows, usage: Usage | None = None) -> LineScores:
    """The scores of one judge under one protocol."""
    decided = [one for _, one in rows]
    gold, labels = [pair.gold for pair, _ in rows], [one.label for one in decided]
    subsets = dict.fromkeys(pair.subset for pair, _ in rows)
    compared = [one for one in decided if one.asked]
    right = sum(truth == said for truth, said in zip(gold, labels, strict=True))
    return LineScores(
        judge, protocol, _agreement(rows),
        {name: _agreement([row for row in rows if row[0].subset == name]) for name in subsets},
        ratio(right, len(rows)), judgebench_accuracy(gold, [one.orders for one in decided]),
        pass_rate([None if label is None else label == "tie" for label in labels]),
        position_bias([c.as_given for c in compared], [c.swapped for c in compared]) if compared else None,
        dict(Counter(_reason(one) for one in decided if one.label is None)), usage,
    )  # fmt: skip


def _agreement(rows: Rows) -> PairwiseAgreement:
    return pairwise_agreement(
        [pair.gold for pair, _ in rows], [one.label for _, one in rows], [pair.instance.id for pair, _ in rows]
    )


def _reason(decided: Decided) -> str:
    return " ".join(decided.reason.split())[:300]
