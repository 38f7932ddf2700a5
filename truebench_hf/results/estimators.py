"""Scores of columns: estimators take values (0 to 1, NaN for undecided) and return a `Score`.

Several samples of an instance are one unit (`unit_means`): they say more about it, and nothing about others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from truebench_hf.metrics.intervals import clustered_share, wilson
from truebench_hf.types import Score

Key = TypeVar("Key", bound=Hashable)


def rate(values: Any) -> Score:
    """Return the mean of values, one a unit: with Wilson's interval where all are 0 or 1, else as `mean`."""
    known, unscored = _decided(values)
    if not ((known == 0) | (known == 1)).all():
        return mean(values)
    passed, n = int(known.sum()), len(known)
    return Score(passed / n if n else None, n, unscored, wilson(passed, n))


def mean(values: Any) -> Score:
    """Return the mean of values, one a unit, with the interval of `clustered_share`, which needs ten of them."""
    known, unscored = _decided(values)
    shares = known.tolist()  # Python's sum: numpy adds in another order, which shows in the last digit
    value = sum(shares) / len(shares) if shares else None
    return Score(value, len(shares), unscored, clustered_share(shares, [1.0] * len(shares)))


def pooled(met: Any, decided: Any, undecided: int) -> Score:
    """Return the share of all decided rows that are met, from both counts by unit; intervals take units as clusters."""
    n = int(decided.sum())
    return Score(int(met.sum()) / n if n else None, n, undecided, clustered_share(met, decided))


def unit_means(values: Any, units: Any) -> Any:
    """Return the mean of the decided values of each unit (NaN without any), in the order of their first rows."""
    import numpy as np
    import pandas as pd

    codes, names = pd.factorize(units)
    if len(names) == len(values):
        return np.asarray(values, dtype=float)
    known = ~np.isnan(values)
    counts = np.bincount(codes[known], minlength=len(names))
    sums = np.bincount(codes[known], weights=values[known], minlength=len(names))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def group_scores(
    keys: Sequence[Key | None], values: Any, units: Any, estimate: Callable[[Any], Score], first: Sequence[Key] = ()
) -> dict[Key, Score]:
    """Return `estimate` of the units of each group, groups as `ordered` has them; rows with the key None are in none."""
    import numpy as np

    places: dict[Key, list[int]] = {}
    for place, key in enumerate(keys):
        if key is not None:
            places.setdefault(key, []).append(place)
    units, values = np.asarray(units), np.asarray(values)
    return {key: estimate(unit_means(values[places[key]], units[places[key]])) for key in ordered(places, first)}


def ordered(names: Iterable[Key], first: Sequence[Key]) -> list[Key]:
    """Names in a given order, those that it lacks after them by alphabet."""
    known = set(names)
    return [name for name in first if name in known] + sorted(known - set(first))  # type: ignore[type-var]


def _decided(values: Any) -> tuple[Any, int]:
    import numpy as np

    values = np.asarray(values, dtype=float)
    known = values[~np.isnan(values)]
    return known, len(values) - len(known)
