"""People asked about a run: a sample of it out to annotators, their labels back into the run's report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.correction import (
    OPTIONS,
    PLURAL,
    SAMPLE,
    STRATA,
    LabelUnit,
    Row,
    Sample,
    SamplingUnit,
    answers,
    label_place,
    read_labels,
    read_sample,
    results,
    sampling_units,
    units,
)
from truebench_hf.benchmarks.truebench.results import models_of, read_run
from truebench_hf.data.judged import Judged
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import digest
from truebench_hf.metrics.double_sampling import allocate
from truebench_hf.metrics.votes import majority
from truebench_hf.report.labels import FILE, Annotations, Question, agreement_table, material
from truebench_hf.results.folder import Results
from truebench_hf.study.labelling import SHEETS, Draw, LabelAskOptions, LabelInOptions, Labelling, Taken, written_anew
from truebench_hf.study.outcome import REPORT
from truebench_hf.text.whole_files import write_whole

DEFAULT_N = 200
_DRAW_AGAIN = "put the file back that `truebench label out` wrote, or draw again with the same --n, --seed and --ask"


class RunLabels(Labelling):
    """The criteria of a run's answers, to people who see no verdict; their labels set the run's report right."""

    heeds = ("ask", "unlabelled", "model")

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
        """Draw `n` of a run's instances, or criteria, stratified by verdict; `sample.json` keeps what was drawn.

        Without `n`, 200 or all there are. A larger `n` with the same seed holds the smaller sample; `unlabelled` then
        leaves out what is settled, and what all these annotators answered. Raises UserError where the run holds fewer,
        or was sampled by other units.
        """
        place, judged, _ = self._open(options)
        rows, before = read_labels(place)
        unit = options.ask or (before.unit if before else "instance")
        if unit not in PLURAL:
            raise unknown("unit", unit, PLURAL)
        if before and before.unit != unit:
            raise UserError(
                f"{self.place}: its sample is of {PLURAL[before.unit]}; give --ask {before.unit}, or remove {place / SAMPLE} "
                f"and {FILE} to start anew"
            )
        population, n = sampling_units(judged, unit), options.n
        if not population:
            raise UserError(f"{self.place}: no instance was answered to its last turn, so there is nothing to label")
        if n is not None and n > len(population):
            raise UserError(
                f"--n {n}: {PLURAL[unit]} that can be labelled: {len(population)}; ask for 1 to {len(population)}"
            )
        chosen = draw(population, n or min(DEFAULT_N, len(population)), options.seed)
        sample = extended(before, population, unit, chosen)
        wanted = set(chosen)
        if options.unlabelled:
            by_id, names = {row["id"]: row for row in rows}, options.names or self.annotators
            wanted -= {
                own.id for own in population if _needs_no_more([by_id.get(name) for name in own.criteria], names)
            }
        questions = [_question(criterion, unit) for criterion in units(judged) if criterion.key(unit) in wanted]
        if not questions:
            raise UserError(
                f"--unlabelled: all {len(chosen)} {PLURAL[unit]} of this sample have answers; raise --n, or have an "
                "adjudicator settle what annotators disagree on (`truebench label in --decisions`)"
            )
        return Draw(questions, keep=lambda: write_sample(place, sample))

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Take answers into the run's `labels.jsonl` and write its report anew; `value` is the report.

        Answers join those that were read before. Decisions settle what annotators disagree on, now and later; without
        sheets they are about what was read before. The agreement is about instances where these were drawn. Raises
        UserError on sheets of another run, or of another sample.
        """
        place, judged, whole_run = self._open(options)
        sample, known = read_sample(place), {unit.id: unit for unit in units(judged)}
        file = place / FILE
        settled = self.settle(new, decisions, file, known)
        if sample is None:
            raise UserError(f"{place / SAMPLE}: is not there; {_DRAW_AGAIN}")
        if other := [name for name in new.labels if known[name].key(sample.unit) not in sample.drawn]:
            raise UserError(f"{place / SAMPLE}: does not hold {other[0]}, which is in a sheet; {_DRAW_AGAIN}")
        rows = [
            {"id": unit.id, "instance_id": unit.instance_id, "sample": unit.sample, "model": judged[0].response.model,
             "criterion": unit.verdict.criterion.text, "predicted": unit.verdict.label, **row}
            for row in settled.rows if (unit := known[row["id"]])
        ]  # fmt: skip
        outcome = written_anew(
            self.place, file.relative_to(self.place).as_posix(), rows, lambda folder: results(folder, whole_run)
        )
        files = [file, Path(self.place) / REPORT]
        sections = [agreement_table(_by_unit(rows, known, sample.unit), PLURAL[sample.unit]), *outcome.report]
        return Taken(outcome.value, sections, outcome.lead, outcome.value.notes, files)


