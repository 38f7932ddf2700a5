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
from truebench_hf.data.usable import LeftOut
from truebench_hf.models.spec import family
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
STAGES = ("answer", "coarse", "fine", "meta", "validation")


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
        told = {"exit": self.exit, "label": self.label, "reason": self.reason, "response_model": self.item.model}
        stages = {
            stage: [{"judge": one.judge, "label": one.label, "reason": one.reason} for one in getattr(self, stage)]
            for stage in ("coarse", "fine", "meta")
        }
        kind = rubric.kind or rubric.hint or None
        return {"id": rubric.id, **told, "rubric": rubric.text, "source_type": kind, **stages}


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


def summary(
    options: ArbitrateOptions,
    answered: Sequence[Answered],
    traces: Sequence[Trace],
    usage: Mapping[str, Usage],
    validation: Mapping[str, Any] | None,
    left_out: LeftOut,
) -> dict[str, Any]:
    """The content of `funnel.json`: counts, cost, what to know about the labels, and the validation where asked for."""
    exits = Counter(trace.exit for trace in traces)
    untyped = sum(trace.exit in SPLITS and trace.rubric.kind is None for trace in traces)
    conflicting = sum(trace.conflicting for trace in traces)
    return {
        "responses": len(answered),
        "responses_cut_at_limit": sum(one.truncated for one in answered),
        "responses_by_model": dict(Counter(one.item.model for one in answered if one.problem is None)),
        "rubrics": len(traces),
        "exits": {exit: {"n": exits[exit], "meaning": meaning} for exit, meaning in EXITS.items()},
        "why_discarded": _reasons(traces),
        "funnel": _stages(traces, usage),
        "without_rubric_type": untyped,
        "rows_left_out": list(left_out.reasons),
        "conflicting": conflicting,
        "notes": [*([str(left_out)] if left_out else []), *_notes(options, answered, untyped, conflicting)],
        "validation": validation,
    }


def _stages(traces: Sequence[Trace], usage: Mapping[str, Usage]) -> list[dict[str, Any]]:
    """One row per stage: rubrics in, exits, what is left for the next stage, calls and tokens.

    `usage` is by ledger role, `STAGE SPEC`. Calls that only `--reference` needed stand in a row of their own.
    """
    exits: Counter[str] = Counter(trace.exit for trace in traces)
    # Undecided at the fine stage means that there was nothing for the meta-judges to read.
    early = sum(trace.exit == "undecided" and not trace.meta for trace in traces)
    late = exits["undecided"] - early
    outs = {
        "answer": {"unanswered": exits["unanswered"]},
        "coarse": {"coarse_unanimous": exits["coarse_unanimous"]},
        "fine": {"easy": exits["easy"], "undecided": early},
        "meta": {"hard": exits["hard"], "meta_disagree": exits["meta_disagree"], "undecided": late},
        "validation": {},
    }
    left, rows = len(traces), []
    for stage in STAGES:
        entering = left if stage != "validation" else 0
        left = entering - sum(outs[stage].values())
        spent = sum((used for role, used in usage.items() if role.partition(" ")[0] == stage), Usage())
        if stage == "validation" and not spent.calls:
            continue
        rows.append(
            {"stage": stage, "rubrics_in": entering, "exits": outs[stage], "rubrics_on": left, "calls": spent.calls,
             "input_tokens": spent.input_tokens, "output_tokens": spent.output_tokens, "unknown_calls": spent.unknown_calls}
        )  # fmt: skip
    return rows


def _reasons(traces: Sequence[Trace]) -> dict[str, dict[str, int]]:
    """How often each reason stands behind the exits that are no agreement."""
    found: dict[str, Counter[str]] = {}
    for trace in traces:
        if trace.reason:
            found.setdefault(trace.exit, Counter())[trace.reason] += 1
    return {exit: dict(counts.most_common()) for exit, counts in found.items()}


def _notes(options: ArbitrateOptions, answered: Sequence[Answered], untyped: int, conflicting: int) -> list[str]:
    notes = []
    if conflicting:
        notes.append(f"{conflicting} rubrics were given two labels in one answer of a judge, which was asked again")
    models = {one.item.model for one in answered}
    judges = {family(spec): spec for spec in (*options.judge, *options.meta_judge)}
    if own := sorted(model for model in models if family(model) in judges):
        notes.append(f"judged by a model of its own family: {', '.join(own)}")
    if untyped:
        notes.append(
            f"{untyped} rows have no rubric type: `truebench study taxonomy --data {options.out}/labels` writes rows that do"
        )
    if deciding := [spec for spec in options.judge if options.decides(spec)]:
        notes.append(
            f"{len(deciding)} of {len(options.judge)} base judges give probabilities, which carry no rationale "
            "and do not depend on the other rubrics: their coarse verdicts stand in the fine pass, and `easy` "
            + ("stays empty" if len(deciding) == len(options.judge) else "can stay empty")
        )
    return [*notes, *weak_judges((*options.judge, *options.meta_judge))]
