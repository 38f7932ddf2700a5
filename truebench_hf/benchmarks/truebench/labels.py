"""Labels of people on a run: a blind sample of it out to annotators, and what their labels say of its pass rate.

The sample is of the run itself, drawn by the judge's verdicts, so that labels set its pass rate right without a model
of the judge's errors (`metrics/double_sampling.py`). A response is drawn with all its criteria.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from truebench_hf.benchmarks.truebench.data import slug
from truebench_hf.benchmarks.truebench.results import models_of, read_run
from truebench_hf.benchmarks.truebench.tables import STRATA, human_labels, outcome
from truebench_hf.data.judged import Judged
from truebench_hf.engine.folder import RunFolder
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.double_sampling import MAX_OPEN, DoubleSampling, allocate, bounded, double_sampling
from truebench_hf.metrics.pass_rate import conjunction
from truebench_hf.metrics.votes import majority
from truebench_hf.report.labels import FILE, Annotations, Question, agreement_table, material, read_rows
from truebench_hf.results.folder import Results
from truebench_hf.results.report import Report
from truebench_hf.study.labelling import SHEETS, Draw, LabelAskOptions, LabelInOptions, Labelling, Taken, written_anew
from truebench_hf.study.outcome import REPORT, Outcome
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Label

OPTIONS = ("yes", "no")
SAMPLE = "sample.json"
CORRECTED = "bias_corrected.json"  # by model what human labels say, of a run that has some
DEFAULT_N = 200
_DRAW_AGAIN = "put the file back that `truebench label out` wrote, or draw again with the same --n and --seed"
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


def read_labels(place: Path) -> tuple[list[dict[str, Any]], Sample | None]:
    """Return the rows of a model's `labels.jsonl`, and the sample that they are of. Raises UserError on other files."""
    return read_rows(place / FILE, OPTIONS), read_sample(place)


def questions(item: Judged) -> list[Question]:
    """Return the criteria of a response as annotators see them; [] where people cannot say whether it passes.

    That is where a turn has no answer, or none has criteria. Each is `blind` to its verdict, and shows no model and no
    judge. The id holds a hash of all that a label depends on, so that a label never passes to another answer. Raises
    UserError where criteria have negative points: what labels correct is made of labels, not of outcomes.
    """
    if any(verdict.criterion.weight < 0 for turn in item.verdicts for verdict in turn):
        raise UserError(
            "criteria with negative points cannot be labelled; turn them round (`does not ...`) and run again"
        )
    if not any(item.verdicts) or len(item.response.answers) < len(item.verdicts):
        return []
    messages, (instance, sample) = item.response.messages, item.key
    answered = [i for i, message in enumerate(messages) if message.role == "assistant"]
    of = instance if sample == 1 else f"{instance}-s{sample}"  # more samples later: a run keeps its labels
    listed, criteria = list[Question](), sum(map(len, item.verdicts))
    for number, (at, verdicts) in enumerate(zip(answered, item.verdicts, strict=False), 1):
        so_far = [[message.role, message.content] for message in messages[: at + 1]]
        *before, prompt = messages[:at]
        for index, verdict in enumerate(verdicts, 1):
            text = verdict.criterion.text
            place = f"{len(listed) + 1} of {criteria}. One no settles the instance: the others may stay blank."
            texts = {"Sample": f"Another response to the same: number {sample}."} if sample > 1 else {}
            texts |= material(before, prompt.content, messages[at].content)
            listed.append(Question(
                f"{of}-t{number}-c{index}-{digest(canonical([so_far, text]))[:12]}",
                f"Does the response meet this in full (partly met is no)? {text.strip()}",
                texts | ({"Criterion": place} if criteria > 1 else {}), OPTIONS,
                group=item.name if criteria > 1 else "", settles=("no",) if criteria > 1 else (), blind=verdict,
            ))  # fmt: skip
    return listed


@dataclass(frozen=True, slots=True)
class SamplingUnit:
    """A response that labels speak for, without its texts: the ids of its `criteria`, and the stratum that the judge's
    verdict puts it into."""

    id: str
    instance_id: str
    criteria: tuple[str, ...]
    stratum: str


