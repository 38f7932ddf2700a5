"""How much more a judge gives its own models than other judges do, beyond what it gives to all others (paper 002, 4).

The paper reports a mean increase of 3.23 points and does not say how it was formed. Here it is a difference of
differences: a judge that is lenient to everybody prefers nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.bootstrap import drawn_ratios, percentiles
from truebench_hf.metrics.intervals import MIN_CLUSTERS

# What judges gave: by model, judge and item (instance, answer); None was not decided.
Given = Mapping[str, Mapping[str, Mapping[str, float | None]]]


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """A judge's score less the mean of the other judges', in the unit of the scores: for its own models, for all others,
    and the difference of the two, with its 95 % interval over the items. None where there are no such models, or a
    score is missing."""

    own: float | None
    others: float | None
    preference: float | None
    ci95: tuple[float, float] | None = None


def self_preference(
    scores: Mapping[str, Mapping[str, float | None]], judge: str, own: Collection[str]
) -> SelfPreference:
    """The preference of `judge` for its `own` models; `scores` are those of every model (row) by every judge.

    With one judge alone there is nothing to compare it with, and all is None. Means alone give no interval.
    """
    leads = {model: _lead(row, judge) for model, row in scores.items()}
    mine = mean_of(*(lead for model, lead in leads.items() if model in own))
    rest = mean_of(*(lead for model, lead in leads.items() if model not in own))
    return SelfPreference(mine, rest, None if mine is None or rest is None else mine - rest)


def self_preference_over(
    samples: Sequence[Given], judge: str, own: Collection[str], *, seed: int = 0
) -> SelfPreference:
    """As `self_preference`, from what judges gave item by item; of several independent `samples` (splits) the mean.

    Of a model those items count that all judges decided. The interval is a percentile bootstrap over the items, each
    drawn with all models and judges; there is none with fewer than `MIN_CLUSTERS` of them in a sample, nor where
    every draw is alike.
    """
    tables = [_sums(given) for given in samples]
    models = list(samples[0]) if samples else []
    means: dict[str, dict[str, float | None]] = {
        model: {
            name: mean_of(*(_ratio(*table[model, name]) for table in tables))
            for name in samples[0][model]
        }
        for model in models
    }  # fmt: skip
    found = self_preference(means, judge, own)
    if found.preference is None or any(_items(table) < MIN_CLUSTERS for table in tables):
        return found
    drawn = [
        dict(zip(table, drawn_ratios(list(table.values()), seed + place), strict=True))
        for place, table in enumerate(tables)  # a seed each: equally long samples would be drawn alike
    ]
    leads = {model: _drawn_lead(drawn, model, judge, list(means[model])) for model in models}
    mine, rest = ([leads[model] for model in models if (model in own) == side] for side in (True, False))
    bounds = percentiles(sum(mine) / len(mine) - sum(rest) / len(rest), 0.95)
    return replace(found, ci95=None if bounds is None or bounds[0] == bounds[1] else bounds)


def _lead(row: Mapping[str, float | None], judge: str) -> float | None:
    """What the judge gives beyond the mean of the other judges."""
    given, usual = row[judge], mean_of(*(score for name, score in row.items() if name != judge))
    return None if given is None or usual is None else given - usual


def _sums(given: Given) -> dict[tuple[str, str], tuple[list[float], list[float]]]:
    """By model and judge, item for item in one order: what was given, and whether it counts."""
    items = list(dict.fromkeys(item for by_judge in given.values() for scores in by_judge.values() for item in scores))
    found = {}
    for model, by_judge in given.items():
        counts = [all(scores.get(item) is not None for scores in by_judge.values()) for item in items]
        for name, scores in by_judge.items():
            top = [float(scores[item] or 0) if there else 0.0 for item, there in zip(items, counts, strict=True)]
            found[model, name] = (top, list(map(float, counts)))
    return found


def _items(table: Mapping[Any, tuple[list[float], list[float]]]) -> int:
    """The fewest items that count for a model."""
    return min(int(sum(bottom)) for _, bottom in table.values())


def _ratio(top: Sequence[float], bottom: Sequence[float]) -> float | None:
    return sum(top) / sum(bottom) if sum(bottom) else None


def _drawn_lead(drawn: Sequence[Mapping[tuple[str, str], Any]], model: str, judge: str, judges: Sequence[str]) -> Any:
    cells = {name: sum(table[model, name] for table in drawn) / len(drawn) for name in judges}
    others = [cell for name, cell in cells.items() if name != judge]
    return cells[judge] - sum(others) / len(others)
