"""How far the labels of an arbitration can be trusted: against trusted labels, as in paper 003, section 3.3 and Fig. 3.

Judges are compared on what they say about the single rubric (the fine pass), which every rubric with a trusted label
goes through, whatever the coarse pass made of it. `disputed` are the rubrics on which the base judges then differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.arbitration.funnel import Trace, disputed, unanimous
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import Item
from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.votes import majority
from truebench_hf.report.table import PUBLISHED, Column, Table
from truebench_hf.types import Label, Score

# Figure 3 of the paper: (accuracy in percent, Cohen's kappa) on its 506 rubrics labelled by hand.
PAPER: dict[str, tuple[float, float]] = {
    "unanimous": (96.6, 0.93),
    "majority": (69.5, 0.39),
    "best single judge": (79.9, 0.60),
    "meta-judges": (85.4, 0.69),
}
# The strict figure stands first: of four judges, ties leave the easy half of the disputed to be right on.
_MEASURES = (
    Column("accuracy_strict", "accuracy, ties wrong", "score", "What is undecided (a tie, an open verdict) is wrong.",
           digits=1, parts=("value", "interval"), drawn=True),
    Column("accuracy", "of decided", "score", "Share of decided rubrics that are labelled as in the reference.", digits=1),
    Column("balanced_accuracy", "BAcc", "score", digits=1, minor=1),
    Column("kappa", "kappa of decided", "score", "Cohen's kappa.", "", digits=3),
    Column("n", "n", "count"), Column("undecided", "undecided", "count"),
)  # fmt: skip
_COUNTS = (
    Column("rubrics", "trusted labels", "count"), Column("disputed", "disputed", "count"),
    Column("not_in_run", "not in this run", "count"), Column("other_response", "of other responses", "count"),
    Column("unanswered", "without a response", "count"),
)  # fmt: skip


@dataclass(frozen=True)
class Trusted:
    """Labels by the id of the rubric; beside each the response it was given for, None where the file has none."""

    labels: Mapping[str, tuple[Label, str | None]]

    def label(self, item: Item, index: int) -> Label | None:
        """That of a rubric; None where there is none, or where it was given for another response."""
        label, response = self.labels.get(item.rubric(index).id, (None, None))
        return None if response is not None and response != item.case.response else label


def read_trusted(source: str) -> Trusted:
    """Labels from rows (`rubric_mini`, JSONL, ...) with `id`, `label` (see `Record.label`) and, better, `response`.

    Rows whose label is empty are not labelled and left out. Raises UserError naming the row that cannot be used, and
    both rows where two label the same id.
    """
    labels: dict[str, tuple[Label, str | None]] = {}
    seen: dict[str, int] = {}
    for number, row in enumerate(data.load(source, "--reference"), 1):
        record = Record(f"--reference {source}, row {number}", row)
        name = record.id("id")
        if "label" not in row:
            raise record.wrong("label", "is needed, empty where there is none")
        if (label := record.label("label")) is None:
            continue
        if (before := seen.setdefault(name, number)) != number:
            raise UserError(f"{record.where}: id {name!r} is that of row {before} too; keep one")
        labels[name] = (label, row.get("response"))
    if not labels:
        raise UserError(f"--reference {source}: holds no labels")
    return Trusted(labels)


Known = tuple[Trace, Label]  # a rubric and its trusted label
Reading = Callable[[Trace], str | None]  # a method of labelling: a judge's verdict, a vote, the meta-judges
Row = Mapping[str, Any]


def validation_tables(
    traces: Sequence[Trace], trusted: Trusted, judges: Sequence[str], candidates: Sequence[str]
) -> list[Table]:
    """Return accuracy and kappa of every judge, best first, and of every method to join them (Figure 3).

    The headline is `accuracy_strict`, in which what is undecided is wrong: a judge cannot climb by keeping silent on the
    difficult ones. Intervals take the rubrics of an instruction together.
    """
    known = [trace for trace in traces if trace.rubric.id in trusted.labels]
    labels = [(trace, trusted.label(trace.item, trace.index)) for trace in known]
    rows = [(trace, gold) for trace, gold in labels if trace.fine and gold is not None]
    split = [(trace, gold) for trace, gold in rows if disputed(trace.fine)]
    agreed = [(trace, gold) for trace, gold in rows if unanimous(trace.fine) is not None]
    single = _readings("fine", judges)
    alone = _ranked(split, single)
    metas = _readings("meta", [f"meta-judge {verdict.judge}" for verdict in split[0][0].meta] if split else [])
    methods = [
        measured(agreed, "unanimous", lambda trace: unanimous(trace.fine)),
        *({**row, "method": "best single judge"} for row in alone[:1]),
        measured(split, "majority", lambda trace: majority([verdict.label for verdict in trace.fine]).label),
        *(measured(split, *way) for way in metas.items()),
        measured(split, "meta-judges", lambda trace: unanimous(trace.meta)),
        *(
            {"method": method, "accuracy_strict": Score(accuracy / 100, 0), "kappa": Score(kappa, 0), PUBLISHED: True}
            for method, (accuracy, kappa) in PAPER.items()
        ),
    ]
    exits = [
        measured([row for row in rows if row[0].exit == name], name, lambda trace: trace.label)
        for name in ("coarse_unanimous", "easy", "hard")
    ]
    counts = {
        "rubrics": len(rows), "disputed": len(split),
        "not_in_run": len(set(trusted.labels) - {trace.rubric.id for trace in known}),
        "other_response": sum(gold is None and trace.exit != "unanswered" for trace, gold in labels),
        "unanswered": sum(trace.exit == "unanswered" for trace in known),
    }  # fmt: skip
    judged = (
        ("judges", _ranked(rows, single | _readings("candidates", candidates)), "Judges ranked on the trusted labels"),
        ("judges_on_disputed", alone, "Single judges on the disputed"),
        ("methods", methods, "Methods of labelling (paper 003, Figure 3)"),
        ("by_exit", exits, "Labels by exit"),
    )
    return [
        *(
            Table(name, (Column("method", "method" if name == "methods" else ""), *_MEASURES), records, title)
            for name, records, title in judged
        ),
        Table("reference", _COUNTS, [counts], "The reference, and what of it is left out", keys=0),
    ]


def measured(rows: Sequence[Known], method: str, read: Reading) -> Row:
    """Return the row of one method: accuracy with what is undecided as wrong, and over decided rows with kappa."""
    gold, labels = [gold for _, gold in rows], [read(trace) for trace, _ in rows]
    measures = ("accuracy_strict", "accuracy", "balanced_accuracy", "kappa")
    agreement = label_agreement(gold, labels, [trace.item.instruction_id for trace, _ in rows], measures=measures)
    counts = {"n": agreement["n"] + agreement["undecided"], "undecided": agreement["undecided"]}
    return {"method": method, **{name: agreement[name] for name in measures}, **counts}


def _ranked(rows: Sequence[Known], ways: Mapping[str, Reading]) -> list[Row]:
    records = [measured(rows, *way) for way in ways.items()]
    return sorted(records, key=lambda row: (-(row["accuracy_strict"].value or 0.0), row["method"]))


def _readings(stage: str, names: Sequence[str]) -> dict[str, Reading]:
    """What each judge of a stage says, by its name."""

    def reading(index: int) -> Reading:
        return lambda trace: getattr(trace, stage)[index].label

    return {name: reading(index) for index, name in enumerate(names)}
