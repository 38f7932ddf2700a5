"""Several votes on one criterion, and several answers to one instance.

Votes (maj@k, paper 004, section 3.2.2): majority, vote share, flips; and what a revision turned: NO mended to YES, or YES
broken to NO (section 4.1). Answers: the mean, any of k (pass@k), all of k (pass^k), and what best-of-N selects (section
4.2). Samples say more about an instance and nothing about others, so every score takes an instance as one unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from math import comb
from operator import add
from typing import Any, TypeVar

from truebench_hf.metrics.binary import Label, decide, mean_of, parallel, ratio
from truebench_hf.metrics.pass_rate import clustered_rate, pass_rate, pooled
from truebench_hf.types import Score

T = TypeVar("T")


def majority(votes: Iterable[T | None]) -> T | None:
    """The label with the most votes of any labels; None on a tie, and without any vote. None is a vote that was not cast."""
    counts = Counter(vote for vote in votes if vote is not None)
    leaders = [label for label, count in counts.items() if count == max(counts.values())]
    return leaders[0] if len(leaders) == 1 else None


def decided(label: Any, read: Callable[[Any], str | None]) -> str | None:
    """A label, or of several people's labels of one row the one that most give; None on a tie, and without any."""
    return majority([read(vote) for vote in label]) if isinstance(label, list) else read(label)


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
    kinds = ((False, True), (False, False), (True, False), (True, True))
    mended, still_no, broken, still_yes = map(pairs.count, kinds)
    return Transitions(mended, still_no, broken, still_yes, sum(pair not in kinds for pair in pairs))


def turned_shares(revisions: Iterable[Transitions]) -> tuple[Score, Score]:
    """The share of questions answered NO that revisions mended, and of those answered YES that they broke.

    Clusters are the checklists.
    """
    rows = list(revisions)
    undecided = sum(row.undecided for row in rows)
    no, yes = [row.mended + row.still_no for row in rows], [row.broken + row.still_yes for row in rows]
    return pooled([row.mended for row in rows], no, undecided), pooled([row.broken for row in rows], yes, undecided)


Passed = Sequence[bool | None]  # an instance: whether each of its samples passes, None where that is undecided


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of what samples are worth (0 to 1), of pass and fail their share; None without any that is decided.

    Samples are draws of one kind: undecided ones are left out, as unscored instances are left out of a pass rate.
    """
    return mean_of(*(value for value in values if value is not None))


def any_of(passed: Passed, k: int) -> float | None:
    """The chance (0 to 1) that one of `k` samples passes: 1 - C(n - c, k) / C(n, k) with c of n passing.

    That is the mean over all subsets of `k`, and unbiased (pass@k, Chen et al. 2021, arXiv 2107.03374). None where
    undecided samples could still move it (with k = n a single pass settles it), and with fewer than `k` samples.
    """
    return _settled(passed, k, lambda passing, n: 1 - comb(n - passing, k) / comb(n, k))


def all_of(passed: Passed, k: int) -> float | None:
    """The chance (0 to 1) that all of `k` samples pass: C(c, k) / C(n, k) (pass^k, Yao et al. 2024, arXiv 2406.12045).

    None as in `any_of`; with k = n a single fail settles it.
    """
    return _settled(passed, k, lambda passing, n: comb(passing, k) / comb(n, k))


def summary(instances: Sequence[Passed]) -> dict[str, Score]:
    """`mean`, and `any_of_K` and `all_of_K` for every K worth showing; {} where no instance has several samples."""
    draws = sizes(max(map(len, instances), default=0))
    rules: dict[str, Callable[[Passed], float | None]] = {"mean": mean}
    rules |= {f"any_of_{k}": partial(any_of, k=k) for k in draws}
    rules |= {f"all_of_{k}": partial(all_of, k=k) for k in draws}
    return {name: pass_rate(map(rule, instances)) for name, rule in rules.items()} if draws else {}


def sizes(most: int) -> list[int]:
    """The k that are worth showing where instances have up to so many samples: all to 8, then doubled, and the most."""
    doubled = [2**power for power in range(4, most.bit_length()) if 2**power < most]
    return [*range(2, min(most, 8) + 1), *doubled, *([most] if most > 8 else [])]


@dataclass(frozen=True, slots=True)
class Selected:
    """The places that share the top selection score (S), and what they are worth by the outside score.

    `score` is the mean outside score over S, `precision` the share of S that is among the top outside scores (T).
    `chance` is the precision that a random pick expects: the share of all answers that is in T.
    """

    places: tuple[int, ...]
    score: float | None
    precision: float | None
    chance: float | None


def top(scores: Sequence[float | None]) -> tuple[int, ...]:
    """The places of the highest score, all of them where several share it; an undecided one (None) is never top."""
    known = [score for score in scores if score is not None]
    return tuple(i for i, score in enumerate(scores) if known and score == max(known))


def select(selection: Sequence[float | None], outside: Sequence[float | None]) -> Selected:
    """What these selection scores select. Raises `UserError` for columns of unequal length.

    With no selection score decided S is empty and its score and precision None. An undecided outside score leaves
    open which answers are best, so precision and chance are None; the score is None where one of S is undecided.
    """
    parallel(selection=selection, outside=outside)
    places = top(selection)
    best = None if None in outside else set(top(outside))
    precision = len(best & set(places)) / len(places) if best and places else None
    chance = len(best) / len(outside) if best else None
    return Selected(places, mean_of(*(outside[place] for place in places)), precision, chance)


def best(scores: Sequence[float | None]) -> float | None:
    """The highest score there is to select. None without any, or with an undecided one, which could be higher."""
    known = [score for score in scores if score is not None]
    return max(known) if known and len(known) == len(scores) else None


def _settled(passed: Passed, k: int, share: Callable[[int, int], float]) -> float | None:
    if not 1 <= k <= len(passed):
        return None
    sure = sum(value is True for value in passed)
    least, most = (share(passing, len(passed)) for passing in (sure, sure + sum(value is None for value in passed)))
    return least if least == most else None
