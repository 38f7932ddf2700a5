"""What `flex score` left in a folder, read back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from truebench_hf.benchmarks.flexbench.conversations import Talk
from truebench_hf.benchmarks.flexbench.procedure import Procedure, read_procedure
from truebench_hf.benchmarks.flexbench.scores import Judged
from truebench_hf.data import jsonl
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.judging.tri_valued import Facts
from truebench_hf.types import Label

VERDICTS, JUDGED = "verdicts.jsonl", "judged.yaml"  # the verdicts, and the procedure that they are on
LABELS = (*get_args(Label), None)


def read_judged(folder: str) -> tuple[Procedure, list[Judged]]:
    """The judged conversations of a folder, and the procedure as it was when they were judged.

    The folder is a benchmark's, whose `scores` are meant, or any --out of `flex score`. Raises UserError naming what is
    wrong.
    """
    place = _place(folder)
    if place is None:
        raise UserError(f"{folder}: holds no judged conversations; `truebench flex score {folder}` judges them")
    file, procedure = place / VERDICTS, read_procedure(place / JUDGED)
    found = [_judged(Record(where, row if isinstance(row, dict) else {})) for where, row in jsonl.read(file)]
    for number, one in enumerate(found, 1):
        if other := sorted(procedure.structure.keys() ^ one.labels.keys()):
            raise UserError(
                f"{file}, line {number}: {other[0]} stands there or in {JUDGED}, not in both; score it again"
            )
    return procedure, found


def is_judged(folder: str) -> bool:
    """Return True if a folder holds judged conversations and the procedure that they were judged by."""
    place = _place(folder)
    return place is not None and (place / JUDGED).is_file()


def _place(folder: str) -> Path | None:
    return next((place for place in (Path(folder) / "scores", Path(folder)) if (place / VERDICTS).is_file()), None)


def _judged(record: Record) -> Judged:
    dimensions = record.row.get("dimensions")
    if not isinstance(dimensions, dict):
        raise record.wrong("dimensions", "must be an object")
    facts, labels = {}, {}
    for name, value in dimensions.items():
        part = record.part("dimensions", name, value)
        if part.row.get("label") not in LABELS:
            raise part.wrong("label", "must be yes, no, unknown or null")
        labels[name] = part.row.get("label")
        told = [part.row.get(fact) for fact in ("applies", "attempted", "correct")]
        facts[name] = Facts(told[0], told[1], told[2], str(part.row.get("reason") or ""), part.row.get("turn"))
    texts = {
        key: str(record.row.get(key) or "") for key in ("model", "cooperativeness", "end", "seed", "error", "ended")
    }
    messages = record.messages("messages") if record.row.get("messages") else ()
    pairs = tuple((str(a), str(b)) for a, b in record.row.get("conflicts") or ())
    talk = Talk(record.id("id"), messages=messages, **texts)
    return Judged(talk, facts, labels, pairs)


def models_of(judged: Sequence[Judged]) -> dict[str, list[Judged]]:
    """The judged conversations of each model, in order of appearance."""
    found: dict[str, list[Judged]] = {}
    for one in judged:
        found.setdefault(one.talk.model, []).append(one)
    return found
