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
from truebench_hf.data.rubrics import Item
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import Calibrated, JudgeSettings, calibration_json
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.metrics import calibration as fits
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.choosing import First, Point, Second, cheapest, chosen_labels, curve, frontier
from truebench_hf.models.caller import metered
from truebench_hf.options import Binds, option, role
from truebench_hf.report.sections import Axis, Plot, Series, percent
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.options import ReplyOptions, RuleOptions, StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Label, Score, Usage, Verdict

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
    kind: str = option(
        "platt", choices=fits.FITTERS, help="Calibrator: temperature, platt, or isotonic (wants some hundred rows)."
    )
    folds: int = option(5, least=2, help="Parts, by instruction, for cross-fitted measures.")
    cascade_judge: str | None = role(
        None, help="Reasoning judge; then the report shows what each cascade costs.", binds=Binds(grows=True, late=True)
    )
    reasoning: bool = option(
        True, binds=_REASONING, help="Whether the reasoning judge gives reasons before its verdicts."
    )

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


@dataclass(frozen=True)
class CalibrationRow:
    """One labelled rubric: what the decision judge said of it, and what the reasoning judge did, in which call."""

    id: str
    instruction_id: str
    label: Label
    probability: float | None
    reason: str
    second: Label | None = None
    call: str = ""


@dataclass(frozen=True)
class Fit:
    """A finished calibration.

    `before` and `after` measure probabilities as given and as calibrated (by a fit that has not seen the instruction);
    `agreement` has the balanced accuracy of each decision rule, over `responses`. `points` are the cascades
    of the two judges, measured on the rows they would be chosen on, and `choice` the cheapest good one; without a
    reasoning judge there are none. The balanced accuracy of `choice` is that of `worth`: undecided = wrong,
    of choices that were made without the instructions they are measured on (nested folds).
    """

    calibrated: Calibrated
    before: fits.Calibration
    after: fits.Calibration
    agreement: Mapping[str, Score]
    responses: int
    points: tuple[Point, ...] = ()
    choice: Point | None = None
    worth: Score | None = None
    notes: tuple[str, ...] = ()


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
        fit = measure(options, rows, spent, tokens, len(done))
        fitted = fit.calibrated
        facts = {
            "Decision judge": options.judge, "Reasoning judge": options.cascade_judge or "",
            "Rubrics": f"{len(rows)} of {len({row.instruction_id for row in rows})} instructions",
            "Calibrator": fitted.calibrator.kind, "Threshold": f"{fitted.threshold:.3f}",
            "Band": f"{fitted.band[0]:.3f} to {fitted.band[1]:.3f}" if fitted.band else "",
        }  # fmt: skip
        notes = [f"Costs in tokens are too low: {total}."] if total.unknown_calls else []
        notes += fit.notes
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


def measure(
    options: CalibrateOptions, rows: Sequence[CalibrationRow], first: First, tokens: Mapping[str, float], responses: int
) -> Fit:
    """Fit and measure rows of `responses` responses. Raises UserError where no fit exists.

    The decision judge spent `first` on all rows, the reasoning judge these `tokens` by call.
    """
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
    if any(row.call for row in rows):
        rules["reasoning judge"] = [row.second for row in rows]
    second = Second([row.second for row in rows], [row.call for row in rows], tokens)
    points = curve(unseen, gold, first, second, best[0]) if tokens else ()
    seems, choice, worth = cheapest(points), None, None
    if seems:
        labels = chosen_labels(options.kind, raw, gold, groups, first, second, **folds)
        worth = label_agreement(gold, labels, groups)["balanced_accuracy_strict"]
        choice = replace(seems, balanced_accuracy=worth.value)
    band = (seems.low, seems.high) if seems and seems.low is not None and seems.high is not None else None
    return Fit(
        Calibrated(options.judge, calibrator, best[0], band, options.rules),
        fits.calibration(raw, gold), fits.calibration(unseen, gold),
        {name: label_agreement(gold, labels, groups)["balanced_accuracy"] for name, labels in rules.items()},
        responses, points, choice, worth, _notes(options, rows, calibrator, seems, worth),
    )  # fmt: skip


