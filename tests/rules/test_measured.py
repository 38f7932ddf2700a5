"""Rules held against responses: `measured.jsonl` (rule, response, whether it is met, why), and what facts say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.rules.test_rule_schema import RULES
from truebench_hf.data.rules import rule_of
from truebench_hf.judging.rules.measuring import measure

ROWS = [
    json.loads(line) for line in (Path(__file__).parent / "measured.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['rule']['kind']}-{row['response'][:20]!r}")
def test_a_rule_is_met_only_where_every_reading_says_so(row: dict[str, Any]) -> None:
    got = measure(rule_of(row["rule"]), row["response"])
    assert got.met is row["met"], (got.facts, row.get("why"))
    assert got.facts
    assert "\n" not in got.facts


@pytest.mark.parametrize(
    ("rule", "response", "facts"),
    [
        ({"kind": "count", "unit": "words", "max": 9}, "One two three four.", "4 words"),
        ({"kind": "count", "unit": "words", "max": 9}, "A well-known cat", "3 words; 4 with joined words apart"),
        (
            {"kind": "count", "unit": "words", "max": 9},
            "One two three. Four five.\n\n```\nsix seven\n```",
            "7 words; 2 in the code block",
        ),
        ({"kind": "count", "unit": "words", "max": 2, "per": "line"}, "a\nb c", "words per line: 1, 2"),
        ({"kind": "count", "unit": "list_items", "max": 2}, "- a", "1 list item"),
        ({"kind": "table"}, "| a | b |\n|---|---|\n| 1 | 2 |", "a table of 1 rows below the header and 2 columns"),
        ({"kind": "excludes", "values": ["x"]}, "x y", "'x' 1 time"),
    ],
)
def test_facts_state_what_was_measured(rule: dict[str, Any], response: str, facts: str) -> None:
    assert measure(rule_of(rule), response).facts == facts


TEXT = st.text(max_size=200) | st.lists(
    st.sampled_from([*"aZé한日カж. !?\n-*#`|>1,:", "\n\n", "```", "- ", "Dr. ", "👍"]), max_size=60
).map("".join)


@settings(max_examples=60, deadline=None)
@given(TEXT)
@example("A\ud800")
@example("")
def test_no_text_breaks_a_rule(text: str) -> None:
    for rule in RULES:
        assert measure(rule_of(rule), text).met in (True, False, None)


def test_a_response_of_a_megabyte_is_not_read() -> None:
    got = measure(rule_of({"kind": "json"}), "a\n\n" * 350_000)
    assert (got.facts, got.met) == ("more than 100,000 characters, which are not measured", None)
