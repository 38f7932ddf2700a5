"""People asked about a run: a sample of it out to annotators, their labels back into the run's report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench import labels as designs
from truebench_hf.benchmarks.truebench.board import judging_id, models_of, one_model
from truebench_hf.benchmarks.truebench.labels import (
    FILE,
    PLURAL,
    UNITS,
    Design,
    LabelUnit,
    answers,
    label_place,
    read_labels,
    to_row,
    units,
)
from truebench_hf.benchmarks.truebench.results import read_each, read_judged, results, without_doubles
from truebench_hf.data.judged import Judged
from truebench_hf.engine.info import read_info
from truebench_hf.errors import UserError, unknown
from truebench_hf.metrics.votes import majority
from truebench_hf.report.labels import (
    Annotations,
    AnnotatorAgreement,
    adjudicate,
    agreement,
    agreement_table,
    decided,
    joined,
)
from truebench_hf.report.sheets import Question, material
from truebench_hf.results.report import Report
from truebench_hf.study.labelling import SHEETS, Draw, LabelAskOptions, LabelInOptions, Labelling, Taken, written_anew
from truebench_hf.study.outcome import REPORT, Outcome

DEFAULT_N = 200
OPTIONS = ("yes", "no")
_BLANK: dict[str, Any] = {"label": None, "how": "unanswered", "label_source": "human", "annotations": []}


class RunLabels(Labelling):
    """The criteria of a run's answers, to people who see no verdict; their labels set the run's report right."""

    heeds = ("ask", "unlabelled", "model")

    _opened: Labelled | None = None

    def _labelled(self, options: LabelAskOptions | LabelInOptions) -> Labelled:
        """The model that the options name, read once."""
        self._opened = self._opened or Labelled.open(self.place, options.model)
        return self._opened

    def folder(self, options: LabelAskOptions | LabelInOptions) -> Path:
        return self._labelled(options).place / SHEETS

    def labels_file(self, options: LabelInOptions) -> Path:
        return self._labelled(options).place / FILE

    def draw(self, options: LabelAskOptions) -> Draw:
        """Draw `n` of a run's instances, or criteria, stratified by verdict; `sample.json` keeps what was drawn.

        Without `n`, 200 or all there are. A larger `n` with the same seed holds the smaller sample; `unlabelled` then
        leaves out what is settled, and what all these annotators answered. Raises UserError where the run holds fewer,
        or was sampled by other units.
        """
        labelled = self._labelled(options)
        judged, before = labelled.judged, designs.read_design(labelled.place)
        unit = options.ask or (before.unit if before else UNITS[0])
        if unit not in UNITS:
            raise unknown("unit", unit, UNITS)
        if before and before.unit != unit:
            raise UserError(
                f"{self.place}: its sample is of {PLURAL[before.unit]}; give --ask {before.unit}, or remove "
                f"{labelled.place / designs.SAMPLE} and {FILE} to start anew"
            )
        members, n = designs.population(judged, unit), options.n
        if not members:
            raise UserError(f"{self.place}: no instance was answered to its last turn, so there is nothing to label")
        if n is not None and n > len(members):
            raise UserError(
                f"--n {n}: {PLURAL[unit]} that can be labelled: {len(members)}; ask for 1 to {len(members)}"
            )
        chosen = designs.draw(members, n or min(DEFAULT_N, len(members)), options.seed)
        design = designs.joined(before, judged, unit, chosen)
        done = _settled(labelled, design, options.names or self.annotators) if options.unlabelled else set()
        drawn = set(chosen) - done
        questions = [_question(criterion, unit) for criterion in units(judged) if design.key(criterion) in drawn]
        if not questions:
            raise UserError(
                f"--unlabelled: all {len(chosen)} {PLURAL[unit]} of this sample have answers; raise --n, or have an "
                "adjudicator settle what annotators disagree on (`truebench label in --decisions`)"
            )

        def keep() -> None:
            labelled.place.mkdir(parents=True, exist_ok=True)
            designs.write_design(labelled.place, design, members)

        return Draw(questions, keep=keep)

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Take answers into the run's `labels.jsonl` and write its report anew; `value` is the report.

        Answers join those that were read before. Decisions settle what annotators disagree on, now and later; without
        sheets they are about what was read before. The agreement is about instances where these were drawn.
        """
        labelled = self._labelled(options)
        outcome, among, unit = _read(labelled, new, decisions)
        sections = [agreement_table(among, PLURAL[unit]), *outcome.report]
        files = [labelled.place / FILE, Path(self.place) / REPORT]
        return Taken(outcome.value, among, sections, outcome.lead, outcome.value.notes, files)


