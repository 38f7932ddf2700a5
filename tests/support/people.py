"""People asked about a run: sheets out and labels in through the Python API, with short names for what tests set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from truebench_hf.api.labels import ask_people, take_labels
from truebench_hf.results.report import Report
from truebench_hf.study.labelling import LabelInOptions, LabelOutOptions


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
