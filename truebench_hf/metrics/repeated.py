"""Several answers of a model to one instance: the mean, any of k (pass@k), all of k (pass^k), and what best-of-N selects.

Samples say more about an instance and nothing about others, so every score takes an instance as one unit: n counts
instances, and intervals are made over them. Best of N: paper 004, section 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb

from truebench_hf.metrics.binary import mean_of, parallel
from truebench_hf.metrics.pass_rate import mean_share, pass_rate
from truebench_hf.types import Score

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


def over_instances(instances: Sequence[Passed], each: Callable[[Passed], float | None] = mean) -> Score:
    """The mean over instances of what `each` makes of the samples of one; None is unscored, and counted.

    The interval is Wilson's where instances pass or fail, else that of `mean_share`, which needs ten of them.
    """
    return over_values([each(passed) for passed in instances])


def over_values(values: Sequence[float | None]) -> Score:
    """The same of what every instance is worth (0 to 1)."""
    if all(value in (None, 0, 1) for value in values):
        return pass_rate([None if value is None else bool(value) for value in values])
    return mean_share(values)


def summary(instances: Sequence[Passed]) -> dict[str, Score]:
    """`mean`, and `any_of_K` and `all_of_K` for every K worth showing; {} where no instance has several samples."""
    draws = sizes(max(map(len, instances), default=0))
    scores = {f"any_of_{k}": over_instances(instances, partial(any_of, k=k)) for k in draws}
    scores |= {f"all_of_{k}": over_instances(instances, partial(all_of, k=k)) for k in draws}
    return {"mean": over_instances(instances), **scores} if scores else {}


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
