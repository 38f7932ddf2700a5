"""The funnel of rubric arbitration (paper 003, section 3.3.2): where each rubric leaves it and why, and the counts.

    coarse: all agree -> dropped | fine: all agree -> easy | meta-judges: all agree -> hard, else discarded

An undecided judge makes nothing unanimous: what it left open goes on to the next, closer look. Where the meta-judges
are the ones undecided there is none, and the rubric leaves as undecided, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from truebench_hf.data.rubrics import Item, Rubric
from truebench_hf.models.spec import family
from truebench_hf.report.table import Column, Table
from truebench_hf.study.notes import weak_judges
from truebench_hf.types import Label, Usage, Verdict

if TYPE_CHECKING:
    from truebench_hf.benchmarks.rubric_eval.arbitration.study import Answered, ArbitrateOptions

Exit = Literal["unanswered", "coarse_unanimous", "easy", "hard", "meta_disagree", "undecided"]
EXITS: dict[Exit, str] = {
    "unanswered": "no response to judge",
    "coarse_unanimous": "base judges agree on the whole checklist: dropped",
    "easy": "base judges agree on the single rubric",
    "hard": "meta-judges agree on what base judges dispute",
    "meta_disagree": "meta-judges disagree: discarded",
    "undecided": "left undecided: discarded",
}
SPLITS = ("easy", "hard")
STAGES = ("answer", "coarse", "fine", "meta")


@dataclass(frozen=True)
class Trace:
    """One rubric through the funnel. `label` is None unless the exit is an agreement; `reason` says why."""

    item: Item
    index: int
    exit: Exit
    label: Label | None
    reason: str = ""
    coarse: tuple[Verdict, ...] = ()
    fine: tuple[Verdict, ...] = ()
    meta: tuple[Verdict, ...] = ()
    candidates: tuple[Verdict, ...] = ()  # judges that are only measured

    @property
    def rubric(self) -> Rubric:
        """The rubric."""
        return self.item.rubric(self.index)

    def row(self) -> dict[str, Any]:
        """The labelled rubric in the columns of rubric_eval."""
        return self.item.row(self.index, self.label, (*self.fine, *self.meta))

    def exit_row(self) -> dict[str, Any]:
        """How the rubric left the funnel, with the label of every judge at every stage."""
        rubric, stages = self.rubric, {"coarse": self.coarse, "fine": self.fine, "meta": self.meta}
        return {
            "id": rubric.id, "exit": self.exit, "label": self.label, "reason": self.reason,
            "response_model": self.item.model, "rubric": rubric.text, "source_type": rubric.kind or rubric.hint or None,
            **{
                stage: [{"judge": verdict.judge, "label": verdict.label, "reason": verdict.reason} for verdict in verdicts]
                for stage, verdicts in stages.items()
            },
        }  # fmt: skip


def unanimous(verdicts: Sequence[Verdict]) -> Label | None:
    """The label that all judges give; None where they differ or one is undecided."""
    labels = {verdict.label for verdict in verdicts}
    return labels.pop() if len(labels) == 1 else None


def disputed(fine: Sequence[Verdict]) -> bool:
    """Whether there is something for meta-judges to read: two rationales at least, and no unanimity."""
    return unanimous(fine) is None and sum(verdict.label is not None for verdict in fine) > 1


def leave(item: Item, index: int, coarse: Sequence[Verdict], fine: Sequence[Verdict], meta: Sequence[Verdict]) -> Trace:
    """The exit that the verdicts of the three stages lead to; later stages may be empty where not reached."""

    def trace(exit: Exit, label: Label | None = None, reason: str = "") -> Trace:
        return Trace(item, index, exit, label, reason, tuple(coarse), tuple(fine), tuple(meta))

    def left_open(verdicts: Sequence[Verdict]) -> str:
        return "; ".join(f"{verdict.judge}: {verdict.reason}" for verdict in verdicts if verdict.label is None)

    if (label := unanimous(coarse)) is not None:
        return trace("coarse_unanimous", label)
    if (label := unanimous(fine)) is not None:
        return trace("easy", label)
    if not disputed(fine):
        return trace("undecided", reason=f"fewer than two base judges decided: {left_open(fine)}")
    if (label := unanimous(meta)) is not None:
        return trace("hard", label)
    if why := left_open(meta):
        return trace("undecided", reason=f"a meta-judge did not decide: {why}")
    return trace("meta_disagree", reason=", ".join(f"{verdict.judge} says {verdict.label}" for verdict in meta))


def funnel_tables(answered: Sequence[Answered], traces: Sequence[Trace], usage: Mapping[str, Usage]) -> list[Table]:
    """Return what went through the funnel, what it cost by stage, how rubrics left it and why, and whose responses they are.

    `usage` is by ledger role, `STAGE SPEC`.
    """
    exits = Counter(trace.exit for trace in traces)
    spent: dict[str, Usage] = {}
    for role, used in usage.items():
        stage = role.partition(" ")[0]
        spent[stage] = spent.get(stage, Usage()) + used
    # Looks that only `--reference` needs are called validation. The table is in no file: see run.json.
    cost = [
        {"stage": stage, **dict(zip(("calls", "read", "written"), spent[stage].shown, strict=True))}
        for stage in (*STAGES, "validation")
        if stage in spent
    ]
    reasons = Counter((trace.exit, trace.reason) for trace in traces if trace.reason).most_common()
    responses = []
    for model in dict.fromkeys(response.item.model for response in answered):
        of_model = [response for response in answered if response.item.model == model]
        unanswered = sum(response.problem is not None for response in of_model)
        cut_off = sum(response.truncated for response in of_model)
        responses.append(
            {"model": model, "responses": len(of_model) - unanswered, "unanswered": unanswered, "truncated": cut_off}
        )
    by_exit = (Column("exit", "exit"), Column("rubrics", "rubrics", "count"))
    return [
        _stages(traces, exits),
        Table("", (
            Column("stage", "stage"), Column("calls", "calls"), Column("read", "tokens in"), Column("written", "tokens out"),
        ), cost, "What the stages took"),
        Table("exits", (*by_exit, Column("meaning", "meaning", "prose")), [
            {"exit": exit, "rubrics": exits[exit], "meaning": meaning} for exit, meaning in EXITS.items()
        ], "How rubrics left the funnel", printed=False),
        Table("reasons", (*by_exit, Column("reason", "reason", "prose")), [
            {"exit": exit, "rubrics": count, "reason": reason} for (exit, reason), count in reasons
        ], "Why rubrics were discarded", printed=False),
        Table("responses", (
            Column("model", "model"), Column("responses", "responses", "count"), Column("unanswered", "unanswered", "count"),
            Column("truncated", "cut off", "count", "Responses cut off at the token limit."),
        ), responses, "Responses", printed=False),
    ]  # fmt: skip


def _stages(traces: Sequence[Trace], exits: Mapping[Exit, int]) -> Table:
    """One row per stage: rubrics in, how they left, and what is left for the next stage."""
    # Undecided at the fine stage means that there was nothing for the meta-judges to read.
    early = sum(trace.exit == "undecided" and not trace.meta for trace in traces)
    outs: dict[str, dict[Exit, int]] = {
        "answer": {"unanswered": exits["unanswered"]},
        "coarse": {"coarse_unanimous": exits["coarse_unanimous"]},
        "fine": {"easy": exits["easy"], "undecided": early},
        "meta": {"hard": exits["hard"], "meta_disagree": exits["meta_disagree"], "undecided": exits["undecided"] - early},
    }  # fmt: skip
    left, rows = len(traces), list[dict[str, Any]]()
    for stage in STAGES:
        entering, left = left, left - sum(outs[stage].values())
        leaving = ", ".join(f"{name} {count}" for name, count in outs[stage].items())
        rows.append({"stage": stage, "rubrics_in": entering, "exits": leaving, "rubrics_on": left})
    labelled = f"labelled {exits['easy'] + exits['hard']}"
    rows.append({"stage": "all", "rubrics_in": len(traces), "exits": labelled, "rubrics_on": None})
    columns = (
        Column("stage", "stage"), Column("rubrics_in", "rubrics in", "count"), Column("exits", "exits"),
        Column("rubrics_on", "rubrics on", "count"),
    )  # fmt: skip
    return Table("stages", columns, rows, "Rubrics through the funnel")


def notes(options: ArbitrateOptions, answered: Sequence[Answered], traces: Sequence[Trace]) -> list[str]:
    """Return what is to be known about the labels."""
    lines = []
    votes = [(*trace.coarse, *trace.fine, *trace.meta, *trace.candidates) for trace in traces]
    if conflicting := sum(any(verdict.conflicting for verdict in verdicts) for verdicts in votes):
        lines.append(f"{conflicting} rubrics were given two labels in one answer of a judge, which was asked again")
    judges = {family(spec) for spec in (*options.judge, *options.meta_judge)}
    if own := sorted({response.item.model for response in answered if family(response.item.model) in judges}):
        lines.append(f"judged by a model of its own family: {', '.join(own)}")
    if untyped := sum(trace.exit in SPLITS and trace.rubric.kind is None for trace in traces):
        lines.append(
            f"{untyped} rows have no rubric type: `truebench study taxonomy --data {options.out}/labels` writes rows that do"
        )
    if deciding := [spec for spec in options.judge if options.decides(spec)]:
        lines.append(
            f"{len(deciding)} of {len(options.judge)} base judges give probabilities, which carry no rationale "
            "and do not depend on the other rubrics: their coarse verdicts stand in the fine pass, and `easy` "
            + ("stays empty" if len(deciding) == len(options.judge) else "can stay empty")
        )
    return [*lines, *weak_judges((*options.judge, *options.meta_judge))]
