"""Preferences between two responses and how far a judge's are from people's (paper 004, section 3.2.2, Table 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import mean_of, parallel, ratio
from truebench_hf.metrics.intervals import MIN_CLUSTERS, clustered_share, wilson
from truebench_hf.metrics.pass_rate import clustered_rate, pass_rate
from truebench_hf.types import Score

# A preference label is about response A. Neighbours on this scale are one step apart, win and loss are two.
_STEPS = {"win": 1, "tie": 0, "loss": -1}


def preference_from_ratings(ratings: Sequence[float | None]) -> str | None:
    """The label "win", "tie" or "loss" of response A from ratings on the scale 1 (A much better) to 5 (B much better).

    The mean over the annotators decides: below 2.5 is a win, above 3.5 a loss, from 2.5 to 3.5 a tie. None without
    any rating; a missing one (None) is passed over. Raises `UserError` for a rating off the scale.
    """
    known = [rating for rating in ratings if rating is not None]
    off = [rating for rating in known if not 1 <= rating <= 5]
    if off:
        raise UserError(f"preference rating {off[0]!r} is off the scale 1 (A much better) to 5 (B much better)")
    mean = mean_of(*known)
    return None if mean is None else "win" if mean < 2.5 else "loss" if mean > 3.5 else "tie"


def preference_from_scores(score_a: float | None, score_b: float | None) -> str | None:
    """The response with the higher score (a pass rate, or a direct rating) is preferred; None if one is missing.

    Means of several samples that are equal may differ by a float's last digits: that is a tie.
    """
    if score_a is None or score_b is None:
        return None
    gap = round(score_a - score_b, 12)
    return "win" if gap > 0 else "loss" if gap < 0 else "tie"


def label_distance(gold: str, predicted: str) -> int:
    """Pairwise label distance (PLD): 0 for the same label, 1 between a tie and a win or loss, 2 for win against loss.

    Raises `UserError` for anything but "win", "tie", "loss".
    """
    for label in (gold, predicted):
        if label not in _STEPS:
            raise UserError(f"preference label {label!r} is not one of win, tie, loss")
    return abs(_STEPS[gold] - _STEPS[predicted])


def pairwise_agreement(
    gold: Sequence[str | None], predicted: Sequence[str | None], clusters: Sequence[Hashable] | None = None
) -> dict[str, Score]:
    """Shares of the decided pairs at a label distance of 0 to 2 (`pld_0` is plain accuracy) and their mean `wpld` (0..2).

    Parallel columns of preference labels, of which None is undecided; lower `wpld` is better. `clusters` names the
    instruction of each pair; without it every pair is one of its own. There is no interval of a WPLD, or where clusters
    have several pairs, with fewer than ten clusters. Raises `UserError` for columns of unequal length and unknown labels.
    """
    total = parallel(gold=gold, predicted=predicted, clusters=gold if clusters is None else clusters)
    columns = zip(gold, predicted, range(total) if clusters is None else clusters, strict=True)
    rows = [(label_distance(g, p), where) for g, p, where in columns if g is not None and p is not None]
    distances, names, n = [distance for distance, _ in rows], [where for _, where in rows], len(rows)
    sizes, steps = Counter(names), Counter[Hashable]()
    for distance, where in rows:
        steps[where] += distance
    ends: tuple[float, float] | None = None
    if len(sizes) >= MIN_CLUSTERS and steps == sizes:
        # All at 1, as with nothing but ties: what was not seen may lie on either side.
        low, _ = wilson(len(sizes), len(sizes)) or (0.0, 1.0)
        ends = (low, 2 - low)
    elif halves := clustered_share([steps[where] / 2 for where in sizes], [*sizes.values()]):
        ends = 2 * halves[0], 2 * halves[1]
    shares = {}
    for steps_apart in (0, 1, 2):
        at = [distance == steps_apart for distance in distances]
        share = pass_rate(at) if n == len(sizes) else clustered_rate(at, names)
        shares[f"pld_{steps_apart}"] = replace(share, unscored=total - n)
    return {**shares, "wpld": Score(ratio(sum(distances), n), n, total - n, ends)}


def turned(label: str | None) -> str | None:
    """The same preference with the two responses named the other way round."""
    return {"win": "loss", "loss": "win"}.get(label or "", label)


def joined(orders: Sequence[str | None]) -> str | None:
    """The preference that a judge has who was asked in one order of the responses, or in both.

    Every label is about response A, whichever was shown first. Two that differ are a tie: what hangs on the order is no
    preference. None where one of them is undecided, and without any.
    """
    if not orders or None in orders:
        return None
    return orders[0] if len(set(orders)) == 1 else "tie"


@dataclass(frozen=True)
class PositionBias:
    """What the order of two responses does to a judge. Shares are 0..1, None where there is nothing they are of.

    Of the `n` pairs decided in both orders: the share with the same label in both (`consistent`), with the response
    that stood first preferred in both (`first`), with the second in both (`second`). Of all `calls` that prefer one
    response, in whatever order: the share that prefer the one shown first (`first_rate`; 0.5 is free of bias).
    """

    n: int
    consistent: float | None
    first: float | None
    second: float | None
    calls: int
    first_rate: float | None


def position_bias(as_given: Sequence[str | None], swapped: Sequence[str | None]) -> PositionBias:
    """How far the order decides: labels about response A, `as_given` with A shown first and `swapped` with B first.

    None is undecided, or not asked. Raises `UserError` for columns of unequal length.
    """
    parallel(as_given=as_given, swapped=swapped)
    both = [pair for pair in zip(as_given, swapped, strict=True) if None not in pair]
    places = [*as_given, *map(turned, swapped)]  # "win": the response shown first
    first, second = places.count("win"), places.count("loss")
    return PositionBias(
        len(both), ratio(sum(label == other for label, other in both), len(both)),
        ratio(both.count(("win", "loss")), len(both)), ratio(both.count(("loss", "win")), len(both)),
        first + second, ratio(first, first + second),
    )  # fmt: skip


def judgebench_accuracy(gold: Sequence[str | None], orders: Sequence[Sequence[str | None]]) -> float | None:
    """The share (0..1) of pairs that JudgeBench counts as right, unreadable answers included; None without any.

    Of the answers in the one or two orders, each about response A, those that name the right response count +1, those
    that name the wrong one -1, ties and unreadable ones 0: right is a sum above 0. So a win and a tie, or a win and an
    unreadable answer, are right, and a win and a loss are not. Pairs whose label is a tie or absent have no wrong
    response and are left out. Counted as in the repository ScalerLab/JudgeBench (arXiv 2410.12784).
    """
    parallel(gold=gold, orders=orders)
    pairs = [(label, answers) for label, answers in zip(gold, orders, strict=True) if label in ("win", "loss")]
    return ratio(sum(answers.count(label) > answers.count(turned(label)) for label, answers in pairs), len(pairs))
