"""Rules held against the responses written for the labelled criteria, and against the certain labels of `rubric_mini`.

No verdict of a rule may contradict a label; how many are left open is shown and held to a number.

`labels.jsonl` holds 300 criteria of TRUEBench v0.6.1 by the instance's `index`, then turn and criterion from 0: 150 drawn
at random, 150 of those that a wide search for measurable words marks. `decidable` is what a program can decide under
any reasonable reading; the row has the rule in plain words and two responses of ours, as little different as possible.
`measurable` has something to count that helps a judge, `neither` has nothing. Made by reading, before there was a reader.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.rubric_eval.data import mini_rows as rows
from truebench_hf.benchmarks.rubric_eval.data import templates
from truebench_hf.data.rules import rule_of
from truebench_hf.judging.rules.measuring import measure

LABELS = [
    json.loads(line) for line in (Path(__file__).parent / "labels.jsonl").read_text(encoding="utf-8").splitlines()
]
# The plain words of `rubric_mini` for what a program would measure, as typed rules; None: no rule says it.
TYPED: dict[str, dict[str, Any] | None] = {
    "json": {"kind": "json"},
    "lower": {"kind": "case", "form": "lower"},
    "lacks ,": {"kind": "forbidden", "classes": ["commas"]},
    "digits = 0": {"kind": "forbidden", "classes": ["digits"]},
    "columns = 3": None,  # of CSV
    "longest line <= 50": {"kind": "count", "unit": "characters", "max": 50, "per": "line"},
    "sorted 2": None,  # of the first two lines only
}
UNITS = {"words": "words", "sentences": "sentences", "items": "list_items", "numbered": "list_items"}


def typed(measure: str) -> dict[str, Any] | None:
    counted = re.fullmatch(r"(\w+) = (\d+)", measure)
    if counted and (unit := UNITS.get(counted[1])):
        return {"kind": "count", "unit": unit, "min": int(counted[2]), "max": int(counted[2])}
    if measure.startswith("language 2"):  # of the second line only
        return None
    return TYPED[measure]


def outcomes(pairs: list[tuple[dict[str, Any], str, bool, str]]) -> Counter[str]:
    found: Counter[str] = Counter()
    wrong = []
    for rule, response, right, name in pairs:
        got = measure(rule_of(rule), response)
        found["open" if got.met is None else "decided"] += 1
        wrong += [] if got.met in (None, right) else [(name, right, got.facts)]
    assert wrong == []
    return found


def test_no_verdict_contradicts_a_certain_label_of_rubric_mini() -> None:
    measures = {(t.id, slot.rubric): slot.measure for t in templates("hard") for slot in t.slots if slot.measure}
    pairs = [
        (rule, row["response"], row["label"] == "yes", row["instruction_id"])
        for row in rows(split="hard")
        if (said := measures.get((row["instruction_id"], row["rubric"]))) and (rule := typed(said))
    ]
    assert len(pairs) == 124
    assert outcomes(pairs)["open"] <= 16, (
        "numbers in a French count, ordinals in German, a number before a point in Polish"
    )


def labelled(row: dict[str, Any]) -> dict[str, Any] | None:
    """The rule of a decidable criterion in our schema; None where the schema has no such rule."""
    rule = dict(row["rule"])
    kind = rule["kind"]
    if kind == "language":
        return {"kind": kind, "codes": [rule["language"]]}
    if kind in ("contains", "excludes"):
        return {"kind": kind, "values": [rule["text"]]}
    if kind == "list":
        return {"kind": "count", "unit": "list_items", "min": 1}
    if kind in ("wrapped", "unique", "markdown") or "type" in rule or "types" in rule:
        return None
    return rule


def test_no_verdict_contradicts_the_responses_of_the_decidable_criteria() -> None:
    decidable = [(row, rule) for row in LABELS if row["label"] == "decidable" and (rule := labelled(row))]
    assert len(decidable) == 54
    pairs = [
        (rule, row[name], name == "passes", f"{row['index']}.{row['turn']}.{row['criterion']} {name}")
        for row, rule in decidable
        for name in ("passes", "fails")
    ]
    assert outcomes(pairs)["decided"] >= 60