def _needs_no_more(rows: Sequence[Row | None], annotators: Sequence[str]) -> bool:
    """Return whether people settled a unit, or each of these annotators said what they think of it."""
    by_name = answers(rows)
    return bool(majority(list(by_name.values()))) or all(by_name.get(name) for name in annotators)


def _by_unit(rows: Sequence[Row], known: Mapping[str, LabelUnit], unit: str) -> Annotations:
    """Return the answers by what was drawn, before any decision of an adjudicator: of an instance one no settles it."""
    by_id = {row["id"]: {**row, "how": ""} for row in rows}
    groups: dict[str, list[Row | None]] = {}
    for name, criterion in known.items():
        groups.setdefault(criterion.key(unit), []).append(by_id.get(name))
    labels = {
        name: answers(group) for name, group in groups.items() if any(row and row["annotations"] for row in group)
    }
    return Annotations(labels, dict.fromkeys(labels, OPTIONS))


def draw(population: Sequence[SamplingUnit], n: int, seed: int) -> list[str]:
    """Return the ids of `n` units, by stratum in proportion to its size (a few at least). A larger `n` holds the smaller."""
    sizes = Counter(own.stratum for own in population)
    wanted = allocate({name: sizes[name] for name in STRATA if sizes[name]}, n)
    # By a hash of its own, so that whoever joins the run later changes nobody's place.
    order = sorted(population, key=lambda own: digest(f"labels {seed} {own.id}"))
    return [
        own.id for name, count in wanted.items() for own in [own for own in order if own.stratum == name][:count]
    ]  # fmt: skip


def extended(
    before: Sample | None,
    population: Sequence[SamplingUnit],
    unit: Any,
    chosen: Sequence[str],
) -> Sample:
    """Return the sample with what was drawn before and now."""
    stratum_of = {own.id: own.stratum for own in population}
    drawn = {name: stratum_of[name] for name in chosen} | (dict(before.drawn) if before else {})
    sizes, counts = Counter(stratum_of.values()), Counter(drawn.values())
    strata = {name: {"n": max(sizes[name], counts[name]), "drawn": counts[name]} for name in STRATA if counts[name]}
    return Sample(unit, strata, drawn)


def write_sample(place: Path, sample: Sample) -> None:
    """Write `sample.json` into the run folder; annotators must not see it, since it tells the verdicts."""
    place.mkdir(parents=True, exist_ok=True)
    write_whole(place / SAMPLE, [json.dumps(asdict(sample), ensure_ascii=False, indent=1) + "\n"])


def _question(criterion: LabelUnit, unit: str) -> Question:
    """A criterion as an annotator sees it: without model, judge and verdict."""
    *before, prompt = criterion.history
    text = criterion.verdict.criterion.text.strip()
    texts = material(before, prompt.content, criterion.answer)
    grouped = unit == "instance" and criterion.criteria > 1
    if grouped:
        texts["Criterion"] = (
            f"{criterion.place} of {criterion.criteria}. One no settles the instance: the others may stay blank."
        )
    if criterion.sample > 1:
        texts = {"Sample": f"Another response to the same: number {criterion.sample}.", **texts}
    return Question(
        criterion.id, f"Does the response meet this in full (partly met is no)? {text}", texts, OPTIONS,
        group=criterion.key(unit) if grouped else "", settles=("no",) if grouped else (), blind=criterion,
    )  # fmt: skip
