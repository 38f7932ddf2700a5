"""What an arbitration leaves behind: the two splits in rubric_eval columns, every exit, and the funnel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.rubric_eval.arbitration.answering import Answered
from truebench_hf.benchmarks.rubric_eval.arbitration.funnel import EXITS, Trace, table
from truebench_hf.benchmarks.rubric_eval.rubric_types import RUBRIC_TYPES
from truebench_hf.judging.case import stated
from truebench_hf.loaders.sources.kept import LeftOut
from truebench_hf.models.spec import family
from truebench_hf.types import Usage, Verdict

if TYPE_CHECKING:
    from truebench_hf.benchmarks.rubric_eval.arbitration.study import ArbitrateOptions

SPLITS = ("easy", "hard")


def row(trace: Trace) -> dict[str, Any]:
    """One labelled rubric in the columns of rubric_eval.

    Rubrics stand as judges saw them, with what they rest on, so that whoever reads the row decides what its label
    answers. `rubric_type` is None where the source's is not one of ours; `source_label` keeps it as a hint for the
    taxonomy.
    """
    subject, rubric = trace.subject, trace.subject.rubrics[trace.index]
    kind = RUBRIC_TYPES.get(rubric.kind or "")
    judged = (*trace.fine, *trace.meta)
    return {
        "id": trace.id,
        "instruction_id": subject.instruction_id,
        "response_id": subject.response_id,
        "response_model": subject.response_model,
        "instruction_category": subject.category,
        "source_benchmark": subject.source,
        "language": subject.language,
        "messages": [asdict(message) for message in subject.messages],
        "context": subject.context,
        "reference": subject.shown_reference,
        "response": subject.response,
        "checklist": [stated(criterion) for criterion in subject.rubrics],
        "rubric_index": trace.index,
        "rubric": stated(rubric),
        "rubric_type": kind.name if kind else None,
        "dimension": kind.dimension if kind else None,
        "label": trace.label,
        "label_source": "model",
        "annotations": [{"annotator": verdict.judge, "label": verdict.label} for verdict in judged],
        "rationales": [{"judge": verdict.judge, "rationale": verdict.reason} for verdict in judged],
        "source_label": "" if kind else rubric.kind or "",
    }


def exit_row(trace: Trace) -> dict[str, Any]:
    """How one rubric left the funnel, with the label of every judge at every stage."""
    subject, rubric = trace.subject, trace.subject.rubrics[trace.index]
    return {
        "id": trace.id,
        "exit": trace.exit,
        "label": trace.label,
        "reason": trace.reason,
        "response_model": subject.response_model,
        "rubric": stated(rubric),
        "source_type": rubric.kind,
        **{stage: _labels(getattr(trace, stage)) for stage in ("coarse", "fine", "meta")},
    }


def _labels(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    return [{"judge": verdict.judge, "label": verdict.label, "reason": verdict.reason} for verdict in verdicts]


def summary(
    options: ArbitrateOptions,
    answered: Sequence[Answered],
    traces: Sequence[Trace],
    usage: Mapping[str, Usage],
    validation: Mapping[str, Any] | None,
    left_out: LeftOut,
) -> dict[str, Any]:
    """The content of `funnel.json`: counts, cost, what to know about the labels, and the validation where asked for."""
    ways = Counter(trace.exit for trace in traces)
    untyped = sum(trace.exit in SPLITS and row(trace)["rubric_type"] is None for trace in traces)
    return {
        "responses": len(answered),
        "responses_cut_at_limit": sum(one.truncated for one in answered),
        "responses_by_model": dict(Counter(one.subject.response_model for one in answered if one.problem is None)),
        "rubrics": len(traces),
        "exits": {way: {"n": ways[way], "meaning": meaning} for way, meaning in EXITS.items()},
        "why_discarded": _reasons(traces),
        "funnel": table(traces, usage),
        "usage": {role: asdict(used) for role, used in usage.items()},
        "without_rubric_type": untyped,
        "rows_left_out": list(left_out.reasons),
        "conflicting": (conflicting := sum(trace.conflicting for trace in traces)),
        "notes": [*([str(left_out)] if left_out else []), *_notes(options, answered, untyped, conflicting)],
        "validation": validation,
    }


def _reasons(traces: Sequence[Trace]) -> dict[str, dict[str, int]]:
    """How often each reason stands behind the exits that are no agreement."""
    found: dict[str, Counter[str]] = {}
    for trace in traces:
        if trace.reason:
            found.setdefault(trace.exit, Counter())[trace.reason] += 1
    return {way: dict(counts.most_common()) for way, counts in found.items()}


def _notes(options: ArbitrateOptions, answered: Sequence[Answered], untyped: int, conflicting: int) -> list[str]:
    notes = []
    if conflicting:
        notes.append(f"{conflicting} rubrics were given two labels in one answer of a judge, which was asked again")
    models = {one.subject.response_model for one in answered}
    judges = {family(spec): spec for spec in (*options.judge, *options.meta_judge)}
    if own := sorted(model for model in models if family(model) in judges):
        notes.append(f"judged by a model of its own family: {', '.join(own)}")
    if untyped:
        notes.append(
            f"{untyped} rows have no rubric type: `truebench taxonomy --data {options.out}/labels` writes rows that do"
        )
    if deciding := [spec for spec in options.judge if options.decides(spec)]:
        notes.append(
            f"{len(deciding)} of {len(options.judge)} base judges give probabilities, which carry no rationale "
            "and do not depend on the other rubrics: their coarse verdicts stand in the fine pass, and `easy` "
            + ("stays empty" if len(deciding) == len(options.judge) else "can stay empty")
        )
    if "smollm2" in (*options.judge, *options.meta_judge):
        notes.append("smollm2 is a weak judge: it shows that the funnel runs, its labels are not to be trusted")
    return notes
