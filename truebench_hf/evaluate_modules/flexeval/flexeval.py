"""FlexEval's Coverage and Achievement from given verdicts, as an `evaluate` metric."""

from __future__ import annotations

import dataclasses
from typing import Any

import evaluate

from truebench_hf.errors import UserError
from truebench_hf.evaluate_modules.columns import Module, information
from truebench_hf.metrics.binary import tri_valued
from truebench_hf.metrics.flexeval import flexeval

_DESCRIPTION = """\
Coverage: of the base actions of all conversations, the share that is attempted. Achievement: of the branches that \
are decided while their base action is attempted, the share that is right. Verdicts are yes, no or unknown (no \
evidence, or the branch does not apply); None was not judged, is counted and left out."""

_INPUTS = """
Args:
    predictions: per conversation a dict from dimension to its verdict: "yes", "no" or "unknown" (also PASS or FAIL, \
True or False, 1, 0 or 2, in any case), or None, NaN or -1; or a list of {"dimension_id": ..., "label": ...}, as \
`verdicts` in our data set.
    references: per conversation a dict from dimension to the base action of its precondition group, None for the \
base action itself. One dict alone holds for all conversations.
    details: True adds the same values for every conversation.
Returns:
    coverage, achievement and correct (the share that is right of all that is decided) in 0..1, None where nothing \
counts, and the counts they are made of; with details, a list.
"""


class FlexEval(Module, evaluate.Metric):  # type: ignore[misc]
    """Coverage and Achievement."""

    def _info(self):  # type: ignore[no-untyped-def]
        return information(_DESCRIPTION, _INPUTS, ("predictions", "references"), ("flexbench",))

    def _score(self, predictions, references):  # type: ignore[no-untyped-def]
        traces = [_trace(number, row) for number, row in enumerate(predictions)]
        structures = [_structure(number, row) for number, row in enumerate(references)]
        rows = (_values([trace], [structure]) for trace, structure in zip(traces, structures, strict=True))
        return _values(traces, structures), rows


def _values(traces: Any, structures: Any) -> dict[str, Any]:
    return dataclasses.asdict(flexeval(traces, structures))


def _trace(number: int, row: Any) -> dict[str, str | None]:
    if isinstance(row, list) and all(
        isinstance(entry, dict) and {"dimension_id", "label"} <= entry.keys() for entry in row
    ):
        labels = {str(entry["dimension_id"]): entry["label"] for entry in row}
        if len(labels) < len(row):
            raise UserError(f"conversation {number}: a dimension has two verdicts")
        row = labels
    if not isinstance(row, dict):
        raise UserError(f"conversation {number}: give a dict from dimension to verdict, not {row!r:.80}")
    return {name: tri_valued(label) for name, label in row.items()}


def _structure(number: int, row: Any) -> dict[str, str | None]:
    if not isinstance(row, dict):
        raise UserError(f"conversation {number}: give a dict from dimension to its base action, not {row!r:.80}")
    return {
        name: None if base is None else str(base) for name, base in row.items()
    }  # names of dimensions may be numbers
