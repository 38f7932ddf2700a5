"""What a distilled judge is worth on instructions that it was not trained on, held against its teacher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.benchmarks.rubric_eval.calibration.measures import Fit, Row, agreement, crossed
from truebench_hf.distil.options import DistilOptions
from truebench_hf.distil.training import Training
from truebench_hf.distil.verdicts import Example
from truebench_hf.errors import UserError
from truebench_hf.judging.calibrated import Calibrated
from truebench_hf.metrics.calibration import Calibration, calibration
from truebench_hf.metrics.clustered import clustered_agreement
from truebench_hf.types import Label, Score, Verdict


@dataclass(frozen=True)
class Measured:
    """A judge against the teacher: each measure of `clustered_agreement`, and what its probabilities are worth."""

    agreement: Mapping[str, Score]
    probabilities: Calibration


@dataclass(frozen=True)
class Side:
    """One side of the split: how many instructions and responses, and of the teacher's verdicts those of each label."""

    instructions: int
    responses: int
    labels: Mapping[Label, int]


@dataclass(frozen=True)
class Distilled:
    """A finished distillation: the `spec` of the new judge, its teacher, the split and the training.

    `measured` holds base and new judge against the teacher on the instructions held out, `usual` the verdict that is
    most frequent, given always. `fit` is the calibration of the new judge; where there can be none, `problem` says why.
    """

    spec: str
    teacher: str
    sides: Mapping[str, Side]
    training: Training
    measured: Mapping[str, Measured]
    usual: Mapping[str, Score]
    fit: Fit | None
    problem: str = ""


def side(examples: Sequence[Example]) -> Side:
    """What stands on a side."""
    labels = Counter(label for one in examples for label in one.labels)
    return Side(len({one.instruction for one in examples}), len(examples), dict(labels))


def rows(asked: Sequence[tuple[Example, Sequence[Verdict]]]) -> list[Row]:
    """A row per verdict of the teacher, with what a judge says of the same question."""
    return [
        Row(f"{one.name}-{place}", one.instruction, label, verdict.probability, verdict.reason)
        for one, verdicts in asked
        for place, (label, verdict) in enumerate(zip(one.labels, verdicts, strict=True))
    ]


def measured(some: Sequence[Row]) -> Measured:
    """A judge's rows against the teacher: yes from a probability of one half on."""
    labels: list[Label | None] = [
        None if row.probability is None else "yes" if row.probability >= 0.5 else "no" for row in some
    ]
    gold = [row.label for row in some]
    found = clustered_agreement([row.instruction_id for row in some], gold, labels)
    return Measured(found, calibration([row.probability for row in some], gold))


def usual(some: Sequence[Row]) -> Mapping[str, Score]:
    """What giving the most frequent verdict always would be worth."""
    ((label, _),) = Counter(row.label for row in some).most_common(1)
    return clustered_agreement([row.instruction_id for row in some], [row.label for row in some], [label] * len(some))


def fitted(spec: str, some: Sequence[Row], responses: int, options: DistilOptions) -> tuple[Fit | None, str]:
    """The calibration of the new judge on what was held out, as `calibrate` makes it; else why there is none."""
    try:
        calibrator, best, fair = crossed(options, some, "held out")
    except UserError as error:
        return None, str(error)
    raw, gold = [row.probability for row in some], [row.label for row in some]
    calibrated = Calibrated(spec, calibrator, best.value, rules=options.rules)
    before, after = calibration(raw, gold), calibration(fair, gold)
    return Fit(calibrated, before, after, agreement(options, some, fair), responses), ""


def figures(found: Distilled) -> dict[str, Any]:
    """Every figure, as plain data."""
    scores = {name: {m: asdict(score) for m, score in one.agreement.items()} for name, one in found.measured.items()}
    scores["usual"] = {name: asdict(score) for name, score in found.usual.items()}
    return {
        "judge": found.spec,
        "teacher": found.teacher,
        "split": {name: asdict(one) for name, one in found.sides.items()},
        "training": asdict(found.training),
        "agreement": scores,
        "probabilities": {name: asdict(one.probabilities) for name, one in found.measured.items()},
    }


def calibration_figures(fit: Fit) -> dict[str, Any]:
    """What `calibration.json` says beside what other commands read of it."""
    return {
        "before": asdict(fit.before),
        "after": asdict(fit.after),
        "balanced_accuracy": {name: asdict(score) for name, score in fit.agreement.items()},
    }