def _notes(
    options: CalibrateOptions, rows: Sequence[CalibrationRow], calibrator: fits.Calibrator, seems: Point | None, worth: Score | None
) -> tuple[str, ...]:  # fmt: skip
    notes = []
    if calibrator.slope < 0:
        notes.append("The fit turns the judge around: the more it believes a rubric met, the less often it is.")
    if missing := [row.reason for row in rows if row.probability is None]:
        notes.append(f"{len(missing)} of {len(rows)} rubrics have no probability and are left out: {missing[0]}")
    notes += weak_judges([options.judge])
    if options.kind == "isotonic" and len(rows) < 300:
        notes.append(f"An isotonic fit wants some hundred rows; there are {len(rows)}.")
    if seems and worth:
        notes.append(
            f"What is chosen among the cascades has a balanced accuracy of {percent(worth.value, 1)} % on "
            "instructions it was not chosen on (nested folds); where it was chosen it seems to have "
            f"{percent(seems.balanced_accuracy, 1)} %."
        )
    if seems and seems.low is None:
        alone = "a threshold" if seems.high is not None else "the reasoning judge"
        cheaper = "" if seems.high is not None else ", and no cascade that does costs less"
        notes.append(f"No cascade pays here: {alone} alone comes within one point of the best{cheaper}.")
    return tuple(notes)


def _result_tables(study: Fit) -> list[Table]:
    """Return all tables of a calibration: probabilities, decisions, bins, and where there are cascades their price."""
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
        _decisions(study), _bins(study), *(_costs(study) if study.points else []),
    ]  # fmt: skip


def _decisions(study: Fit) -> Table:
    rules = dict(study.agreement)
    note = "Balanced accuracy in percent; intervals take the rubrics of an instruction together."
    if study.worth:
        rules["chosen from the cascades, undecided = wrong"] = study.worth
        note += " What is chosen is measured in nested folds, on instructions that had no say in the choice."
    columns = (
        Column("rule", "Decided by", "prose"),
        Column("balanced_accuracy", "BAcc", "score", parts=("value", "interval", "n", "unscored"), drawn=True),
    )
    rows = [{"rule": name, "balanced_accuracy": score} for name, score in rules.items()]
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


def _costs(study: Fit) -> list[Table]:
    """Each judge alone, what nothing cheaper beats, and what was chosen; and for files every cascade."""
    by_calls = study.points[0].tokens is None
    columns = (
        Column("low", "handed on from", "number", "P(yes) from which rubrics go to the reasoning judge.", "", digits=3),
        Column("high", "to", "number", "P(yes) up to which they go there; of a threshold alone, the threshold.", "", digits=3),
        Column("handed_on", "rubrics handed on", "number", digits=1), Column("calls", "calls", "count", minor=1),
        Column("tokens", "tokens", "number", unit="", digits=0, minor=1),
        Column("cost", "calls per response" if by_calls else "tokens per response", "number", "Of both judges together.", "", digits=1),
        Column("balanced_accuracy", "BAcc", "number", "Undecided counts as wrong."),
    )  # fmt: skip
    note = (
        "Best for its cost: what nothing cheaper beats, each half a point better than the one above. They look better here "
        "than on new data, since they were picked on these rows; what is chosen, the cheapest within a point of the best, is "
        "measured on instructions it was not picked on. The reasoning judge's verdicts are those of one pass over all rubrics."
    )
    if by_calls:
        note += " A judge reports no tokens, so calls are counted."
    steps: list[Point] = []
    for point in frontier(study.points):
        if not steps or (point.balanced_accuracy or 0) >= (steps[-1].balanced_accuracy or 0) + 0.005:
            steps.append(point)
    threshold = study.calibrated.threshold
    ways = {
        "decision judge alone": [point for point in study.points if point.low is None and point.high == threshold],
        "reasoning judge alone": [point for point in study.points if point.high is None],
        "best for its cost": steps,
        "chosen, on unseen instructions": [study.choice] if study.choice else [],
    }
    rows = [
        {"way": way, **vars(point), "cost": point.cost / study.responses}
        for way, points in ways.items()
        for point in points
    ]
    cascades = [{**vars(point), "cost": point.cost / study.responses} for point in study.points]
    return [
        Table("costs", (Column("way", ""), *columns), rows, "What a cascade costs: the best", note, keys=3),
        Table("cascades", columns, cascades, "Cascades", keys=2, printed=False, on_page=False),
    ]


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
