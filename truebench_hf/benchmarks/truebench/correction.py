"""What people's labels say about a run: its pass rate set right, and how far its judge can be trusted.

The labels are of a sample of the run itself (`metrics/double_sampling.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench import labels as designs
from truebench_hf.benchmarks.truebench.labels import (
    FILE,
    PLURAL,
    Design,
    Row,
    SamplingUnit,
    answers,
    population,
    read_labels,
    responses,
    whole,
)
from truebench_hf.data.judged import Judged
from truebench_hf.metrics.double_sampling import DoubleSampling, double_sampling
from truebench_hf.metrics.labelled import MAX_OPEN, ErrorRates, bounded, error_rates
from truebench_hf.metrics.votes import majority
from truebench_hf.results.report import Report


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """What people say about an instance or a criterion, beside the judge: None is open, by a tie of annotators or not."""

    gold: str | None
    predicted: str | None
    weight: float
    instance: str
    tied: bool
    begun: bool  # somebody answered it, or a part of it

    @property
    def open(self) -> bool:
        """Whether there are answers that settle nothing: unlike those nobody came to, these are no random ones."""
        return self.begun and self.gold is None

    @property
    def in_part(self) -> bool:
        """Whether it is open without a tie: some of it was answered."""
        return self.open and not self.tied


@dataclass(frozen=True, slots=True)
class LabelPopulation:
    """What of a run people could label: all `criteria`, beside so many `incomplete` responses, which lack an answer."""

    criteria: Sequence[SamplingUnit]
    incomplete: int

    def members(self, unit: str) -> Sequence[SamplingUnit]:
        """The same by criterion, or by response."""
        return self.criteria if unit == "criterion" else responses(self.criteria)


def label_population(judged: Iterable[Judged]) -> LabelPopulation:
    """Looks at each response once, and holds none. Raises UserError as `units`."""
    criteria: list[SamplingUnit] = []
    incomplete = 0
    for item in judged:
        criteria += population([item], "criterion")
        incomplete += not whole(item)
    return LabelPopulation(criteria, incomplete)


def corrected(report: Report, judged: Iterable[Judged], folder: Path) -> Report:
    """The report of a run with what the `labels.jsonl` in its folder says, if there is one."""
    if not (folder / FILE).exists():
        return report
    rows, design = read_labels(folder / FILE), designs.read_design(folder)
    return replace(report, bias_corrected=correction(judged, rows, design))


def correction(judged: Iterable[Judged], rows: Sequence[Row], design: Design | None) -> dict[str, Any]:
    """`Report.bias_corrected`: the pass rate by labels (shares are 0..1), or why it is withheld; {} without labels.

    `rows` are those of `labels.jsonl`, of which those count that `design` drew from answers that the run still has.
    """
    if not rows or design is None:
        return {}
    run = label_population(judged)
    own = {criterion.id for criterion in run.criteria if design.holds(criterion)}
    rows = [row for row in rows if row["id"] in own]
    members = run.members(design.unit)
    verdicts = {member.id: designs.LABELS[member.stratum] for member in members}
    responses_of = {criterion.id: criterion.response for criterion in run.criteria}
    human = {
        name: replace(label, predicted=verdicts[name], weight=design.drawn[name].weight)
        for name, label in _human_labels(rows, design.unit, responses_of).items()
    }
    estimate = _bounded(design.unit, members, human, design, _too_open(human, design.unit))
    return {
        "method": design.estimator,
        "unit": design.unit,
        **asdict(estimate.estimate),
        "labels_alone": asdict(estimate.labels_alone),
        "strata": [asdict(stratum) for stratum in estimate.strata],
        "lambda": estimate.lambda_,
        **_observed(run, members),
        "labels": estimate.labelled,
        **_open(human, len(design.drawn)),
        "judge": asdict(_error_rates(human)),
        "criteria": _of_criteria(rows, run, human, design) if design.unit == "instance" else None,
    }


HumanLabels = Mapping[str, HumanLabel]  # by the id of a criterion or a response


def _bounded(
    unit: str, members: Sequence[SamplingUnit], human: HumanLabels, design: Design, why: str | None
) -> DoubleSampling:
    """The estimate, bounded by what the open ones may turn out to be; `why` they are too many for a figure."""
    estimate = _estimated(unit, members, human, design)
    if not any(label.open for label in human.values()):
        return estimate
    failed, passed = (
        _estimated(unit, members, {k: replace(h, gold=gold) if h.open else h for k, h in human.items()}, design)
        for gold in ("no", "yes")
    )
    return replace(
        estimate,
        estimate=bounded(estimate.estimate, failed.estimate, passed.estimate, why),
        labels_alone=bounded(estimate.labels_alone, failed.labels_alone, passed.labels_alone, why),
    )


def _too_open(human: HumanLabels, unit: str) -> str | None:
    """Why what is settled is no random sample, if more than a small share of what people began is open."""
    begun, ties, part = (sum(getattr(label, name) for label in human.values()) for name in ("begun", "tied", "in_part"))
    if ties + part <= MAX_OPEN * begun:
        return None
    kinds = [f"{part} answered in part"] * bool(part) + [f"{ties} on which annotators disagree"] * bool(ties)
    remedies = ["ask for the rest by `truebench label out --unlabelled --out FOLDER`"] * bool(part)
    remedies += ["have an adjudicator settle ties (`truebench label in --decisions`)"] * bool(ties)
    return (
        f"{ties + part} of {begun} labelled {PLURAL[unit]} are open ({', '.join(kinds)}), so that those settled are no "
        f"random sample; {' and '.join(remedies)}"
    )


def _estimated(unit: str, members: Sequence[SamplingUnit], human: HumanLabels, design: Design) -> DoubleSampling:
    scored = design.estimator == designs.PREDICTION_POWERED
    labels = [human.get(member.id) for member in members]
    return double_sampling(
        [member.stratum for member in members],
        [label.gold if label else None for label in labels],
        weights=[label.weight if label else 1.0 for label in labels],
        scores=[member.score for member in members] if scored else None,
        groups=designs.clusters(members, unit),
        order=designs.STRATA,
    )


def _of_criteria(rows: Sequence[Row], run: LabelPopulation, human: HumanLabels, design: Design) -> dict[str, Any]:
    """The share of criteria that are met, by all criteria of the instances that people labelled.

    Once somebody began an instance, every criterion of it counts, answered or not: after the first no the rest stay
    blank, so that those answered are the failed ones more often than not.
    """
    members, by_criterion = run.criteria, _human_labels(rows, "criterion", {})
    criteria = {
        member.id: replace(
            by_criterion.get(member.id) or HumanLabel(None, None, 1.0, member.instance_id, False, True),
            weight=human[member.response].weight,
            begun=True,
        )
        for member in members
        if member.response in human and human[member.response].begun
    }
    open_, ties = (sum(getattr(label, name) for label in criteria.values()) for name in ("open", "tied"))
    why = None
    if open_ > MAX_OPEN * len(criteria):
        why = (
            f"{open_} of {len(criteria)} criteria of labelled instances are open ({open_ - ties} left blank, as one no "
            f"settles the pass rate, {ties} on which annotators disagree); answer all for this"
        )
    estimate = _bounded("criterion", members, criteria, design, why)
    alone = asdict(estimate.labels_alone)
    return {**asdict(estimate.estimate), "labels_alone": alone, "labels": estimate.labelled, **_observed(run, members)}


def _human_labels(rows: Sequence[Row], unit: str, responses_of: Mapping[str, str]) -> dict[str, HumanLabel]:
    """What people say by criterion, or by response: `responses_of` has the response of each criterion of the run."""
    if unit == "criterion":
        return {
            row["id"]: HumanLabel(
                row["label"], row["predicted"], row["weight"], row["instance_id"], row["how"] == "tie", _begun(row)
            )
            for row in rows
        }
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[responses_of[row["id"]]].append(row)
    return {response: _of_response(group) for response, group in groups.items()}


def _of_response(rows: Sequence[Row]) -> HumanLabel:
    labels = [label for label in answers(rows).values() if label is not None]
    gold, stratum = majority(labels).label, designs.verdict([row["predicted"] for row in rows])
    instance, tied = rows[0]["instance_id"], bool(labels) and gold is None
    return HumanLabel(gold, designs.LABELS[stratum], rows[0]["weight"], instance, tied, any(map(_begun, rows)))


def _begun(row: Row) -> bool:
    return row["label"] is not None or any(entry["label"] for entry in row["annotations"])


def _error_rates(human: HumanLabels) -> ErrorRates:
    """The judge's error rates on what people labelled."""
    gold, predicted, weights, groups = (
        [getattr(label, name) for label in human.values()] for name in ("gold", "predicted", "weight", "instance")
    )
    return error_rates(gold, predicted, weights=weights, groups=groups)


def _open(human: HumanLabels, drawn: int) -> dict[str, int]:
    """How many units were drawn, and how many of them people disagree on (ties), did not answer, or only in part."""
    ties, part = (sum(getattr(label, name) for label in human.values()) for name in ("tied", "in_part"))
    settled = sum(label.gold is not None for label in human.values())
    return {"drawn": drawn, "ties": ties, "unanswered": drawn - settled - ties, "partly": part}


def _observed(run: LabelPopulation, members: Sequence[SamplingUnit]) -> dict[str, Any]:
    """The judge's own share over the `n` units it decided; `incomplete` instances lack an answer of the model.

    Of a run with several samples the units are these, of so many `instances`.
    """
    decided = [member.stratum for member in members if member.stratum != "undecided"]
    instances = len({member.instance_id for member in members})
    repeated = {"instances": instances} if len({member.response for member in members}) > instances else {}
    return repeated | {
        "observed": decided.count("pass") / len(decided) if decided else None,
        "n": len(decided),
        "undecided": len(members) - len(decided),
        "incomplete": run.incomplete,
    }
