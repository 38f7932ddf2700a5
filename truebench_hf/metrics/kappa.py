"""Agreement among raters beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha, and verbal bands.

Cohen's kappa is TRUEBench's measure of judge against human (paper 000, section 5.1), alpha that of TICK among
annotators (paper 004, Table 6). The values are those of scikit-learn, statsmodels and `krippendorff`;
kappa is computed here, for all draws of a bootstrap at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.metrics.binary import parallel
from truebench_hf.metrics.intervals import MIN_CLUSTERS, clustered_share, draws, percentiles

_DRAWS, _ALPHA_DRAWS = 2000, 1000  # the library computes one alpha at a time
# Upper ends in hundredths, as in the footnote of paper 000, section 5.1.
_BANDS = ((20, "slight"), (40, "fair"), (60, "moderate"), (80, "substantial"))


@dataclass(frozen=True)
class Reliability:
    """A chance-corrected coefficient: 1 is perfect, 0 is chance, below 0 is worse than chance.

    `value` is None where it is undefined: nothing to compare, or only one label in use, where agreement cannot be told
    from habit. `n` items went in; `left_out` items had too few ratings to be compared.
    """

    value: float | None
    n: int
    left_out: int

    @property
    def band(self) -> str | None:
        """The verbal band of the value."""
        return None if self.value is None else verbal_band(self.value)


def verbal_band(kappa: float) -> str:
    """The words of paper 000 for a kappa; rounded to two digits first, so that the word fits the printed number.

    Everything up to 0.20, negative values too, is "slight", since the paper's lowest band has no lower end.
    """
    hundredths = round(kappa * 100)
    return next((name for upper, name in _BANDS if hundredths <= upper), "almost perfect")


def cohen_kappa(first: Sequence[Hashable | None], second: Sequence[Hashable | None]) -> Reliability:
    """Cohen's kappa (1960) of two raters over parallel columns of any labels; None is a missing rating.

    Raises `UserError` for columns of unequal length.
    """
    total = parallel(first=first, second=second)
    table = _tables(first, second, [0] * total)
    n = int(table.sum())
    return Reliability(_kappa(table.sum(axis=0)), n=n, left_out=total - n)


def kappa_interval(
    first: Sequence[Hashable | None], second: Sequence[Hashable | None], clusters: Sequence[Hashable], *, seed: int = 0
) -> tuple[float, float] | None:
    """The 95 % interval of Cohen's kappa of two parallel columns, as `kappa_of_counts` has it.

    Rows without both ratings are left out. Raises `UserError` for columns of unequal length.
    """
    parallel(first=first, second=second, clusters=clusters)
    return kappa_of_counts(_tables(first, second, clusters), seed=seed)[1]


def kappa_of_counts(tables: Any, *, seed: int = 0) -> tuple[float | None, tuple[float, float] | None]:
    """Cohen's kappa and its 95 % interval, from counts of rows by cluster and the labels of both raters: (clusters, k, k).

    The interval is a percentile bootstrap that draws whole clusters anew. Where few disagree all draws are much alike and
    would claim too much: so it is never narrower than the interval of the observed agreement (`clustered_share`), at the
    agreement by chance that was found. None with fewer than `MIN_CLUSTERS` clusters, or where kappa is undefined.
    """
    value = _kappa(tables.sum(axis=0))
    if value is None or len(tables) < MIN_CLUSTERS:
        return value, None
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = np.concatenate(
            [_kappas(np.tensordot(times, tables, axes=1)) for times in draws(len(tables), seed, _DRAWS)]
        )
    low, high = percentiles(drawn) or (value, value)
    floor = clustered_share(np.trace(tables, axis1=1, axis2=2), tables.sum(axis=(1, 2)))
    if floor is not None:
        by_chance = float(_agreed_by_chance(tables.sum(axis=0))[1])
        ends = [(share - by_chance) / (1 - by_chance) for share in floor]
        low, high = min(low, ends[0]), max(high, ends[1])
    return value, (max(-1.0, low), min(1.0, high))


def fleiss_kappa(ratings: Sequence[Sequence[Hashable | None]]) -> Reliability:
    """Fleiss' kappa (1971) of items by raters: one list of labels an item, None for a missing rating.

    Who gave which label does not matter, but every item needs the same number of ratings: items with fewer than the
    fullest one are left out and counted. Where many are, `krippendorff_alpha` uses them.
    """
    need("stats", "statsmodels", what="Fleiss' kappa")
    from statsmodels.stats.inter_rater import fleiss_kappa as library_kappa

    counts = _counts(ratings, _labels(ratings))
    raters = max(map(sum, counts), default=0)
    full = [row for row in counts if sum(row) == max(raters, 2)]
    used = {column for row in full for column, count in enumerate(row) if count}
    value = float(library_kappa(full)) if len(used) > 1 else None
    return Reliability(value, n=len(full), left_out=len(counts) - len(full))


def krippendorff_alpha(
    ratings: Sequence[Sequence[Hashable | None]],
    level: Literal["nominal", "ordinal"] = "nominal",
    *,
    order: Sequence[Hashable] | None = None,
) -> Reliability:
    """Krippendorff's alpha (1980) of items by raters: one list of labels an item, None for a missing rating.

    At the ordinal level labels far apart disagree more; numbers have their own order, other labels need `order`, from
    lowest to highest. Items with fewer than two ratings cannot be compared: left out and counted. Raises `UserError`
    when the order is missing or does not hold a label.
    """
    import krippendorff

    paired = [row for row in ratings if sum(map(_has_label, row)) > 1]
    domain = _domain(paired, level, order)
    table = _counts(paired, domain)
    value = float(krippendorff.alpha(value_counts=table, level_of_measurement=level)) if len(domain) > 1 else None
    return Reliability(value, n=len(paired), left_out=len(ratings) - len(paired))


def alpha_interval(
    ratings: Sequence[Sequence[Hashable | None]],
    level: Literal["nominal", "ordinal"] = "nominal",
    *,
    order: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> tuple[float, float] | None:
    """The 95 % percentile bootstrap interval of Krippendorff's alpha: whole `clusters` of items are drawn anew.

    Without clusters every item is its own. Items that cannot be compared are left out first. None with fewer than
    `MIN_CLUSTERS` clusters, or where alpha is undefined. Draws in which all labels are the same tell nothing and are
    passed over. Raises `UserError` as `krippendorff_alpha`.
    """
    import krippendorff

    parallel(ratings=ratings, clusters=ratings if clusters is None else clusters)
    names = range(len(ratings)) if clusters is None else clusters
    paired = [(name, row) for name, row in zip(names, ratings, strict=True) if sum(map(_has_label, row)) > 1]
    rows = [row for _, row in paired]
    domain = _domain(rows, level, order)
    places = {name: place for place, name in enumerate(dict.fromkeys(name for name, _ in paired))}
    if len(places) < MIN_CLUSTERS or len(domain) < 2:
        return None
    table, cluster = np.array(_counts(rows, domain)), np.array([places[name] for name, _ in paired])
    alphas = []
    for times in (row for block in draws(len(places), seed, _ALPHA_DRAWS) for row in block):
        drawn = np.repeat(table, times[cluster].astype(int), axis=0)
        if (drawn.sum(axis=0) > 0).sum() > 1:
            alphas.append(krippendorff.alpha(value_counts=drawn, level_of_measurement=level))
    return percentiles(np.array(alphas))


def _tables(first: Sequence[Hashable | None], second: Sequence[Hashable | None], clusters: Sequence[Hashable]) -> Any:
    """The rows that have both ratings, counted by cluster and labels."""
    rows = [row for row in zip(first, second, clusters, strict=True) if row[0] is not None and row[1] is not None]
    codes = {label: code for code, label in enumerate(dict.fromkeys(label for row in rows for label in row[:2]))}
    places = {cluster: place for place, cluster in enumerate(dict.fromkeys(row[2] for row in rows))}
    tables = np.zeros((len(places), len(codes), len(codes)))
    for label, other, cluster in rows:
        tables[places[cluster], codes[label], codes[other]] += 1
    return tables


def _kappa(table: Any) -> float | None:
    """None where there is nothing to compare, or one label only in use."""
    used = (table.sum(axis=0) + table.sum(axis=1)) > 0
    return float(_kappas(table)) if used.sum() > 1 else None


def _kappas(table: Any) -> Any:
    agreed, chance = _agreed_by_chance(table)
    return np.where(chance < 1, (agreed - chance) / (1 - chance), np.nan)


def _agreed_by_chance(table: Any) -> tuple[Any, Any]:
    """The shares of rows that agree, and that would by chance, from tables of counts (their last two axes)."""
    total = table.sum(axis=(-2, -1))
    agreed = np.trace(table, axis1=-2, axis2=-1) / total
    return agreed, (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1) / total**2


def _has_label(label: Hashable | None) -> bool:
    """Whether there is a label; NaN is how tables spell a missing one, and the only value that differs from itself."""
    return label is not None and label == label


def _labels(ratings: Sequence[Sequence[Hashable | None]]) -> list[Hashable]:
    return [*dict.fromkeys(label for row in ratings for label in row if _has_label(label))]


def _counts(ratings: Sequence[Sequence[Hashable | None]], domain: Sequence[Hashable]) -> list[list[int]]:
    return [[Counter(row)[label] for label in domain] for row in ratings]


def _domain(
    ratings: Sequence[Sequence[Hashable | None]], level: str, order: Sequence[Hashable] | None
) -> list[Hashable]:
    """The labels in use, in order where the level has one."""
    used = _labels(ratings)
    if order is not None:
        strange = [label for label in used if label not in order]
        if strange:
            raise UserError(f"label {strange[0]!r} is not in the order {list(order)}")
        return [label for label in order if label in used]
    if level == "ordinal":
        words = [label for label in used if not isinstance(label, int | float)]
        if words:
            raise UserError(f"label {words[0]!r} has no order of its own: pass order=, from lowest to highest")
        used.sort(key=lambda label: label)  # type: ignore[arg-type,return-value]
    return used
