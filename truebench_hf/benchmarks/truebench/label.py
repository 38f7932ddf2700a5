"""`truebench label`: a sample of a run out to annotators, their labels back into the run's report."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench import design as designs
from truebench_hf.benchmarks.truebench.design import Design
from truebench_hf.benchmarks.truebench.judges import judging_id
from truebench_hf.benchmarks.truebench.labels import FILE, PLURAL, UNITS, Unit, answers, read_labels, to_row, units
from truebench_hf.benchmarks.truebench.output import read_judged, without_doubles
from truebench_hf.benchmarks.truebench.results import results
from truebench_hf.engine.folder import RunFolder
from truebench_hf.engine.info import read_info
from truebench_hf.errors import UserError, unknown
from truebench_hf.metrics.votes import majority
from truebench_hf.records import Judged
from truebench_hf.report import sheets
from truebench_hf.report.sheet_answers import Annotations, SheetAgreement
from truebench_hf.study.outcome import write
from truebench_hf.types import Report

SHEETS, DEFAULT_N = "sheets", 200
_BLANK: dict[str, Any] = {"label": None, "how": "unanswered", "label_source": "human", "annotations": []}


def sample(
    run: str,
    n: int | None,
    annotators: Sequence[str],
    seed: int = 0,
    out: str | None = None,
    *,
    unit: str = "instance",
    unlabelled: bool = False,
) -> list[Path]:
    """Write annotation sheets of `n` of a run's instances, or criteria, stratified by verdict; verdicts are left out.

    Into `out`, by default the run's folder `sheets`; `sample.json` in the run's folder keeps what was drawn. Without
    `n`, 200 or all there are. A larger `n` with the same seed holds the smaller sample; `unlabelled` then leaves out
    what is settled, and what all these annotators answered. Returns the files. Raises UserError where the run holds fewer, or was sampled by other
    units.
    """
    if unit not in UNITS:
        raise unknown("unit", unit, UNITS)
    judged, before = _judged(run), designs.read_design(Path(run))
    if before and before.unit != unit:
        raise UserError(
            f"{run}: its sample is of {PLURAL[before.unit]}; give --unit {before.unit}, or remove "
            f"{Path(run) / designs.FILE} and {FILE} to start anew"
        )
    members = designs.population(judged, unit)
    if not members:
        raise UserError(f"{run}: no instance was answered to its last turn, so there is nothing to label")
    if n is not None and not 1 <= n <= len(members):
        raise UserError(f"--n {n}: {PLURAL[unit]} that can be labelled: {len(members)}; ask for 1 to {len(members)}")
    chosen = designs.draw(members, n or min(DEFAULT_N, len(members)), seed)
    design = designs.joined(before, judged, unit, chosen)
    done = _settled(run, judged, design, annotators) if unlabelled else set()
    asked = [found for found in units(judged) if design.key(found) in set(chosen) - done]
    if not asked:
        raise UserError(
            f"--unlabelled: all {len(chosen)} {PLURAL[unit]} of this sample have answers; raise --n, or have an "
            "adjudicator settle what annotators disagree on (`truebench label read --decisions`)"
        )
    files = sheets.export((_question(found, unit) for found in asked), out or Path(run) / SHEETS, annotators, seed)
    designs.write_design(Path(run), design, members)
    return files


def _settled(run: str, judged: Sequence[Judged], design: Design, annotators: Sequence[str]) -> set[str]:
    """What was drawn and needs no more answers: people settled it, or each of these annotators said what they think."""
    before = _stored(run)
    groups: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for unit in units(judged):
        if unit.id in before:
            groups[design.key(unit)].append(before[unit.id])
    done = set()
    for key, rows in groups.items():
        # A criterion that was drawn by itself is all there is to answer.
        said = answers(rows if design.unit == "instance" else [rows[0] | {"criteria": 1}])
        if majority([label for label in said.values() if label]).label or all(said.get(name) for name in annotators):
            done.add(key)
    return done


def read(run: str, files: Sequence[str], decisions: Sequence[str] = ()) -> tuple[Report, SheetAgreement]:
    """Read filled-in sheets into the run's `labels.jsonl` and write its report anew.

    Answers join those that were read before, annotator by annotator: a newer answer counts, a blank replaces none.
    `decisions` are sheets of an adjudicator, which settle what annotators disagree on, now and later; without `files`
    they are about what was read before. The agreement is
    about instances where these were drawn. Raises UserError on sheets of another run, or of other answers.
    """
    judged, design = _judged(run), designs.read_design(Path(run))
    known = {unit.id: unit for unit in units(judged)}
    given = sheets.read_back(list(files)) if files else Annotations({}, {}, {})
    if strange := [name for name in given.labels if name not in known]:
        raise UserError(
            f"{strange[0]}: is in a sheet, but not among the answers of {run}; give the sheets that were made for it, "
            "or use --labels for labels of another run"
        )
    drawn = {name: unit for name, unit in known.items() if design and design.holds(unit)}
    if design is None or (strange := [name for name in given.labels if name not in drawn]):
        where = Path(run) / designs.FILE
        raise UserError(
            f"{where}: does not hold {(strange or list(given.labels))[0]}, which is in a sheet; put the file back that "
            "`truebench label sample` wrote, or draw again with the same --n, --seed and --unit"
        )
    before = _stored(run)
    own = [row for row in before.values() if row["id"] in drawn and row["annotations"]]
    said = _joined(own, given)
    settled = {row["id"]: row["label"] for row in own if row["how"] == "decided"} | _decided(decisions)
    labels = {row["id"]: row for row in sheets.label_rows(said, sheets.adjudicate(said, settled))}
    rows = before | _rows(run, design, drawn, labels, before)
    lent = _stored(run, borrowed=True)
    return _rewritten(run, judged, [*rows.values(), *lent.values()]), sheets.agreement(
        _by_unit(said, design, drawn, rows)
    )


def _rows(
    run: str, design: Design, drawn: Mapping[str, Unit], labels: Mapping[str, Any], before: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The lines of all criteria of the instances that sheets are about, those nobody was asked about left blank."""
    settings = read_info(Path(run))["settings"]
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
    said: Annotations, design: Design, drawn: Mapping[str, Unit], rows: Mapping[str, Mapping[str, Any]]
) -> Annotations:
    """The answers as they count: by criterion, or by instance, which one no settles."""
    if design.unit == "criterion":
        return said
    groups: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for name in drawn:
        if name in rows:  # before any decision of an adjudicator
            groups[drawn[name].response].append({**rows[name], "how": ""})
    labels = {name: answers(group) for name, group in groups.items() if any(row["annotations"] for row in group)}
    return replace(said, labels=labels, options=dict.fromkeys(labels, ("yes", "no")), notes={})


