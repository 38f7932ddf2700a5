"""The funnel of rubric arbitration (paper 003, section 3.3.2): where each rubric leaves it, and how good its labels are.

    coarse: all agree -> dropped | fine: all agree -> easy | meta-judges: all agree -> hard, else discarded

An undecided judge makes nothing unanimous: what it left open goes on to the next, closer look. Where the meta-judges
are the ones undecided there is none, and the rubric leaves as undecided, with the reason. Against trusted labels
(Figure 3) judges are compared on what they say about the single rubric, the fine pass, which every rubric with a trusted
label goes through, whatever the coarse pass made of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import Item, Rubric
from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.votes import majority
from truebench_hf.report.table import PUBLISHED, Column, Table
from truebench_hf.types import Label, Score, Usage, Verdict

Exit = Literal["unanswered", "coarse_unanimous", "easy", "hard", "meta_disagree", "undecided"]
EXITS: dict[Exit, str] = {
    "unanswered": "no response to judge",
    "coarse_unanimous": "base judges agree on the whole checklist: dropped",
    "easy": "base judges agree on the single rubric",
    "hard": "meta-judges agree on what base judges dispute",
    "meta_disagree": "meta-judges disagree: discarded",
    "undecided": "left undecided: discarded",
}
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
SPLITS: tuple[Exit, ...] = ("easy", "hard")
STAGES: dict[str, tuple[Exit, ...]] = {
    "answer": ("unanswered",),
    "coarse": ("coarse_unanimous",),
    "fine": ("easy", "undecided"),
    "meta": ("hard", "meta_disagree", "undecided"),
}


@dataclass(frozen=True)
class Answered:
    """An item with its response; `problem` says why it has none. `truncated`: cut off at the token limit."""

    item: Item
    problem: str = ""
    truncated: bool = False


@dataclass(frozen=True)
class Trace:
    """One rubric through the funnel: the verdicts of every stage that it reached, or the `problem` of its response."""

    item: Item
    index: int
    coarse: Sequence[Verdict] = ()
    fine: Sequence[Verdict] = ()
    meta: Sequence[Verdict] = ()
    problem: str = ""

    @cached_property
    def outcome(self) -> tuple[Exit, Label | None, str]:
        """The exit that the verdicts lead to, the label where that is an agreement, and the reason where it is none."""
        if self.problem:
            return "unanswered", None, self.problem
        if label := unanimous(self.coarse):
            return "coarse_unanimous", label, ""
        if label := unanimous(self.fine):
            return "easy", label, ""
        if not disputed(self.fine):
            return "undecided", None, f"fewer than two base judges decided: {_left_open(self.fine)}"
        if label := unanimous(self.meta):
            return "hard", label, ""
        if reasons := _left_open(self.meta):
            return "undecided", None, f"a meta-judge did not decide: {reasons}"
        return "meta_disagree", None, ", ".join(f"{verdict.judge} says {verdict.label}" for verdict in self.meta)

    @property
    def exit(self) -> Exit:
        """Where the rubric leaves the funnel."""
        return self.outcome[0]

    @property
    def label(self) -> Label | None:
        """The label that judges agree on; None at an exit that is no agreement."""
        return self.outcome[1]

    @property
    def rubric(self) -> Rubric:
        """The rubric."""
        return self.item.rubric(self.index)

    def row(self) -> dict[str, Any]:
        """The labelled rubric in the columns of rubric_eval."""
        return self.item.row(self.index, self.label, (*self.fine, *self.meta))

    def exit_row(self) -> dict[str, Any]:
        """How the rubric left the funnel, with the label of every judge at every stage."""
        rubric, (exit, label, reason) = self.rubric, self.outcome
        return {
            "id": rubric.id, "exit": exit, "label": label, "reason": reason, "response_model": self.item.model,
            "rubric": rubric.text, "source_type": rubric.kind or rubric.hint or None,
            **{
                stage: [
                    {"judge": verdict.judge, "label": verdict.label, "reason": verdict.reason}
                    for verdict in getattr(self, stage)
                ]
                for stage in ("coarse", "fine", "meta")
            },
        }  # fmt: skip


def unanimous(verdicts: Sequence[Verdict]) -> Label | None:
    """The label that all judges give; None where they differ or one is undecided."""
    labels = {verdict.label for verdict in verdicts}
    return labels.pop() if len(labels) == 1 else None


def disputed(fine: Sequence[Verdict]) -> bool:
    """Whether there is something for meta-judges to read: two rationales at least, and no unanimity."""
    return unanimous(fine) is None and sum(verdict.label is not None for verdict in fine) > 1


def _left_open(verdicts: Sequence[Verdict]) -> str:
    return "; ".join(f"{verdict.judge}: {verdict.reason}" for verdict in verdicts if verdict.label is None)


def funnel_tables(answered: Sequence[Answered], traces: Sequence[Trace], usage: Mapping[str, Usage]) -> list[Table]:
    """Return what went through the funnel, what it cost by stage, how rubrics left it and why, and whose responses they are.

    `usage` is by ledger role, `STAGE SPEC`.
    """
    exits = Counter(trace.exit for trace in traces)
    reasons = Counter((trace.exit, trace.outcome[2]) for trace in traces if trace.outcome[2]).most_common()
    responses: dict[str, Counter[str]] = {}
    for response in answered:
        outcome = "unanswered" if response.problem else "responses"
        responses.setdefault(response.item.model, Counter()).update([outcome] + ["truncated"] * response.truncated)
    by_exit = (Column("exit", "exit"), Column("rubrics", "rubrics", "count"))
    of_model = (
        Column("responses", "responses", "count"), Column("unanswered", "unanswered", "count"),
        Column("truncated", "cut off", "count", "Responses cut off at the token limit."),
    )  # fmt: skip
    return [
        _stages(traces, exits),
        _cost(usage),
        Table("exits", (*by_exit, Column("meaning", "meaning", "prose")), [
            {"exit": exit, "rubrics": exits[exit], "meaning": meaning} for exit, meaning in EXITS.items()
        ], "How rubrics left the funnel", printed=False),
        Table("reasons", (*by_exit, Column("reason", "reason", "prose")), [
            {"exit": exit, "rubrics": count, "reason": reason} for (exit, reason), count in reasons
        ], "Why rubrics were discarded", printed=False),
        Table("responses", (Column("model", "model"), *of_model), [
            {"model": model} | {column.name: counts[column.name] for column in of_model} for model, counts in responses.items()
        ], "Responses", printed=False),
    ]  # fmt: skip


def _stages(traces: Sequence[Trace], exits: Mapping[Exit, int]) -> Table:
    """One row per stage: rubrics in, how they left, and what is left for the next stage."""
    rows, left = list[dict[str, Any]](), len(traces)
    # Undecided at the fine stage means that there was nothing for the meta-judges to read.
    early = sum(trace.exit == "undecided" and not trace.meta for trace in traces)
    undecided = {"fine": early, "meta": exits["undecided"] - early}
    for stage, leaving in STAGES.items():
        counts = {exit: undecided[stage] if exit == "undecided" else exits[exit] for exit in leaving}
        entering, left = left, left - sum(counts.values())
        exits_shown = ", ".join(f"{exit} {count}" for exit, count in counts.items())
        rows.append({"stage": stage, "rubrics_in": entering, "exits": exits_shown, "rubrics_on": left})
    labelled = f"labelled {sum(exits[split] for split in SPLITS)}"
    rows.append({"stage": "all", "rubrics_in": len(traces), "exits": labelled, "rubrics_on": None})
    columns = (
        Column("stage", "stage"), Column("rubrics_in", "rubrics in", "count"), Column("exits", "exits"),
        Column("rubrics_on", "rubrics on", "count"),
    )  # fmt: skip
    return Table("stages", columns, rows, "Rubrics through the funnel")


def _cost(usage: Mapping[str, Usage]) -> Table:
    """What each stage took, of which no file is written: it counts all that the folder was asked for, not this sample.

    `usage` is by ledger role, `STAGE SPEC`. Looks that only `--reference` needs are the stage validation.
    """
    spent: dict[str, Usage] = {}
    for role, used in usage.items():
        stage = role.partition(" ")[0]
        spent[stage] = spent.get(stage, Usage()) + used
    rows = [
        {"stage": stage, **dict(zip(("calls", "read", "written"), spent[stage].shown, strict=True))}
        for stage in (*STAGES, "validation")
        if stage in spent
    ]
    columns = (
        Column("stage", "stage"), Column("calls", "calls"), Column("read", "tokens in"), Column("written", "tokens out")
    )  # fmt: skip
    return Table("", columns, rows, "What the stages took")


class TrustedLabels(dict[str, tuple[Label, str | None]]):
    """Labels by the id of the rubric; beside each the response it was given for, None where the file has none."""

    def label(self, item: Item, index: int) -> Label | None:
        """That of a rubric; None where there is none, or where it was given for another response."""
        label, response = self.get(item.rubric(index).id, (None, None))
        return None if response is not None and response != item.case.response else label


def read_trusted(source: str) -> TrustedLabels:
    """Labels from rows (`rubric_mini`, JSONL, ...) with `id`, `label` (see `Record.label`) and, better, `response`.

    Rows whose label is empty are not labelled and left out. Raises UserError naming the row that cannot be used, and
    both rows where two label the same id.
    """
    labels, rows = TrustedLabels(), dict[str, int]()
    for number, row in enumerate(data.load(source, "--reference"), 1):
        record = Record(f"--reference {source}, row {number}", row)
        name = record.id("id")
        if "label" not in row:
            raise record.wrong("label", "is needed, empty where there is none")
        if (label := record.label("label")) is None:
            continue
        if (before := rows.setdefault(name, number)) != number:
            raise UserError(f"{record.where}: id {name!r} is that of row {before} too; keep one")
        labels[name] = (label, row.get("response"))
    if not labels:
        raise UserError(f"--reference {source}: holds no labels")
    return labels


Known = tuple[Trace, Label]  # a rubric and its trusted label


def validation_tables(traces: Sequence[Trace], trusted: TrustedLabels, judges: Sequence[str]) -> list[Table]:
    """Return accuracy and kappa of every judge, best first, and of every method to join them (Figure 3).

    The headline is `accuracy_strict`, in which what is undecided is wrong: a judge cannot climb by keeping silent on the
    difficult ones. Intervals take the rubrics of an instruction together.
    """
    known = [trace for trace in traces if trace.rubric.id in trusted]
    labels = [(trace, trusted.label(trace.item, trace.index)) for trace in known]
    rows = [(trace, gold) for trace, gold in labels if trace.fine and gold is not None]
    split = [(trace, gold) for trace, gold in rows if disputed(trace.fine)]
    agreed = [(trace, gold) for trace, gold in rows if unanimous(trace.fine)]
    alone = _ranked(_by_judge(split, "fine", judges))
    metas = [f"meta-judge {verdict.judge}" for verdict in split[0][0].meta] if split else []
    methods = [
        _measured(agreed, "unanimous", lambda trace: unanimous(trace.fine)),
        *({**row, "method": "best single judge"} for row in alone[:1]),
        _measured(split, "majority", lambda trace: majority([verdict.label for verdict in trace.fine])),
        *_by_judge(split, "meta", metas),
        _measured(split, "meta-judges", lambda trace: unanimous(trace.meta)),
        *(
            {"method": method, "accuracy_strict": Score(accuracy / 100, 0), "kappa": Score(kappa, 0), PUBLISHED: True}
            for method, (accuracy, kappa) in PAPER.items()
        ),
    ]
    exits = [
        _measured([row for row in rows if row[0].exit == name], name, lambda trace: trace.label)
        for name in ("coarse_unanimous", "easy", "hard")
    ]
    counts = {
        "rubrics": len(rows), "disputed": len(split),
        "not_in_run": len(set(trusted) - {trace.rubric.id for trace in known}),
        "other_response": sum(gold is None and trace.exit != "unanswered" for trace, gold in labels),
        "unanswered": sum(trace.exit == "unanswered" for trace in known),
    }  # fmt: skip
    columns, of_methods = ((Column("method", title), *_MEASURES) for title in ("", "method"))
    return [
        Table("judges", columns, _ranked(_by_judge(rows, "fine", judges)), "Judges ranked on the trusted labels"),
        Table("judges_on_disputed", columns, alone, "Single judges on the disputed"),
        Table("methods", of_methods, methods, "Methods of labelling (paper 003, Figure 3)"),
        Table("by_exit", columns, exits, "Labels by exit"),
        Table("reference", _COUNTS, [counts], "The reference, and what of it is left out", keys=0),
    ]


def _measured(rows: Sequence[Known], method: str, read: Callable[[Trace], str | None]) -> dict[str, Any]:
    """The row of one method: accuracy with what is undecided as wrong, and over decided rows with kappa."""
    gold, labels = [gold for _, gold in rows], [read(trace) for trace, _ in rows]
    measures = ("accuracy_strict", "accuracy", "balanced_accuracy", "kappa")
    agreement = label_agreement(gold, labels, [trace.item.instruction_id for trace, _ in rows], measures=measures)
    counts = {"n": agreement["n"] + agreement["undecided"], "undecided": agreement["undecided"]}
    return {"method": method, **{name: agreement[name] for name in measures}, **counts}


def _by_judge(rows: Sequence[Known], stage: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """The row of each judge of a stage."""

    def reading(place: int) -> Callable[[Trace], str | None]:
        return lambda trace: getattr(trace, stage)[place].label

    return [_measured(rows, name, reading(place)) for place, name in enumerate(names)]


def _ranked(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(records, key=lambda row: (-(row["accuracy_strict"].value or 0.0), row["method"]))
