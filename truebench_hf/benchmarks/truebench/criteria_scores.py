"""The figures of a comparison of criteria: agreement with people, saturation and cost by type (paper 000, section 5.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from truebench_hf.benchmarks.truebench.rating import METHODS, People, Rated
from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.choosing import by_threshold, first_half, halved_kappa
from truebench_hf.metrics.kappa import verbal_band
from truebench_hf.metrics.pass_rate import mean_share, pass_rate
from truebench_hf.report.sections import Matrix
from truebench_hf.report.table import PUBLISHED, Column, Table, paper_rows
from truebench_hf.types import Instance, Response, Score, Usage

BINARY = "checklist"
_REASONS = 3  # of each type
_KAPPA: Any = {"kind": "score", "unit": "", "digits": 3}
_TYPE = Column("type", "Type of criteria")


@dataclass(frozen=True, slots=True)
class RatedResponse:
    """A response under its id (see `response_id`), and what it got by type."""

    instance: Instance
    response: Response
    id: str
    rated: Mapping[str, Rated]


def comparison_tables(
    rows: Sequence[RatedResponse], models: Sequence[str], people: People | None, usage: Mapping[str, Any], seed: int = 0
) -> list[Table]:
    """All tables of a comparison: agreement with people only where some have rated."""
    types = list(rows[0].rated) if rows else []
    shares = saturation(rows, models, types)
    here = {
        "set": "here", "instances": len({row.instance.id for row in rows}), "models": len(models), "responses": len(rows),
        "raters": len(people.raters) if people else 0,
    }  # fmt: skip
    paper = [dict(zip(here, row.values(), strict=True)) for row in paper_rows("truebench", "truebench_section5_1")]
    set_columns = (Column("set", ""), *(Column(name, name, "count") for name in here if name != "set"))
    tables = [
        _saturation(shares, models, types), shares, _cost(rows, types, usage),
        Table("set", set_columns, [here, *(row | {PUBLISHED: True} for row in paper)], "What was compared"),
    ]  # fmt: skip
    if people:
        tables = [_agreement(rows, people, types, seed), *_raters(people, [row.id for row in rows]), *tables]
    tables += [_open(rows, types), *([_own_final(rows)] if "flask" in types else [])]
    return [table for table in tables if table.rows]


def by_category(shares: Table, models: Sequence[str]) -> list[Matrix]:
    """A picture of Figure 8 for each type, of the table `saturation`."""
    cells = {(row["type"], row["model"], row["category"]): row["score"] for row in shares.rows}
    categories = tuple(name for name in dict.fromkeys(row["category"] for row in shares.rows) if name)
    types = dict.fromkeys(row["type"] for row in shares.rows)
    return [
        Matrix(
            f"{METHODS[kind].title}, by category", "Model", categories,
            tuple((model, tuple(cells.get((kind, model, name)) for name in categories)) for model in models),
            "Percent of the highest possible score.",
        )
        for kind in types if categories
    ]  # fmt: skip


def _kappas(
    rows: Sequence[RatedResponse], people: People, types: Sequence[str], seed: int
) -> tuple[list[dict[str, Any]], list[str]]:
    """Cohen's kappa of each type against the majority of raters, and why a half has none.

    A rating passes from a threshold that is chosen on one half of the instances and measured on the other, in both
    directions: `kappa` is the mean of the two. A checklist has its own pass or fail: `kappa` is that of all responses,
    and the halves only show what they are by themselves. Clusters of intervals are the instances.
    """
    import pandas as pd

    words = {True: "yes", False: "no", None: None}
    clusters, gold = [row.instance.id for row in rows], [words[people.passed[row.id]] for row in rows]
    half = first_half([cluster for cluster, label in zip(clusters, gold, strict=True) if label is not None], seed)
    sides = ["first" if cluster in half else "second" for cluster in clusters]
    columns = {"cluster": clusters, "gold": gold, "half": sides}
    lines, reasons = [], []
    for name in types:
        values = [row.rated[name].value for row in rows]
        frame = pd.DataFrame(columns | {"label": by_threshold(values, 1)}, dtype=object)
        (counts,) = agreement(frame, measures=("kappa",)).to_dict("records")
        if name == BINARY:
            halves = agreement(frame, ["half"], measures=("kappa",)).to_dict("records")
            kappa, cells = counts["kappa"], {row["half"]: row["kappa"] for row in halves}
        else:
            halved, cells = halved_kappa(values, gold, clusters, half, seed=seed), {}
            kappa = Score(halved.mean, counts["n"], counts["undecided"], halved.interval)
            for side, direction in (("first", halved.first), ("second", halved.second)):
                cells[side] = replace(direction.kappa, unscored=0)
                cells |= {f"{side}_threshold": direction.threshold, f"{side}_chosen_at": direction.chosen_at}
                reasons += [f"{name}, {side} half: {direction.reason}"] if direction.reason else []
        band = None if kappa.value is None else verbal_band(kappa.value)
        lines.append({"type": name, "kappa": kappa, "people_undecided": counts["unlabelled"], "band": band, **cells})
    return lines, reasons


def _agreement(rows: Sequence[RatedResponse], people: People, types: Sequence[str], seed: int) -> Table:
    lines, reasons = _kappas(rows, people, types, seed)
    band = None if people.ceiling is None else verbal_band(people.ceiling)
    lines.append({"type": "Two raters, mean of pairs: the ceiling", "kappa": Score(people.ceiling, 0), "band": band})
    lines += [
        {"type": row["Type"], "band": row["Found"], PUBLISHED: True}
        for row in paper_rows("truebench", "truebench_figure7")
    ]
    columns = [
        _TYPE, Column("kappa", "kappa", parts=("value", "interval", "n", "unscored"), drawn=True, **_KAPPA),
        Column("band", "in words"), Column("people_undecided", "open to people", "count", "Responses without a majority.", minor=3),
    ]  # fmt: skip
    for side, other in (("first", "second"), ("second", "first")):
        columns += [
            Column(side, f"{side} half", about=f"Kappa on the {side} half of the instances.", minor=1, **_KAPPA),
            Column(f"{side}_threshold", "passes from", "number", f"The rating that the {other} half chose.", unit="", minor=1),
            Column(f"{side}_chosen_at", "kappa there", "number", f"On the {other} half, where it was chosen.", unit="", digits=3, minor=2),
        ]  # fmt: skip
    note = (
        "Kappa of a rating is the mean of two halves of the instances, on each from the threshold that the other one chose; a "
        "checklist needs none. Intervals are by instance. A majority is steadier than one rater, so that a judge may lie above "
        "the ceiling. The paper draws Figure 7 and prints no number of it."
        + (f" No kappa: {'; '.join(reasons)}." if reasons else "")
    )
    return Table("agreement", columns, lines, "Cohen's kappa with the raters' majority (Figure 7)", note)


def _raters(people: People, ids: Sequence[str]) -> Iterator[Table]:
    """What raters say; they have numbers here, since these figures may be published."""
    numbers = {name: f"rater {number}" for number, name in enumerate(people.raters, 1)}
    pairs = [
        {"raters": " and ".join(map(numbers.__getitem__, pair)), "kappa": Score(kappa.value, kappa.n)}
        for pair, kappa in people.pairs.items()
    ]
    columns = (Column("raters", "Raters"), Column("kappa", "kappa", parts=("value", "n"), **_KAPPA))
    yield Table("raters", columns, pairs, "How far raters agree")
    passed = [people.passed[name] for name in ids]
    rows = [
        {"label": "pass", "responses": sum(label is True for label in passed)},
        {"label": "fail", "responses": sum(label is False for label in passed)},
    ]
    reasons = Counter(people.open[name] for name in ids if name in people.open).most_common()
    rows += [{"label": f"open: {reason}", "responses": count} for reason, count in reasons]
    yield Table("majority", (Column("label", "Majority"), Column("responses", "responses", "count")), rows)


def saturation(rows: Sequence[RatedResponse], models: Sequence[str], types: Sequence[str]) -> Table:
    """A model's mean score over the highest possible one (0 to 1), by a checklist its pass rate, in all and by category."""
    categories = dict.fromkeys(row.instance.category for row in rows if row.instance.category)
    lines = []
    for name, model, category in product(types, models, ("", *categories)):
        own = [row for row in rows if row.response.model == model and category in ("", row.instance.category)]
        values = [row.rated[name].value for row in own]
        if name == BINARY:
            share = pass_rate([None if value is None else value == 1 for value in values])
        else:
            share = mean_share([None if value is None else value / METHODS[name].most for value in values])
        lines.append({"type": name, "model": model, "category": category, "score": share})
    columns = (
        Column("type", "Type"), Column("model", "Model"), Column("category", "Category"),
        Column("score", "%", "score", parts=("value", "interval", "n", "unscored")),
    )  # fmt: skip
    return Table("saturation", columns, lines, keys=3, on_page=False)


