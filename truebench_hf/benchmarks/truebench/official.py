"""The official result tables: their columns, order and rounding, from verdict frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.scores import response_values
from truebench_hf.report.csv_table import guard
from truebench_hf.results.estimators import rate, unit_means
from truebench_hf.results.verdicts import VerdictFrames

if TYPE_CHECKING:
    from pandas import DataFrame

Cells = list[list[str | float]]
Runs = Sequence[tuple[str, VerdictFrames]]
Rows = Callable[["DataFrame"], Any]  # which responses count in a column
_SINGLE = tuple(name for name in CATEGORIES if name != "Multi-Turn")
_USAGE = ("input", "think", "response", "total")
_UNKNOWN = "unknown"


def category_table(runs: Runs, official: bool) -> Cells:
    """`stats_cat.csv`: a row per model; pass rates in percent, two decimals.

    Official rule: a cell without rows is 0, categories outside the list are left out. Ours: blank, and appended.
    """

    def several(responses: DataFrame) -> Any:  # officially by name, whatever the number of turns
        return responses["category"] == "Multi-Turn" if official else responses["turns"] > 1

    columns = _columns(runs, "category", _SINGLE, official)
    columns += [("Single-Turn", lambda responses: ~several(responses)), ("Multi-Turn", several)]
    return _table(runs, columns, official)


def language_table(runs: Runs, official: bool) -> Cells:
    """`stats_lang.csv`: a row per model, columns as in the official code."""
    return _table(runs, _columns(runs, "language", LANGUAGES, official), official)


def usage_table(runs: Runs) -> Cells:
    """`usage.csv`: tokens of inference and judge per model; response tokens exclude thinking.

    Where a server left counts out, a sum is `unknown`.
    """
    header = [f"{role}_{kind}_tokens" for role in ("inference", "judge") for kind in _USAGE]
    table: Cells = [["Model Name", *header, "total_tokens"]]
    for model, frames in runs:
        cells: list[str | float] = []
        total, spent = 0, frames.responses
        for role in ("model", "judge"):
            read, written, thought, unknown = (
                int(spent[f"{role}_{count}"].sum())
                for count in ("input_tokens", "output_tokens", "reasoning_tokens", "unknown_calls")
            )
            cells += [_UNKNOWN] * 4 if unknown else [read, thought, written - thought, read + written]
            total += read + written
        table.append([model, *cells, _UNKNOWN if _UNKNOWN in cells else total])
    return table


def to_csv(table: Cells) -> str:
    """A table as CSV text; a name that a spreadsheet would run as a formula gets an apostrophe before it."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([guard(cell) for cell in row] for row in table)
    return out.getvalue()


def _columns(runs: Runs, field: str, known: Sequence[str], official: bool) -> list[tuple[str, Rows]]:
    """Columns, and which responses count in each; what the official code does not know stands behind what it does."""
    names = {name for _, frames in runs for name in frames.responses[field].unique()} - {*known, "Multi-Turn", ""}
    columns = [*known, *([] if official else sorted(names))]
    return [
        ("Overall", lambda responses: responses["turns"] >= 0),
        *((name, lambda responses, name=name: responses[field] == name) for name in columns),
    ]


def _table(runs: Runs, columns: Sequence[tuple[str, Rows]], official: bool) -> Cells:
    table: Cells = [["Model Name", *(name for name, _ in columns)]]
    for model, frames in runs:
        passed = response_values(frames)["official" if official else "passed"].to_numpy()
        instances = frames.responses["instance"].to_numpy()
        cells: list[str | float] = []
        for _, rows_of in columns:
            rows = rows_of(frames.responses).to_numpy(dtype=bool)
            # The official code counts rows, whatever they are of.
            value = rate(passed[rows] if official else unit_means(passed[rows], instances[rows])).value
            # It rounds the same expression: 102 of 320 is 31.87, where 100 * 102 / 320 gives 31.88.
            cells.append((0 if official else "") if value is None else round(value * 100, 2))
        table.append([model, *cells])
    return table