def _decided(files: Sequence[str]) -> dict[str, str]:
    """What adjudicators answered in their sheets."""
    found = sheets.read_back(list(files)) if files else None
    return {item: label for name in found.annotators for item, label in found.of(name).items()} if found else {}


def _joined(before: Sequence[Mapping[str, Any]], given: Annotations) -> Annotations:
    """The answers in sheets beside those that rows of `labels.jsonl` keep."""
    labels: dict[str, dict[str, str | None]] = {
        row["id"]: {entry["annotator"]: entry["label"] for entry in row["annotations"]} for row in before
    }
    for item, answered in given.labels.items():
        said = labels.setdefault(item, {})
        said |= {name: answer for name, answer in answered.items() if answer is not None or name not in said}
    options = dict.fromkeys(labels, ("yes", "no")) | dict(given.options)
    return replace(given, labels=labels, options=options)


def borrow(run: str, labels: str) -> Report:
    """Put the labels of another run (`labels.jsonl` or its folder) beside the run's own, and write its report anew.

    They are marked as borrowed and stay apart from own ones, also where both are about the same answer; no open label
    replaces a settled one. Raises UserError where there is nothing to borrow, or the labels are about another judge.
    """
    path = Path(labels) / FILE if Path(labels).is_dir() else Path(labels)
    lent = {row["id"]: row for row in sorted(read_labels(path), key=lambda row: not row["borrowed"])}
    if not lent:
        raise UserError(f"{path}: holds no labels; give the labels.jsonl of a run that has some")
    judged, settings = _judged(run), read_info(Path(run))["settings"]
    if other := [row for row in lent.values() if row["judging"] != judging_id(settings)]:
        raise UserError(
            f"{path}: is about the verdicts of {other[0]['judge']} as set up in another run, which say nothing about "
            f"those of {settings['judge']} in this one; give labels of a run with the same judge, level and prompts"
        )
    own, before = _stored(run), _stored(run, borrowed=True)
    settled = {name for name, row in before.items() if row["label"] is not None}
    fresh = {
        name: row | {"borrowed": True}
        for name, row in lent.items()
        if own.get(name) != row and (row["label"] is not None or name not in settled)
    }
    return _rewritten(run, judged, [*own.values(), *(before | fresh).values()])


def _stored(run: str, *, borrowed: bool = False) -> dict[str, dict[str, Any]]:
    """The rows of the run's `labels.jsonl` by id: its own, or the borrowed ones."""
    file = Path(run) / FILE
    rows = read_labels(file) if file.exists() else []
    return {row["id"]: row for row in rows if row["borrowed"] is borrowed}


def _rewritten(run: str, judged: Sequence[Judged], rows: Sequence[Mapping[str, Any]]) -> Report:
    folder = RunFolder(run, {})
    try:
        folder.write_lines(FILE, (json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        write(folder, outcome := results(folder, judged))
        return outcome.value
    finally:
        folder.ledger.close()


def _judged(run: str) -> list[Judged]:
    path = Path(run)
    if not path.is_dir() or not read_info(path).get("settings", {}).get("judge"):
        raise UserError(f"{run}: is not the folder of a judged run; give the --out of `truebench run`")
    return without_doubles(read_judged(path))[0]


def _question(found: Unit, unit: str) -> dict[str, Any]:
    """A criterion as an annotator sees it: without model, judge and verdict."""
    *before, asked = found.history
    shown = sheets.material(before, asked.content, found.answer)
    whole = {}
    if unit == "instance" and found.criteria > 1:
        whole = {"group": found.response, "settles": "no"}
        shown["Criterion"] = (
            f"{found.place} of {found.criteria}. One no settles the instance: the others may stay blank."
        )
    if found.sample > 1:
        shown = {"Sample": f"Another response to the same: number {found.sample}.", **shown}
    return {
        "id": found.id,
        "sections": shown,
        "question": f"Does the response meet this in full (partly met is no)? {found.verdict.criterion.text.strip()}",
        **whole,
    }
