"""A storm in which every fifth call fails costs the calls it spoils and little more, and loses nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import ROOT, row, write_jsonl
from truebench_hf.benchmarks.truebench.options import RunOptions
from truebench_hf.benchmarks.truebench.study import run

INSTANCES, DELAY, CONCURRENCY = 500, 0.4, 32  # a thousand calls

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def timed(folder: Path, data: str, share: float) -> tuple[float, int, Any]:
    """Seconds, calls that came in, and the judged lines of a run at a server that fails that share of all calls."""
    command = [sys.executable, "-m", "tests.support.bad_server", "--delay", str(DELAY), "--share", str(share)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        options = RunOptions(
            data=data, model="openai:m", judge=("openai:j",), model_base_url=url, judge_base_url=url, out=str(folder),
            model_concurrency=CONCURRENCY, judge_concurrency=CONCURRENCY,
        )  # fmt: skip
        started = time.monotonic()
        run(options)
        took = time.monotonic() - started
        posts = int(process.communicate()[0])
    return took, posts, [json.loads(line) for line in (folder / "judgments.jsonl").read_text().splitlines()]


def test_a_storm_costs_little_more_than_what_it_spoils(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    data = write_jsonl(tmp_path / "data.jsonl", [row(i, [(f"Task {i}", ["a", "b"])]) for i in range(INSTANCES)])
    ratios: list[float] = []
    while len(ratios) < 4 and min(ratios, default=9.0) > 1.35:  # others may use the machine, too
        calm, calls, expected = timed(tmp_path / f"calm {len(ratios)}", data, 0.0)
        assert calls == 2 * INSTANCES
        stormy, calls, found = timed(tmp_path / f"storm {len(ratios)}", data, 0.2)
        assert found == expected, "nothing is lost and nothing differs"
        assert calls > 2.4 * INSTANCES
        ratios.append(stormy / calm)
    print(f"\na storm of 20 % costs {min(ratios):.2f} times the calm")
    assert min(ratios) <= 1.35, ratios
