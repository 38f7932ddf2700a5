"""What comes of the comparison: agreement with people, saturation, cost, by type of criteria."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.benchmarks.truebench.criteria_types.people import People
from truebench_hf.benchmarks.truebench.criteria_types.ways import METHODS, Rated
from truebench_hf.metrics.choosing import (
    NOTHING,
    Direction,
    Halved,
    by_threshold,
    first_half,
    halved_kappa,
    mean_interval,
)
from truebench_hf.metrics.kappa import cohen_kappa, kappa_interval, verbal_band
from truebench_hf.metrics.pass_rate import mean_share, pass_rate
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import Dot, Dots, Grid, Matrix, Section, fixed, percent, value
from truebench_hf.types import Instance, Response, Score, Usage

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
        "halves": [
            {
                "threshold": one.threshold, "chosen_at": one.chosen_at, "reason": one.reason, "kappa": one.kappa.value,
                "n": one.kappa.n, "ci95": one.interval,
            }
            for one in halves.directions
        ],
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
    return mean_share([None if value is None else value / METHODS[name].most for value in values])


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
        "pairs": [{"raters": list(names), "kappa": one.value, "n": one.n} for names, one in people.pairs.items()],
        "passed": sum(label is True for label in known),
        "failed": sum(label is False for label in known),
        "open": dict(Counter(people.open[name] for name in ids if name in people.open).most_common()),
        "strangers": len(people.strangers),
    }


TITLE = "TRUEBench: types of criteria"
LEAD = "The same responses by four types of criteria"
_REASONS = 3  # shown of each type
_Found = Mapping[str, Any]


def sections(result: _Found) -> list[Section]:
    """Agreement with people (where there are ratings of people), saturation, cost, what was compared, what is open."""
    shown: list[Section] = []
    if result["people"]:
        shown += [_agreement(result), _people_grid(result["people"]), _chart(result)]
    shown += [_saturation(result), *_by_category(result), _cost(result), _set(result)]
    return [*shown, *_open(result)]


def _by_type(result: _Found, what: str) -> Iterator[tuple[str, Any]]:
    """Of each type of criteria its title, and what was found out about it."""
    return ((METHODS[name].title, found[what]) for name, found in result["types"].items())


def _agreement(result: _Found) -> Grid:
    rows, why = [], []
    for title, of in _by_type(result, "agreement"):
        ends = "" if of["ci95"] is None else f"{of['ci95'][0]:.2f} to {of['ci95'][1]:.2f}"
        halves, open_ = map(_half, of["halves"]), of["judge_undecided"] or ""
        rows.append((title, of["n"], open_, *halves, fixed(of["kappa"], 3), ends, of["band"] or "-"))
        for half, one in zip(("first", "second"), of["halves"], strict=True):
            if one["kappa"] is None and one["reason"]:
                why.append(f"{title}, {half} half: {one['reason']}")
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


def _people_grid(people: _Found) -> Grid:
    rows: list[tuple[str, str | int]] = [
        (" and ".join(pair["raters"]), f"{fixed(pair['kappa'], 3)} (n = {pair['n']})") for pair in people["pairs"]
    ]
    rows += [("majority: pass", people["passed"]), ("majority: fail", people["failed"])]
    rows += [(f"open: {reason}", count) for reason, count in people["open"].items()]
    return Grid("What the raters say", (), tuple(rows))


def _chart(result: _Found) -> Dots:
    lines = []
    for title, of in _by_type(result, "agreement"):
        if of["kappa"] is not None:
            lines.append((title, (Dot("kappa", of["kappa"], of["ci95"] and (of["ci95"][0], of["ci95"][1])),)))
    low = min([0.0, *(end for _, (dot,) in lines for end in (dot.value, *(dot.interval or ())))])
    note = "The line is the mean kappa of two raters." if result["people"]["ceiling"] is not None else ""
    return Dots("Agreement with people", tuple(lines), "", low, 1.0, result["people"]["ceiling"], note)


def _saturation(result: _Found) -> Grid:
    models = result["set"]["models"]
    rows = [
        (title, *(value(Score(**of["by_model"][m])) for m in models), percent(of["mean"]), percent(of["spread"]))
        for title, of in _by_type(result, "saturation")
    ]
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
    for title, found in _by_type(result, "saturation"):
        table = found["by_category"]
        if columns := tuple(next(iter(table.values()), {})):
            lines = tuple((model, tuple(Score(**of[c]) for c in columns)) for model, of in table.items())
            yield Matrix(f"{title}, by category", "Model", columns, lines, "Percent of the highest possible score.")


def _cost(result: _Found) -> Grid:
    responses = result["set"]["responses"]
    rows = []
    for title, spent in _by_type(result, "cost"):
        cost = Usage(**spent)
        tokens = cost.input_tokens + cost.output_tokens
        rows.append((title, *cost.shown, cost.total(tokens / responses) if responses else "-"))
    header = ("Type of criteria", "calls", "input tokens", "output tokens", "tokens a response")
    return Grid("Cost", header, tuple(rows))


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
    for title, undecided in _by_type(result, "undecided"):
        reasons = sorted(undecided.items(), key=lambda pair: -pair[1])
        rows += [(title, count, reason) for reason, count in reasons[:_REASONS]]
        if rest := reasons[_REASONS:]:
            rows.append((title, sum(count for _, count in rest), f"{len(rest)} other reasons: see ratings.jsonl"))
    header = ("Type of criteria", "responses", "why")
    note = "Left out of kappa and means, never a fail. A FLASK score without one of its skills is open."
    return [Grid("Left open by the judge", header, tuple(rows), note=note, prose=(2,))] if rows else []
