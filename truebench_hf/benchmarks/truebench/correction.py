"""What people's labels say about a run: its pass rate set right, and how far its judge can be trusted.

The labels are of a sample of the run itself, drawn by the judge's verdicts (`metrics/double_sampling.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from truebench_hf.benchmarks.truebench.data import slug
from truebench_hf.benchmarks.truebench.results import models_of
from truebench_hf.benchmarks.truebench.tables import outcome
from truebench_hf.data.judged import Judged, sample_name
from truebench_hf.engine.folder import RunFolder
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.double_sampling import MAX_OPEN, DoubleSampling, bounded, double_sampling
from truebench_hf.metrics.pass_rate import conjunction
from truebench_hf.metrics.votes import majority
from truebench_hf.report.labels import FILE, read_rows
from truebench_hf.report.table import Column, Table
from truebench_hf.results.report import Report
from truebench_hf.study.outcome import Outcome
from truebench_hf.types import Label, Message, Score, Verdict

OPTIONS = ("yes", "no")
SAMPLE = "sample.json"
CORRECTED = "bias_corrected.json"  # by model what human labels say, of a run that has some
PLURAL = {"instance": "instances", "criterion": "criteria"}
STRATA: Mapping[str, Label | None] = {"pass": "yes", "fail": "no", "undecided": None}  # and the label they are held for
Row = Mapping[str, Any]


def results(folder: RunFolder, judged: Sequence[Judged]) -> Outcome[Report]:
    """Return what comes of a run; the report of a model whose labels are in its folder is corrected by them."""
    models, corrections = models_of(folder.info["settings"]), dict[str, dict[str, Any]]()
    for model in models:
        own = (item for item in judged if item.response.model == model)
        if by_labels := correction(own, *read_labels(label_place(folder.path, model, models))):
            corrections[model] = by_labels
    result = outcome(folder, judged)
    if not corrections:
        return result
    return replace(
        result,
        value=replace(result.value, bias_corrected=corrections if len(models) > 1 else corrections[models[0]]),
        tables=[*result.tables, *(human_labels(own, model * (len(models) > 1)) for model, own in corrections.items())],
        items={**result.items, CORRECTED: corrections},
    )


def label_place(run: Path, model: str, models: Sequence[str]) -> Path:
    """Return the folder that holds the labels and the sample of a model: of a lone one the run's own."""
    if len(models) == 1:
        return run
    return run / "labels" / f"{slug(model.rpartition('/')[2])[:40]}-{digest(model)[:8]}"


@dataclass(frozen=True, slots=True)
class LabelUnit:
    """One judged criterion of a run: what was said before, the answer, and the judge's verdict.

    Its `id` holds a hash of all that a label depends on, so that a label never passes to another answer. `place` is
    where it stands among the `criteria` of the conversation, from 1.
    """

    id: str
    instance_id: str
    place: int
    criteria: int
    history: tuple[Message, ...]
    answer: str
    verdict: Verdict
    sample: int = 1

    def key(self, unit: str) -> str:
        """Return what the criterion is drawn as: the response (instance or one of its samples), or itself."""
        return sample_name(self.instance_id, self.sample) if unit == "instance" else self.id


def units(judged: Iterable[Judged]) -> list[LabelUnit]:
    """Return all criteria of all instances that were answered to the last turn, in the order of the run.

    Raises UserError where some have negative points: what labels correct is made of labels, not of outcomes.
    """
    listed = []
    for item in judged:
        if any(weight < 0 for turn in item.weights for weight in turn):
            raise UserError(
                "criteria with negative points cannot be labelled; turn them round (`does not ...`) and run again"
            )
        if not is_complete(item):
            continue
        messages, instance, sample = item.response.messages, item.instance, item.response.sample
        answered = [i for i, message in enumerate(messages) if message.role == "assistant"]
        place, criteria = 0, sum(map(len, item.verdicts))
        of = instance.id if sample == 1 else f"{instance.id}-s{sample}"  # more samples later: a run keeps its labels
        for number, (at, verdicts) in enumerate(zip(answered, item.verdicts, strict=False), 1):
            so_far = [[message.role, message.content] for message in messages[: at + 1]]
            for index, verdict in enumerate(verdicts, 1):
                place += 1
                name = f"{of}-t{number}-c{index}-{digest(canonical([so_far, verdict.criterion.text]))[:12]}"
                answer = messages[at].content
                listed.append(LabelUnit(name, instance.id, place, criteria, messages[:at], answer, verdict, sample))
    return listed


def is_complete(item: Judged) -> bool:
    """Return whether there is an answer to every turn, and a criterion: else people cannot say whether it passes."""
    return any(item.verdicts) and len(item.response.answers) >= len(item.verdicts)


@dataclass(frozen=True, slots=True)
class SamplingUnit:
    """A response or a criterion of the run that labels speak for: the ids of its `criteria`, the stratum that the judge's
    verdict puts it into."""

    id: str
    instance_id: str
    criteria: tuple[str, ...]
    stratum: str


