"""The 300 labelled criteria of TRUEBench v0.6.1: the rows are whole, and they are the ones that were drawn.

`labels.jsonl` refers to a criterion by the instance's `index`, then turn and criterion from 0; no text is copied.

- `decidable`: a program can decide it under any reasonable reading of the answer: no condition, nothing but measurable
  demands. The row has the rule in plain words, and two responses of ours which speak to this criterion alone: `passes`
  and, as little different as possible, `fails`. A note names what lies between the two.
- `measurable`: `kinds` can be measured and help a judge, but it is composite, conditional, hedged, holds for a part
  that has to be found first, names an answer value, or needs the prompt or understanding.
- `neither`: nothing in it can be measured.

The labels were made by reading the criterion and its prompt, before there was a reader of criteria.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.rules.draw import EACH, criteria_of, drawn

HERE = Path(__file__).parent
RELEASE = HERE.parents[2] / "shared" / "data" / "truebench" / "TRUEBench-v0.6.1.jsonl"
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (HERE / "labels.jsonl").read_text(encoding="utf-8").splitlines()
]
DECIDABLE = [row for row in ROWS if row["label"] == "decidable"]
FIELDS = {
    "decidable": {"kinds", "rule", "passes", "fails"},
    "measurable": {"kinds"},
    "neither": set[str](),
}
PLACE = {"half", "index", "turn", "criterion", "label"}
KINDS = {
    "words", "characters", "sentences", "lines", "paragraphs", "list_items", "questions", "unique", "order",
    "language", "json", "yaml", "table", "code", "markdown", "tags",
    "contains", "excludes", "starts_ends", "overlap",
}  # fmt: skip


def place(row: dict[str, Any]) -> tuple[int, int, int]:
    return row["index"], row["turn"], row["criterion"]


def test_300_criteria_in_two_halves_each_once() -> None:
    assert Counter(row["half"] for row in ROWS) == {"random": EACH, "marked": EACH}
    assert len({place(row) for row in ROWS}) == 2 * EACH


def test_a_row_has_what_its_label_asks_for() -> None:
    for row in ROWS:
        assert set(row) - {"note"} == PLACE | FIELDS[row["label"]], place(row)
        assert set(row.get("kinds", ())) <= KINDS, place(row)
        assert row["label"] == "neither" or row["kinds"], place(row)
        assert row.get("note", "none needed").strip(), place(row)


@pytest.mark.parametrize("row", DECIDABLE, ids=lambda row: "-".join(map(str, place(row))))
def test_a_decidable_criterion_has_two_responses_that_differ(row: dict[str, Any]) -> None:
    passes, fails = row["passes"], row["fails"]
    assert passes.split()
    assert fails.split()
    assert passes.split() != fails.split()
    assert all(unicodedata.is_normalized("NFC", text) for text in (passes, fails))
    rule = row["rule"]
    assert isinstance(rule["kind"], str)
    if rule["kind"] == "count":
        assert 1 <= rule.get("min", 1) <= rule.get("max", rule.get("min", 0))


def test_no_slip_of_the_pen_in_responses_that_plain_python_can_check() -> None:
    """Literal strings, JSON, numbered items and words between spaces; languages and sentences are left to a reader."""
    checked = Counter(row["rule"]["kind"] for row in DECIDABLE if plainly_met(row["rule"], row["passes"]) is not None)
    assert checked == {"contains": 3, "excludes": 1, "json": 8, "count": 5}
    for row in DECIDABLE:
        assert plainly_met(row["rule"], row["passes"]) in (True, None), place(row)
        assert plainly_met(row["rule"], row["fails"]) in (False, None), place(row)


def plainly_met(rule: dict[str, Any], text: str) -> bool | None:
    match rule:
        case {"kind": "contains", "text": wanted}:
            return wanted in text
        case {"kind": "excludes", "text": unwanted}:
            return unwanted not in text
        case {"kind": "json"}:
            return json_met(rule, text)
        case {"kind": "count", "unit": "words" | "characters" | "list_items" as unit}:
            items = len(re.findall(r"^\d+\. ", text, flags=re.MULTILINE))
            size = {"words": items or len(text.split()), "characters": len(text), "list_items": items}[unit]
            return bool(rule.get("min", 0) <= size <= rule.get("max", size))
        case _:
            return None


def json_met(rule: dict[str, Any], text: str) -> bool:
    found = re.search(r"[{\[][^`]*", text)
    try:
        value = json.loads(found[0]) if found else None
    except ValueError:
        return False
    keys = {*rule.get("keys", ()), *rule.get("types", {})}
    if value is None or (keys and not (isinstance(value, dict) and keys <= value.keys())):
        return False
    parts = [value] if "type" in rule else [value[key] for key in rule.get("types", {})]
    return all(isinstance(part, list) and all(isinstance(item, str) for item in part) for part in parts)


@pytest.mark.skipif(not RELEASE.is_file(), reason="the real file ../shared/data/truebench is not here")
def test_the_rows_are_those_of_the_seeded_draw() -> None:
    criteria = criteria_of(RELEASE)
    random, marked = drawn(criteria)
    assert [place(row) for row in ROWS] == [*random, *marked]
    # No criterion is copied: a note says why, in words of ours.
    assert not {criteria[place(row)].strip() for row in ROWS} & {row.get("note", "").strip() for row in ROWS}


@pytest.mark.skipif(not RELEASE.is_file(), reason="the real file ../shared/data/truebench is not here")
def test_a_criterion_with_a_condition_is_never_decidable() -> None:
    criteria = criteria_of(RELEASE)
    conditional = re.compile(r"\b(?:if|when|whenever|unless|in case)\b", re.IGNORECASE)
    assert not [place(row) for row in DECIDABLE if conditional.search(criteria[place(row)])]


@pytest.mark.skipif(not RELEASE.is_file(), reason="the real file ../shared/data/truebench is not here")
def test_criteria_in_the_same_words_have_the_same_label() -> None:
    criteria = criteria_of(RELEASE)
    labels: dict[str, set[str]] = {}
    for row in ROWS:
        labels.setdefault(" ".join(criteria[place(row)].split()), set()).add(row["label"])
    assert not [text for text, found in labels.items() if len(found) > 1]
