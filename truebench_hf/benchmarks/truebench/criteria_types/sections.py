"""What the report of a comparison shows, the paper's rows beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.truebench.criteria_types.ways import WAYS
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import Dot, Dots, Grid, Matrix, Section, fixed, percent, value
from truebench_hf.types import Score, Usage

TITLE = "TRUEBench: types of criteria"
LEAD = "The same responses by four types of criteria"
_REASONS = 3  # shown of each type
_Found = Mapping[str, Any]


def sections(result: _Found) -> list[Section]:
    """Agreement with people (where there are ratings of people), saturation, cost, what was compared, what is open."""
    shown: list[Section] = []
    if result["people"]:
        shown += [_agreement(result), _people(result["people"]), _chart(result)]
    shown += [_saturation(result), *_by_category(result), _cost(result), _set(result)]
    return [*shown, *_open(result)]


def _agreement(result: _Found) -> Grid:
    rows = []
    for name, found in result["types"].items():
        of = found["agreement"]
        first, second = of["halves"]
        open_ = of["judge_undecided"] or ""
        kappa, words = fixed(of["kappa"], 3), of["band"] or "-"
        rows.append(
            (WAYS[name].title, of["n"], open_, _half(first), _half(second), kappa, _interval(of["ci95"]), words)
        )
    why = [
        f"{WAYS[name].title}, {half} half: {one['reason']}"
        for name, found in result["types"].items()
        for half, one in zip(("first", "second"), found["agreement"]["halves"], strict=True)
        if one["kappa"] is None and one["reason"]
    ]
    people = result["people"]
    ceiling = (fixed(people["ceiling"], 3), "", people["band"] or "-")
    rows.append(("Two raters, mean of pairs: the ceiling", "", "", "", "", *ceiling))
    paper = [
        (row["Type"], "", "", "", "", "", "", row["Found"]) for row in paper_rows("truebench", "truebench_figure7")
    ]
    return Grid(
        "Cohen's kappa with the raters' majority (Figure 7)",
        ("Type of criteria", "responses", "left open", "first half", "second half", "kappa", "95 % interval", "in words"),
        tuple(rows), tuple(paper),
        note="Halves are of instances. On each a rating passes from the threshold in brackets, which was chosen on the other "
        "half; kappa is the mean of the two. A checklist needs no threshold: its kappa is of all responses. Intervals are by "
        "instance. A majority is steadier than one rater, so that a judge may lie above the ceiling. The paper draws Figure 7 and "
        "prints no number of it."
        + (f" No kappa: {'; '.join(why)}." if why else ""),
    )  # fmt: skip


def _half(one: _Found) -> str:
    at = "" if one["threshold"] is None else f" (from {one['threshold']:.4g})"
    return f"{fixed(one['kappa'], 3)}{at}"


def _interval(ends: Sequence[float] | None) -> str:
    return "" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"


def _people(people: _Found) -> Grid:
    rows: list[tuple[str, str | int]] = [
        (" and ".join(pair["raters"]), f"{fixed(pair['kappa'], 3)} (n = {pair['n']})") for pair in people["pairs"]
    ]
    rows += [("majority: pass", people["passed"]), ("majority: fail", people["failed"])]
    rows += [(f"open: {reason}", count) for reason, count in people["open"].items()]
    return Grid("What the raters say", (), tuple(rows))


def _chart(result: _Found) -> Dots:
    lines = []
    for name, found in result["types"].items():
        of = found["agreement"]
        if of["kappa"] is not None:
            ends = of["ci95"] and (of["ci95"][0], of["ci95"][1])
            lines.append((WAYS[name].title, (Dot("kappa", of["kappa"], ends),)))
    low = min([0.0, *(end for _, (dot,) in lines for end in (dot.value, *(dot.interval or ())))])
    note = "The line is the mean kappa of two raters." if result["people"]["ceiling"] is not None else ""
    return Dots("Agreement with people", tuple(lines), "", low, 1.0, result["people"]["ceiling"], note)


def _saturation(result: _Found) -> Grid:
    models = result["set"]["models"]
    rows = []
    for name, found in result["types"].items():
        of = found["saturation"]
        each = [value(Score(**of["by_model"][model])) for model in models]
        rows.append((WAYS[name].title, *each, percent(of["mean"]), percent(of["spread"])))
    note = (
        "A model's mean score in percent of the highest possible one; by a checklist its pass rate. The mean over models says "
        "how far a type saturates, the spread (highest less lowest) how far it tells models apart. The lowest rating is 10 % of "
        "10, and 20 % of 5. "
    )
    if (own := result["own_final"]) and own["n"]:
        apart = f"{own['mean_distance']:.2f} from it on average ({round(own['mean'], 2) + 0.0:+.2f})"
        note += f"FLASK's score is our mean over skills; the judge's own final score lies {apart}. "
    note += "The paper draws Figure 8 and prints no number of it: ratings by criteria crowd at the top."
    return Grid("Saturation (Figure 8)", ("Type of criteria", *models, "mean", "spread"), tuple(rows), note=note)


def _by_category(result: _Found) -> Iterator[Matrix]:
    """A picture of Figure 8 for each type."""
    for name, found in result["types"].items():
        table = found["saturation"]["by_category"]
        columns = tuple(next(iter(table.values()), {}))
        if columns:
            lines = tuple((model, tuple(Score(**of[c]) for c in columns)) for model, of in table.items())
            yield Matrix(
                f"{WAYS[name].title}, by category", "Model", columns, lines, "Percent of the highest possible score."
            )


def _cost(result: _Found) -> Grid:
    responses = result["set"]["responses"]
    rows = []
    for name, found in result["types"].items():
        cost = Usage(**found["cost"])
        tokens = cost.input_tokens + cost.output_tokens
        rows.append((WAYS[name].title, *cost.shown, cost.total(tokens / responses) if responses else "-"))
    return Grid(
        "Cost", ("Type of criteria", "calls", "input tokens", "output tokens", "tokens a response"), tuple(rows)
    )


def _set(result: _Found) -> Grid:
    raters = len(result["people"]["raters"]) if result["people"] else 0
    made = result["set"]
    paper = [tuple(row.values()) for row in paper_rows("truebench", "truebench_section5_1")]
    return Grid(
        "What was compared", ("", "instances", "models", "responses", "raters"),
        (("here", made["instances"], len(made["models"]), made["responses"], raters),), tuple(paper),
    )  # fmt: skip


def _open(result: _Found) -> list[Grid]:
    rows = []
    for name, found in result["types"].items():
        reasons = sorted(found["undecided"].items(), key=lambda pair: -pair[1])
        rows += [(WAYS[name].title, count, reason) for reason, count in reasons[:_REASONS]]
        if rest := reasons[_REASONS:]:
            rows.append(
                (WAYS[name].title, sum(count for _, count in rest), f"{len(rest)} other reasons: see ratings.jsonl")
            )
    header = ("Type of criteria", "responses", "why")
    note = "Left out of kappa and means, never a fail. A FLASK score without one of its skills is open."
    return [Grid("Left open by the judge", header, tuple(rows), note=note, prose=(2,))] if rows else []
