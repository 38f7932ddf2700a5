"""Several votes on one criterion (maj@k, paper 004, section 3.2.2): majority, vote share, flips; and what a revision turned.

The answers of a checklist before and after a revision are NO mended to YES, or YES broken to NO (section 4.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import astuple, dataclass
from math import comb
from operator import add
from typing import Any

from truebench_hf.metrics.binary import Label, decide, mean_of, parallel, ratio
from truebench_hf.metrics.intervals import clustered_share
from truebench_hf.metrics.pass_rate import clustered_rate
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


def majority(votes: Sequence[Label]) -> Majority:
    """The label with the most votes of any labels; None is a vote that was not cast and supports no label."""
    counts = Counter(vote for vote in votes if vote is not None)
    top = max(counts.values(), default=0)
    leaders = [label for label, count in counts.items() if count == top]
    label = leaders[0] if len(leaders) == 1 else None
    return Majority(label, ratio(top, len(votes)), k=len(votes), undecided=len(votes) - counts.total())


def decided(label: Any, read: Callable[[Any], str | None]) -> str | None:
    """A label, or of several people's labels of one row the one that most give; None on a tie, and without any."""
    return majority([read(vote) for vote in label]).label if isinstance(label, list) else read(label)


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
    return Score(mean_of(*known), len(known), len(shares) - len(known)) if shares else None


def flip_score(votes: Sequence[Sequence[Label]]) -> Score | None:
    """The share of criteria whose votes are not unanimous, from one list of votes a criterion; None without any votes.

    An undecided vote beside a decided one makes a criterion not unanimous. Criteria without votes are skipped, those with
    a single one, or without a decided one, are unscored.
    """
    voted = [row for row in votes if row]
    compared = [len(set(row)) for row in voted if len(row) > 1 and set(row) != {None}]
    flipped = sum(labels > 1 for labels in compared)
    return Score(ratio(flipped, len(compared)), len(compared), len(voted) - len(compared)) if voted else None


def flips(before: Sequence[Label], after: Sequence[Label], clusters: Sequence[Hashable]) -> Score:
    """The share of verdicts that turned from one column to a parallel one, over those that both decide.

    The interval takes `clusters` (instructions) as what is independent. Undecided on either side is unscored. Raises
    `UserError` for columns of unequal length.
    """
    parallel(before=before, after=after)
    pairs = zip(before, after, strict=True)
    return clustered_rate([was != now if {was, now} <= {"yes", "no"} else None for was, now in pairs], clusters)


@dataclass(frozen=True, slots=True)
class Transitions:
    """Questions by their answer before and after. `undecided`: not settled on one side, so neither kept nor turned."""

    mended: int = 0  # NO to YES
    still_no: int = 0
    broken: int = 0  # YES to NO
    still_yes: int = 0
    undecided: int = 0

    def __add__(self, other: Transitions) -> Transitions:
        return Transitions(*map(add, astuple(self), astuple(other)))


def transitions(before: Sequence[Label], after: Sequence[Label]) -> Transitions:
    """What became of each question of one checklist; parallel columns. Raises `UserError` for other labels."""
    parallel(before=before, after=after)
    pairs = [(decide(was), decide(now)) for was, now in zip(before, after, strict=True)]
    mended, still_no, broken, still_yes = (
        pairs.count(pair) for pair in ((False, True), (False, False), (True, False), (True, True))
    )
    return Transitions(mended, still_no, broken, still_yes, len(pairs) - mended - still_no - broken - still_yes)


def mended_share(revisions: Iterable[Transitions]) -> Score:
    """The share of questions answered NO that the revisions turned to YES; clusters are the checklists."""
    return _share([(row.mended, row.mended + row.still_no, row.undecided) for row in revisions])


def broken_share(revisions: Iterable[Transitions]) -> Score:
    """The share of questions answered YES that the revisions turned to NO; clusters are the checklists."""
    return _share([(row.broken, row.broken + row.still_yes, row.undecided) for row in revisions])


def _share(rows: Sequence[tuple[int, int, int]]) -> Score:
    turned, of, undecided = ([row[place] for row in rows] for place in range(3))
    return Score(ratio(sum(turned), sum(of)), sum(of), sum(undecided), clustered_share(turned, of))
