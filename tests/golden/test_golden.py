"""Every command on fixed inputs gives what it gave: what is printed, every file, and what models were asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.golden import compare
from tests.golden.case import Case, play
from tests.golden.cases import CASES
from tests.golden.held import held, pretty


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_users_get_is_what_it_was(case: Case, tmp_path: Path) -> None:
    found = held(tmp_path, play(case, tmp_path))
    if os.environ.get("GOLDEN") == "renew":
        compare.write(case.name, found)
        return
    told = compare.differences(case.name, compare.read(case.name), found)
    assert not told, told


def test_every_folder_belongs_to_a_case() -> None:
    assert {path.name for path in compare.EXPECTED.iterdir()} == {case.name for case in CASES}


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        ("a 0.3333333333 b", "a 0.3333333334 b", True),  # the last digits of a fit
        ("a 0.3333 b", "a 0.3334 b", False),
        ("n: 12", "n: 13", False),  # counts are exact
        ("a 0.5 b", "a 0.5 c", False),
        ("a 0.5", "a", False),
    ],
)
def test_only_the_last_digits_of_fractions_may_differ(before: str, now: str, same: bool) -> None:
    assert compare.alike(before, now) is same
    assert bool(compare.differences("case", {"f": before}, {"f": now})) is not same


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
