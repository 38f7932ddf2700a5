"""The official result tables: their columns, order and rounding, from judged instances."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from functools import partial
from itertools import compress

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.scores import outcomes
from truebench_hf.data.judged import Judged
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.metrics.repeated import over_instances
from truebench_hf.report.csv_cells import guard
from truebench_hf.types import Usage

Table = list[list[str | float]]
Runs = Sequence[tuple[str, Sequence[Judged]]]
Test = Callable[[Sequence[Judged]], Sequence[bool]]  # which responses count in a column
_SINGLE = tuple(name for name in CATEGORIES if name != "Multi-Turn")
_USAGE = ("input", "think", "response", "total")
_UNKNOWN = "unknown"


def category_table(runs: Runs, official: bool) -> Table:
    """`stats_cat.csv`: a row per model; pass rates in percent, two decimals.

    Official rule: a cell without rows is 0, categories outside the list are left out. Ours: blank, and appended.
    """
    # Officially by name, whatever the number of turns.
    several: Test = partial(_is, "category", "Multi-Turn") if official else _several_turns
    columns = _columns(runs, "category", _SINGLE, official)
    columns += [("Single-Turn", partial(_not, several)), ("Multi-Turn", several)]
    return _table(runs, columns, official)


def language_table(runs: Runs, official: bool) -> Table:
    """`stats_lang.csv`: a row per model, columns as in the official code."""
    return _table(runs, _columns(runs, "language", LANGUAGES, official), official)


def usage_table(runs: Runs) -> Table:
    """`usage.csv`: tokens of inference and judge per model; response tokens exclude thinking.

    Where a server left counts out, a sum is `unknown`.
    """
    header: list[str | float] = ["Model Name"]
    header += [f"{role}_{kind}_tokens" for role in ("inference", "judge") for kind in _USAGE] + ["total_tokens"]
    table: Table = [header]
    for model, judged in runs:
        cells: list[str | float] = []
        spent, total = _spent(judged), 0
        for role in ("model", "judge"):
            used = spent.get(role, Usage())
            answer = used.output_tokens - used.reasoning_tokens
            counts = [used.input_tokens, used.reasoning_tokens, answer, used.input_tokens + used.output_tokens]
            cells += [_UNKNOWN] * len(counts) if used.unknown_calls else counts
            total += counts[-1]
        table.append([model, *cells, _UNKNOWN if _UNKNOWN in cells else total])
    return table


def to_csv(table: Table) -> str:
    """A table as CSV text; a name that a spreadsheet would run as a formula gets an apostrophe before it."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([guard(cell) for cell in row] for row in table)
    return out.getvalue()


def _columns(runs: Runs, field: str, known: Sequence[str], official: bool) -> list[tuple[str, Test]]:
    """Columns, and which responses count in each; what the official code does not know stands behind what it does."""
    names = {name for _, judged in runs for name in _named(field, judged)} - {
        *known,
        "Multi-Turn",
        "",
    }
    columns = [*known, *([] if official else sorted(names))]
    return [("Overall", lambda rows: [True] * len(rows)), *((name, partial(_is, field, name)) for name in columns)]


def _spent(judged: Sequence[Judged]) -> dict[str, Usage]:
    """What all responses took, by role."""
    spent: dict[str, Usage] = {}
    for item in judged:
        for role, usage in item.usage.items():
            spent[role] = spent.get(role, Usage()) + usage
    return spent


def _named(field: str, rows: Sequence[Judged]) -> list[str]:
    return [getattr(item.instance, field) for item in rows]


def _several_turns(rows: Sequence[Judged]) -> Sequence[bool]:
    return [len(item.verdicts) > 1 for item in rows]


def _is(field: str, name: str, rows: Sequence[Judged]) -> Sequence[bool]:
    return [value == name for value in _named(field, rows)]


def _not(test: Test, rows: Sequence[Judged]) -> Sequence[bool]:
    return [not found for found in test(rows)]


def _table(runs: Runs, columns: Sequence[tuple[str, Test]], official: bool) -> Table:
    header, tests = ["Model Name", *(name for name, _ in columns)], [test for _, test in columns]
    return [[*header], *([model, *_cells(judged, tests, official)] for model, judged in runs)]


def _cells(rows: Sequence[Judged], tests: Sequence[Test], official: bool) -> list[str | float]:
    passed = outcomes(rows, {"protocol": "official" if official else "default"})
    pairs = [(item.instance.id, value) for item, value in zip(rows, passed, strict=True)]
    values = [_rate(list(compress(pairs, test(rows))), official) for test in tests]
    # The official code rounds the same expression: 102 of 320 is 31.87, where 100 * 102 / 320 gives 31.88.
    return [(0 if official else "") if value is None else round(value * 100, 2) for value in values]


def _rate(passed: Sequence[tuple[str, bool | None]], official: bool) -> float | None:
    if official:  # which counts rows, whatever they are of
        return pass_rate([value for _, value in passed]).value
    samples: dict[str, list[bool | None]] = {}
    for instance, value in passed:
        samples.setdefault(instance, []).append(value)
    return over_instances(list(samples.values())).value
