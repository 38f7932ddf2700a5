"""The official result tables: their columns, order and rounding, from judged instances."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.scores import ordered, outcomes
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.records import Judged
from truebench_hf.report.csv_cells import guard
from truebench_hf.types import Usage

Table = list[list[str | float]]
_SINGLE = tuple(name for name in CATEGORIES if name != "Multi-Turn")
_USAGE = ("input", "think", "response", "total")


def category_table(runs: Sequence[tuple[str, Sequence[Judged]]], official: bool) -> Table:
    """`stats_cat.csv`: a row per model; pass rates in percent, two decimals.

    Official rule: a cell without rows is 0, categories outside the list are left out. Ours: blank, and appended.
    """
    names = {item.instance.category for _, judged in runs for item in judged} - {"Multi-Turn", ""}
    columns = list(_SINGLE) + ([] if official else ordered(names - set(_SINGLE), ()))
    tests: list[Callable[[Judged], bool]] = [lambda item: True]
    tests += [lambda item, name=name: item.instance.category == name for name in columns]  # type: ignore[misc]
    if official:  # by name, whatever the number of turns
        tests += [
            lambda item: item.instance.category != "Multi-Turn",
            lambda item: item.instance.category == "Multi-Turn",
        ]
    else:
        tests += [lambda item: len(item.verdicts) == 1, lambda item: len(item.verdicts) > 1]
    header: list[str | float] = ["Model Name", "Overall", *columns, "Single-Turn", "Multi-Turn"]
    return [header, *([model, *_cells(judged, tests, official)] for model, judged in runs)]


def language_table(runs: Sequence[tuple[str, Sequence[Judged]]], official: bool) -> Table:
    """`stats_lang.csv`: a row per model, columns as in the official code."""
    names = {item.instance.language for _, judged in runs for item in judged} - {""}
    columns = list(LANGUAGES) + ([] if official else ordered(names - set(LANGUAGES), ()))
    tests: list[Callable[[Judged], bool]] = [lambda item: True]
    tests += [lambda item, name=name: item.instance.language == name for name in columns]  # type: ignore[misc]
    header: list[str | float] = ["Model Name", "Overall", *columns]
    return [header, *([model, *_cells(judged, tests, official)] for model, judged in runs)]


def usage_table(runs: Sequence[tuple[str, Sequence[Judged]]]) -> Table:
    """`usage.csv`: tokens of inference and judge per model; response tokens exclude thinking."""
    header: list[str | float] = ["Model Name"]
    header += [f"{role}_{kind}_tokens" for role in ("inference", "judge") for kind in _USAGE] + ["total_tokens"]
    table: Table = [header]
    for model, judged in runs:
        cells: list[int] = []
        for role in ("model", "judge"):
            used = sum((item.usage.get(role, Usage()) for item in judged), Usage())
            answer = used.output_tokens - used.reasoning_tokens
            cells += [used.input_tokens, used.reasoning_tokens, answer, used.input_tokens + used.output_tokens]
        table.append([model, *cells, cells[3] + cells[7]])
    return table


def to_csv(table: Table) -> str:
    """A table as CSV text; a name that a spreadsheet would run as a formula gets an apostrophe before it."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([guard(cell) for cell in row] for row in table)
    return out.getvalue()


def _cells(judged: Sequence[Judged], tests: Sequence[Callable[[Judged], bool]], official: bool) -> list[str | float]:
    passed = outcomes(judged, {"protocol": "official" if official else "default"})
    outcome = list(zip(judged, passed, strict=True))
    values = [pass_rate([passes for item, passes in outcome if test(item)]).value for test in tests]
    # The official code rounds the same expression: 102 of 320 is 31.87, where 100 * 102 / 320 gives 31.88.
    return [(0 if official else "") if value is None else round(value, 2) for value in values]
