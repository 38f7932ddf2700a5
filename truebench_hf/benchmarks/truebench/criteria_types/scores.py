"""What comes of the comparison: agreement with people, saturation, cost, by type of criteria."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.benchmarks.truebench.criteria_types.people import People
from truebench_hf.benchmarks.truebench.criteria_types.ways import WAYS, Rated
from truebench_hf.metrics.choosing import (
    NOTHING,
    Direction,
    Halved,
    by_threshold,
    first_half,
    halved_kappa,
    mean_interval,
)
from truebench_hf.metrics.kappa import Reliability, cohen_kappa, kappa_interval, verbal_band
from truebench_hf.metrics.pass_rate import mean_share, pass_rate
from truebench_hf.types import Instance, Response, Score

BINARY = "checklist"


@dataclass(frozen=True, slots=True)
class Row:
    """A response under its id (see `response_id`), and what it got by type."""

    instance: Instance
    response: Response
    id: str
    rated: Mapping[str, Rated]


def score(
    rows: Sequence[Row], models: Sequence[str], people: People | None, usage: Mapping[str, Any], seed: int = 0
) -> dict[str, Any]:
    """The content of `scores.json`; `incomplete` counts responses that a type of criteria left open."""
    types = list(rows[0].rated) if rows else []
    known = [people.passed[row.id] if people else None for row in rows]
    half = first_half([row.instance.id for row, label in zip(rows, known, strict=True) if label is not None], seed)
    found = {
        name: {
            "agreement": agreement(name, rows, known, half, seed) if people else None,
            "saturation": saturation(name, rows, models),
            "cost": dict(usage.get(name, {})),
            "undecided": dict(Counter(row.rated[name].reason for row in rows if row.rated[name].value is None)),
        }
        for name in types
    }
    return {
        "types": found,
        "people": _people(people, [row.id for row in rows]) if people else None,
        "set": {"instances": len({row.instance.id for row in rows}), "models": list(models), "responses": len(rows)},
        "own_final": own_final([row.rated["flask"] for row in rows]) if "flask" in types else None,
        "seed": seed,
        "incomplete": sum(any(one.value is None for one in row.rated.values()) for row in rows),
    }


def agreement(
    name: str, rows: Sequence[Row], people: Sequence[bool | None], half: frozenset[Any], seed: int = 0
) -> dict[str, Any]:
    """Cohen's kappa of a type against the majority of raters; clusters of intervals are the instances.

    A rating passes from a threshold that is chosen on one half of the instances and measured on the other, in both
    directions: `kappa` is the mean of the two. A checklist has its own pass or fail: `kappa` is that of all responses,
    and the halves only show what they are by themselves.
    """
    scores, groups = [row.rated[name].value for row in rows], [row.instance.id for row in rows]
    halves = halved_kappa(scores, people, groups, half, seed=seed)
    kappa, interval = halves.mean, halves.interval
    if name == BINARY:
        passed = by_threshold(scores, 1)
        halves = _as_it_is(passed, people, groups, half, seed)
        kappa, interval = cohen_kappa(passed, people).value, kappa_interval(passed, people, groups, seed=seed)
    pairs = [s is not None for s, label in zip(scores, people, strict=True) if label is not None]
    return {
        "kappa": kappa, "ci95": interval, "band": None if kappa is None else verbal_band(kappa),
        "n": sum(pairs), "judge_undecided": len(pairs) - sum(pairs), "people_undecided": len(people) - len(pairs),
        "halves": [_direction(one) for one in halves.directions],
    }  # fmt: skip


def _as_it_is(
    passed: Sequence[bool | None], people: Sequence[bool | None], groups: Sequence[str], half: frozenset[Any], seed: int
) -> Halved:
    """What needs no threshold, on the same halves as what needs one."""
    found = []
    for side in (True, False):
        on = [row for row, group in enumerate(groups) if (group in half) == side]
        columns = [passed[row] for row in on], [people[row] for row in on]
        interval = kappa_interval(*columns, [groups[row] for row in on], seed=seed)
        kappa = cohen_kappa(*columns)
        found.append(Direction(None, None, kappa, interval, "" if kappa.value is not None else NOTHING))
    one, other = found
    return Halved((one, other), None, mean_interval(one, other))


def _direction(one: Direction) -> dict[str, Any]:
    told = {"threshold": one.threshold, "chosen_at": one.chosen_at, "reason": one.reason}
    return told | {"kappa": one.kappa.value, "n": one.kappa.n, "ci95": one.interval}


def saturation(name: str, rows: Sequence[Row], models: Sequence[str]) -> dict[str, Any]:
    """How near the scores are to the end of the scale, and how far they tell models apart (appendix C.3, Figure 8).

    `by_model` is a model's mean score over the highest possible one (0 to 1), by a checklist its pass rate; `mean` that
    of the models, `spread` the highest less the lowest. None where a model has none, and for the spread of one alone.
    """
    by_model = {model: _mean(name, [row for row in rows if row.response.model == model]) for model in models}
    values = [found.value for found in by_model.values()]
    known = [value for value in values if value is not None]
    whole = bool(known) and len(known) == len(values)
    categories = dict.fromkeys(row.instance.category for row in rows if row.instance.category)
    return {
        "mean": sum(known) / len(known) if whole else None,
        "spread": max(known) - min(known) if whole and len(known) > 1 else None,
        "by_model": {model: asdict(found) for model, found in by_model.items()},
        "by_category": {
            model: {
                category: asdict(_mean(name, [r for r in rows if (r.response.model, r.instance.category) == (model, category)]))
                for category in categories
            }
            for model in models
        },
    }  # fmt: skip


def _mean(name: str, rows: Sequence[Row]) -> Score:
    values = [row.rated[name].value for row in rows]
    if name == BINARY:
        return pass_rate([None if value is None else value == 1 for value in values])
    return mean_share([None if value is None else value / WAYS[name].most for value in values])


def own_final(rated: Sequence[Rated]) -> dict[str, Any]:
    """How far the judge's own final score is from our mean over skills: the mean of the differences, and how many."""
    apart = [one.own_final - one.value for one in rated if one.own_final is not None and one.value is not None]
    n = len(apart)
    return {"n": n, "mean": sum(apart) / n if n else None, "mean_distance": sum(map(abs, apart)) / n if n else None}


def _people(people: People, ids: Sequence[str]) -> dict[str, Any]:
    known = [people.passed[name] for name in ids]
    return {
        "raters": list(people.raters),
        "ceiling": people.ceiling,
        "band": None if people.ceiling is None else verbal_band(people.ceiling),
        "pairs": [_pair(names, found) for names, found in people.pairs.items()],
        "passed": sum(label is True for label in known),
        "failed": sum(label is False for label in known),
        "open": dict(Counter(people.open[name] for name in ids if name in people.open).most_common()),
        "strangers": len(people.strangers),
    }


def _pair(names: tuple[str, str], found: Reliability) -> dict[str, Any]:
    return {"raters": list(names), "kappa": found.value, "n": found.n}
