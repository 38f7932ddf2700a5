"""Several votes on one criterion made into one verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from truebench_hf.types import Verdict


def majority(votes: Sequence[Verdict]) -> Verdict:
    """The label most decided votes carry (maj@k, TICK section 3.2); None on a tie or when none is decided.

    Reason and probability come from the first vote that agrees; `votes` keeps every label.
    """
    labels = tuple(vote.label for vote in votes)
    ranked = Counter(label for label in labels if label is not None).most_common(2)
    if not ranked:
        return replace(votes[0], votes=labels)
    if len(ranked) == 2 and ranked[0][1] == ranked[1][1]:
        shown = ", ".join(f"{count} {label}" for label, count in ranked)
        return replace(votes[0], label=None, reason=f"the votes are tied: {shown}", probability=None, votes=labels)
    agreeing = next(vote for vote in votes if vote.label == ranked[0][0])
    return replace(agreeing, votes=labels)
