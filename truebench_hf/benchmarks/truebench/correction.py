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
from truebench_hf.data.judged import Judged
from truebench_hf.metrics.double_sampling import (
    MAX_OPEN,
    DoubleSampling,
    bounded,
    double_sampling,
    error_rates,
)
from truebench_hf.metrics.votes import majority
from truebench_hf.report.table import Column, Table
from truebench_hf.results.report import Report
from truebench_hf.types import Score


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """What people say about an instance or a criterion: `gold` None is open, by a tie of annotators or not."""

    gold: str | None
    instance: str
    weight: float
    tied: bool
    begun: bool  # somebody answered it, or a part of it

    @property
    def open(self) -> bool:
        """Whether there are answers that settle nothing: unlike those nobody came to, these are no random ones."""
        return self.begun and self.gold is None


HumanLabels = Mapping[str, HumanLabel]  # by the id of a criterion or a response


def corrected(report: Report, judged: Iterable[Judged], folder: Path) -> Report:
    """The report of a run with what the `labels.jsonl` in its folder says, if there is one."""
    rows = designs.read_labels(folder / designs.FILE)
    return replace(report, bias_corrected=correction(judged, rows, designs.read_design(folder))) if rows else report


def correction(judged: Iterable[Judged], rows: Sequence[designs.Row], design: designs.Design | None) -> dict[str, Any]:
    """`Report.bias_corrected`: the pass rate by labels (shares are 0..1), or why it is withheld; {} without labels.

    `rows` are those of `labels.jsonl`, of which those count that `design` drew from answers that the run still has.
    """
    if not rows or design is None:
        return {}
    criteria: list[designs.SamplingUnit] = []
    incomplete = 0  # responses that lack an answer
    for item in judged:  # each is looked at once, and none held
        criteria += designs.population([item], "criterion")
        incomplete += not designs.whole(item)
    human = _human_labels(rows, criteria, design)
    members = criteria if design.unit == "criterion" else designs.responses(criteria)
    judged_as = {member.id: designs.LABELS[member.stratum] for member in members}
    ties = sum(label.tied for label in human.values())
    part = sum(label.open and not label.tied for label in human.values())
    estimate = _estimate(design.unit, members, human, design, _too_open(human, design.unit, ties, part))
    gold, weights, instances = (
        [getattr(label, key) for label in human.values()] for key in ("gold", "weight", "instance")
    )
    judge = error_rates(gold, [judged_as[name] for name in human], weights=weights, groups=instances)
    return {
        "method": design.estimator,
        "unit": design.unit,
        **asdict(estimate.estimate),
        "labels_alone": asdict(estimate.labels_alone),
        "strata": [asdict(stratum) for stratum in estimate.strata],
        "lambda": estimate.lambda_,
        **_observed(members, incomplete),
        "labels": estimate.labelled,
        "drawn": len(design.drawn),
        "ties": ties,
        "unanswered": len(design.drawn) - ties - sum(label is not None for label in gold),
        "partly": part,
        "judge": asdict(judge),
        "criteria": _of_criteria(rows, criteria, incomplete, human, design) if design.unit == "instance" else None,
    }


def _human_labels(
    rows: Sequence[designs.Row], criteria: Sequence[designs.SamplingUnit], design: designs.Design
) -> dict[str, HumanLabel]:
    """What people say, by the row of each criterion that was drawn, or by those of all criteria of a response."""
    names = {criterion.id: design.key(criterion) for criterion in criteria if design.holds(criterion)}
    by_name: defaultdict[str, list[designs.Row]] = defaultdict(list)
    for row in rows:
        if row["id"] in names:
            by_name[names[row["id"]]].append(row)
    human = {}
    for name, own in by_name.items():
        if design.unit == "criterion":
            gold, tied = own[0]["label"], own[0]["how"] == "tie"
        else:
            labels = [label for label in designs.answers(own).values() if label is not None]
            gold = majority(labels).label
            tied = bool(labels) and gold is None
        begun = any(row["label"] is not None or any(entry["label"] for entry in row["annotations"]) for row in own)
        human[name] = HumanLabel(gold, own[0]["instance_id"], design.drawn[name].weight, tied, begun)
    return human


