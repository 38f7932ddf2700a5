"""What an arbitration shows: the funnel and its validation, and what people say of its labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truebench_hf.benchmarks.rubric_eval.arbitration.validation import PAPER, PAPER_HUMANS
from truebench_hf.metrics.kappa import verbal_band
from truebench_hf.report.sections import Cells, Grid, Section, fixed, percent
from truebench_hf.types import Usage

TITLE = "RubricEval: rubric arbitration"
# The strict figure stands first: of four judges, ties leave the easy half of the disputed to be right on.
_MEASURES = ("accuracy %, ties wrong", "of decided %", "kappa of decided", "n", "undecided")


def sections(result: Mapping[str, Any]) -> list[Section]:
    """Everything the report shows, in order, of the content of `funnel.json`."""
    return [_funnel(result), *(_validation(result["validation"]) if result["validation"] else [])]


def _funnel(result: Mapping[str, Any]) -> Grid:
    """Stages as rows, with a last one for the whole."""
    rows: list[Cells] = []
    total = Usage()
    for stage in result["funnel"]:
        exits = "\n".join(f"{name} {count}" for name, count in stage["exits"].items())
        spent = Usage(stage["input_tokens"], stage["output_tokens"], 0, stage["calls"], stage["unknown_calls"])
        rows.append((stage["stage"], stage["rubrics_in"], exits, stage["rubrics_on"], *spent.shown))
        total += spent
    kept = sum(result["exits"][name]["n"] for name in ("easy", "hard"))
    rows.append(("all", result["rubrics"], f"labelled {kept}", "", *total.shown))
    header = ("stage", "rubrics in", "exits", "rubrics on", "calls", "tokens in", "tokens out")
    return Grid("Rubrics through the funnel", header, tuple(rows))


def _validation(found: Mapping[str, Any]) -> list[Section]:
    """The comparison with trusted labels."""
    left_out = (
        f"Left out: {found['not_in_run']} not in this run, {found['other_response']} of other responses, "
        f"{found['unanswered']} without a response."
    )
    disputed = {name: row for name, row in found["on_disputed"].items() if name != "judges"}
    methods = _measured({"unanimous": found["unanimous"], **disputed})
    title = "Methods of labelling (paper 003, Figure 3): unanimous, and what to do with the disputed"
    header = (*_MEASURES, "paper: accuracy %", "paper: kappa")
    ranking, alone, exits = (
        _measured(rows) for rows in (found["ranking"], found["on_disputed"]["judges"], found["by_exit"])
    )
    return [
        Grid(f"Judges ranked on {found['n']} trusted labels", ("judge", *_MEASURES), ranking, note=left_out),
        Grid(f"Single judges on the {found['disputed']} disputed", ("judge", *_MEASURES), alone),
        Grid(title, ("method", *header), tuple((*row, *_paper(str(row[0]))) for row in methods)),
        Grid("Labels by exit", ("exit", *_MEASURES), exits),
    ]


def _paper(method: str) -> tuple[str, str]:
    accuracy, kappa = PAPER.get(method, (None, None))
    return ("", "") if accuracy is None else (fixed(accuracy, 1), fixed(kappa))


def _measured(rows: Mapping[str, Mapping[str, Any] | None]) -> tuple[Cells, ...]:
    return tuple(
        (
            name, percent(row["accuracy_strict"], 1), percent(row["accuracy"], 1), fixed(row["kappa"], 3), row["n"],
            row["undecided"],
        )
        for name, row in rows.items()
        if row is not None
    )  # fmt: skip


def human_section(found: Mapping[str, Any]) -> Grid:
    """Arbitrated labels against people, all and by split and category, and people among themselves.

    The paper's annotators settled all their disagreements; its figure compares with ours once nothing is open.
    """
    rows: list[Cells] = []
    for name, row in {"all": found, **found["by_stratum"]}.items():
        shown = [percent(row["accuracy"], 1), percent(row["accuracy_open_wrong"], 1), fixed(row["kappa"], 3)]
        title = f"{name} (upper estimate)" if row["upper_estimate"] else name
        rows.append((title, row["n"], row["n_open"], *shown, row["kappa_band"] or "-"))
    people = found["annotators"]
    kappa = people["fleiss_kappa"]
    band = "" if kappa is None else verbal_band(kappa)
    among = f"{len(people['names'])} annotators among themselves"
    rows.append((among, "", "", percent(people["raw"], 1), "", fixed(kappa, 3), band))
    accuracy, theirs = PAPER_HUMANS
    paper = ("section 3.4", 160, 0, fixed(accuracy, 1), fixed(accuracy, 1), fixed(theirs, 3), verbal_band(theirs))
    header = ("rows", "settled", "open", "accuracy %", "open=wrong %", "kappa", "band")
    return Grid("Arbitrated labels against people", header, tuple(rows), (paper,))
