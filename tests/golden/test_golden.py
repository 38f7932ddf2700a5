"""Every command on fixed inputs gives what it gave: what is printed, every file, and what models were asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import compare
from tests.golden.case import Case
from tests.golden.cases import CASES, COMMANDS
from tests.golden.check import check
from tests.golden.held import pretty

LONG = ("data", "publish")  # every data set is built, and every kind of study goes to a Hub


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[pytest.mark.slow] * (case.name in LONG)) for case in COMMANDS],
    ids=lambda case: case.name,
)
def test_what_users_get_is_what_it_was(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_every_folder_belongs_to_a_case() -> None:
    assert {path.name for path in compare.EXPECTED.iterdir()} == {case.name for case in CASES}


@pytest.mark.parametrize(
    ("file", "before", "now", "same", "strictly", "why"),
    [
        ("f", "a 0.3333333333 b", "a 0.3333333334 b", True, False, "the last digits of a fit"),
        ("f", "a 0.3333 b", "a 0.3334 b", False, False, "digits that users see"),
        ("f", "n: 12", "n: 13", False, False, "counts are exact"),
        ("f", "a 0.5 b", "a 0.5 c", False, False, "a word"),
        ("f", "a 0.5", "a", False, False, "a number less"),
        ("f", "a b", "b a", False, False, "text has an order"),
        ("f.json", '{"a": 1, "b": [2]}', '{"b": [2],\n "a": 1.0}', True, True, "keys have no order, and 1.0 is 1"),
        ("f.json", '{"a": 0.3333333333}', '{"a": 0.3333333334}', True, False, "the last digits of a value"),
        ("f.json", '{"a": "is 0.3333333333"}', '{"a": "is 0.3333333334"}', True, False, "and within a text"),
        ("f.json", '{"a": 1000000}', '{"a": 1000001}', False, False, "counts are exact"),
        ("f.json", '{"a": [1, 2]}', '{"a": [2, 1]}', False, False, "lists have an order"),
        ("f.json", '{"a": 1}', '{"a": true}', False, False, "a truth is no number"),
        ("f.json", '{"a": 0}', '{"a": null}', False, False, "nothing is not zero"),
        ("f.json", '{"a": null}', "{}", False, False, "a key less"),
        ("f.jsonl", '{"a": 1}\n{"a": 2}\n', '{"a": 2}\n{"a": 1}\n', False, False, "rows have an order"),
        ("l.sqlite.txt", "j: 2 calls\n  x\n  y\n", "j: 2 calls\n  y\n  x\n", True, True, "calls have no order"),
        ("l.sqlite.txt", "j: 2 calls\n  x\n  x\n", "j: 2 calls\n  x\n  y\n", False, False, "another prompt"),
        ("l.sqlite.txt", "j: 1 calls\n  x\n", "k: 1 calls\n  x\n", False, False, "another role"),
    ],
)
def test_what_counts_as_the_same(file: str, before: str, now: str, same: bool, strictly: bool, why: str) -> None:
    assert compare.alike(file, before, now) is same, why
    assert compare.alike(file, before, now, strict=True) is strictly, why
    assert bool(compare.differences("case", {file: before}, {file: now})) is not same, why


def test_differences_are_short_and_name_the_command_that_renews() -> None:
    before, now = ({f"{name}.json": letter * 50 for name in "abcdefg"} for letter in ("x\n", "y\n"))
    told = compare.differences("run", before | {"gone.csv": ""}, now | {"printed.txt": ""})
    assert told.splitlines()[:3] == ["run: 9 files differ from expected/run", "printed.txt: new", "a.json:"]
    assert "gone.csv: missing" in told
    assert "... 88 lines more" in told
    assert "g.json: differs" in told
    assert len(told.splitlines()) < 60
    assert told.endswith("python -m tests.golden --renew run")


def test_json_is_written_readable() -> None:
    value = {"b": [1, 2.00000000000001], "a": {"text": "x" * 130}, "c": []}
    assert pretty(value) == '{\n "a": {\n  "text": "' + "x" * 130 + '"\n },\n "b": [1, 2.0],\n "c": []\n}'
