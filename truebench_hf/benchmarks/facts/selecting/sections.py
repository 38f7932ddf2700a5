"""What a choice of templates shows: tables as the paper's 2 and 4, its own rows beside, and how sure each choice is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truebench_hf.benchmarks.facts.paper import paper_rows
from truebench_hf.benchmarks.facts.selecting.measures import Selected, Shares
from truebench_hf.judging.grounding.types import TEMPLATES
from truebench_hf.report.sections import Grid, Section, percent, points, points_between

TITLE = "FACTS Grounding: choosing judge templates"
_MEASURED = ("Macro-F1", "Acc.", "FPR", "FNR", "F1(+)", "F1(-)")
_VARIANTS = {"request": "User request only", "full": "User request and context document"}
HELD_OUT = "chosen without the rows it is measured on"


def tables(
    grounding: Selected | None, eligibility: Selected | None, sentences: Mapping[tuple[str, str], Shares]
) -> list[Section]:
    """The tables of both questions, as far as there are labels, and of single sentences."""
    shown: list[Section] = []
    if grounding:
        papers = {name: template.paper for name, template in TEMPLATES.items()}
        shown += [_table("Grounding", grounding, 2, papers, "accurate"), _choices("grounding", grounding)]
    if sentences:
        shown.append(_sentences(sentences))
    if eligibility:
        shown += [_table("Eligibility", eligibility, 4, _VARIANTS, "ineligible"), _choices("eligibility", eligibility)]
    return shown


def doubts(name: str, found: Selected | None) -> list[str]:
    """Judges that are no better than a constant, and choices that the labels do not settle."""
    if found is None:
        return []
    said = []
    yes, no = found.base["tp"], found.base["fp"]  # of people's labels
    constant = max(yes / (2 * yes + no), no / (2 * no + yes)) if yes and no else 0.0  # macro F1 of the better one
    best = {one.judge: one.strict_f1 or 0.0 for one in found.measured if one.chosen}
    for judge, choice in found.choices.items():
        if best[judge] <= constant:
            said.append(f"{judge}: for {name} no way of asking is better than always saying the same.")
        elif choice.runner_up and choice.lead.ahead <= 0:
            said.append(f"{judge}: for {name} these labels do not tell {choice.best} from {choice.runner_up}.")
    return said


def _table(name: str, found: Selected, table: int, papers: Mapping[str, str], positive: str) -> Grid:
    rows: list[tuple[str | int, ...]] = [
        (f"always {positive}", "-", *_shares(found.base), percent(found.base["macro_f1"]), 0, "")
    ]
    for one in found.measured:
        mark = "" if not one.chosen else "chosen" if found.choices[one.judge].lead.ahead > 0 else "chosen, not surely"
        rows.append(
            (one.judge, papers.get(one.template, one.template), *_shares(one.found), percent(one.strict_f1),
             one.found["undecided"], mark)
        )  # fmt: skip
    for judge, held in found.held_out.items():
        if found.choices[judge].runner_up and held["n"] > held["undecided"]:
            rows.append((judge, HELD_OUT, *_shares(held), "", held["undecided"], ""))
    paper = tuple(
        (row["Judge Model"], row["Prompt Template"], *(f"{row[column]:.2f}" for column in _MEASURED), "", "",
         "chosen" if row["Chosen"] else "")
        for row in paper_rows(table)
    )  # fmt: skip
    header = ("Judge", "template", *_MEASURED, "Macro-F1, undecided = wrong", "undecided", "")
    note = (
        f"Percent of {found.labelled} labelled answers; the positive class is {positive}. Undecided answers are left out of "
        "the first six figures and count as wrong in the seventh, by which templates are chosen. Paper rows: its table "
        f"{table}, on its own data."
    )
    return Grid(f"{name} against labels (like the paper's table {table})", header, tuple(rows), paper, note)


def _choices(name: str, found: Selected) -> Grid:
    rows: list[tuple[str, ...]] = []
    for judge, choice in found.choices.items():
        lead, ends = choice.lead, choice.lead.interval
        apart, within = points(lead.difference), points_between(ends)
        told = "alone" if choice.runner_up is None else "yes" if lead.ahead > 0 else "no"
        folds = f"{choice.won.get(choice.best, 0)} of {sum(choice.won.values())}"
        rows.append((judge, choice.best, choice.runner_up or "-", apart, within, told, folds))
    header = ("Judge", "chosen", "runner-up", "lead", "95 % interval", "told apart", "best in folds")
    note = (
        "Lead: points of macro F1, undecided answers being wrong, on the same answers; answers to one document hang "
        "together. Where the interval holds 0 the labels do not tell the two apart, and more of them, or the cheaper "
        "template, are the better choice."
    )
    return Grid(f"The choice for {name}", header, tuple(rows), note=note)


def _sentences(found: Mapping[tuple[str, str], Shares]) -> Grid:
    rows: tuple[tuple[str | int, ...], ...] = tuple(
        (judge, template, *_shares(one), one["n"], one["undecided"]) for (judge, template), one in found.items()
    )
    header = ("Judge", "template", *_MEASURED, "sentences", "undecided")
    note = "The positive class is ungrounded. Sentences are those the judge labelled; where a label is about another part of the answer, they have none."
    return Grid("Single sentences against labels", header, rows, note=note, printed=False)


def _shares(found: Shares) -> tuple[str, ...]:
    return tuple(percent(found[name]) for name in ("macro_f1", "accuracy", "fpr", "fnr", "f1_yes", "f1_no"))


def facts(options: Any) -> dict[str, object]:
    """What was run."""
    return {"Judges": ", ".join(options.judge), "Templates": ", ".join(options.templates)}
