"""`truebench label`: judged criteria of a run out to annotators, their labels back into the run's report."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.labels import FILE, Unit, read_labels, to_row, units
from truebench_hf.benchmarks.truebench.output import read_judged, without_doubles
from truebench_hf.benchmarks.truebench.records import Judged
from truebench_hf.benchmarks.truebench.results import results
from truebench_hf.engine.folder import RunFolder, read_info
from truebench_hf.errors import UserError
from truebench_hf.report import sheets
from truebench_hf.report.sheet_answers import Annotations, SheetAgreement
from truebench_hf.types import Report

SHEETS = "sheets"


def sample(run: str, n: int, annotators: Sequence[str], seed: int = 0, out: str | None = None) -> list[Path]:
    """Write annotation sheets of `n` of a run's decided criteria, drawn at random; the judge's verdicts are left out.

    Into `out`, by default the run's folder `sheets`. Returns the files. Raises UserError where the run holds fewer.
    """
    decided = [unit for unit in units(_judged(run)) if unit.label in ("yes", "no")]
    if not decided:
        raise UserError(f"{run}: the judge decided no criterion, so there is nothing to hold labels against")
    if not 1 <= n <= len(decided):
        raise UserError(f"--n {n}: this run has {len(decided)} decided criteria; ask for 1 to {len(decided)} of them")
    chosen = random.Random(f"labels {seed}").sample(decided, n)
    return sheets.export(map(_question, chosen), out or Path(run) / SHEETS, annotators, seed)


def read(run: str, files: Sequence[str], decisions: Sequence[str] = ()) -> tuple[Report, SheetAgreement]:
    """Read filled-in sheets into the run's `labels.jsonl` and write its report anew.

    Answers join those that were read before, annotator by annotator: a newer answer counts, a blank replaces none.
    `decisions` are sheets of an adjudicator, which settle what annotators disagree on, now and later. Raises UserError
    on sheets of another run, or of other answers.
    """
    judged = _judged(run)
    known = {unit.id: unit for unit in units(judged)}
    given = sheets.read_back(list(files))
    if strange := [name for name in given.labels if name not in known]:
        raise UserError(
            f"{strange[0]}: is in a sheet, but not among the answers of {run}; give the sheets that were made for it, "
            "or use --labels for labels of another run"
        )
    before = _stored(run)
    own = [row for row in before.values() if row["id"] in known and row["annotations"]]
    said = _joined(own, given)
    settled = {row["id"]: row["label"] for row in own if row.get("how") == "decided"} | _decided(decisions)
    judge = str(read_info(Path(run))["settings"]["judge"])
    labels = sheets.label_rows(said, sheets.adjudicate(said, settled))
    fresh = {
        row["id"]: to_row(known[row["id"]], judge, row)
        for row in labels
        if row["how"] != "unanswered" or row["id"] not in before
    }
    return _rewritten(run, judged, before | fresh), sheets.agreement(said)


def _decided(files: Sequence[str]) -> dict[str, str]:
    """What adjudicators answered in their sheets."""
    answers = sheets.read_back(list(files)) if files else None
    return {item: label for name in answers.annotators for item, label in answers.of(name).items()} if answers else {}


def _joined(before: Sequence[Mapping[str, Any]], given: Annotations) -> Annotations:
    """The answers in sheets beside those that rows of `labels.jsonl` keep."""
    labels: dict[str, dict[str, str | None]] = {
        row["id"]: {entry["annotator"]: entry["label"] for entry in row["annotations"]} for row in before
    }
    for item, answers in given.labels.items():
        said = labels.setdefault(item, {})
        said |= {name: answer for name, answer in answers.items() if answer is not None or name not in said}
    options = dict.fromkeys(labels, ("yes", "no")) | dict(given.options)
    return replace(given, labels=labels, options=options)


def borrow(run: str, labels: str) -> Report:
    """Put the labels of another run (`labels.jsonl` or its folder) beside the run's own, and write its report anew.

    What the run's own answers are labelled with stays, and no open label replaces a settled one. Raises UserError
    where there is nothing to borrow.
    """
    path = Path(labels) / FILE if Path(labels).is_dir() else Path(labels)
    lent = {row["id"]: row for row in read_labels(path)}
    if not lent:
        raise UserError(f"{path}: holds no labels; give the labels.jsonl of a run that has some")
    judged = _judged(run)
    own, before = {unit.id for unit in units(judged)}, _stored(run)
    settled = {name for name, row in before.items() if row["label"] is not None}
    fresh = {n: row for n, row in lent.items() if n not in settled or (n not in own and row["label"] is not None)}
    return _rewritten(run, judged, before | fresh)


def _stored(run: str) -> dict[str, dict[str, Any]]:
    """The rows of the run's `labels.jsonl` by id."""
    file = Path(run) / FILE
    return {row["id"]: row for row in read_labels(file)} if file.exists() else {}


def _rewritten(run: str, judged: Sequence[Judged], rows: Mapping[str, dict[str, Any]]) -> Report:
    folder = RunFolder(run, {})
    try:
        folder.write_lines(FILE, (json.dumps(row, ensure_ascii=False) + "\n" for row in rows.values()))
        return results(folder, judged)
    finally:
        folder.ledger.close()


def _judged(run: str) -> list[Judged]:
    path = Path(run)
    if not path.is_dir() or not read_info(path).get("settings", {}).get("judge"):
        raise UserError(f"{run}: is not the folder of a judged run; give the --out of `truebench run`")
    return without_doubles(read_judged(path)[2])[0]


def _question(unit: Unit) -> dict[str, Any]:
    """A criterion as an annotator sees it: without model, judge and verdict."""
    *before, asked = unit.history
    earlier = "\n\n".join(f"[{message.role}]\n{message.content}" for message in before)
    shown = {"Conversation so far": earlier} if earlier else {}
    return {
        "id": unit.id,
        "sections": shown | {"Instruction": asked.content, "Response": unit.answer or "(the response is empty)"},
        "question": f"Does the response meet this in full (partly met is no)? {unit.verdict.criterion.text.strip()}",
    }
