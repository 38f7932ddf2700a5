"""`truebench label`: judged criteria of a run out to annotators, their labels back into the run's report."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.labels import FILE, Unit, read_labels, to_row, units
from truebench_hf.benchmarks.truebench.output import read_judged, without_doubles
from truebench_hf.benchmarks.truebench.records import Judged
from truebench_hf.benchmarks.truebench.run import results
from truebench_hf.engine.folder import RunFolder, read_info
from truebench_hf.errors import UserError
from truebench_hf.report import sheets
from truebench_hf.report.sheet_answers import SheetAgreement
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

    `decisions` are sheets of an adjudicator, which settle what annotators disagree on. Labels of earlier sheets stay
    unless they are given again. Raises UserError on sheets of another run, or of other answers.
    """
    given = sheets.read_back(list(files))
    adjudicator = sheets.read_back(list(decisions)) if decisions else None
    settled: dict[str, str] = {}
    for name in adjudicator.annotators if adjudicator else ():
        settled |= adjudicator.of(name) if adjudicator else {}
    judged = _judged(run)
    known = {unit.id: unit for unit in units(judged)}
    if strange := [name for name in given.labels if name not in known]:
        raise UserError(
            f"{strange[0]}: is in a sheet, but not among the answers of {run}; give the sheets that were made for it, "
            "or use --labels for labels of another run"
        )
    judge = str(read_info(Path(run))["settings"]["judge"])
    fresh = [
        to_row(known[row["id"]], judge, row) for row in sheets.label_rows(given, sheets.adjudicate(given, settled))
    ]
    file = Path(run) / FILE
    before = {row["id"]: row for row in read_labels(file)} if file.exists() else {}
    rows = before | {row["id"]: row for row in fresh}
    return _rewritten(run, judged, list(rows.values())), sheets.agreement(given)


def borrow(run: str, labels: str) -> Report:
    """Put the labels of another run (`labels.jsonl` or its folder) beside this one, and write its report anew."""
    path = Path(labels) / FILE if Path(labels).is_dir() else Path(labels)
    return _rewritten(run, _judged(run), read_labels(path))


def _rewritten(run: str, judged: Sequence[Judged], rows: Sequence[dict[str, Any]]) -> Report:
    folder = RunFolder(run, {})
    try:
        folder.write_lines(FILE, (json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
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
