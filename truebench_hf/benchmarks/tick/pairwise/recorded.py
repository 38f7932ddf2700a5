"""Preferences that were recorded elsewhere, scored as those of a judge that is asked here.

A row of a file has the `id` (or `pair_id`) of a pair, `judge` and `protocol` (if absent: the name of the file, and
"recorded"), and `prediction`; or, of a judge asked to compare, `as_given` and `swapped`: what it said with response A
shown first, and with B first. All of them name responses as the data does (A, B, tie; win and loss are of A), whichever
was shown first. JudgeBench's `judgments` are read too; there the second one names places, and is turned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.tick.pairwise.labels import Decided, compared, label, word
from truebench_hf.data import row_files
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.metrics.preference import turned
from truebench_hf.text.redaction import masked

PROTOCOL = "recorded"
Recorded = dict[tuple[str, str], dict[str, Decided]]  # by (judge, protocol): by pair


def read(files: Iterable[str], ids: Collection[str]) -> tuple[Recorded, list[str]]:
    """What the files record about the pairs of these ids, and notes on what of it fits none.

    Raises UserError on a row that cannot be read or stands twice, and on a file that has none of the pairs.
    """
    found: Recorded = {}
    notes = []
    for file in files:
        strangers = rows = 0
        for record in row_files.one_split(file, flag="--recorded"):
            rows += 1
            pair = record.id("id" if record.row.get("id") is not None else "pair_id")
            if pair not in ids:
                strangers += 1
                continue
            for key, decided in _of_row(record, Path(file).stem).items():
                if pair in found.setdefault(key, {}):
                    raise UserError(f"{record.where}: {key[0]} on {pair} ({key[1]}) stands twice; remove one")
                found[key][pair] = decided
        if strangers == rows:
            raise UserError(f"--recorded {file}: has none of the pairs of the data; rows are matched by id")
        if strangers:
            notes.append(f"{strangers} of {rows} rows of {Path(file).name} are about pairs that are not here.")
    return masked(found), notes


def judgments(record: Record) -> dict[str, Decided]:
    """The preferences of a row in JudgeBench's form, by judge: one judgment, or two of which the second is swapped.

    A judgment that is missing, or decides nothing that can be read, is undecided.
    """
    given = record.row.get("judgments")
    if given is None:
        return {}
    if not isinstance(given, list) or not 1 <= len(given) <= 2:
        raise record.wrong("judgments", "must be a list of one judgment, or of two of which the second is swapped")
    said = [word(one.get("decision")) if isinstance(one, dict) else None for one in given]
    name = " ".join(filter(None, [record.maybe("judge_name"), _model(given)])) or PROTOCOL
    if len(said) == 1:
        return {name: Decided(said[0], "" if said[0] else "no decision is recorded", said[0], asked=1)}
    reason = "" if None not in said else "no decision is recorded in one of the orders"
    return {name: compared(said[0], turned(said[1]), reason)}


def _model(given: list[Any]) -> str:
    inner = [one.get("judgment") for one in given if isinstance(one, dict)]
    return next((str(one["judge_model"]) for one in inner if isinstance(one, dict) and one.get("judge_model")), "")


def _of_row(record: Record, name: str) -> dict[tuple[str, str], Decided]:
    if "judgments" in record.row:
        return {(judge, PROTOCOL): decided for judge, decided in judgments(record).items()}
    key = (record.maybe("judge") or name, record.maybe("protocol") or PROTOCOL)
    given, swapped, alone = (label(record, column) for column in ("as_given", "swapped", "prediction"))
    if not {"as_given", "swapped", "prediction"} & set(record.row):
        raise record.wrong("prediction", "must name the better response (A or B) or tie; or give as_given and swapped")
    reason = record.maybe("reason") or ""
    if "swapped" in record.row and (given or swapped or not alone):
        found = compared(given, swapped, reason)
    elif "as_given" in record.row and (given or not alone):
        found = Decided(given, reason, given, asked=1)
    else:
        found = Decided(alone, reason)
    return {key: found if found.label or reason else replace(found, reason="no preference is recorded")}