def _saturation(shares: Table, models: Sequence[str], types: Sequence[str]) -> Table:
    """How near the scores are to the end of the scale, and how far they tell models apart (appendix C.3, Figure 8).

    The mean is that of the models, and the spread the highest less the lowest: None where a model has no score, and the
    spread of one model alone.
    """
    overall = {(row["type"], row["model"]): row["score"] for row in shares.rows if not row["category"]}
    lines = []
    for name in types:
        values = [overall[name, model].value for model in models]
        known = [value for value in values if value is not None]
        complete = bool(known) and len(known) == len(values)
        lines.append({
            "type": name, "scale": METHODS[name].title, **{f"model:{model}": overall[name, model] for model in models},
            "mean": sum(known) / len(known) if complete else None,
            "spread": max(known) - min(known) if complete and len(known) > 1 else None,
        })  # fmt: skip
    columns = [
        _TYPE, Column("scale", "scale", minor=1), *(Column(f"model:{model}", model, "score") for model in models),
        Column("mean", "mean", "number", "How far a type saturates: the mean over models."),
        Column("spread", "spread", "number", "How far it tells models apart: the highest less the lowest."),
    ]  # fmt: skip
    note = (
        "A model's mean score in percent of the highest possible one; by a checklist its pass rate. The lowest rating is 10 % "
        "of 10, and 20 % of 5. The paper draws Figure 8 and prints no number of it: ratings by criteria crowd at the top."
    )
    return Table("types", columns, lines, "Saturation (Figure 8)", note)


