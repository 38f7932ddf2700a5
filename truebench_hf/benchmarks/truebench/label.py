"""People asked about a run: a sample of it out to annotators, their labels back into the run's report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench import labels as designs
from truebench_hf.benchmarks.truebench.board import judging_id, models_of, one_model
from truebench_hf.benchmarks.truebench.results import read_each, read_judged, results, without_doubles
from truebench_hf.data.judged import Judged
from truebench_hf.engine.folder import read_info
from truebench_hf.errors import UserError, unknown
from truebench_hf.metrics.votes import majority
from truebench_hf.report.labels import (
    Annotations,
    adjudicate,
    agreement,
    agreement_table,
    decided,
    joined,
)
from truebench_hf.report.sheets import Question, material
from truebench_hf.study.labelling import SHEETS, Draw, LabelAskOptions, LabelInOptions, Labelling, Taken, written_anew
from truebench_hf.study.outcome import REPORT

DEFAULT_N = 200
OPTIONS = ("yes", "no")
_BLANK: dict[str, Any] = {"label": None, "how": "unanswered", "label_source": "human", "annotations": []}


class RunLabels(Labelling):
    """The criteria of a run's answers, to people who see no verdict; their labels set the run's report right."""

    heeds = ("ask", "unlabelled", "model")

    _opened: tuple[Path, Sequence[Judged], Mapping[str, Any]] | None = None

    def _open(self, options: LabelAskOptions | LabelInOptions) -> tuple[Path, Sequence[Judged], Mapping[str, Any]]:
        """Of the model named, or the only one: where its labels are, its responses, each once, and settings; read once.

        Raises UserError where this is no judged run, or which model is meant stays open.
        """
        if self._opened is None:
            run = Path(self.place)
            info = read_info(run) if run.is_dir() else {}
            if not info.get("settings", {}).get("judge"):
                raise UserError(f"{self.place}: is not the folder of a judged run; give the --out of `truebench run`")
            judged = without_doubles(read_judged(run, options.model))[0]
            name = judged[0].response.model
            place = designs.label_place(run, name, models_of(info["settings"]))
            self._opened = place, judged, one_model(info, name)["settings"]
        return self._opened

    def folder(self, options: LabelAskOptions | LabelInOptions) -> Path:
        return self._open(options)[0] / SHEETS

    def labels_file(self, options: LabelInOptions) -> Path:
        return self._open(options)[0] / designs.FILE

    def draw(self, options: LabelAskOptions) -> Draw:
        """Draw `n` of a run's instances, or criteria, stratified by verdict; `sample.json` keeps what was drawn.

        Without `n`, 200 or all there are. A larger `n` with the same seed holds the smaller sample; `unlabelled` then
        leaves out what is settled, and what all these annotators answered. Raises UserError where the run holds fewer,
        or was sampled by other units.
        """
        place, judged, _ = self._open(options)
        before = designs.read_design(place)
        unit = options.ask or (before.unit if before else designs.UNITS[0])
        if unit not in designs.UNITS:
            raise unknown("unit", unit, designs.UNITS)
        if before and before.unit != unit:
            raise UserError(
                f"{self.place}: its sample is of {designs.PLURAL[before.unit]}; give --ask {before.unit}, or remove "
                f"{place / designs.SAMPLE} and {designs.FILE} to start anew"
            )
        members, n = designs.population(judged, unit), options.n
        if not members:
            raise UserError(f"{self.place}: no instance was answered to its last turn, so there is nothing to label")
        if n is not None and n > len(members):
            raise UserError(
                f"--n {n}: {designs.PLURAL[unit]} that can be labelled: {len(members)}; ask for 1 to {len(members)}"
            )
        chosen = designs.draw(members, n or min(DEFAULT_N, len(members)), options.seed)
        design = designs.joined(before, judged, members, unit, chosen)
        done = _settled(place, judged, design, options.names or self.annotators) if options.unlabelled else set()
        drawn = set(chosen) - done
        questions = [
            _question(criterion, unit) for criterion in designs.units(judged) if design.key(criterion) in drawn
        ]
        if not questions:
            raise UserError(
                f"--unlabelled: all {len(chosen)} {designs.PLURAL[unit]} of this sample have answers; raise --n, or have an "
                "adjudicator settle what annotators disagree on (`truebench label in --decisions`)"
            )
        return Draw(questions, keep=lambda: designs.write_design(place, design, members))

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Take answers into the run's `labels.jsonl` and write its report anew; `value` is the report.

        Answers join those that were read before. Decisions settle what annotators disagree on, now and later; without
        sheets they are about what was read before. The agreement is about instances where these were drawn. Raises
        UserError on sheets of another run, or of other answers.
        """
        place, judged, settings = self._open(options)
        design, known = designs.read_design(place), {unit.id: unit for unit in designs.units(judged)}
        if strange := [name for name in new.labels if name not in known]:
            raise UserError(
                f"{strange[0]}: is in a sheet, but not among the answers of {self.place}; give the sheets that were made for it"
            )
        drawn = {name: unit for name, unit in known.items() if design and design.holds(unit)}
        if design is None or (strange := [name for name in new.labels if name not in drawn]):
            lack = "is not there" if design is None else f"does not hold {strange[0]}, which is in a sheet"
            raise UserError(
                f"{place / designs.SAMPLE}: {lack}; put the file back that `truebench label out` wrote, or draw again with "
                "the same --n, --seed and --ask"
            )
        before = {row["id"]: row for row in designs.read_labels(place / designs.FILE)}
        own = [row for row in before.values() if row["id"] in drawn and row["annotations"]]
        if not new.labels and not own:
            raise UserError(f"{self.place}: has no labels of its own; give the sheets that annotators filled in")
        annotations = joined(own, new, OPTIONS)
        labels = {row["id"]: row for row in adjudicate(annotations, decided(own) | dict(decisions)).rows}
        rows = before | _rows(settings, design, drawn, labels, before)
        once = {(item.response.model, *item.key): item for item, _ in read_each(Path(self.place))}
        file = (place / designs.FILE).relative_to(self.place).as_posix()
        outcome = written_anew(self.place, file, rows.values(), lambda folder: results(folder, list(once.values())))
        if design.unit == "instance":
            annotations = _by_response(drawn, rows)
        among = agreement(annotations)
        sections = [agreement_table(among, designs.PLURAL[design.unit]), *outcome.report]
        files = [place / designs.FILE, Path(self.place) / REPORT]
        return Taken(outcome.value, among, sections, outcome.lead, outcome.value.notes, files)