def sampling_units(judged: Iterable[Judged], unit: str) -> list[SamplingUnit]:
    """Return all responses, or criteria, that people could label. No text is held of what was judged."""
    groups: dict[str, list[tuple[str, str, Label | None]]] = {}
    for item in judged:
        for own in units([item]):
            groups.setdefault(own.key(unit), []).append((own.id, own.instance_id, own.verdict.label))
    sampling = []
    for name, cells in groups.items():
        ids, instances, labels = zip(*cells, strict=True)
        passes = conjunction(labels)
        stratum = "undecided" if passes is None else "pass" if passes else "fail"
        sampling.append(SamplingUnit(name, instances[0], ids, stratum))
    return sampling


@dataclass(frozen=True, slots=True)
class Sample:
    """What was drawn of a run: units of which kind, the size `n` of each stratum with how many of it are `drawn`, and the
    stratum of each unit that is."""

    unit: Literal["instance", "criterion"]
    strata: Mapping[str, Mapping[str, Annotated[int, Field(ge=1)]]]
    drawn: Mapping[str, str]

    def weight(self, unit: str) -> float:
        """Return how many units of its stratum a drawn one stands for."""
        counts = self.strata[self.drawn[unit]]
        return counts["n"] / counts["drawn"]


def read_sample(place: Path) -> Sample | None:
    """Return the sample of a run, None where none was drawn. Raises UserError where the file is none of ours."""
    file = place / SAMPLE
    if not file.exists():
        return None
    try:
        sample = TypeAdapter(Sample).validate_json(file.read_bytes())
        for name in sample.drawn:
            sample.weight(name)
        return sample
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"{file}: cannot be read as a sample; remove it, and draw again by `truebench label out` with the same --n and "
            "--seed"
        ) from error


def answers(rows: Sequence[Row | None]) -> dict[str, Label | None]:
    """Return what each annotator says about a unit, from the rows of all its criteria: one no settles it.

    What an adjudicator decided on a criterion counts for everybody. A unit that lacks the row of a criterion, or an
    answer to it, cannot pass.
    """
    names = {entry["annotator"] for row in rows if row for entry in row["annotations"]}
    by_name: dict[str, Label | None] = {}
    for name in sorted(names) or [""]:
        passes = conjunction([_answer(row, name) for row in rows])
        by_name[name] = None if passes is None else "yes" if passes else "no"
    return by_name


def _answer(row: Row | None, annotator: str) -> Label | None:
    if row is None:
        return None
    answers = [entry["label"] for entry in row["annotations"] if entry["annotator"] == annotator]
    label: Label | None = row["label"] if row["how"] == "decided" or not annotator else next(iter(answers), None)
    return label


def read_labels(place: Path) -> tuple[list[dict[str, Any]], Sample | None]:
    """Return the rows of a model's `labels.jsonl`, and the sample that they are of. Raises UserError on other files."""
    return read_rows(place / FILE, OPTIONS), read_sample(place)


def correction(judged: Iterable[Judged], rows: Sequence[Row], sample: Sample | None) -> dict[str, Any]:
    """Return the pass rate by labels (shares are 0..1), or why it is withheld, and what it rests on; {} without labels.

    `rows` are those of `labels.jsonl`, of which those count that were drawn from answers that the run still has.
    """
    if not rows or sample is None:
        return {}
    population, incomplete = list[SamplingUnit](), 0
    for item in judged:  # each is looked at once, and none held
        population += sampling_units([item], sample.unit)
        incomplete += not is_complete(item)
    opinions = _opinions(population, rows, sample)
    counts = Counter(opinions.values())
    estimate = _estimate(population, opinions, sample, _too_open(sample.unit, counts))
    decided = [own.stratum for own in population if own.stratum != "undecided"]
    return {
        "unit": sample.unit, **asdict(estimate.estimate),
        "strata": [asdict(stratum) for stratum in estimate.strata],
        "observed": decided.count("pass") / len(decided) if decided else None,
        "n": len(decided), "undecided": len(population) - len(decided),
        "instances": len({own.instance_id for own in population}), "incomplete": incomplete, "labels": estimate.labelled,
        "drawn": len(sample.drawn), "ties": counts["tie"], "partly": counts["partly"],
        "unanswered": len(sample.drawn) - counts["tie"] - counts["yes"] - counts["no"],
    }  # fmt: skip


_LABELS: Mapping[str, Label] = {"yes": "yes", "no": "no"}


def _opinions(population: Sequence[SamplingUnit], rows: Sequence[Row], sample: Sample) -> dict[str, str]:
    """Return what people say of each unit that they were asked about: yes or no, or why that is open.

    Those that are tied or answered in part are, unlike those nobody came to, no random ones.
    """
    by_id, opinions = {row["id"]: row for row in rows}, dict[str, str]()
    for own in population:
        of_unit = [by_id.get(name) for name in own.criteria]
        if own.id not in sample.drawn or not any(of_unit):
            continue
        votes = [label for label in answers(of_unit).values() if label is not None]
        begun = any(row and (row["label"] or any(entry["label"] for entry in row["annotations"])) for row in of_unit)
        opinions[own.id] = majority(votes) or ("tie" if votes else "partly" if begun else "unanswered")
    return opinions


