"""Calibrating a decision judge on labelled rubrics, and what a cascade behind it would cost.

Abstract: a decision judge gives probabilities; on labelled data they are mapped to what comes true, a threshold is
fitted, and both are measured on instructions that the fit has not seen. With a reasoning judge's verdicts beside them
every band of a cascade gets its cost and its balanced accuracy. None of the five papers has this; the data and the
measure are RubricEval's (paper 003, sections 3 and 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.calibration import measures
from truebench_hf.benchmarks.rubric_eval.calibration.measures import CalibrationRow, Fit
from truebench_hf.data.rubrics import Item
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.calibrated import as_json
from truebench_hf.judging.judge import JudgeSettings
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.metrics.calibration import FITTERS
from truebench_hf.metrics.choosing import First
from truebench_hf.models.caller import metered
from truebench_hf.options import Binds, option, role
from truebench_hf.study.items import Items
from truebench_hf.study.options import ReplyOptions, RuleOptions, StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Usage, Verdict

CALIBRATION = "calibration.json"  # what other runs read
# The reasoning judge may join a folder; then it stays as it is.
_REASONING = Binds("reasoning_judge", lambda o: asdict(o.reasoning_settings) if o.cascade_judge else {}, late=True)


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions(StudyOptions, ReplyOptions, RuleOptions):
    """Which decision judge is calibrated on which labelled data, and who would get a cascade's doubtful rest."""

    data: str = option(
        help="rubric_mini, a JSONL or Parquet path in its columns, a folder of splits, a Hub id, or SOURCE:PATH of a labelled "
        "set (profbench, healthbench_meta)."
    )
    judge: str = role(help="Decision judge: smollm2, hf:, vllm:, openai: or scripted: spec.", binds=Binds(late=True))
    kind: str = option("platt", help="Calibrator: temperature, platt, or isotonic (wants some hundred rows).")
    folds: int = option(5, help="Parts, by instruction, for cross-fitted measures.")
    cascade_judge: str | None = role(
        None, help="Reasoning judge; then the report shows what each cascade costs.", binds=Binds(grows=True, late=True)
    )
    reasoning: bool = option(
        True, binds=_REASONING, help="Whether the reasoning judge gives reasons before its verdicts."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in FITTERS:
            raise unknown("calibrator", self.kind, FITTERS)
        if self.folds < 2:
            raise UserError("--folds is at least 2")

    @property
    def usual_rules(self) -> str:
        """As in the runs that a calibration is for."""
        return "decide"

    @property
    def settings(self) -> JudgeSettings:
        """How the judge that is calibrated decides."""
        return JudgeSettings(level="decision", rules=self.rules)

    @property
    def reasoning_settings(self) -> JudgeSettings:
        """How the reasoning judge decides."""
        return JudgeSettings(level="rubric", reasoning=self.reasoning, structured=self.structured, rules=self.rules)


Judged = tuple[list[CalibrationRow], Mapping[str, Usage]]  # the rows of a response, and what they took by role


class CalibrationStudy(Study[CalibrateOptions, Item, Judged, Fit]):
    """A calibration: the labelled rubrics of every response, judged by probability and perhaps by reasoning."""

    kind = "calibrate"
    needs = ("sklearn",)
    files = (CALIBRATION, "rows.jsonl")
    unit = "responses"

    def items(self) -> Items[Item]:
        """The responses, cut down to their labelled rubrics."""
        usable = data.answered(self.options.data)
        labelled = [(item, tuple(r for r in item.rubrics if r.label in ("yes", "no"))) for item in usable]
        chosen = [replace(item, rubrics=rubrics) for item, rubrics in labelled if rubrics]
        if not chosen:
            raise UserError(f"--data {self.options.data}: no row has a label to calibrate on")
        return data.selection(chosen, usable.left_out.reasons)

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.settings, *([self.options.reasoning_settings] if self.options.cascade_judge else [])]

    def setup(self) -> None:
        self.first, self.second = self.judge(self.options.settings), None
        if self.options.cascade_judge:
            self.second = self.judge(self.options.reasoning_settings, "cascade_judge", part="cascade")

    async def work(self, item: Item) -> Judged:
        """The rows of a response; the reasoning judge is asked about each of its rubrics alone, as in a cascade."""
        spent = metered()
        decided = await self.first.verdicts(item.labelled)
        reasoned: Sequence[Verdict | None] = [None] * len(decided)
        if self.second:
            reasoned = await self.second.verdicts(item.labelled)
        rows = []
        for rubric, verdict, second in zip(item.rubrics, decided, reasoned, strict=True):
            if verdict.judge != JUDGE and rubric.label is not None:  # what rules decided needs no probability
                pair = (second.label, rubric.id) if second else (None, "")
                p, reason = verdict.probability, verdict.reason
                rows.append(CalibrationRow(rubric.id, item.instruction_id, rubric.label, p, reason, *pair))
        return rows, spent

    def score(self, done: Sequence[Judged]) -> Outcome[Fit]:
        options, rows = self.options, [row for rows, _ in done for row in rows]
        first, tokens, total = Usage(), dict[str, float](), Usage()
        for of_response, used in done:
            total = sum(used.values(), total)
            first += used.get("judge", Usage())
            calls = [row.call for row in of_response if row.call]
            # Of a response's calls only the sum is metered; they differ in no more than the rubric.
            cascade = used.get("cascade", Usage())
            tokens |= {call: (cascade.input_tokens + cascade.output_tokens) / len(calls) for call in calls}
        spent = First(first.calls, first.input_tokens + first.output_tokens)
        fit = measures.measure(options, rows, spent, tokens, len(done))
        facts = {
            "Decision judge": options.judge, "Reasoning judge": options.cascade_judge or "",
            "Rubrics": f"{len(rows)} of {len({row.instruction_id for row in rows})} instructions",
            **measures.fitted_facts(fit),
        }  # fmt: skip
        notes = [f"Costs in tokens are too low: {total}."] if total.unknown_calls else []
        notes += fit.notes
        if ruled := sum(len(item.rubrics) for item in self.chosen) - len(rows):
            notes.append(f"Rows that rules decided, which no judge is calibrated on: {ruled}.")
        return Outcome(
            fit, title=f"Calibration: {fit.calibrated.judge}", tables=measures.result_tables(fit),
            charts=measures.charts(fit), facts=facts,
            items={CALIBRATION: as_json(fit.calibrated, options.prompts), "rows.jsonl": map(asdict, rows)},
            notes=[*notes, f"Other runs use it by --calibration {Path(options.out) / CALIBRATION}."],
        )  # fmt: skip


def calibrate(options: CalibrateOptions) -> Fit:
    """Calibrate a decision judge; `truebench study calibrate` as a Python call. Writes the study into `options.out`.

    Other runs read `calibration.json` there. Raises UserError on what the caller can fix.
    """
    return CalibrationStudy(options).run().value