def _too_open(human: HumanLabels, unit: str, ties: int, part: int) -> str | None:
    """Why what is settled is no random sample, if more than a small share of what people began is open."""
    begun = sum(label.begun for label in human.values())
    if ties + part <= MAX_OPEN * begun:
        return None
    kinds = [f"{part} answered in part"] * bool(part) + [f"{ties} on which annotators disagree"] * bool(ties)
    remedies = ["ask for the rest by `truebench label out --unlabelled --out FOLDER`"] * bool(part)
    remedies += ["have an adjudicator settle ties (`truebench label in --decisions`)"] * bool(ties)
    return (
        f"{ties + part} of {begun} labelled {designs.PLURAL[unit]} are open ({', '.join(kinds)}), so that those settled are no "
        f"random sample; {' and '.join(remedies)}"
    )


def _estimate(
    unit: str, members: Sequence[designs.SamplingUnit], human: HumanLabels, design: designs.Design, why: str | None
) -> DoubleSampling:
    """The estimate, bounded by what the open ones may turn out to be; `why` they are too many for a figure."""
    labels, instances = [human.get(member.id) for member in members], [member.instance_id for member in members]
    clustered = unit == "criterion" or len(set(instances)) < len(instances)
    scored = design.estimator == designs.PREDICTION_POWERED

    def sampled(gold: str | None) -> DoubleSampling:  # which the open ones are taken to have
        return double_sampling(
            [member.stratum for member in members],
            [None if label is None else gold if label.open else label.gold for label in labels],
            weights=[label.weight if label else 1.0 for label in labels],
            scores=[member.score for member in members] if scored else None,
            groups=instances if clustered else None,
            order=designs.STRATA,
        )

    estimate = sampled(None)
    if not any(label.open for label in human.values()):
        return estimate
    failed, passed = sampled("no"), sampled("yes")
    return replace(
        estimate,
        estimate=bounded(estimate.estimate, failed.estimate, passed.estimate, why),
        labels_alone=bounded(estimate.labels_alone, failed.labels_alone, passed.labels_alone, why),
    )


def _of_criteria(
    rows: Sequence[designs.Row],
    members: Sequence[designs.SamplingUnit],
    incomplete: int,
    human: HumanLabels,
    design: designs.Design,
) -> dict[str, Any]:
    """The share of criteria that are met, by all criteria of the instances that people labelled.

    Once somebody began an instance, every criterion of it counts, answered or not: after the first no the rest stay
    blank, so that those answered are the failed ones more often than not.
    """
    by_id = {row["id"]: (row["label"], row["how"] == "tie") for row in rows}
    criteria = {}
    for member in members:
        if (response := human.get(member.response)) and response.begun:
            gold, tied = by_id.get(member.id, (None, False))
            criteria[member.id] = HumanLabel(gold, member.instance_id, response.weight, tied, begun=True)
    open_, ties = sum(label.open for label in criteria.values()), sum(label.tied for label in criteria.values())
    why = None
    if open_ > MAX_OPEN * len(criteria):
        why = (
            f"{open_} of {len(criteria)} criteria of labelled instances are open ({open_ - ties} left blank, as one no "
            f"settles the pass rate, {ties} on which annotators disagree); answer all for this"
        )
    estimate = _estimate("criterion", members, criteria, design, why)
    return {
        **asdict(estimate.estimate),
        "labels_alone": asdict(estimate.labels_alone),
        "labels": estimate.labelled,
        **_observed(members, incomplete),
    }


def _observed(members: Sequence[designs.SamplingUnit], incomplete: int) -> dict[str, Any]:
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
        "incomplete": incomplete,
    }


_TIES = (
    "they are the difficult ones, so what is left flatters the judge and is no random sample: have an adjudicator settle "
    "them (`truebench label in --decisions`)"
)
_METHODS = {
    "stratified": "stratified by verdict (double sampling)",
    "prediction_powered": "stratified by verdict, with the judge's probabilities or votes (PPI++)",
}
_TITLES = {"instance": "Instances that truly pass", "criterion": "Criteria truly met"}
_VERDICTS = {"pass": "judged to pass", "fail": "judged to fail", "undecided": "undecided"}
_HUMAN = (
    Column("what", ""), Column("share", "%", "score", parts=("value", "interval", "n"), drawn=True), Column("how", "", "prose"),
)  # fmt: skip


