"""What human labels say about a judge's pass rate of criteria, as rows of text for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TIES = (
    "they are the difficult ones, so what is left flatters the judge and is no random sample: have an adjudicator settle "
    "them (`truebench label read --decisions`)"
)


def bias_rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(name, value) rows of a report's `bias_corrected`: the estimates or why they are withheld, and what they rest on."""
    corrected, powered = found["rogan_gladen"], found["prediction_powered"]
    rows = [
        ("Criteria passed, as judged", _percent(corrected["observed"]) + f" (n = {corrected['n']})"),
        ("Corrected for the judge's errors", _estimate(corrected)),
        ("Prediction-powered", _estimate(powered)),
        ("Youden's J of the judge", _j(corrected)),
        ("Sensitivity, specificity", f"{_percent(corrected['sensitivity'])}, {_percent(corrected['specificity'])}"),
        ("Labels", _labels(found, corrected)),
    ]
    if ties := found.get("ties"):
        rows.append(("Left out", f"{ties} on which annotators disagree; {_TIES}"))
    if lent := found.get("borrowed"):
        rows.append(("Youden's J on borrowed labels", f"{_j(lent)}; {_counts(lent)}; they enter no estimate"))
    return rows


def _estimate(found: Mapping[str, Any]) -> str:
    if found["withheld"] is not None:
        return f"withheld: {found['withheld']}"
    low, high = found["ci95"]
    return f"{_percent(found['estimate'])}, 95 % interval {100 * low:.1f} to {100 * high:.1f}"


def _j(corrected: Mapping[str, Any]) -> str:
    if corrected["youden_j"] is None:
        return "- (no label of one of the two kinds)"
    return f"{corrected['youden_j']:.2f}, at least {corrected['j_lower']:.2f} (1 = knows all, 0 = guesses)"


def _labels(found: Mapping[str, Any], corrected: Mapping[str, Any]) -> str:
    whose = "this run's answers" if found["labels_from_run"] else "other models' answers, or answers of another run"
    return f"{_counts(corrected)}; of {whose}"


def _counts(corrected: Mapping[str, Any]) -> str:
    parts = [f"{corrected['n1']} truly pass", f"{corrected['n0']} truly fail"]
    if corrected["unusable"]:
        parts.append(f"{corrected['unusable']} unusable")
    return ", ".join(parts)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"
