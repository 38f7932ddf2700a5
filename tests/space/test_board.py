"""What the Space shows, held against figures worked out by hand; no browser, no Gradio."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from truebench_hf.comparing import papers, table
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.data.records import read_outcomes
from truebench_hf.metrics.intervals import wilson
from truebench_hf.report.table import paper_table
from truebench_hf.text import anonymous
from truebench_hf.types import Score

PUBLISHED = papers.PAPERS["truebench"].published()
(KIND,), _ = table.merged([PUBLISHED])
PAPER = table.merged([PUBLISHED])[1]


def _entry(key: str, value: float | None, n: int = 100, **more: Any) -> BoardEntry:
    interval = None if value is None else wilson(round(value * n), n)
    score = Score(value, n if value is not None else 0, 0, interval)
    facts = {"Judge": "j", "Data": "d"} | more.pop("facts", {})
    made = BoardEntry(
        key, "truebench", f"M-{key}", "measured", more.pop("setting", "s"), score, {"overall": score}, facts
    )
    return replace(made, **more)


def test_published_models_are_the_papers() -> None:
    found = {entry.name: entry for entry in PAPER}
    assert len(found) == 32
    o1 = found["o1"]
    numbers = [o1.scores[name].n for name in ("category:Safety", "language:EN")]
    assert (o1.overall.value, o1.overall.n, numbers) == (0.6907, 1329, [79, 403])
    assert o1.overall.ci95 == pytest.approx((0.6654, 0.7150), abs=0.0001)  # Wilson for 918 of 1329
    assert found["Llama4-Maverick"].misprints == {"language:EN"}
    assert all({"Weights", "Licence"} <= entry.facts.keys() for entry in found.values())
    assert set(found) == {row["Model"] for row in paper_table("truebench", "truebench_table5_category")["rows"]}


def test_table_6_repeats_table_5() -> None:
    both = [{row["Model"]: row["Overall"] for row in paper_table("truebench", name)["rows"]} for name in (
        "truebench_table5_category", "truebench_table6_language")]  # fmt: skip
    assert both[0] == both[1]


@pytest.mark.parametrize(
    ("spec", "expected", "why"),
    [
        ("hf:/data/models/Qwen3-8B", "hf:Qwen3-8B", "an absolute folder"),
        ("hf:../models/Qwen3-8B/", "hf:Qwen3-8B", "a relative folder"),
        ("hf:C:\\models\\Qwen3-8B", "hf:Qwen3-8B", "a Windows folder"),
        ("hf:Qwen/Qwen3-8B", "hf:Qwen/Qwen3-8B", "a Hub id is no folder"),
        ("openai:gpt-5", "openai:gpt-5", "a name"),
        ("smollm2", "smollm2", "a name without a kind"),
        ("scripted:/tmp/a/rules.json", "scripted:rules.json", "a file"),
    ],
)
def test_specs_are_shown_without_folders(spec: str, expected: str, why: str) -> None:
    assert anonymous.name(spec) == expected, why


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("gave up: http://10.1.2.3:8000/v1 answered 500", "10.1.2.3"),
        ("no such file: /home/me/secret/model.bin", "secret"),
        ("key hf_abcdefghijklmnop refused", "hf_abc"),
        ("cannot reach 192.168.0.7:8000", "192.168"),
        (r"C:\Users\me\model", "Users"),
    ],
)
def test_reasons_are_scrubbed_and_plain_ones_stay(text: str, hidden: str) -> None:
    plain = "criteria_2 has no label; 3/4 of and/or 12/11/2025, see e.g. TCP/IP"
    assert hidden not in anonymous.text(text)
    assert anonymous.text(plain) == plain


_A = {str(i): i < 80 for i in range(100)}
_B = _A | {"0": False, "99": True}
_C = {str(i): i < 40 for i in range(100)}
_OPEN = replace(_entry("B", 0.9), overall=Score(0.9, 80, 20, wilson(72, 80)))
_TWO = [_entry("A", 1.0, 2), _entry("B", 0.0, 2)]
# Entries, who passed what where it is known, the places, and why.
RANKS: list[tuple[list[BoardEntry], dict[str, Any], dict[str, tuple[int | None, int | None]], str]] = [
    ([_entry("A", 0.8), _entry("B", 0.8), _entry("C", 0.4)], {"A": _A, "B": _B, "C": _C},
     {"A": (1, 2), "B": (1, 2), "C": (3, 3)}, "A and B differ on 1 of 100 each way; C fails 40 that A passes"),
    (_TWO, {}, {"A": (1, 2), "B": (1, 2)}, "few instances rank nobody"),
    (_TWO, {"A": {"1": True, "2": True}, "B": {"1": False, "2": False}}, {"A": (1, 2), "B": (1, 2)}, "nor in pairs"),
    ([_entry("A", 0.8), _entry("B", 0.79), _entry("C", 0.2)], {}, {"A": (1, 2), "B": (1, 2), "C": (3, 3)}, "by shares alone"),
    ([_entry("A", 0.9), _entry("B", 0.1, setting="other"), _entry("C", None)], {},
     {"A": (1, 1), "B": (1, 1), "C": (None, None)}, "other data is never ranked together"),
    ([_entry("A", None), _entry("B", 0.0)], {}, {"A": (None, None), "B": (1, 1)}, "no score takes no rank"),
    ([_entry("A", 0.5), _OPEN, _entry("C", 0.1)], {}, {"A": (1, 1), "B": (None, None), "C": (2, 2)}, "much was left open"),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "outcomes", "places"), [row[:3] for row in RANKS], ids=[row[3] for row in RANKS])
def test_places(entries: list[BoardEntry], outcomes: dict[str, Any], places: dict[str, Any]) -> None:
    ranked = table.paired(entries, outcomes)
    assert {entry.key: (entry.rank, entry.last) for entry in ranked} == places
    if not outcomes:
        assert {entry.key: (entry.rank, entry.last) for entry in table.by_score(entries)} == places


def test_outcomes_are_read_from_the_head_of_a_line(tmp_path: Path) -> None:
    file = tmp_path / "judgments.jsonl"
    rows = [
        {"id": 'a"b', "model": 'x "passed": true,', "passed": None, "messages": []},
        {"id": "c", "model": "m", "passed": True, "messages": [{"content": '"passed": false,'}]},
        {"passed": False, "id": "d"},  # another order of fields: read whole
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    told = {'x "passed": true,': {'a"b': None}, "m": {"c": True}, "": {"d": False}}
    assert read_outcomes(file) == told


def test_order_keeps_together_what_was_ranked_together() -> None:
    found = [
        replace(_entry(name, value, setting=setting), source=source)
        for name, value, setting, source in (
            ("alone", 0.9, "a", "measured"), ("second", 0.2, "b", "measured"), ("first", 0.3, "b", "measured"),
            ("paper", 0.99, "p", "paper"), ("sent", 0.95, "s", "submitted"), ("none", None, "b", "measured"),
        )
    ]  # fmt: skip
    ranked = table.by_score(found)
    # The larger group first, though another holds a better score; then what was submitted; the paper last.
    assert [e.key for e in table.by_rank(ranked)] == ["first", "second", "none", "alone", "sent", "paper"]


def test_csv_has_every_column_and_no_formulas() -> None:
    entry = _entry("x", 0.5, facts={"Licence": "=1+1"}, rank=1, last=2)
    (row,) = csv.DictReader(io.StringIO(table.to_csv(KIND, [entry])))
    assert (row["Licence"], row["Overall"], row["Rank"], row["Last rank"]) == ("'=1+1", "50.0", "1", "2")
    assert set(KIND.scores) <= set(row)
