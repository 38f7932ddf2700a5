"""What a calibration finds: the fit, what it is worth on instructions it has not seen, and the price of cascades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from truebench_hf.errors import UserError
from truebench_hf.judging.calibrated import Calibrated
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.calibration import (
    Calibration,
    Calibrator,
    Threshold,
    best_threshold,
    calibration,
    cross_fit,
    cross_threshold,
    fit,
)
from truebench_hf.metrics.cascade import First, Point, Second, cheapest, chosen_labels, curve
from truebench_hf.study.notes import weak_judges
from truebench_hf.types import Label, Score, Usage

if TYPE_CHECKING:
    from truebench_hf.benchmarks.rubric_eval.calibration.study import CalibrateOptions


@dataclass(frozen=True)
class Row:
    """One labelled rubric: what the decision judge said of it, and what the reasoning judge did, in which call."""

    id: str
    instruction_id: str
    label: Label
    probability: float | None
    reason: str
    second: Label | None = None
    call: str = ""


@dataclass(frozen=True)
class Spent:
    """What judging took: the decision judge on all rows, the reasoning judge in tokens by call, and both in all."""

    first: First
    second: Mapping[str, float]
    total: Usage = field(default_factory=Usage)


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
    before: Calibration
    after: Calibration
    agreement: Mapping[str, Score]
    responses: int
    points: tuple[Point, ...] = ()
    choice: Point | None = None
    worth: Score | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def measure(
    options: CalibrateOptions, rows: Sequence[Row], spent: Spent, responses: int, provenance: Mapping[str, Any]
) -> Fit:
    """Fit and measure rows of `responses` responses. Raises UserError where no fit exists."""
    raw, gold, _ = _columns(rows)
    calibrator, best, fair = crossed(options, rows, f"--data {options.data}")
    second = Second([row.second for row in rows], [row.call for row in rows], spent.second)
    points = curve(fair, gold, spent.first, second, best.value) if spent.second else ()
    choice = cheapest(points)
    worth = _worth(options, rows, spent.first, second) if choice else None
    seems = choice.balanced_accuracy if choice else None
    if choice and worth:
        choice = replace(choice, balanced_accuracy=worth.value)
    band = (choice.low, choice.high) if choice and choice.low is not None and choice.high is not None else None
    return Fit(
        Calibrated(
            options.judge,
            calibrator,
            best.value,
            band,
            options.cascade_judge or "",
            options.rules,
        ),
        calibration(raw, gold),
        calibration(fair, gold),
        agreement(options, rows, fair),
        responses,
        points,
        choice,
        worth,
        provenance,
        _notes(options, rows, calibrator, choice, seems, spent.total),
    )


class Folding(Protocol):
    """How a judge is calibrated: by which calibrator, in how many parts, dealt by which seed."""

    @property
    def kind(self) -> str: ...
    @property
    def folds(self) -> int: ...
    @property
    def seed(self) -> int: ...


def crossed(how: Folding, rows: Sequence[Row], where: str) -> tuple[Calibrator, Threshold, tuple[float | None, ...]]:
    """(calibrator, best threshold, calibrated probability of each row by a fit that has not seen its instruction).

    Raises UserError, beginning with `where` the rows come from, where no fit exists.
    """
    raw, gold, groups = _columns(rows)
    calibrator = fit(how.kind, raw, gold)
    if calibrator is None:
        raise UserError(f"{where}: a calibrator needs probabilities of rubrics that are met and of some that are not")
    fair = cross_fit(how.kind, raw, gold, groups, folds=how.folds, seed=how.seed)
    best = best_threshold(fair, gold)
    if best is None:
        raise UserError(f"{where}: cross-fitting needs labels of both kinds in several instructions")
    return calibrator, best, fair


def _columns(rows: Sequence[Row]) -> tuple[list[float | None], list[Label], list[str]]:
    """(probabilities, labels, instructions) of the rows."""
    return [row.probability for row in rows], [row.label for row in rows], [row.instruction_id for row in rows]


def _worth(options: CalibrateOptions, rows: Sequence[Row], first: First, second: Second) -> Score:
    raw, gold, groups = _columns(rows)
    labels = chosen_labels(options.kind, raw, gold, groups, first, second, folds=options.folds, seed=options.seed)
    worth: Score = label_agreement(gold, labels, groups)["balanced_accuracy_strict"]
    return worth


def agreement(how: Folding, rows: Sequence[Row], fair: Sequence[float | None]) -> dict[str, Score]:
    """Balanced accuracy of each decision rule; `fair` are the cross-fitted probabilities."""
    raw, gold, groups = _columns(rows)
    cuts = cross_threshold(how.kind, raw, gold, groups, folds=how.folds, seed=how.seed)
    rules = {
        "as given, threshold 0.5": _decide(raw, [0.5] * len(rows)),
        "calibrated, threshold 0.5": _decide(fair, [0.5] * len(rows)),
        "calibrated, fitted threshold": _decide(fair, cuts),
    }
    if any(row.call for row in rows):
        rules["reasoning judge"] = [row.second for row in rows]
    return {name: label_agreement(gold, labels, groups)["balanced_accuracy"] for name, labels in rules.items()}


def _decide(shares: Sequence[float | None], cuts: Sequence[float | None]) -> list[Label | None]:
    pairs = zip(shares, cuts, strict=True)
    return [None if share is None or cut is None else "yes" if share >= cut else "no" for share, cut in pairs]


def _notes(
    options: CalibrateOptions, rows: Sequence[Row], calibrator: Calibrator, choice: Point | None, seems: float | None,
    total: Usage,
) -> tuple[str, ...]:  # fmt: skip
    notes = [f"Costs in tokens are too low: {total}."] if total.unknown_calls else []
    if calibrator.slope < 0:
        notes.append("The fit turns the judge around: the more it believes a rubric met, the less often it is.")
    missing = [row.reason for row in rows if row.probability is None]
    if missing:
        notes.append(f"{len(missing)} of {len(rows)} rubrics have no probability and are left out: {missing[0]}")
    notes += weak_judges([options.judge])
    if options.kind == "isotonic" and len(rows) < 300:
        notes.append(f"An isotonic fit wants some hundred rows; there are {len(rows)}.")
    if choice is not None and choice.balanced_accuracy is not None and seems is not None:
        notes.append(
            f"What is chosen among the cascades has a balanced accuracy of {100 * choice.balanced_accuracy:.1f} % on "
            f"instructions it was not chosen on (nested folds); where it was chosen it seems to have {100 * seems:.1f} %."
        )
    if choice is not None and choice.low is None:
        alone = "a threshold" if choice.high is not None else "the reasoning judge"
        cheaper = "" if choice.high is not None else ", and no cascade that does costs less"
        notes.append(f"No cascade pays here: {alone} alone comes within one point of the best{cheaper}.")
    return tuple(notes)
