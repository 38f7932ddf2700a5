"""Two or more models on the same instances: paired bootstrap of the difference, McNemar's test, ranks that hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from truebench_hf.metrics.binary import parallel, ratio


@dataclass(frozen=True)
class PairedDifference:
    """Mean of first minus second over the `n` instances that both have; `left_out` instances lack one of the two.

    `difference` is None without such instances, `interval` with fewer than two.
    """

    difference: float | None
    interval: tuple[float, float] | None
    n: int
    left_out: int


@dataclass(frozen=True)
class McNemar:
    """`only_first` and `only_second` passed where the other failed; `p_value` is exact and two-sided, None if n = 0."""

    only_first: int
    only_second: int
    p_value: float | None
    n: int
    left_out: int


@dataclass(frozen=True)
class Ranked:
    """A model with its pass rate (0..1, None if nothing is decided) over `n` decided instances.

    `rank` is that of the first model of its group: models of one rank cannot be told apart. None without a score.
    """

    model: str
    score: float | None
    rank: int | None
    n: int
    undecided: int


def paired_bootstrap(
    first: Sequence[float | None],
    second: Sequence[float | None],
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> PairedDifference:
    """Resample instances, with both scores of each, and take the percentile interval of the mean difference.

    One score an instance and model (True and False count as 1 and 0); None is not judged. Raises `UserError` for
    columns of unequal length.
    """
    import numpy as np
    from scipy.stats import bootstrap

    total = parallel(first=first, second=second)
    gaps = [float(a) - float(b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    difference, interval = ratio(sum(gaps), len(gaps)), None
    if len(gaps) > 1:
        found = bootstrap(
            (np.array(gaps),),
            np.mean,
            n_resamples=n_resamples,
            confidence_level=confidence,
            method="percentile",
            rng=np.random.default_rng(seed),
        ).confidence_interval
        interval = float(found.low), float(found.high)
    return PairedDifference(difference, interval, len(gaps), left_out=total - len(gaps))


def mcnemar(first: Sequence[bool | None], second: Sequence[bool | None]) -> McNemar:
    """McNemar's exact test (1947) on the instances that only one of two models passed; None is not judged.

    Raises `UserError` for columns of unequal length.
    """
    from statsmodels.stats.contingency_tables import mcnemar as library_test

    total = parallel(first=first, second=second)
    pairs = [(bool(a), bool(b)) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    table = [[pairs.count((a, b)) for b in (True, False)] for a in (True, False)]
    p_value = float(library_test(table, exact=True).pvalue) if pairs else None
    return McNemar(table[0][1], table[1][0], p_value, len(pairs), left_out=total - len(pairs))


def rank_groups(
    scores: Mapping[str, Sequence[bool | None]], *, n_resamples: int = 1000, seed: int = 0, confidence: float = 0.95
) -> tuple[Ranked, ...]:
    """Rank models by pass rate, best first; a model shares the rank of a group it cannot be told from.

    It joins the group above it while the paired interval of its difference to the group's first model includes zero
    (or cannot be computed), else it opens a new one; so within a group all are tied with the first, though the second
    and the last need not be told apart by chance alone. Models without a decided instance come last, unranked. Raises
    `UserError` for columns of unequal length.
    """
    parallel(**scores)
    decided = {model: [passed for passed in column if passed is not None] for model, column in scores.items()}
    rates = {model: ratio(sum(column), len(column)) for model, column in decided.items()}
    ranked: list[Ranked] = []
    leader, rank = None, None
    for place, model in enumerate(sorted(rates, key=lambda name: _best_first(name, rates[name])), start=1):
        n = len(decided[model])
        if not n:
            rank = None
        elif leader is None or not _tied(
            paired_bootstrap(scores[leader], scores[model], n_resamples=n_resamples, seed=seed, confidence=confidence)
        ):
            leader, rank = model, place
        ranked.append(Ranked(model, rates[model], rank, n, undecided=len(scores[model]) - n))
    return tuple(ranked)


def _best_first(model: str, rate: float | None) -> tuple[float, str]:
    # Equal rates in the order of names, so that the table does not depend on the order of the input.
    return (1.0 if rate is None else -rate, model)


def _tied(gap: PairedDifference) -> bool:
    return gap.interval is None or gap.interval[0] <= 0 <= gap.interval[1]
