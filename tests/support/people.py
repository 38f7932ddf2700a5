"""People who are asked: sheets out, filled in and back through the Python API, with short names for what tests set."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from truebench_hf.api.labels import ask_people, take_labels
from truebench_hf.results.report import Report
from truebench_hf.study.labelling import LabelInOptions, LabelOutOptions

Cells = dict[str, str]


def rows_of(sheet: Path) -> list[Cells]:
    """The rows of a CSV sheet."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write_sheet(sheet: Path, rows: Sequence[Cells]) -> str:
    """Write rows as a spreadsheet program does; returns the path as text."""
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)
    return str(sheet)


def fill(sheet: Path, answer: Callable[[Cells], str]) -> str:
    """Answer every question of a sheet, "" leaves it blank; returns the path as text."""
    return write_sheet(sheet, [row | {"answer": answer(row)} for row in rows_of(sheet)])


def sample(
    folder: str, n: int | None, annotators: Sequence[str], seed: int = 0, out: str | None = None, **more: Any
) -> list[Path]:
    """Write sheets, and return their files."""
    names = ",".join(annotators)
    return list(ask_people(LabelOutOptions(folder=folder, n=n, annotators=names, seed=seed, out=out, **more)).files)


def read(
    folder: str, sheets: Sequence[str], decisions: Sequence[str] = (), **more: Any
) -> tuple[Report, dict[str, Any]]:
    """Read sheets back, and return the report of the run and how far annotators agree."""
    taken = take_labels(LabelInOptions(folder=folder, sheets=tuple(sheets), decisions=tuple(decisions), **more))
    (among,) = next(section.rows for section in taken.sections if getattr(section, "name", "") == "annotators")
    return taken.value, dict(among)
