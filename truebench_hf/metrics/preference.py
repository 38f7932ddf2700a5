"""Preferences between two responses and how far a judge's are from people's (paper 004, section 3.2.2, Table 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import parallel, ratio

# A preference label is about response A. Neighbours on this scale are one step apart, win and loss are two.
_STEPS = {"win": 1, "tie": 0, "loss": -1}


@dataclass(frozen=True)
class PairwiseAgreement:
    """Shares (0..1) of the `n` decided pairs at a label distance of 0, 1 and 2, and their weighted mean (0..2).

    `undecided` pairs lack one of the labels. The shares are None without decided pairs. `pld_0` is plain accuracy;
    lower `wpld` is better.
    """

    n: int
    undecided: int
    pld_0: float | None
    pld_1: float | None
    pld_2: float | None
    wpld: float | None


def preference_from_ratings(ratings: Sequence[float | None]) -> str | None:
    """The label "win", "tie" or "loss" of response A from ratings on the scale 1 (A much better) to 5 (B much better).

    The mean over the annotators decides: below 2.5 is a win, above 3.5 a loss, from 2.5 to 3.5 a tie. None without
    any rating; a missing one (None) is passed over. Raises `UserError` for a rating off the scale.
    """
    given = [rating for rating in ratings if rating is not None]
    if not given:
        return None
    off = [rating for rating in given if not 1 <= rating <= 5]
    if off:
        raise UserError(f"preference rating {off[0]!r} is off the scale 1 (A much better) to 5 (B much better)")
    mean = sum(given) / len(given)
    return "win" if mean < 2.5 else "loss" if mean > 3.5 else "tie"


def preference_from_scores(score_a: float | None, score_b: float | None) -> str | None:
    """The response with the higher score (a pass rate, or a direct rating) is preferred; None if one is missing."""
    if score_a is None or score_b is None:
        return None
    return "win" if score_a > score_b else "loss" if score_a < score_b else "tie"


def label_distance(gold: str, predicted: str) -> int:
    """Pairwise label distance (PLD): 0 for the same label, 1 between a tie and a win or loss, 2 for win against loss.

    Raises `UserError` for anything but "win", "tie", "loss".
    """
    for label in (gold, predicted):
        if label not in _STEPS:
            raise UserError(f"preference label {label!r} is not one of win, tie, loss")
    return abs(_STEPS[gold] - _STEPS[predicted])


def pairwise_agreement(gold: Sequence[str | None], predicted: Sequence[str | None]) -> PairwiseAgreement:
    """PLD shares and weighted PLD over parallel columns of preference labels; None is undecided.

    Raises `UserError` for columns of unequal length and unknown labels.
    """
    total = parallel(gold=gold, predicted=predicted)
    distances = [
        label_distance(truth, guess)
        for truth, guess in zip(gold, predicted, strict=True)
        if truth is not None and guess is not None
    ]
    n = len(distances)
    exact, near, inverted = (ratio(distances.count(distance), n) for distance in (0, 1, 2))
    return PairwiseAgreement(n, total - n, exact, near, inverted, wpld=ratio(sum(distances), n))
