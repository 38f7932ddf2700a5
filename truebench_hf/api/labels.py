"""Asking people in Python: what `truebench label out`, `label in` and `label open` do, for whatever a folder or a file holds."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from truebench_hf.engine.folder import INFO
from truebench_hf.errors import UserError
from truebench_hf.results.folder import Results
from truebench_hf.study.labelling import (
    LabelInOptions,
    Labelling,
    LabelOpenOptions,
    LabelOutOptions,
    Taken,
    label_in,
    label_open,
    label_out,
)

ROWS, FLEX = "(rows of instructions)", "(judged conversations)"
_KINDS = {  # who asks, by what run.json says
    "": ("truebench.labels", "RunLabels"),
    "truebench": ("truebench.labels", "RunLabels"),
    "arbitrate": ("rubric_eval.arbitration", "ArbitrationLabels"),
    "criteria-types": ("truebench.criteria_types", "CriteriaLabels"),
    "criteria-validation": ("truebench.validation", "ValidationLabels"),
    "criteria-refinement": ("truebench.refinement", "RefinementLabels"),
    FLEX: ("flexbench.agreement", "FlexLabels"),
    ROWS: ("tick.annotation", "RowLabels"),
}


def ask_people(options: LabelOutOptions) -> Taken:
    """Write blind sheets about a folder or a file, a CSV and an HTML form for each annotator. Raises UserError."""
    return label_out(_labelling(options.folder), options)


def take_labels(options: LabelInOptions) -> Taken:
    """Take filled-in sheets into the folder or file that they are about. Raises UserError."""
    return label_in(_labelling(options.folder), options)


def ask_here(options: LabelOpenOptions, tell: Callable[[str], None] = print) -> Taken:
    """Ask one annotator in a browser of this machine, and take the labels in; `tell` gets the address. Raises UserError."""
    return label_open(_labelling(options.folder), options, tell)


def _labelling(place: str) -> Labelling:
    """Who asks about this place: `run.json` or the files of a folder tell, and a file holds rows of instructions."""
    from truebench_hf.benchmarks.flexbench.conversations import is_judged

    path = Path(place)
    kind = Results.open(path).kind if (path / INFO).is_file() else ROWS
    kind = FLEX if is_judged(place) else kind
    if kind not in _KINDS:
        raise UserError(
            f"{place}: is a study of kind {kind}, about which people are not asked; give a folder of `truebench run`, `study "
            "arbitrate`, `study compare-criteria`, `study validate`, `study refine-criteria` or `flex score`, or a file of rows"
        )
    module, name = _KINDS[kind]
    labelling: Labelling = getattr(import_module(f"truebench_hf.benchmarks.{module}"), name)(place)
    return labelling