def human_labels(correction: Mapping[str, Any], model: str = "") -> Table:
    """What the labels say of a run: a report's `bias_corrected`, estimate or why it is withheld, and its grounds."""
    samples = "instances" in correction  # which have several samples
    units, title = designs.PLURAL[correction["unit"]], _TITLES[correction["unit"]]
    if samples:
        title, units = title.replace("Instances", "Samples"), units.replace("instances", "samples")
    judge, alone = correction["judge"], correction["labels_alone"]
    if correction["withheld"] is not None and alone["withheld"] == correction["withheld"]:
        alone = alone | {"withheld": "for the same reason"}
    rows = [
        _estimate_row(title, correction, correction["labels"], _method(correction)),
        _estimate_row("Labels alone", alone, correction["labels"], "weighted, without verdicts on the rest"),
        _judged_share("As judged", correction),
    ]
    if criteria := correction["criteria"]:
        rows += [
            _estimate_row(_TITLES["criterion"], criteria, criteria["labels"]),
            _judged_share("Criteria as judged", criteria),
        ]
    rows += [
        {"what": f"Truly pass, {_VERDICTS[stratum['name']]}", "share": Score(stratum["share"], stratum["labelled"]),
         "how": f"{stratum['labelled']} of {stratum['n']} labelled"}
        for stratum in correction["strata"]
    ]  # fmt: skip
    rows += [
        {"what": "Sensitivity of the judge", "share": Score(judge["sensitivity"], judge["n1"]), "how": "of those that truly pass"},
        {"what": "Specificity of the judge", "share": Score(judge["specificity"], judge["n0"]), "how": "of those that truly fail"},
        {"what": "Youden's J of the judge", "how": _youden(correction)},
    ]  # fmt: skip
    rows += _left_out(correction, units)
    note = "The interval is for runs like this one, and carries the uncertainty of the run and that of the labels."
    return Table("", _HUMAN, rows, f"What human labels say{model and f': {model}'}", note)


def _estimate_row(title: str, estimate: Mapping[str, Any], labels: int, how: str = "") -> dict[str, Any]:
    bounds = estimate["bounds"] or estimate["ci95"]
    share = Score(None if estimate["withheld"] else estimate["estimate"], labels, 0, bounds and (bounds[0], bounds[1]))
    why = [f"withheld: {estimate['withheld']}"] if estimate["withheld"] is not None else [how] * bool(how)
    why += ["the interval holds whatever the open ones are"] if estimate["bounds"] else []
    return {"what": title, "share": share, "how": "; ".join(why)}


def _method(correction: Mapping[str, Any]) -> str:
    weight = correction["lambda"]
    scored = "" if weight is None else f", these weighted by lambda {weight:.2f} (0 = ignored)"
    worth = correction["effective_labels"]
    as_good = "" if worth is None else f"; as good as {worth:.0f} labels on a simple random sample of the run"
    return f"{_METHODS[correction['method']]}{scored}; chosen before a label was read{as_good}"


def _judged_share(title: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    how = f"of {figures['instances']} instances" if "instances" in figures else ""
    return {"what": title, "share": Score(figures["observed"], figures["n"], figures["undecided"]), "how": how}


def _youden(correction: Mapping[str, Any]) -> str:
    judge = correction["judge"]
    without = f"; {judge['unusable']} without label or verdict" if judge["unusable"] else ""
    settled = "; over settled ones only" if correction["ties"] + correction["partly"] else ""
    if judge["youden_j"] is None:
        return f"none: no label of one of the two kinds{without}{settled}"
    return f"{judge['youden_j']:.2f}, at least {judge['j_lower']:.2f} (1 = knows all, 0 = guesses){without}{settled}"


def _left_out(correction: Mapping[str, Any], units: str) -> list[dict[str, Any]]:
    parts = []
    if ties := correction["ties"]:
        parts.append(f"{ties} on which annotators disagree; {_TIES}")
    if unanswered := correction["unanswered"]:
        partly = f", {correction['partly']} of them in part" if correction["partly"] else ""
        parts.append(f"{unanswered} of {correction['drawn']} {units} drawn are not labelled to the end{partly}")
    if missing := correction["incomplete"]:
        parts.append(f"{missing} instances to which the model gave no complete answer")
    return [{"what": "Left out", "how": "; ".join(parts)}] if parts else []
