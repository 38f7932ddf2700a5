"""The official tables, cell by cell, from the official evaluation rows."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.support.runs import ROOT, command
from truebench_hf.benchmarks.truebench import official
from truebench_hf.benchmarks.truebench.output import read_judged

FOLDER = ROOT.parent / "shared" / "data" / "truebench" / "official_scores"
ROWS = FOLDER / "mock_TRUEBench-v0.6.1_eval_result.jsonl"

pytestmark = pytest.mark.skipif(not ROWS.is_file(), reason="the official scores are not at ../shared/data")


def table(name: str) -> list[list[str]]:
    """A reference table."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("name", ["stats_cat.csv", "stats_lang.csv", "usage.csv"])
def test_every_cell(name: str) -> None:
    model, _, judged = read_judged(ROWS)
    runs = [(model, judged)]
    made = {
        "stats_cat.csv": official.category_table(runs, True),
        "stats_lang.csv": official.language_table(runs, True),
        "usage.csv": official.usage_table(runs),
    }[name]
    assert [[str(cell) for cell in row] for row in made] == table(name)


def test_the_command_prints_exactly_these_tables() -> None:
    done = command("score", str(ROWS), "--protocol", "official")
    assert done.returncode == 0, done.stderr
    names = ("stats_cat.csv", "stats_lang.csv", "usage.csv")
    expected = "\n".join((FOLDER / name).read_text(encoding="utf-8").replace("\r\n", "\n") for name in names)
    assert done.stdout == expected


def test_the_same_rows_by_our_rule() -> None:
    """Where every criterion has a label both rules agree, so any difference comes from rows that lack some."""
    _, _, judged = read_judged(ROWS)
    complete = [item for item in judged if item.passed is not None]
    ours, theirs = (official.category_table([("m", complete)], flag)[1][1] for flag in (False, True))
    assert ours == theirs
    assert len(judged) == 276


def test_a_row_that_stands_twice_is_said_and_counted_once(tmp_path: Path) -> None:
    lines = ROWS.read_text(encoding="utf-8").splitlines(keepends=True)[:6]
    doubled = tmp_path / "twice_TRUEBench-v0.6.1_eval_result.jsonl"
    doubled.write_text("".join([*lines, lines[0]]), encoding="utf-8")
    done = command("score", str(doubled))
    assert done.returncode == 0, done.stderr
    assert "twice: 1 rows stand twice" in done.stdout