def _too_open(unit: str, counts: Mapping[str, int]) -> str | None:
    """Return why what is settled is no random sample, if more than a small share of what people began is open."""
    ties, part = counts["tie"], counts["partly"]
    begun = ties + part + counts["yes"] + counts["no"]
    if ties + part <= MAX_OPEN * begun:
        return None
    kinds = [f"{part} answered in part"] * bool(part) + [f"{ties} on which annotators disagree"] * bool(ties)
    remedies = ["ask for the rest by `truebench label out --unlabelled --out FOLDER`"] * bool(part)
    remedies += ["have an adjudicator settle ties (`truebench label in --decisions`)"] * bool(ties)
    return (
        f"{ties + part} of {begun} labelled {PLURAL[unit]} are open ({', '.join(kinds)}), so that those settled are no random "
        f"sample; {' and '.join(remedies)}"
    )


def _estimate(
    population: Sequence[SamplingUnit], opinions: Mapping[str, str], sample: Sample, why: str | None
) -> DoubleSampling:
    """Return the estimate, bounded by what the open ones may turn out to be; `why` they are too many for a figure."""
    instances = [own.instance_id for own in population]
    clustered = sample.unit == "criterion" or len(set(instances)) < len(instances)

    def with_open_as(label: Label | None) -> DoubleSampling:
        labels = {**_LABELS, "tie": label, "partly": label}
        return double_sampling(
            [own.stratum for own in population],
            [labels.get(opinions.get(own.id, "")) for own in population],
            weights=[sample.weight(own.id) if own.id in opinions else 1.0 for own in population],
            groups=instances if clustered else None,
            order=tuple(STRATA),
        )

    estimate = with_open_as(None)
    if not {"tie", "partly"} & set(opinions.values()):
        return estimate
    failed, passed = with_open_as("no"), with_open_as("yes")
    return replace(estimate, estimate=bounded(estimate.estimate, failed.estimate, passed.estimate, why))


_VERDICTS = {"pass": "judged to pass", "fail": "judged to fail", "undecided": "undecided"}
_HUMAN = (
    Column("what", ""), Column("share", "%", "score", parts=("value", "interval", "n"), drawn=True), Column("how", "", "prose"),
)  # fmt: skip


def human_labels(correction: Mapping[str, Any], model: str = "") -> Table:
    """Return what the labels say of a run: a report's `bias_corrected`, estimate or why it is withheld, and its grounds."""
    n = correction["n"]
    samples = correction["unit"] == "instance" and n + correction["undecided"] > correction["instances"]
    title = "Samples that truly pass" if samples else "Instances that truly pass"
    labels, worth = correction["labels"], correction["effective_labels"]
    how = "stratified by verdict (double sampling)"
    how += "" if worth is None else f"; as good as {worth:.0f} labels on a simple random sample of the run"
    observed = Score(correction["observed"], n, correction["undecided"])
    lines: list[tuple[str, Score | None, str]] = [
        _estimate_line(title if correction["unit"] == "instance" else "Criteria truly met", correction, labels, how),
        ("As judged", observed, f"of {correction['instances']} instances" if samples else ""),
    ]
    for stratum in correction["strata"]:
        of_stratum = f"{stratum['labelled']} of {stratum['n']} labelled"
        share = Score(stratum["share"], stratum["labelled"])
        lines.append((f"Truly pass, {_VERDICTS[stratum['name']]}", share, of_stratum))
    if left := _left_out(correction):
        lines.append(("Left out", None, "; ".join(left)))
    note = "The interval is for runs like this one, and carries the uncertainty of the run and that of the labels."
    rows = [dict(zip(("what", "share", "how"), line, strict=True)) for line in lines]
    return Table("", _HUMAN, rows, f"What human labels say{model and f': {model}'}", note)


def _estimate_line(title: str, estimate: Mapping[str, Any], labels: int, how: str) -> tuple[str, Score, str]:
    bounds = estimate["bounds"] or estimate["ci95"]
    share = Score(None if estimate["withheld"] else estimate["estimate"], labels, 0, bounds and (bounds[0], bounds[1]))
    why = [how if estimate["withheld"] is None else f"withheld: {estimate['withheld']}"]
    why += ["the interval holds whatever the open ones are"] if estimate["bounds"] else []
    return title, share, "; ".join(why)


def _left_out(correction: Mapping[str, Any]) -> list[str]:
    parts = []
    if ties := correction["ties"]:
        parts.append(f"{ties} on which annotators disagree, the difficult ones (`truebench label in --decisions`)")
    if unanswered := correction["unanswered"]:
        partly = f", {correction['partly']} of them in part" if correction["partly"] else ""
        parts.append(f"{unanswered} of {correction['drawn']} drawn are not labelled to the end{partly}")
    if missing := correction["incomplete"]:
        parts.append(f"{missing} instances to which the model gave no complete answer")
    return parts