def sampling_unit(item: Judged) -> SamplingUnit | None:
    """Return a response as it is drawn; None where it cannot be labelled."""
    if not (criteria := questions(item)):
        return None
    passes = conjunction([question.blind.label for question in criteria])
    stratum = "undecided" if passes is None else "pass" if passes else "fail"
    return SamplingUnit(item.name, item.instance.id, tuple(question.id for question in criteria), stratum)


@dataclass(frozen=True, slots=True)
class Sample:
    """What was drawn of a run: the size `n` of each stratum with how many of it are `drawn`, and the stratum of each
    response that is."""

    strata: Mapping[str, Mapping[str, Annotated[int, Field(ge=1)]]]
    drawn: Mapping[str, str]
    unit: Literal["instance"] = "instance"

    def weight(self, response: str) -> float:
        """Return how many responses of its stratum a drawn one stands for."""
        counts = self.strata[self.drawn[response]]
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


def draw(before: Sample | None, population: Sequence[SamplingUnit], n: int, seed: int) -> tuple[Sample, set[str]]:
    """Draw `n` responses, by stratum in proportion to its size (a few at least). A larger `n` holds the smaller.

    Returns the sample with what was drawn `before`, and what is drawn now.
    """
    stratum_of = {unit.id: unit.stratum for unit in population}
    sizes = Counter(stratum_of.values())
    # By a hash of its own, so that whoever joins the run later changes nobody's place.
    order = sorted(stratum_of, key=lambda name: digest(f"labels {seed} {name}"))
    chosen = set[str]()
    for stratum, count in allocate({name: sizes[name] for name in STRATA if sizes[name]}, n).items():
        chosen.update([name for name in order if stratum_of[name] == stratum][:count])
    drawn = {name: stratum_of[name] for name in order if name in chosen} | (dict(before.drawn) if before else {})
    counts = Counter(drawn.values())
    strata = {name: {"n": max(sizes[name], counts[name]), "drawn": counts[name]} for name in STRATA if counts[name]}
    return Sample(strata, drawn), chosen


