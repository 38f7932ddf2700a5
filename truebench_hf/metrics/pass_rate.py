"""When a turn and an instance pass, and the shares made of it (TRUEBench section 3.1, appendix C.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from truebench_hf.metrics.intervals import clustered_share, wilson
from truebench_hf.types import Label, Score

Labels = Sequence[Sequence[Label | None]]  # an instance: per turn the label of each criterion
Weights = Sequence[Sequence[float]]  # of the same shape: the points of each criterion


def outcome(label: Label | None, weight: float = 1.0) -> Label | None:
    """The label as it counts: `yes` where the answer is as it should be, which with negative points is a `no`.

    All shares but the weighted one are made of outcomes.
    """
    turned: dict[Label | None, Label] = {"yes": "no", "no": "yes"}
    return turned.get(label, label) if weight < 0 else label


def conjunction(labels: Iterable[Label | None]) -> bool | None:
    """Whether all hold: False once any is `no`, else None while any is undecided, else True.

    `unknown` (not applicable, evidence missing) is undecided here.
    """
    undecided = False
    for label in labels:
        if label == "no":
            return False
        undecided |= label != "yes"
    return None if undecided else True


def instance_passes(turns: Labels) -> bool | None:
    """Whether every criterion of every turn passes; None is unscored. An instance without criteria is unscored."""
    flat = [label for turn in turns for label in turn]
    return conjunction(flat) if flat else None


def official_passes(turns: Labels) -> bool:
    """The official rule on the same verdicts: a turn passes when it has labels and none of those given is FAIL."""
    given = [[label for label in turn if label is not None] for turn in turns]
    return bool(given) and all(turn and "no" not in turn for turn in given)


def pass_rate(passed: Sequence[bool | None]) -> Score:
    """Share of scored instances that pass, with a Wilson interval; unscored ones are left out."""
    scored = [value for value in passed if value is not None]
    return _score(sum(scored), len(scored), len(passed) - len(scored))


def criterion_share(turns: Labels) -> float | None:
    """The share (0 to 1) of the criteria of one instance that pass (soft by criterion, appendix C.2): see `checklist_share`."""
    return checklist_share([label for turn in turns for label in turn])


def checklist_share(outcomes: Sequence[Label | None]) -> float | None:
    """The share (0 to 1) of the criteria on one response that pass (paper 004, section 3.1.2: the checklist pass rate).

    Points count for nothing here. None without criteria, and while one is undecided.
    """
    return _share([label == "yes" for label in outcomes]) if _decided(outcomes) else None


def turn_share(turns: Labels) -> float | None:
    """The share (0 to 1) of the turns with criteria that pass (soft by turn, appendix C.2); None while one is undecided."""
    settled = [conjunction(turn) for turn in turns if turn]
    return None if not settled or None in settled else _share([bool(value) for value in settled])


def points_share(labels: Labels, weights: Weights) -> float | None:
    """The `weighted_share` of one instance, turn by turn."""
    return weighted_share([x for turn in labels for x in turn], [x for turn in weights for x in turn])


def weighted_share(labels: Sequence[Label | None], weights: Sequence[float]) -> float | None:
    """Points of the criteria that are met over all positive points, between 0 and 1 (as HealthBench scores).

    None without positive points, and where undecided criteria could still move the share: what is met already, with
    all of them against it, must come to the same as with all of them for it.
    """
    most = sum(weight for weight in weights if weight > 0)
    if not most:
        return None
    pairs = list(zip(labels, weights, strict=True))
    met = sum(weight for label, weight in pairs if label == "yes")
    open_points = [weight for label, weight in pairs if label not in ("yes", "no")]
    worst = met + sum(weight for weight in open_points if weight < 0)
    best = met + sum(weight for weight in open_points if weight > 0)
    low, high = (min(max(points / most, 0.0), 1.0) for points in (worst, best))
    return low if low == high else None


def _decided(labels: Sequence[Label | None]) -> bool:
    return bool(labels) and all(label in ("yes", "no") for label in labels)


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values)


def _score(successes: int, n: int, unscored: int) -> Score:
    return Score(successes / n if n else None, n, unscored, wilson(successes, n))


def mean_share(shares: Sequence[float | None]) -> Score:
    """The mean of shares (0 to 1), one an instance, with its interval; undecided ones are left out."""
    known = [share for share in shares if share is not None]
    value = sum(known) / len(known) if known else None
    return Score(value, len(known), len(shares) - len(known), clustered_share(known, [1.0] * len(known)))
