"""A storm in which every fifth call fails loses nothing, and pays no call twice but those that it spoils."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.bad_server import BadServer, storm
from tests.support.runs import row, write_jsonl
from tests.support.stages import run
from truebench_hf.benchmarks.truebench.data import RunOptions

INSTANCES = 500  # a thousand calls

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def judged(folder: Path, data: str, share: float) -> tuple[BadServer, Any]:
    """The server that failed that share of all calls, and the judged lines of a run there."""
    with BadServer(storm(share), delay=0.02) as server:
        run(RunOptions(
            data=data, model="openai:m", judge=("openai:j",), model_base_url=server.url, judge_base_url=server.url,
            out=str(folder), model_concurrency=32, judge_concurrency=32,
        ))  # fmt: skip
    return server, [json.loads(line) for line in (folder / "judgments.jsonl").read_text().splitlines()]


def test_a_storm_costs_the_calls_that_it_spoils_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    data = write_jsonl(tmp_path / "data.jsonl", [row(i, [(f"Task {i}", ["a", "b"])]) for i in range(INSTANCES)])
    calm, expected = judged(tmp_path / "calm", data, 0.0)
    assert (calm.posts, calm.spoiled) == (2 * INSTANCES, 0)
    stormy, found = judged(tmp_path / "storm", data, 0.2)
    assert found == expected, "nothing is lost and nothing differs"
    assert stormy.spoiled > 0.4 * INSTANCES
    assert stormy.posts == 2 * INSTANCES + stormy.spoiled
