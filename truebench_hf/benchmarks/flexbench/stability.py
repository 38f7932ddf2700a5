"""`truebench flex study stability`: do two corpora of one instruction say the same of the models? (paper 001, section 5.3)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean, stdev
from typing import Any

from truebench_hf.benchmarks.flexbench.procedure import Procedure
from truebench_hf.benchmarks.flexbench.scores import JudgedConversation, models_of, totals
from truebench_hf.errors import UserError
from truebench_hf.report.sections import Axis, Plot, Section, Series
from truebench_hf.report.table import PUBLISHED, Column, Part, Table
from truebench_hf.types import Score

MEASURES = {"coverage": "Coverage", "achievement": "Achievement"}
_PAPER = {"coverage": (0.0056, 0.0041), "achievement": (0.0204, 0.0139)}  # seven models, section 5.3


@dataclass(frozen=True)
class Stability:
    """Both scores of the models on two corpora. `crossed` are pairs of models that change places."""

    seeds: tuple[str, str]
    scores: Mapping[str, Mapping[str, tuple[Score, Score]]]  # by measure and model
    errors: Mapping[str, tuple[float | None, float | None]]  # mean absolute error and its deviation
    crossed: Mapping[str, tuple[tuple[str, str], ...]]
    alone: tuple[str, ...] = ()  # models that have conversations of one seed only


def stability(procedure: Procedure, judged: Sequence[JudgedConversation], seeds: tuple[str, str]) -> Stability:
    """The models that have conversations of both seeds. Raises UserError where there are none."""
    first, second = (
        models_of([conversation for conversation in judged if conversation.talk.seed == seed]) for seed in seeds
    )
    both = [model for model in first if model in second]
    if not both:
        held = ", ".join(sorted({conversation.talk.seed or "none" for conversation in judged}))
        raise UserError(f"--seeds {','.join(seeds)}: no model has judged conversations of both; there are seeds {held}")
    pairs = {model: (totals(procedure, first[model]), totals(procedure, second[model])) for model in both}
    scores = {name: {model: (a[name], b[name]) for model, (a, b) in pairs.items()} for name in MEASURES}
    errors: dict[str, tuple[float | None, float | None]] = {}
    crossed = {}
    for name, comparison in scores.items():
        known = _known(comparison)
        gaps = [abs(a - b) for a, b in known.values()]
        errors[name] = (mean(gaps) if gaps else None), (stdev(gaps) if len(gaps) > 1 else None)
        crossed[name] = tuple(
            (model, other)
            for (model, (a, b)), (other, (c, d)) in combinations(known.items(), 2)
            if (a - c) * (b - d) < 0
        )
    return Stability(seeds, scores, errors, crossed, tuple(model for model in first | second if model not in both))


def _known(scores: Mapping[str, tuple[Score, Score]]) -> dict[str, tuple[float, float]]:
    """Both scores of the models that have them."""
    return {
        model: (a.value, b.value) for model, (a, b) in scores.items() if a.value is not None and b.value is not None
    }


def stability_sections(comparison: Stability) -> list[Section]:
    """The scores of both corpora, how far apart they are, Bland-Altman plots, pair lines."""
    first, second = (f"seed {seed}" for seed in comparison.seeds)
    parts: tuple[Part, ...] = ("value", "interval")
    columns = (
        Column("model", "model"), Column("measure", "score"), Column("first", first, "score", digits=1, parts=parts),
        Column("second", second, "score", digits=1, parts=parts),
    )  # fmt: skip
    rows = [
        {"model": model, "measure": title, "first": pair[0], "second": pair[1]}
        for name, title in MEASURES.items() for model, pair in comparison.scores[name].items()
    ]  # fmt: skip
    about = "How far the two scores of a model lie apart, on average over models."
    errors = (
        Column("measure", "score"), Column("error", "mean error", "number", about, digits=2),
        Column("deviation", "deviation", "number", digits=2), Column("crossed", "pairs that change places", "prose"),
    )  # fmt: skip
    lines: list[dict[str, Any]] = [
        {"measure": title, "error": comparison.errors[name][0], "deviation": comparison.errors[name][1],
         "crossed": "; ".join(f"{a} and {b}" for a, b in comparison.crossed[name]) or "none"}
        for name, title in MEASURES.items()
    ]  # fmt: skip
    lines += [
        {"measure": f"{MEASURES[name]}, seven models", "error": error, "deviation": deviation, "crossed": "none", PUBLISHED: True}
        for name, (error, deviation) in _PAPER.items()
    ]  # fmt: skip
    alone = (
        f"Not compared, since judged with one seed alone: {', '.join(comparison.alone)}." if comparison.alone else ""
    )
    return [
        Table("scores", columns, rows, "Scores on both corpora", keys=2),
        Table("errors", errors, lines, "Mean absolute error, in points", alone),
        *(_bland_altman(title, comparison.scores[name]) for name, title in MEASURES.items()),
        *(_lines(title, comparison.scores[name], (first, second)) for name, title in MEASURES.items()),
    ]


def _bland_altman(title: str, scores: Mapping[str, tuple[Score, Score]]) -> Plot:
    """Mean of both corpora against their difference, with the mean difference and its limits of agreement."""
    points = {model: ((100 * a + 100 * b) / 2, 100 * a - 100 * b) for model, (a, b) in _known(scores).items()}
    gaps = [gap for _, gap in points.values()]
    centre, reach = (mean(gaps) if gaps else 0.0), (1.96 * stdev(gaps) if len(gaps) > 1 else 0.0)
    top = max(1.0, *(abs(gap) for gap in gaps), abs(centre) + reach) * 1.2 if gaps else 1.0
    series = [Series(model, ((x, gap, 1.0, f"{model}: {gap:+.2f}"),)) for model, (x, gap) in points.items()]
    for name, level in (("mean", centre), ("mean + 1.96 sd", centre + reach), ("mean - 1.96 sd", centre - reach)):
        series.append(Series(name, ((0.0, level, 0.0, f"{level:+.2f}"), (100.0, level, 0.0, "")), joined=True))
    axes = Axis("mean of both corpora %", 0, 100), Axis("difference (points)", -top, top)
    return Plot(f"{title}: Bland-Altman", tuple(series), *axes)


def _lines(title: str, scores: Mapping[str, tuple[Score, Score]], names: tuple[str, str]) -> Plot:
    """A line per model from one corpus to the other: crossings are changed places."""
    series = []
    for model, shares in _known(scores).items():
        ends = ((name, 100 * share) for name, share in zip(names, shares, strict=True))
        points = tuple((float(x), y, 1.0, f"{model}, {name}: {y:.1f}") for x, (name, y) in enumerate(ends))
        series.append(Series(model, points, joined=True))
    axes = Axis(" to ".join(names), -0.2, 1.2), Axis("%", 0, 100)
    return Plot(f"{title}: from one corpus to the other", tuple(series), *axes)
