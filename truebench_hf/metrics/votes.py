"""Several votes on one criterion: majority of k (maj@k, paper 004, section 3.2.2), vote share, flip rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import comb

from truebench_hf.metrics.binary import Label, parallel, ratio
from truebench_hf.metrics.intervals import clustered_share
from truebench_hf.types import Score


@dataclass(frozen=True)
class Majority:
    """`label` has the most votes, None on a tie or without a decided vote.

    `share` (0..1) is what the leading label has of all `k` votes, the undecided included, so that silence lowers it;
    on a tie it is the share of each leader. None without votes. `undecided` votes are None.
    """

    label: str | None
    share: float | None
    k: int
    undecided: int


@dataclass(frozen=True)
class FlipRate:
    """`rate` (0..1) of `n` criteria, `flipped` of which are not unanimous; None when no criterion can be compared.

    `left_out` criteria have fewer than two votes, or no decided one.
    """

    rate: float | None
    n: int
    flipped: int
    left_out: int


def majority(votes: Sequence[Label]) -> Majority:
    """The label with the most votes of any labels; None is a vote that was not cast and supports no label."""
    counts = Counter(vote for vote in votes if vote is not None)
    top = max(counts.values(), default=0)
    leaders = [label for label, count in counts.items() if count == top]
    label = leaders[0] if len(leaders) == 1 else None
    return Majority(label, ratio(top, len(votes)), k=len(votes), undecided=len(votes) - counts.total())


def majority_of(votes: Sequence[Label], gold: Label, k: int) -> tuple[float, float]:
    """(P(right), P(undecided)) of the majority of `k` of the votes, over all subsets of that size (maj@k, Figure 2).

    Exact: the votes that a subset has for and against `gold` are hypergeometric. None is a vote that was not cast; a
    tie, and nobody deciding, is undecided. Votes are two-valued but for None. Raises ValueError for a k there are not
    votes for.
    """
    if not 1 <= k <= len(votes):
        raise ValueError(f"k is {k}, and there are {len(votes)} votes")
    right = votes.count(gold)
    wrong = sum(vote is not None for vote in votes) - right
    silent, of = len(votes) - right - wrong, comb(len(votes), k)
    ways = {
        (a, b): comb(right, a) * comb(wrong, b) * comb(silent, k - a - b)
        for a in range(k + 1)
        for b in range(k + 1 - a)
    }
    return sum(n for (a, b), n in ways.items() if a > b) / of, sum(n for (a, b), n in ways.items() if a == b) / of


def vote_share(votes: Sequence[Label], label: Label) -> float | None:
    """Share (0..1) of the votes cast that agree with the verdict `label`; None without either. None is no vote cast."""
    cast = [vote for vote in votes if vote is not None]
    return None if label is None else ratio(cast.count(label), len(cast))


def share_score(verdicts: Sequence[tuple[Sequence[Label], Label]]) -> Score | None:
    """The mean vote share for a report, from (votes, verdict) pairs.

    Verdicts without votes are skipped, None where none has any; voted on and still undecided counts as unscored.
    """
    shares = [vote_share(votes, label) for votes, label in verdicts if votes]
    known = [share for share in shares if share is not None]
    mean = ratio(sum(known), len(known))
    return Score(mean, len(known), len(shares) - len(known)) if shares else None


def flip_rate(votes: Sequence[Sequence[Label]]) -> FlipRate:
    """Share of criteria whose votes are not unanimous, from one list of votes a criterion.

    An undecided vote beside a decided one makes a criterion not unanimous.
    """
    compared = [len(set(row)) for row in votes if len(row) > 1 and set(row) != {None}]
    flipped = sum(labels > 1 for labels in compared)
    return FlipRate(ratio(flipped, len(compared)), len(compared), flipped, left_out=len(votes) - len(compared))


def flips(before: Sequence[Label], after: Sequence[Label], clusters: Sequence[Hashable]) -> Score:
    """The share of verdicts that turned from one column to a parallel one, over those that both decide.

    The interval takes `clusters` (instructions) as what is independent. Undecided on either side is unscored. Raises
    `UserError` for columns of unequal length.
    """
    parallel(before=before, after=after, clusters=clusters)
    turned: dict[Hashable, list[float]] = {}
    for was, now, cluster in zip(before, after, clusters, strict=True):
        if was in ("yes", "no") and now in ("yes", "no"):
            turned.setdefault(cluster, []).append(float(was != now))
    top, of = list(map(sum, turned.values())), [float(len(some)) for some in turned.values()]
    decided = int(sum(of))
    return Score(ratio(sum(top), decided), decided, len(before) - decided, clustered_share(top, of))


def flip_score(votes: Sequence[Sequence[Label]]) -> Score | None:
    """The flip rate for a report; criteria without votes are skipped, None where no criterion has any."""
    voted = [row for row in votes if row]
    if not voted:
        return None
    found = flip_rate(voted)
    return Score(found.rate, found.n, found.left_out)
