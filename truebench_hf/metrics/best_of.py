"""Best of N: what a scoring function selects among N answers to one instruction (paper 004, section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truebench_hf.metrics.binary import parallel


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
    return Selected(places, mean([outside[place] for place in places]), precision, chance)


def mean(scores: Sequence[float | None]) -> float | None:
    """The mean score of some answers: what a random one of them expects. None without any, or with an undecided one."""
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known and len(known) == len(scores) else None


def best(scores: Sequence[float | None]) -> float | None:
    """The highest score there is to select. None without any, or with an undecided one, which could be higher."""
    known = [score for score in scores if score is not None]
    return max(known) if known and len(known) == len(scores) else None