class RunLabels(Labelling):
    """The criteria of a run's answers, to people who see no verdict; their labels set the run's report right."""

    _opened: tuple[Path, list[Judged], list[Judged]] | None = None

    def _open(self, options: LabelAskOptions | LabelInOptions) -> tuple[Path, list[Judged], list[Judged]]:
        """Return where the labels of the model are, its responses, and those of the whole run, each once; read once.

        Raises UserError where this is no judged run, or which model is meant stays open.
        """
        if self._opened is None:
            run = Results.open(self.place)
            if not run.settings.get("judge"):
                raise UserError(f"{self.place}: is not the folder of a judged run; give the --out of `truebench run`")
            judged, models = read_run(run.path), models_of(run.settings)
            if options.model is None and len(models) > 1:
                raise UserError(f"{self.place}: holds answers of {' and '.join(models)}; name one by --model")
            if (model := options.model or models[0]) not in models:
                raise unknown(f"model in {self.place}", model, models)
            own = [item for item in judged if item.response.model == model]
            self._opened = label_place(run.path, model, models), own, judged
        return self._opened

    def folder(self, options: LabelAskOptions | LabelInOptions) -> Path:
        return self._open(options)[0] / SHEETS

    def labels_file(self, options: LabelInOptions) -> Path:
        return self._open(options)[0] / FILE

    def draw(self, options: LabelAskOptions) -> Draw:
        """Draw `n` of a run's responses, stratified by verdict; `sample.json` keeps what was drawn.

        Without `n`, 200 or all there are. A larger `n` with the same seed holds the smaller sample; `unlabelled` then
        leaves out what is settled, and what all these annotators answered. Raises UserError where the run holds fewer.
        """
        place, judged, _ = self._open(options)
        rows, before = read_labels(place)
        population, n = list(filter(None, map(sampling_unit, judged))), options.n
        if not population:
            raise UserError(f"{self.place}: no instance was answered to its last turn, so there is nothing to label")
        if n is not None and n > len(population):
            raise UserError(
                f"--n {n}: instances that can be labelled: {len(population)}; ask for 1 to {len(population)}"
            )
        sample, chosen = draw(before, population, n or min(DEFAULT_N, len(population)), options.seed)
        wanted = chosen
        if options.unlabelled:
            by_id, names = {row["id"]: row for row in rows}, options.names or self.annotators
            answered = {unit.id: answers([by_id.get(name) for name in unit.criteria]) for unit in population}
            wanted = {
                name for name in chosen
                if not (majority(answered[name].values()) or all(map(answered[name].get, names)))
            }  # fmt: skip
        asked_now = [question for item in judged if item.name in wanted for question in questions(item)]
        if not asked_now:
            raise UserError(
                f"--unlabelled: all {len(chosen)} instances of this sample have answers; raise --n, or have an "
                "adjudicator settle what annotators disagree on (`truebench label in --decisions`)"
            )

        def keep() -> None:  # annotators must not see it, since it tells the verdicts
            place.mkdir(parents=True, exist_ok=True)
            write_whole(place / SAMPLE, [json.dumps(asdict(sample), ensure_ascii=False, indent=1) + "\n"])

        return Draw(asked_now, keep=keep)

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Take answers into the run's `labels.jsonl` and write its report anew; `value` is the report.

        Answers join those that were read before. Decisions settle what annotators disagree on, now and later; without
        sheets they are about what was read before. Raises UserError on sheets of another run, or of another sample.
        """
        place, judged, whole_run = self._open(options)
        sample, known = read_sample(place), {q.id: (item, q.blind) for item in judged for q in questions(item)}
        file = place / FILE
        settled = self.settle(new, decisions, file, known)
        if sample is None:
            raise UserError(f"{place / SAMPLE}: is not there; {_DRAW_AGAIN}")
        if other := [name for name in new.labels if known[name][0].name not in sample.drawn]:
            raise UserError(f"{place / SAMPLE}: does not hold {other[0]}, which is in a sheet; {_DRAW_AGAIN}")
        rows = [
            {"id": row["id"], "instance_id": item.instance.id, "sample": item.response.sample, "model": item.response.model,
             "criterion": verdict.criterion.text, "predicted": verdict.label, **row}
            for row in settled.rows for item, verdict in [known[row["id"]]]
        ]  # fmt: skip
        outcome = written_anew(
            self.place, file.relative_to(self.place).as_posix(), rows, lambda folder: results(folder, whole_run)
        )
        files = [file, Path(self.place) / REPORT]
        sections = [agreement_table(_by_response(rows, judged), "instances"), *outcome.report]
        return Taken(outcome.value, sections, outcome.lead, outcome.value.notes, files)


def answers(rows: Sequence[Row | None]) -> dict[str, Label | None]:
    """Return what each annotator says about a response, from the rows of all its criteria: one no settles it.

    What an adjudicator decided on a criterion counts for everybody. A response that lacks the row of a criterion, or an
    answer to it, cannot pass.
    """

    def answer(row: Row | None, annotator: str) -> Label | None:
        by_annotator = {entry["annotator"]: entry["label"] for entry in row["annotations"]} if row else {}
        label: Label | None = row["label"] if row and (row["how"] == "decided" or not annotator) else None
        return label or by_annotator.get(annotator)

    names = {entry["annotator"] for row in rows if row for entry in row["annotations"]}
    labels: Mapping[bool | None, Label | None] = {True: "yes", False: "no", None: None}
    return {name: labels[conjunction([answer(row, name) for row in rows])] for name in sorted(names) or [""]}


def _by_response(rows: Sequence[Row], judged: Iterable[Judged]) -> Annotations:
    """Return the answers by response, before any decision of an adjudicator."""
    by_id = {row["id"]: {**row, "how": ""} for row in rows}
    groups = {item.name: [by_id.get(question.id) for question in questions(item)] for item in judged}
    labels = {
        name: answers(group) for name, group in groups.items() if any(row and row["annotations"] for row in group)
    }
    return Annotations(labels, dict.fromkeys(labels, OPTIONS))


def correction(judged: Iterable[Judged], rows: Sequence[Row], sample: Sample | None) -> dict[str, Any]:
    """Return the pass rate by labels (shares are 0..1), or why it is withheld, and what it rests on; {} without labels.

    `rows` are those of `labels.jsonl`, of which those count that were drawn from answers that the run still has.
    """
    if not rows or sample is None:
        return {}
    units = [sampling_unit(item) for item in judged]  # each response is looked at once, and none held
    population = list(filter(None, units))
    opinions = _opinions(population, rows, sample)
    counts = Counter(opinions.values())
    estimate = _estimate(population, opinions, sample, _too_open(counts))
    decided = [unit.stratum for unit in population if unit.stratum != "undecided"]
    return {
        **asdict(estimate.estimate), "strata": [asdict(stratum) for stratum in estimate.strata],
        "observed": decided.count("pass") / len(decided) if decided else None,
        "n": len(decided), "undecided": len(population) - len(decided),
        "instances": len({unit.instance_id for unit in population}), "incomplete": units.count(None),
        "labels": estimate.labelled, "drawn": len(sample.drawn), "ties": counts["tie"], "partly": counts["partly"],
        "unanswered": len(sample.drawn) - counts["tie"] - counts["yes"] - counts["no"],
    }  # fmt: skip


def _opinions(population: Sequence[SamplingUnit], rows: Sequence[Row], sample: Sample) -> dict[str, str]:
    """Return what people say of each response that they were asked about: yes or no, or why that is open.

    Those that are tied or answered in part are, unlike those nobody came to, no random ones.
    """
    by_id, opinions = {row["id"]: row for row in rows}, dict[str, str]()
    for unit in population:
        of_unit = [by_id.get(name) for name in unit.criteria]
        if unit.id not in sample.drawn or not any(of_unit):
            continue
        votes = [label for label in answers(of_unit).values() if label is not None]
        begun = any(row and (row["label"] or any(entry["label"] for entry in row["annotations"])) for row in of_unit)
        opinions[unit.id] = majority(votes) or ("tie" if votes else "partly" if begun else "unanswered")
    return opinions


def _too_open(counts: Mapping[str, int]) -> str | None:
    """Return why what is settled is no random sample, if more than a small share of what people began is open."""
    ties, part = counts["tie"], counts["partly"]
    begun = ties + part + counts["yes"] + counts["no"]
    if ties + part <= MAX_OPEN * begun:
        return None
    kinds = [f"{part} answered in part"] * bool(part) + [f"{ties} on which annotators disagree"] * bool(ties)
    remedies = ["ask for the rest by `truebench label out --unlabelled --out FOLDER`"] * bool(part)
    remedies += ["have an adjudicator settle ties (`truebench label in --decisions`)"] * bool(ties)
    return (
        f"{ties + part} of {begun} labelled instances are open ({', '.join(kinds)}), so that those settled are no random "
        f"sample; {' and '.join(remedies)}"
    )


def _estimate(
    population: Sequence[SamplingUnit], opinions: Mapping[str, str], sample: Sample, why: str | None
) -> DoubleSampling:
    """Return the estimate, bounded by what the open ones may turn out to be; `why` they are too many for a figure."""
    instances = [unit.instance_id for unit in population]

    def with_open_as(label: Label | None) -> DoubleSampling:
        labels: Mapping[str, Label | None] = {"yes": "yes", "no": "no", "tie": label, "partly": label}
        return double_sampling(
            [unit.stratum for unit in population],
            [labels.get(opinions.get(unit.id, "")) for unit in population],
            weights=[sample.weight(unit.id) if unit.id in opinions else 1.0 for unit in population],
            groups=instances if len(set(instances)) < len(instances) else None,
            order=tuple(STRATA),
        )

    estimate = with_open_as(None)
    if not {"tie", "partly"} & set(opinions.values()):
        return estimate
    failed, passed = with_open_as("no"), with_open_as("yes")
    return replace(estimate, estimate=bounded(estimate.estimate, failed.estimate, passed.estimate, why))
