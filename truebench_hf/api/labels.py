"""Asking people in Python: what `truebench label out`, `label in` and `label open` do, for whatever a folder or a file holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from truebench_hf.engine.folder import read_info
from truebench_hf.errors import UserError
from truebench_hf.study.labelling import (
    LabelInOptions,
    Labelling,
    LabelOpenOptions,
    LabelOutOptions,
    Taken,
    label_in,
    label_out,
)


@dataclass(frozen=True)
class Sent:
    """The sheets that were written, and how the questions on them were drawn."""

    files: Sequence[Path]
    lines: Sequence[str]


def ask_people(options: LabelOutOptions) -> Sent:
    """Write blind sheets about a folder or a file, a CSV and an HTML form for each annotator. Raises UserError."""
    files, draw = label_out(_labelling(options.folder), options)
    return Sent(files, draw.lines)


def take_labels(options: LabelInOptions) -> Taken:
    """Take filled-in sheets into the folder or file that they are about. Raises UserError."""
    return label_in(_labelling(options.folder), options)


def ask_here(options: LabelOpenOptions, tell: Callable[[str], None] = print) -> Taken:
    """Ask one annotator in a browser of this machine, and take the labels in; `tell` gets the address. Raises UserError."""
    from truebench_hf.study.labelling import label_open

    return label_open(_labelling(options.folder), options, tell)


def _labelling(place: str) -> Labelling:
    """Who asks about this place: `run.json` or the files of a folder tell, and a file holds rows of instructions."""
    from truebench_hf.benchmarks.flexbench.conversations import is_judged

    path = Path(place)
    kind = read_info(path).get("kind") if path.is_dir() else None
    if is_judged(place):
        from truebench_hf.benchmarks.flexbench.agreement import FlexLabels

        return FlexLabels(place)
    if kind == "arbitrate":
        from truebench_hf.benchmarks.rubric_eval.arbitration.people import ArbitrationLabels

        return ArbitrationLabels(place)
    if kind == "criteria-types":
        from truebench_hf.benchmarks.truebench.criteria_types import CriteriaLabels

        return CriteriaLabels(place)
    if kind == "criteria-validation":
        from truebench_hf.benchmarks.truebench.validate import ValidationLabels

        return ValidationLabels(place)
    if kind == "criteria-refinement":
        from truebench_hf.benchmarks.truebench.refine import RefinementLabels

        return RefinementLabels(place)
    if kind in ("truebench", ""):
        from truebench_hf.benchmarks.truebench.label import RunLabels

        return RunLabels(place)
    if kind is None:
        from truebench_hf.benchmarks.tick.annotation import RowLabels

        return RowLabels(place)
    raise UserError(
        f"{place}: is a study of kind {kind}, about which people are not asked; give a folder of `truebench run`, `study "
        "arbitrate`, `study compare-criteria`, `study validate`, `study refine-criteria` or `flex score`, or a file of rows"
    )
