"""Agreement among raters beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha, and verbal bands.

Cohen's kappa is TRUEBench's measure of judge against human (paper 000, section 5.1), alpha that of TICK among
annotators (paper 004, Table 6). The values are those of scikit-learn, statsmodels and `krippendorff`;
kappa is computed here, for all draws of a bootstrap at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Literal

from truebench_hf.errors import UserError, need
from truebench_hf.metrics.binary import is_known, parallel
from truebench_hf.metrics.intervals import MIN_CLUSTERS, clustered_share, draws, percentiles
from truebench_hf.types import Score

_DRAWS, _ALPHA_DRAWS = 2000, 1000  # the library computes one alpha at a time
# Upper ends in hundredths, as in the footnote of paper 000, section 5.1.
_BANDS = ((20, "slight"), (40, "fair"), (60, "moderate"), (80, "substantial"))


def verbal_band(kappa: float | None) -> str | None:
    """The words of paper 000 for a kappa, None for None; rounded to two digits first, so that the word fits the number.

    Everything up to 0.20, negative values too, is "slight", since the paper's lowest band has no lower end.
    """
    if kappa is None:
        return None
    hundredths = round(kappa * 100)
    return next((name for upper, name in _BANDS if hundredths <= upper), "almost perfect")


def cohen_kappa(
    first: Sequence[Hashable | None], second: Sequence[Hashable | None], clusters: Sequence[Hashable] | None = None,
    *, seed: int = 0,
) -> Score:  # fmt: skip
    """Cohen's kappa (1960) of two raters over parallel columns of any labels; None is a missing rating.

    With `clusters` it has its 95 % interval, see `kappa_of_counts`. Rows without both ratings are left out: unscored.
    None where it is undefined: nothing to compare, or only one label in use, where agreement cannot be told from habit.
    Raises `UserError` for columns of unequal length.
    """
    total = parallel(first=first, second=second, clusters=first if clusters is None else clusters)
    tables = _tables(first, second, [0] * total if clusters is None else clusters)
    value, ends = kappa_of_counts(tables, seed=seed)
    n = int(tables.sum())
    return Score(value, n, total - n, ends)


def kappa_of_counts(tables: Any, *, seed: int = 0) -> tuple[float | None, tuple[float, float] | None]:
    """Cohen's kappa and its 95 % interval, from counts of rows by cluster and the labels of both raters: (clusters, k, k).

    The interval is a percentile bootstrap that draws whole clusters anew. Where few disagree all draws are much alike and
    would claim too much: so it is never narrower than the interval of the observed agreement (`clustered_share`), at the
    agreement by chance that was found. None with fewer than `MIN_CLUSTERS` clusters, or where kappa is undefined.
    """
    import numpy as np

    total = tables.sum(axis=0)
    agreed, by_chance = _agreed_by_chance(total)
    if ((total.sum(axis=0) + total.sum(axis=1)) > 0).sum() < 2:  # nothing to compare, or one label only in use
        return None, None
    by_chance = float(by_chance)
    value = (float(agreed) - by_chance) / (1 - by_chance)
    if len(tables) < MIN_CLUSTERS:
        return value, None
    drawn = [_agreed_by_chance(np.tensordot(times, tables, axes=1)) for times in draws(len(tables), seed, _DRAWS)]
    same, chance = (np.concatenate(shares) for shares in zip(*drawn, strict=True))
    possible = chance < 1
    low, high = percentiles((same[possible] - chance[possible]) / (1 - chance[possible])) or (value, value)
    floor = clustered_share(np.trace(tables, axis1=1, axis2=2), tables.sum(axis=(1, 2)))
    if floor is not None:
        ends = [(share - by_chance) / (1 - by_chance) for share in floor]
        low, high = min(low, ends[0]), max(high, ends[1])
    return value, (max(-1.0, low), min(1.0, high))


def fleiss_kappa(ratings: Sequence[Sequence[Hashable | None]]) -> Score:
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
    return Score(value, len(full), len(counts) - len(full))


def krippendorff_alpha(
    ratings: Sequence[Sequence[Hashable | None]], level: Literal["nominal", "ordinal"] = "nominal",
    *, clusters: Sequence[Hashable] | None = None, seed: int = 0,
) -> Score:  # fmt: skip
    """Krippendorff's alpha (1980) of items by raters: one list of labels an item, None for a missing rating.

    At the ordinal level, which takes numbers, labels far apart disagree more. Items with fewer than two ratings cannot be
    compared: left out and counted. With `clusters` of items it has its 95 % percentile bootstrap interval: whole clusters
    are drawn anew, draws in which all labels are the same tell nothing and are passed over; there is none with fewer than
    `MIN_CLUSTERS`. Raises `UserError` for ordinal labels that are no numbers, and for columns of unequal length.
    """
    import krippendorff
    import numpy as np

    parallel(ratings=ratings, clusters=ratings if clusters is None else clusters)
    compared = [place for place, row in enumerate(ratings) if sum(map(is_known, row)) > 1]
    paired = [ratings[place] for place in compared]
    domain = _labels(paired)
    if level == "ordinal":
        if words := [label for label in domain if not isinstance(label, int | float)]:
            raise UserError(f"label {words[0]!r} has no order of its own: give numbers")
        domain.sort(key=lambda label: label)  # type: ignore[arg-type,return-value]
    table = np.array(_counts(paired, domain))

    def alpha(counts: Any) -> float:
        return float(krippendorff.alpha(value_counts=counts, level_of_measurement=level))

    ends, n = None, len(paired)
    if clusters is not None and len(domain) > 1:
        places = {name: place for place, name in enumerate(dict.fromkeys(clusters[place] for place in compared))}
        if len(places) >= MIN_CLUSTERS:
            cluster = np.array([places[clusters[place]] for place in compared])
            times = (row for block in draws(len(places), seed, _ALPHA_DRAWS) for row in block)
            drawn = (np.repeat(table, row[cluster].astype(int), axis=0) for row in times)
            ends = percentiles(np.array([alpha(counts) for counts in drawn if (counts.sum(axis=0) > 0).sum() > 1]))
    return Score(alpha(table) if len(domain) > 1 else None, n, len(ratings) - n, ends)


def _tables(first: Sequence[Hashable | None], second: Sequence[Hashable | None], clusters: Sequence[Hashable]) -> Any:
    """The rows that have both ratings, counted by cluster and labels."""
    import numpy as np

    rows = [row for row in zip(first, second, clusters, strict=True) if row[0] is not None and row[1] is not None]
    codes = {label: code for code, label in enumerate(dict.fromkeys(label for row in rows for label in row[:2]))}
    places = {cluster: place for place, cluster in enumerate(dict.fromkeys(row[2] for row in rows))}
    tables = np.zeros((len(places), len(codes), len(codes)))
    for label, other, cluster in rows:
        tables[places[cluster], codes[label], codes[other]] += 1
    return tables


def _agreed_by_chance(table: Any) -> tuple[Any, Any]:
    """The shares of rows that agree, and that would by chance, from tables of counts (their last two axes)."""
    import numpy as np

    total = np.maximum(table.sum(axis=(-2, -1)), 1)
    agreed = np.trace(table, axis1=-2, axis2=-1) / total
    return agreed, (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1) / total**2


def _labels(ratings: Sequence[Sequence[Hashable | None]]) -> list[Hashable]:
    return [*dict.fromkeys(label for row in ratings for label in row if is_known(label))]


def _counts(ratings: Sequence[Sequence[Hashable | None]], domain: Sequence[Hashable]) -> list[list[int]]:
    return [[Counter(row)[label] for label in domain] for row in ratings]
