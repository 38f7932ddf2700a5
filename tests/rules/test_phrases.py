"""Criteria of our own in twelve languages and the rules that their phrases state; null: nothing that may decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from truebench_hf.judging.rules.matching import read

ROWS = [json.loads(line) for line in (Path(__file__).parent / "phrases.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["criterion"][:60])
def test_a_phrase_states_its_rule_or_decides_nothing(row: dict[str, Any]) -> None:
    rules, complete = read(row["criterion"])
    assert ([json.loads(rule.text) for rule in rules] if complete else None) == row["rules"]
