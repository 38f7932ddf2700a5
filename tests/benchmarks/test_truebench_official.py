"""The official tables, cell by cell, from the official evaluation rows."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.support import runs
from tests.support.runs import ROOT, command, command_here, write_jsonl
from truebench_hf.benchmarks.truebench import scores as official
from truebench_hf.benchmarks.truebench.results import read_run
from truebench_hf.benchmarks.truebench.scores import as_frames

FOLDER = ROOT.parent / "shared" / "data" / "truebench" / "official_scores"
ROWS = FOLDER / "mock_TRUEBench-v0.6.1_eval_result.jsonl"

pytestmark = pytest.mark.skipif(not ROWS.is_file(), reason="the official scores are not at ../shared/data")


def table(name: str) -> list[list[str]]:
    """A reference table."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("name", ["stats_cat.csv", "stats_lang.csv", "usage.csv"])
def test_every_cell(name: str) -> None:
    judged = read_run(ROWS)
    runs = [(judged[0].response.model, as_frames(judged))]
    made = {
        "stats_cat.csv": official.pass_rate_table(runs, "category", True),
        "stats_lang.csv": official.pass_rate_table(runs, "language", True),
        "usage.csv": official.usage_table(runs),
    }[name]
    assert [[str(cell) for cell in row] for row in made] == table(name)


def test_the_command_prints_exactly_these_tables() -> None:
    done = command("study", "score", str(ROWS), "--protocol", "official", "--allow-unscored")
    assert done.returncode == 0, done.stderr
    names = ("stats_cat.csv", "stats_lang.csv", "usage.csv")
    expected = "\n".join((FOLDER / name).read_text(encoding="utf-8").replace("\r\n", "\n") for name in names)
    assert done.stdout == expected


def official_cell(rows: list[dict[str, Any]]) -> float:
    """A cell by the official expression, written down a second time."""
    p, t = 0, 0
    for row in rows:
        t += 1
        if row["pass"]:
            p += 1
    return round((p / t) * 100, 2) if t > 0 else 0


def official_expectation(rows: list[dict[str, Any]]) -> tuple[list[float], list[float]]:
    """The figures of both tables for rows that name only known categories and languages."""
    names, tongues = table("stats_cat.csv")[0][2:-2], table("stats_lang.csv")[0][2:]
    single = [row for row in rows if row["category"] != "Multi-Turn"]
    several = [row for row in rows if row["category"] == "Multi-Turn"]
    parts = [[row for row in rows if row["category"] == name] for name in names]
    languages = [[row for row in rows if row["language"] == name] for name in tongues]
    overall = official_cell(rows)
    return (
        [overall, *map(official_cell, [*parts, single, several])],
        [overall, *map(official_cell, languages)],
    )


@pytest.mark.parametrize("seed", range(4))
def test_random_files_with_totals_that_are_multiples_of_160(tmp_path: Path, seed: int) -> None:
    # At such totals a percentage can lie half-way between two figures of two decimals.
    lines = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    rng = random.Random(seed)
    drawn = []
    for field in rng.sample(sorted({row["category"] for row in lines}), 3):
        kind = [row for row in lines if row["category"] == field]
        drawn += rng.choices(kind, k=160 * rng.randint(1, 2))
    share = rng.random()
    rows = [{**row, "index": i, "pass": rng.random() < share} for i, row in enumerate(drawn)]
    file = tmp_path / "m_TRUEBench-v0.6.1_eval_result.jsonl"
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    runs = [("m", as_frames(read_run(file)))]
    made = [official.pass_rate_table(runs, field, True)[1][1:] for field in ("category", "language")]
    assert made == list(official_expectation(rows))


def test_a_row_that_stands_twice_is_said_and_counted_once(tmp_path: Path) -> None:
    lines = ROWS.read_text(encoding="utf-8").splitlines(keepends=True)[:6]
    doubled = tmp_path / "twice_TRUEBench-v0.6.1_eval_result.jsonl"
    doubled.write_text("".join([*lines, lines[0]]), encoding="utf-8")
    done = command("study", "score", str(doubled))
    assert done.returncode == 0, done.stderr
    assert "twice: 1 rows stand twice" in done.stdout


def test_tokens_beyond_all_counting_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of three such numbers the sum would have more digits than Python prints."""
    told = {"response": ["r"], "judge_parsed": [{"labels": [True]}], "inference_input_tokens": ["9" * 4300] * 3}
    file = write_jsonl(tmp_path / "m.jsonl", [runs.row(1, [("ask", ["is right"])]) | told])
    done = command_here(capsys, "study", "score", file, "--protocol", "official")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("line 1: not a row of an official evaluation file (more than 1e+15 tokens)\n")