def _own_final(rows: Sequence[RatedResponse]) -> Table:
    """How far the judge's own final score is from our mean over skills: the mean of the differences, and how many."""
    rated = [row.rated["flask"] for row in rows]
    apart = [r.own_final - r.value for r in rated if r.own_final is not None and r.value is not None]
    n = len(apart)
    row = {"n": n, "mean": sum(apart) / n + 0.0, "mean_distance": sum(map(abs, apart)) / n} if n else {"n": 0}
    columns = (
        Column("n", "responses", "count"), Column("mean", "own final score less ours", "number", unit=""),
        Column("mean_distance", "mean distance", "number", unit=""),
    )  # fmt: skip
    return Table("own_final", columns, [row], "FLASK: the judge's own final score against our mean over skills", keys=0)


def _cost(rows: Sequence[RatedResponse], types: Sequence[str], usage: Mapping[str, Any]) -> Table:
    lines = []
    for name in types:
        spent = Usage(**usage.get(name, {}))
        tokens = spent.input_tokens + spent.output_tokens
        lines.append({"type": name, **asdict(spent), "each": tokens / len(rows)})
    columns = [
        _TYPE, Column("calls", "calls", "count"), Column("input_tokens", "input tokens", "count"),
        Column("output_tokens", "output tokens", "count"), Column("reasoning_tokens", "of these reasoning", "count", minor=1),
        Column("each", "tokens a response", "number", unit="", digits=0),
        Column("unknown_calls", "calls without counts", "count", "Their tokens are not in the others.", minor=1),
    ]  # fmt: skip
    return Table("cost", columns, lines, "Cost")


def _open(rows: Sequence[RatedResponse], types: Sequence[str]) -> Table:
    lines = []
    for name in types:
        rated = [row.rated[name] for row in rows]
        reasons = Counter(r.reason for r in rated if r.value is None).most_common()
        lines += [{"type": name, "responses": count, "reason": reason} for reason, count in reasons[:_REASONS]]
        if rest := reasons[_REASONS:]:
            why = f"{len(rest)} other reasons: see ratings.jsonl"
            lines.append({"type": name, "responses": sum(count for _, count in rest), "reason": why})
    columns = (_TYPE, Column("responses", "responses", "count"), Column("reason", "why", "prose"))
    note = "Left out of kappa and means, never a fail. A FLASK score without one of its skills is open."
    return Table("open", columns, lines, "Left open by the judge", note, keys=2)