@dataclass(frozen=True)
class Labelled:
    """A model of a judged run: its responses, each once, its settings, and the folder of its sample and labels."""

    run: str
    model: str
    place: Path
    judged: Sequence[Judged]
    settings: Mapping[str, Any]

    @classmethod
    def open(cls, run: str, model: str | None = None) -> Labelled:
        """The model named, or the only one. Raises UserError where `run` is no judged run, or which is meant stays open."""
        path = Path(run)
        info = read_info(path) if path.is_dir() else {}
        if not info.get("settings", {}).get("judge"):
            raise UserError(f"{run}: is not the folder of a judged run; give the --out of `truebench run`")
        judged, models = without_doubles(read_judged(path, model))[0], models_of(info["settings"])
        name = judged[0].response.model
        return cls(run, name, label_place(path, name, models), judged, one_model(info, name)["settings"])

    def rows(self) -> dict[str, dict[str, Any]]:
        """The rows of its `labels.jsonl` by id."""
        file = self.place / FILE
        return {row["id"]: row for row in read_labels(file)} if file.exists() else {}

    def rewritten(self, rows: Sequence[Mapping[str, Any]]) -> Outcome[Report]:
        """Write these rows as its labels, and the results of the run anew; returns the outcome of the run."""
        once = {(item.response.model, *item.key): item for item, _ in read_each(Path(self.run))}
        file = (self.place / FILE).relative_to(self.run).as_posix()
        return written_anew(self.run, file, rows, lambda folder: results(folder, list(once.values())))


def _settled(labelled: Labelled, design: Design, annotators: Sequence[str]) -> set[str]:
    """What was drawn and needs no more answers: people settled it, or each of these annotators said what they think."""
    before = labelled.rows()
    groups: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for unit in units(labelled.judged):
        if unit.id in before:
            groups[design.key(unit)].append(before[unit.id])
    done = set()
    for key, rows in groups.items():
        # A criterion that was drawn by itself is all there is to answer.
        by_name = answers(rows if design.unit == "instance" else [rows[0] | {"criteria": 1}])
        agreed = majority([label for label in by_name.values() if label]).label
        if agreed or all(by_name.get(name) for name in annotators):
            done.add(key)
    return done


def _read(
    labelled: Labelled, new: Annotations, decisions: Mapping[str, str]
) -> tuple[Outcome[Report], AnnotatorAgreement, str]:
    """Write the answers into the labels and the results of a run; returns its outcome, and agreement on which units.

    Raises UserError on sheets of another run, or of other answers.
    """
    design = designs.read_design(labelled.place)
    known = {unit.id: unit for unit in units(labelled.judged)}
    if unknown_ids := [name for name in new.labels if name not in known]:
        raise UserError(
            f"{unknown_ids[0]}: is in a sheet, but not among the answers of {labelled.run}; give the sheets that were made for it"
        )
    drawn = {name: unit for name, unit in known.items() if design and design.holds(unit)}
    if design is None or (unknown_ids := [name for name in new.labels if name not in drawn]):
        where = labelled.place / designs.SAMPLE
        lack = "is not there" if design is None else f"does not hold {unknown_ids[0]}, which is in a sheet"
        raise UserError(
            f"{where}: {lack}; put the file back that `truebench label out` wrote, or draw again with the same --n, --seed "
            "and --ask"
        )
    before = labelled.rows()
    own = [row for row in before.values() if row["id"] in drawn and row["annotations"]]
    if not new.labels and not own:
        raise UserError(f"{labelled.run}: has no labels of its own; give the sheets that annotators filled in")
    annotations = joined(own, new, OPTIONS)
    labels = {row["id"]: row for row in adjudicate(annotations, decided(own) | dict(decisions)).rows}
    rows = before | _rows(labelled.settings, design, drawn, labels, before)
    outcome = labelled.rewritten(list(rows.values()))
    return outcome, agreement(_by_unit(annotations, design, drawn, rows)), design.unit


def _rows(
    settings: Mapping[str, Any], design: Design, drawn: Mapping[str, LabelUnit], labels: Mapping[str, Any],
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
        rows[name] = to_row(unit, judge, {"unit": design.unit, **asdict(design.drawn[design.key(unit)])}, label)
    return rows


def _by_unit(
    annotations: Annotations, design: Design, drawn: Mapping[str, LabelUnit], rows: Mapping[str, Mapping[str, Any]]
) -> Annotations:
    """The answers as they count: by criterion, or by instance, which one no settles."""
    if design.unit == "criterion":
        return annotations
    groups: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for name in drawn:
        if name in rows:  # before any decision of an adjudicator
            groups[drawn[name].response].append({**rows[name], "how": ""})
    labels = {name: answers(group) for name, group in groups.items() if any(row["annotations"] for row in group)}
    return Annotations(labels, dict.fromkeys(labels, OPTIONS))


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
        group=criterion.response if grouped else "", settles=("no",) if grouped else (), blind=criterion,
    )  # fmt: skip
