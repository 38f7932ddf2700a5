"""What `flex score` left in a folder, read back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from truebench_hf import jsonl
from truebench_hf.benchmarks.flexbench.conversations import Talk
from truebench_hf.benchmarks.flexbench.procedure import Procedure, load
from truebench_hf.benchmarks.flexbench.scores import Judged
from truebench_hf.errors import UserError
from truebench_hf.judging.tri_valued import Facts
from truebench_hf.rows import Record
from truebench_hf.types import Label

JUDGMENTS = "judgments.jsonl"
LABELS = (*get_args(Label), None)


def read_judged(folder: str) -> tuple[Procedure, list[Judged]]:
    """The procedure of a benchmark's folder and its judged conversations. Raises UserError naming what is wrong."""
    procedure = load(folder)
    file = Path(folder) / "scores" / JUDGMENTS
    if not file.is_file():
        raise UserError(f"{file}: no such file; `truebench flex score {folder}` writes it")
    found = [_judged(Record(where, row if isinstance(row, dict) else {})) for where, row in jsonl.read(file)]
    for number, one in enumerate(found, 1):
        if lacking := [name for name in procedure.structure if name not in one.labels]:
            raise UserError(
                f"{file}, line {number}: has no verdict on {lacking[0]}; `truebench flex score {folder}` judges it"
            )
    return procedure, found


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
    texts = {key: str(record.row.get(key) or "") for key in ("model", "cooperativeness", "end", "seed", "error")}
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