def _settled(place: Path, judged: Sequence[Judged], design: designs.Design, annotators: Sequence[str]) -> set[str]:
    """What was drawn and needs no more answers: people settled it, or each of these annotators said what they think."""
    before = {row["id"]: row for row in designs.read_labels(place / designs.FILE)}
    groups: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for unit in designs.units(judged):
        if unit.id in before:
            groups[design.key(unit)].append(before[unit.id])
    done = set()
    for key, rows in groups.items():
        # A criterion that was drawn by itself is all there is to answer.
        by_name = designs.answers(rows if design.unit == "instance" else [rows[0] | {"criteria": 1}])
        agreed = majority([label for label in by_name.values() if label]).label
        if agreed or all(by_name.get(name) for name in annotators):
            done.add(key)
    return done


def _rows(
    settings: Mapping[str, Any], design: designs.Design, drawn: Mapping[str, designs.LabelUnit], labels: Mapping[str, Any],
    before: Mapping[str, Any],
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """The lines of all criteria of the instances that sheets are about, those nobody was asked about left blank."""
    judge = {"judge": str(settings["judge"]), "judging": judging_id(settings)}
    touched = {design.key(drawn[name]) for name in labels}
    rows = {}
    for name, unit in drawn.items():
        if design.key(unit) not in touched:
            continue
        label = labels.get(name, _BLANK)
        if label["how"] == "unanswered":  # which replaces no answer
            label = _BLANK | before.get(name, label)
        rows[name] = designs.to_row(unit, judge, {"unit": design.unit, **asdict(design.drawn[design.key(unit)])}, label)
    return rows


def _by_response(drawn: Mapping[str, designs.LabelUnit], rows: Mapping[str, Mapping[str, Any]]) -> Annotations:
    """The answers by response, which one no settles, before any decision of an adjudicator."""
    groups: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for name in drawn:
        if name in rows:
            groups[drawn[name].response].append({**rows[name], "how": ""})
    labels = {
        name: designs.answers(group) for name, group in groups.items() if any(row["annotations"] for row in group)
    }
    return Annotations(labels, dict.fromkeys(labels, OPTIONS))


def _question(criterion: designs.LabelUnit, unit: str) -> Question:
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
        group=criterion.response if grouped else "", settles=("no",) if grouped else (), blind=criterion,
    )  # fmt: skip
