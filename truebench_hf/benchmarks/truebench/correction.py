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

_WORDS = designs.LABELS


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
    verdicts = {member.id: _WORDS[member.stratum] for member in members}
    responses_of = {criterion.id: criterion.response for criterion in run.criteria}
    told = {
        name: replace(said, predicted=verdicts[name], weight=design.drawn[name].weight)
        for name, said in _told(rows, design.unit, responses_of).items()
    }
    estimate = _bounded(design.unit, members, told, design, _too_open(told, design.unit))
    criteria = None
    if design.unit == "instance":
        criteria = _of_criteria(rows, run, told, design)
    return {
        "method": design.estimator,
        "unit": design.unit,
        **asdict(estimate.estimate),
        "labels_alone": asdict(estimate.labels_alone),
        "strata": [asdict(stratum) for stratum in estimate.strata],
        "lambda": estimate.lambda_,
        **_observed(run, members),
        "labels": estimate.labelled,
        **_open(told, len(design.drawn)),
        "judge": asdict(_rates(told)),
        "criteria": criteria,
    }


def _bounded(
    unit: str, members: Sequence[SamplingUnit], told: Mapping[str, HumanLabel], design: Design, why: str | None
) -> DoubleSampling:
    """The estimate, bounded by what the open ones may turn out to be; `why` they are too many for a figure."""
    found = _estimated(unit, members, told, design)
    if not any(said.open for said in told.values()):
        return found
    failed, passed = (
        _estimated(unit, members, {k: replace(s, gold=label) if s.open else s for k, s in told.items()}, design)
        for label in ("no", "yes")
    )
    return replace(
        found,
        estimate=bounded(found.estimate, failed.estimate, passed.estimate, why),
        labels_alone=bounded(found.labels_alone, failed.labels_alone, passed.labels_alone, why),
    )


def _too_open(told: Mapping[str, HumanLabel], unit: str) -> str | None:
    """Why what is settled is no random sample, if more than a small share of what people began is open."""
    begun = sum(said.begun for said in told.values())
    ties = sum(said.tied for said in told.values())
    part = sum(said.open for said in told.values()) - ties
    if ties + part <= MAX_OPEN * begun:
        return None
    kinds = [f"{part} answered in part"] * bool(part) + [f"{ties} on which annotators disagree"] * bool(ties)
    remedies = ["ask for the rest by `truebench label out --unlabelled --out FOLDER`"] * bool(part)
    remedies += ["have an adjudicator settle ties (`truebench label in --decisions`)"] * bool(ties)
    return (
        f"{ties + part} of {begun} labelled {PLURAL[unit]} are open ({', '.join(kinds)}), so that those settled are no "
        f"random sample; {' and '.join(remedies)}"
    )


def _estimated(
    unit: str, members: Sequence[SamplingUnit], told: Mapping[str, HumanLabel], design: Design
) -> DoubleSampling:
    scored = design.estimator == designs.PREDICTION_POWERED
    labels = [told.get(member.id) for member in members]
    return double_sampling(
        [member.stratum for member in members],
        [said.gold if said else None for said in labels],
        weights=[said.weight if said else 1.0 for said in labels],
        scores=[member.score for member in members] if scored else None,
        groups=designs.clusters(members, unit),
        order=designs.STRATA,
    )


def _of_criteria(
    rows: Sequence[Row], run: LabelPopulation, told: Mapping[str, HumanLabel], design: Design
) -> dict[str, Any]:
    """The share of criteria that are met, by all criteria of the instances that people labelled."""
    members, by_criterion = run.criteria, _told(rows, "criterion", {})
    # Once somebody began an instance, every criterion of it counts, answered or not: after the first no the rest stay
    # blank, so that those answered are the failed ones more often than not.
    criteria = {
        member.id: replace(
            by_criterion.get(member.id) or HumanLabel(None, None, 1.0, member.instance_id, False, True),
            weight=told[member.response].weight,
            begun=True,
        )
        for member in members
        if member.response in told and told[member.response].begun
    }
    open_, ties = (sum(getattr(said, name) for said in criteria.values()) for name in ("open", "tied"))
    why = None
    if open_ > MAX_OPEN * len(criteria):
        why = (
            f"{open_} of {len(criteria)} criteria of labelled instances are open ({open_ - ties} left blank, as one no "
            f"settles the pass rate, {ties} on which annotators disagree); answer all for this"
        )
    found = _bounded("criterion", members, criteria, design, why)
    alone = asdict(found.labels_alone)
    return {**asdict(found.estimate), "labels_alone": alone, "labels": found.labelled, **_observed(run, members)}


def _told(rows: Sequence[Row], unit: str, own: Mapping[str, str]) -> dict[str, HumanLabel]:
    """By criterion, or by response: what people say. `own` are the responses of the run by the ids of their criteria."""
    if unit == "criterion":
        return {
            row["id"]: HumanLabel(
                row["label"], row["predicted"], row["weight"], row["instance_id"], row["how"] == "tie", _begun(row)
            )
            for row in rows
        }
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[own[row["id"]]].append(row)
    return {response: _response(group) for response, group in groups.items()}


def _response(rows: Sequence[Row]) -> HumanLabel:
    said = [label for label in answers(rows).values() if label is not None]
    gold, predicted = majority(said).label, designs.verdict([row["predicted"] for row in rows])
    instance, tied = rows[0]["instance_id"], bool(said) and gold is None
    return HumanLabel(gold, _WORDS[predicted], rows[0]["weight"], instance, tied, any(map(_begun, rows)))


def _begun(row: Row) -> bool:
    return row["label"] is not None or any(entry["label"] for entry in row["annotations"])


def _rates(told: Mapping[str, HumanLabel]) -> ErrorRates:
    """The judge's error rates on what people labelled."""
    said = list(told.values())
    return error_rates(
        [one.gold for one in said],
        [one.predicted for one in said],
        weights=[one.weight for one in said],
        groups=[one.instance for one in said],
    )


def _open(told: Mapping[str, HumanLabel], drawn: int) -> dict[str, int]:
    """How many units were drawn, and how many of them people disagree on (ties), did not answer, or only in part."""
    ties, settled = sum(said.tied for said in told.values()), sum(said.gold is not None for said in told.values())
    partly = sum(said.open for said in told.values()) - ties
    return {"drawn": drawn, "ties": ties, "unanswered": drawn - settled - ties, "partly": partly}


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
