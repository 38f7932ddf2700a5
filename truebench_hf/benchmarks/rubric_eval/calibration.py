"""Calibrating a decision judge on labelled rubrics.

Abstract: a decision judge gives probabilities; on labelled data they are mapped to what comes true, a threshold is
fitted, and both are measured on instructions that the fit has not seen. None of the five papers has this; the data and
the measure are RubricEval's (paper 003, sections 3 and 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.data.rubrics import Item
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import Calibrated, JudgeSettings, calibration_json
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.metrics import calibration as fits
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.options import Binds, option, role
from truebench_hf.report.sections import Axis, Plot, Series
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.options import RuleOptions, StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Label, Score

CALIBRATION = "calibration.json"  # what other runs read


class CalibrateOptions(StudyOptions, RuleOptions):
    """Which decision judge is calibrated on which labelled data."""

    data: str = option(
        help="rubric_mini, a JSONL or Parquet path in its columns, a folder of splits, a Hub id, or SOURCE:PATH of a labelled "
        "set (profbench, healthbench_meta)."
    )
    judge: str = role(help="Decision judge: smollm2, hf:, vllm:, openai: or scripted: spec.", binds=Binds(late=True))
    kind: str = option(
        "platt", choices=fits.FITTERS, help="Calibrator: temperature, platt, or isotonic (wants some hundred rows)."
    )
    folds: int = option(5, ge=2, help="Parts, by instruction, for cross-fitted measures.")

    @property
    def usual_rules(self) -> str:
        """As in the runs that a calibration is for."""
        return "decide"

    @property
    def settings(self) -> JudgeSettings:
        """How the judge that is calibrated decides."""
        return JudgeSettings(level="decision", rules=self.rules)


@dataclass(frozen=True)
class CalibrationRow:
    """One labelled rubric, and what the decision judge said of it."""

    id: str
    instruction_id: str
    label: Label
    probability: float | None
    reason: str


@dataclass(frozen=True)
class Fit:
    """A finished calibration.

    `before` and `after` measure probabilities as given and as calibrated (by a fit that has not seen the instruction);
    `agreement` has the balanced accuracy of each decision rule.
    """

    calibrated: Calibrated
    before: fits.Calibration
    after: fits.Calibration
    agreement: Mapping[str, Score]
    notes: tuple[str, ...] = ()


class CalibrationStudy(Study[CalibrateOptions, Item, list[CalibrationRow], Fit]):
    """A calibration: the labelled rubrics of every response, judged by probability."""

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
        return [self.options.settings]

    def setup(self) -> None:
        self.decision = self.judge(self.options.settings)

    async def work(self, item: Item) -> list[CalibrationRow]:
        """The rows of a response; what rules decided needs no probability."""
        return [
            CalibrationRow(rubric.id, item.instruction_id, rubric.label, verdict.probability, verdict.reason)
            for rubric, verdict in zip(item.rubrics, await self.decision.verdicts(item.labelled), strict=True)
            if verdict.judge != JUDGE and rubric.label is not None
        ]

    def score(self, done: Sequence[list[CalibrationRow]]) -> Outcome[Fit]:
        options, rows = self.options, list(chain.from_iterable(done))
        fit = measure(options, rows)
        fitted = fit.calibrated
        facts = {
            "Decision judge": options.judge,
            "Rubrics": f"{len(rows)} of {len({row.instruction_id for row in rows})} instructions",
            "Calibrator": fitted.calibrator.kind, "Threshold": f"{fitted.threshold:.3f}",
        }  # fmt: skip
        notes = [*fit.notes]
        if ruled := sum(len(item.rubrics) for item in self.chosen) - len(rows):
            notes.append(f"Rows that rules decided, which no judge is calibrated on: {ruled}.")
        return Outcome(
            fit, title=f"Calibration: {fitted.judge}", tables=_result_tables(fit), charts=[reliability(fit)], facts=facts,
            items={CALIBRATION: calibration_json(fitted, options.prompts), "rows.jsonl": map(asdict, rows)},
            notes=[*notes, f"Other runs use it by --calibration {Path(options.out) / CALIBRATION}."],
        )  # fmt: skip


def calibrate(options: CalibrateOptions) -> Fit:
    """Calibrate a decision judge; `truebench study calibrate` as a Python call. Writes the study into `options.out`.

    Other runs read `calibration.json` there. Raises UserError on what the caller can fix.
    """
    return CalibrationStudy(options).run().value


def measure(options: CalibrateOptions, rows: Sequence[CalibrationRow]) -> Fit:
    """Fit and measure rows. Raises UserError where no fit exists."""
    raw, gold = [row.probability for row in rows], [row.label for row in rows]
    groups, folds = [row.instruction_id for row in rows], {"folds": options.folds, "seed": options.seed}
    calibrator = fits.fit(options.kind, raw, gold)
    if calibrator is None:
        raise UserError(
            f"--data {options.data}: a calibrator needs probabilities of rubrics that are met and of some that are not"
        )
    unseen, decided = fits.cross_fit(options.kind, raw, gold, groups, **folds)
    best = fits.best_threshold(unseen, gold)
    if best is None:
        raise UserError(f"--data {options.data}: cross-fitting needs labels of both kinds in several instructions")
    rules: dict[str, Sequence[str | None]] = {
        f"{name}, threshold 0.5": [None if share is None else "yes" if share >= 0.5 else "no" for share in shares]
        for name, shares in (("as given", raw), ("calibrated", unseen))
    }
    rules["calibrated, fitted threshold"] = decided
    return Fit(
        Calibrated(options.judge, calibrator, best[0], options.rules),
        fits.calibration(raw, gold), fits.calibration(unseen, gold),
        {name: label_agreement(gold, labels, groups)["balanced_accuracy"] for name, labels in rules.items()},
        _notes(options, rows, calibrator),
    )  # fmt: skip


def _notes(options: CalibrateOptions, rows: Sequence[CalibrationRow], calibrator: fits.Calibrator) -> tuple[str, ...]:
    notes = []
    if calibrator.slope < 0:
        notes.append("The fit turns the judge around: the more it believes a rubric met, the less often it is.")
    if missing := [row.reason for row in rows if row.probability is None]:
        notes.append(f"{len(missing)} of {len(rows)} rubrics have no probability and are left out: {missing[0]}")
    notes += weak_judges([options.judge])
    if options.kind == "isotonic" and len(rows) < 300:
        notes.append(f"An isotonic fit wants some hundred rows; there are {len(rows)}.")
    return tuple(notes)


def _result_tables(study: Fit) -> list[Table]:
    """Return all tables of a calibration: probabilities, decisions, and bins."""
    columns = (
        Column("which", "probabilities"),
        Column("brier", "Brier score", "number", "Mean squared difference of probability and truth.", "", digits=4, lower_is_better=True),
        Column("ece", "ECE", "number", "Expected calibration error over the bins.", "", digits=4, lower_is_better=True),
        Column("n", "rubrics", "count"), Column("left_out", "left out", "count", "Rubrics without a probability."),
    )  # fmt: skip
    rows = [{"which": which, **vars(measured)} for which, measured in (("as given", study.before), ("calibrated", study.after))]  # fmt: skip
    unseen = "Calibrated figures are cross-fitted: each instruction by a fit that has not seen it."
    return [
        Table("probabilities", columns, rows, "Probabilities before and after", unseen),
        _decisions(study), _bins(study),
    ]  # fmt: skip


def _decisions(study: Fit) -> Table:
    note = "Balanced accuracy in percent; intervals take the rubrics of an instruction together."
    columns = (
        Column("rule", "Decided by", "prose"),
        Column("balanced_accuracy", "BAcc", "score", parts=("value", "interval", "n", "unscored"), drawn=True),
    )
    rows = [{"rule": name, "balanced_accuracy": score} for name, score in study.agreement.items()]
    return Table("decisions", columns, rows, "Decisions", note)


def _bins(study: Fit) -> Table:
    rows: list[dict[str, float | None]] = [{"low": entry.lower} for entry in study.before.bins]
    columns = [Column("low", "P(yes) from", "number", unit="", digits=1)]
    for end, which, bins in (("", "as given", study.before.bins), ("_calibrated", "calibrated", study.after.bins)):
        for row, entry in zip(rows, bins, strict=True):
            row |= {f"n{end}": entry.count, f"met{end}": entry.share_yes, f"mean{end}": entry.mean_probability}
        columns += [
            Column(f"n{end}", f"n {which}", "count"), Column(f"mean{end}", "mean P(yes)", "number", unit="", digits=4),
            Column(f"met{end}", "met", "number", "Share of these rubrics that are met."),
        ]  # fmt: skip
    return Table("bins", columns, rows, "Bins of the reliability plot", printed=False)


def reliability(study: Fit) -> Plot:
    """Return the reliability plot: what the judge says of a bin against what came true, as given and calibrated."""
    series = []
    for name, measured in (("as given", study.before), ("calibrated", study.after)):
        most = max((entry.count for entry in measured.bins), default=0) or 1
        points = tuple(
            (entry.mean_probability, entry.share_yes, entry.count / most, f"{entry.count} rubrics")
            for entry in measured.bins
            if entry.mean_probability is not None and entry.share_yes is not None
        )
        series.append(Series(name, points, joined=True))
    return Plot(
        "Reliability", tuple(series), Axis("P(yes) the judge gives, mean of a bin", 0, 1), Axis("share that is met", 0, 1),
        diagonal=True,
        note="On the dashed line a probability means what it says; the size of a dot shows how many rubrics are in it.",
    )  # fmt: skip
