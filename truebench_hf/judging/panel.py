"""Who judges a case besides one judge: a panel, whose verdicts on a criterion are made into one, or nobody but rules."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isclose
from typing import Any, Protocol

from truebench_hf.data.judged import Case
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.rules.deciding import JUDGE, ruled
from truebench_hf.metrics import votes as counted
from truebench_hf.options import NOBODY
from truebench_hf.types import Label, Verdict

RULES = ("majority", "unanimous", "weighted")
OPEN = "no judge: only what can be counted is decided"


class CaseJudge(Protocol):
    """Anything that judges a case: a `Judge`, or a panel."""

    async def verdicts(self, case: Case) -> tuple[Verdict, ...]:
        """One verdict per criterion of the case, in order."""
        ...


@dataclass(frozen=True)
class Panel:
    """Judges that decide together. `weights` (for `weighted`) has a positive number per judge.

    A tie is None. Raises UserError on an unknown rule, and on weights that do not go with the rule.
    """

    members: Sequence[CaseJudge]
    rule: str = "majority"
    weights: Sequence[float] = ()

    def __post_init__(self) -> None:
        check(self.rule, self.weights, len(self.members))

    async def verdicts(self, case: Case) -> tuple[Verdict, ...]:
        """Ask every judge, then combine what they say on each criterion."""
        ballots = await asyncio.gather(*(member.verdicts(case) for member in self.members))
        return tuple(combine(votes, self.rule, self.weights) for votes in zip(*ballots, strict=True))


class NoJudge:
    """Judges by rules alone and asks no model."""

    async def verdicts(self, case: Case) -> tuple[Verdict, ...]:
        """One verdict per criterion of the case, in order; what no rule decides has no label."""
        outcome = ruled(case, "decide")
        return outcome.joined([Verdict(criterion, None, OPEN, NOBODY) for criterion in outcome.rest.criteria])


def check(rule: str, weights: Sequence[float], members: int) -> None:
    """Raise UserError where a rule is unknown, or weights do not go with it."""
    if rule not in RULES:
        raise unknown("panel rule", rule, RULES)
    if members < 2:
        raise UserError("a panel needs at least two judges")
    if rule == "weighted" and (len(weights) != members or not all(0 < weight < inf for weight in weights)):
        raise UserError(f"a weighted panel needs a weight above 0 for each of its {members} judges, e.g. weighted:2,1")
    if rule != "weighted" and weights:
        raise UserError(f"weights only go with the weighted rule, not with {rule}")


def rule_in_words(rule: str, weights: Sequence[float]) -> str:
    """Return a rule with its weights, if it has any: `weighted 2,1`."""
    return f"{rule} {','.join(f'{weight:g}' for weight in weights)}".rstrip()


def combine(votes: Sequence[Verdict], rule: str = "majority", weights: Sequence[float] = ()) -> Verdict:
    """One verdict from the judges' verdicts on one criterion; `votes` of the result keeps every label.

    Majority and weighted go by the decided votes and are None on a tie; unanimous is None unless all judges decided,
    and alike: an undecided judge makes nothing unanimous. What a rule decided it decided for all.
    """
    if all(vote.judge == JUDGE for vote in votes):
        return votes[0]
    labels = tuple(vote.label for vote in votes)
    sums: dict[Label, float] = {}  # the weight of decided votes
    for decided, weight in zip(labels, weights or [1.0] * len(votes), strict=True):
        if decided is not None:
            sums[decided] = sums.get(decided, 0.0) + weight
    leaders = [decided for decided, weight in sums.items() if isclose(weight, max(sums.values()))]
    label = leaders[0] if len(leaders) == 1 else None
    if rule == "unanimous" and len(set(labels)) > 1:
        label = None
    trouble = _trouble(votes)
    judge = f"{' + '.join(vote.judge for vote in votes)} ({rule_in_words(rule, weights)})"
    if label is not None:
        agreeing = next(vote for vote in votes if vote.label == label)
        return replace(agreeing, judge=judge, probability=None, votes=labels, **trouble)
    what = "is tied" if rule != "unanimous" and leaders else "does not agree" if leaders else "decided nothing"
    reasons = "" if leaders else f" ({votes[0].reason})"
    why = f"the panel {what}: {_tally(labels)}{reasons}"
    return Verdict(votes[0].criterion, None, why, judge, votes=labels, **trouble)


def majority(votes: Sequence[Verdict]) -> Verdict:
    """The label most decided votes carry (maj@k, TICK section 3.2); None on a tie or when none is decided.

    Reason and probability come from the first vote that agrees; `votes` keeps every label.
    """
    labels, trouble = tuple(vote.label for vote in votes), _trouble(votes)
    label = counted.majority(labels).label
    agreeing = next((vote for vote in votes if vote.label == label), votes[0])
    if label is not None or not any(labels):
        return replace(agreeing, votes=labels, **trouble)
    tied = f"the votes are tied: {_tally(labels)}"
    return replace(votes[0], label=None, reason=tied, probability=None, votes=labels, **trouble)


def _trouble(votes: Sequence[Verdict]) -> dict[str, Any]:
    """What happened to any of the votes happened to the verdict."""
    return {name: any(getattr(vote, name) for vote in votes) for name in ("conflicting", "refused")}


def _tally(labels: Sequence[str | None]) -> str:
    """A count of votes as text, the most frequent first: `2 yes, 1 no, 1 undecided`."""
    return ", ".join(f"{count} {label or 'undecided'}" for label, count in Counter(labels).most_common())
