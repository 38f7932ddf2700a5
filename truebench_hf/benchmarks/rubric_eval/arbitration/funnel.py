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

    @property
    def conflicting(self) -> bool:
        """Whether an answer of any judge gave it two labels."""
        return any(vote.conflicting for vote in (*self.coarse, *self.fine, *self.meta, *self.candidates))

    def row(self) -> dict[str, Any]:
        """The labelled rubric in the columns of rubric_eval."""
        return self.item.row(self.index, self.label, (*self.fine, *self.meta))

    def exit_row(self) -> dict[str, Any]:
        """How the rubric left the funnel, with the label of every judge at every stage."""
        rubric = self.rubric
        stages = {
            stage: [
                {"judge": verdict.judge, "label": verdict.label, "reason": verdict.reason}
                for verdict in getattr(self, stage)
            ]
            for stage in ("coarse", "fine", "meta")
        }
        return {
            "id": rubric.id, "exit": self.exit, "label": self.label, "reason": self.reason,
            "response_model": self.item.model, "rubric": rubric.text, "source_type": rubric.kind or rubric.hint or None,
            **stages,
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
    exit, label, reason = _exit(coarse, fine, meta)
    return Trace(item, index, exit, label, reason, tuple(coarse), tuple(fine), tuple(meta))


def _exit(
    coarse: Sequence[Verdict], fine: Sequence[Verdict], meta: Sequence[Verdict]
) -> tuple[Exit, Label | None, str]:
    if (label := unanimous(coarse)) is not None:
        return "coarse_unanimous", label, ""
    if (label := unanimous(fine)) is not None:
        return "easy", label, ""
    if not disputed(fine):
        return "undecided", None, f"fewer than two base judges decided: {_open(fine)}"
    if (label := unanimous(meta)) is not None:
        return "hard", label, ""
    if why := _open(meta):
        return "undecided", None, f"a meta-judge did not decide: {why}"
    return "meta_disagree", None, ", ".join(f"{verdict.judge} says {verdict.label}" for verdict in meta)


def _open(verdicts: Sequence[Verdict]) -> str:
    return "; ".join(f"{verdict.judge}: {verdict.reason}" for verdict in verdicts if verdict.label is None)


def funnel_tables(answered: Sequence[Answered], traces: Sequence[Trace], usage: Mapping[str, Usage]) -> list[Table]:
    """Return what went through the funnel, what it cost by stage, how rubrics left it and why, and whose responses they are.

    `usage` is by ledger role, `STAGE SPEC`.
    """
    return [_stages(traces), _cost(usage), _exits(traces), _reasons(traces), _responses(answered)]


def _stages(traces: Sequence[Trace]) -> Table:
    """One row per stage: rubrics in, how they left, and what is left for the next stage."""
    exits: Counter[str] = Counter(trace.exit for trace in traces)
    # Undecided at the fine stage means that there was nothing for the meta-judges to read.
    early = sum(trace.exit == "undecided" and not trace.meta for trace in traces)
    late = exits["undecided"] - early
    outs: dict[str, dict[str, int]] = {
        "answer": {"unanswered": exits["unanswered"]},
        "coarse": {"coarse_unanimous": exits["coarse_unanimous"]},
        "fine": {"easy": exits["easy"], "undecided": early},
        "meta": {"hard": exits["hard"], "meta_disagree": exits["meta_disagree"], "undecided": late},
    }
    left, rows = len(traces), []
    for stage in STAGES:
        entering, left = left, left - sum(outs[stage].values())
        leaving = ", ".join(f"{name} {count}" for name, count in outs[stage].items())
        rows.append({"stage": stage, "rubrics_in": entering, "exits": leaving, "rubrics_on": left})
    labelled = sum(exits[name] for name in SPLITS)
    rows.append({"stage": "all", "rubrics_in": len(traces), "exits": f"labelled {labelled}", "rubrics_on": None})
    columns = (
        Column("stage", "stage"), Column("rubrics_in", "rubrics in", "count"), Column("exits", "exits"),
        Column("rubrics_on", "rubrics on", "count"),
    )  # fmt: skip
    return Table("stages", columns, rows, "Rubrics through the funnel")


def _cost(usage: Mapping[str, Usage]) -> Table:
    """Calls and tokens by stage; those that only `--reference` needs are called validation. In no file: see run.json."""
    spent: dict[str, Usage] = {}
    for role, used in usage.items():
        stage = role.partition(" ")[0]
        spent[stage] = spent.get(stage, Usage()) + used
    order = [*STAGES, "validation"]
    rows = [
        {"stage": stage, **dict(zip(("calls", "read", "written"), spent[stage].shown, strict=True))}
        for stage in sorted(spent, key=order.index)
    ]
    columns = (
        Column("stage", "stage"),
        Column("calls", "calls"),
        Column("read", "tokens in"),
        Column("written", "tokens out"),
    )
    return Table("", columns, rows, "What the stages took")


def _exits(traces: Sequence[Trace]) -> Table:
    counts = Counter(trace.exit for trace in traces)
    rows = [{"exit": name, "rubrics": counts[name], "meaning": meaning} for name, meaning in EXITS.items()]
    columns = (Column("exit", "exit"), Column("rubrics", "rubrics", "count"), Column("meaning", "meaning", "prose"))
    return Table("exits", columns, rows, "How rubrics left the funnel", printed=False)


def _reasons(traces: Sequence[Trace]) -> Table:
    """How often each reason stands behind the exits that are no agreement."""
    counts = Counter((trace.exit, trace.reason) for trace in traces if trace.reason)
    rows = [{"exit": name, "rubrics": count, "reason": reason} for (name, reason), count in counts.most_common()]
    columns = (Column("exit", "exit"), Column("rubrics", "rubrics", "count"), Column("reason", "reason", "prose"))
    return Table("reasons", columns, rows, "Why rubrics were discarded", keys=1, printed=False)


def _responses(answered: Sequence[Answered]) -> Table:
    models = dict.fromkeys(response.item.model for response in answered)
    rows = [
        {
            "model": model,
            "responses": sum(response.item.model == model and response.problem is None for response in answered),
            "unanswered": sum(response.item.model == model and response.problem is not None for response in answered),
            "truncated": sum(response.item.model == model and response.truncated for response in answered),
        }
        for model in models
    ]  # fmt: skip
    columns = (
        Column("model", "model"), Column("responses", "responses", "count"), Column("unanswered", "unanswered", "count"),
        Column("truncated", "cut off", "count", "Responses cut off at the token limit."),
    )  # fmt: skip
    return Table("responses", columns, rows, "Responses", printed=False)


def notes(options: ArbitrateOptions, answered: Sequence[Answered], traces: Sequence[Trace]) -> list[str]:
    """Return what is to be known about the labels."""
    lines = []
    if conflicting := sum(trace.conflicting for trace in traces):
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
