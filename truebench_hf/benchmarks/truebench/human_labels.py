"""What people's labels say about a run, as a section of its report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truebench_hf.benchmarks.truebench.labels import PLURAL
from truebench_hf.report.sections import Grid, percent

_TIES = (
    "they are the difficult ones, so what is left flatters the judge and is no random sample: have an adjudicator settle "
    "them (`truebench label in --decisions`)"
)
_METHODS = {
    "stratified": "stratified by verdict (double sampling)",
    "prediction_powered": "stratified by verdict, with the judge's probabilities or votes (PPI++)",
    "rogan_gladen": "by the judge's error rates on another run of this model (Rogan-Gladen)",
}
_TITLES = {"instance": "Instances that truly pass", "criterion": "Criteria truly met"}
_VERDICTS = {"pass": "judged to pass", "fail": "judged to fail", "undecided": "undecided"}
_Found = Mapping[str, Any]


def section(found: _Found) -> Grid:
    """What the labels say of the run: a report's `bias_corrected`, estimate or why it is withheld, and its grounds."""
    note = (
        "The interval is for runs like this one, and carries the uncertainty of the run and that of the labels. Labels "
        "alone: the same sample, weighted, without the judge's verdicts on the rest."
    )
    return Grid("What human labels say", (), tuple(_rows(found)), note=note, prose=(1,))


def _rows(found: _Found) -> list[tuple[str, str]]:
    units = PLURAL[found["unit"]]
    title = _TITLES[found["unit"]]
    if "instances" in found:  # which have several samples
        title, units = title.replace("Instances", "Samples"), units.replace("instances", "samples")
    rows = [(title, _estimate(found))]
    if found["method"]:
        rows.append(("Method", _method(found)))
    if found["effective_labels"] is not None:
        rows.append(("As good as", _worth(found)))
    rows.append(("As judged", _observed(found)))
    if alone := found["labels_alone"]:
        same = found["withheld"] is not None and alone["withheld"] == found["withheld"]
        told = _estimate(alone | {"withheld": "for the same reason"} if same else alone)
        rows.append(("Labels alone", f"{told} ({found['labels']} labels)"))
    if found["strata"]:
        rows.append(("Labelled", "; ".join(map(_stratum, found["strata"]))))
    judge = found["judge"]
    rows += [
        (
            "Youden's J of the judge",
            _j(judge) + ("; over settled ones only" if found["ties"] + found["partly"] else ""),
        ),
        ("Sensitivity, specificity", f"{_percent(judge['sensitivity'])}, {_percent(judge['specificity'])}"),
        ("Labels", f"{_counts(judge)}; of {_whose(found)}"),
    ]
    if criteria := found["criteria"]:
        rows += [(_TITLES["criterion"], _estimate(criteria)), ("Criteria as judged", _observed(criteria))]
    return rows + _left_out(found, units) + _lent(found)


def _estimate(found: _Found) -> str:
    low, high = (100 * end for end in found["bounds"] or found["ci95"] or (0, 1))
    if found["withheld"] is not None:
        bounds = f"; {low:.1f} to {high:.1f} %, whatever the open ones are" if found["bounds"] else ""
        return f"withheld: {found['withheld']}{bounds}"
    open_ = ", whatever the open ones are" if found["bounds"] else ""
    return f"{_percent(found['estimate'])}, 95 % interval {low:.1f} to {high:.1f}{open_}"


def _method(found: _Found) -> str:
    scored = "" if found["lambda"] is None else f", these weighted by lambda {found['lambda']:.2f} (0 = ignored)"
    return _METHODS[found["method"]] + scored + ("; chosen before a label was read" if found["labels_from_run"] else "")


def _worth(found: _Found) -> str:
    given = f"; {found['labels']} were given" if found["labels_from_run"] else ""
    return f"{found['effective_labels']:.0f} labels on a simple random sample of the run{given}"


def _observed(found: _Found) -> str:
    rest = f", {found['undecided']} undecided" if found["undecided"] else ""
    of = f", of {found['instances']} instances" if "instances" in found else ""
    return f"{_percent(found['observed'])} (n = {found['n']}{rest}{of})"


def _stratum(stratum: _Found) -> str:
    told = "" if stratum["share"] is None else f" ({100 * stratum['share']:.1f} % of these truly pass)"
    return f"{stratum['labelled']} of {stratum['n']} {_VERDICTS[stratum['name']]}{told}"


def _j(rates: _Found) -> str:
    if rates["youden_j"] is None:
        return "- (no label of one of the two kinds)"
    return f"{rates['youden_j']:.2f}, at least {rates['j_lower']:.2f} (1 = knows all, 0 = guesses)"


def _whose(found: _Found) -> str:
    if found["labels_from_run"]:
        return "this run's answers"
    return "another run of this model and judge" if found["same_model"] else "other models' answers"


def _counts(rates: _Found) -> str:
    parts = [f"{rates['n1']} truly pass", f"{rates['n0']} truly fail"]
    if rates["unusable"]:
        parts.append(f"{rates['unusable']} without label or verdict")
    return ", ".join(parts)


def _left_out(found: _Found, units: str) -> list[tuple[str, str]]:
    parts = []
    if ties := found["ties"]:
        parts.append(f"{ties} on which annotators disagree; {_TIES}")
    if open_ := found["unanswered"]:
        partly = f", {found['partly']} of them in part" if found["partly"] else ""
        parts.append(f"{open_} of {found['drawn']} {units} drawn are not labelled to the end{partly}")
    if missing := found["incomplete"]:
        parts.append(f"{missing} instances to which the model gave no complete answer")
    return [("Left out", "; ".join(parts))] if parts else []


def _lent(found: _Found) -> list[tuple[str, str]]:
    lent = found["borrowed"]
    if not lent:
        return []
    whose = _whose({**lent, "labels_from_run": False})
    return [("Youden's J on borrowed labels", f"{_j(lent)}; {_counts(lent)}, of {whose}; they enter no estimate")]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{percent(share)} %"
