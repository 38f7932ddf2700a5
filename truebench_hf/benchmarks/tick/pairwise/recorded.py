"""Preferences of a judge that the data brings along, scored as those of a judge that is asked here.

JudgeBench's `judgments` are read: one, or two of which the second was asked in the other order, and names places.
"""

from __future__ import annotations

from typing import Any

from truebench_hf.benchmarks.tick.pairwise.labels import Decided, compared, word
from truebench_hf.data.rows import Record
from truebench_hf.metrics.preference import turned

PROTOCOL = "recorded"


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
