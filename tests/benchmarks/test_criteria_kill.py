"""`compare-criteria` over a real server, killed with SIGKILL and started again: it ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT, row, write_jsonl

INSTANCES, MODELS, TYPES, CONCURRENCY = 20, 2, 4, 8
CALLS = INSTANCES * MODELS * (1 + TYPES)


def start(data: str, url: str, out: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "truebench_hf.cli.main",
        "study",
        "compare-criteria",
        "--data",
        data,
        "--out",
        str(out),
    ]
    command += ["--model", "openai:a", "--model", "openai:b", "--judge", "openai:j"]
    for role in ("model", "judge"):
        command += [f"--{role}-base-url", url, f"--{role}-concurrency", str(CONCURRENCY)]
    with (out.parent / f"{out.name}.log").open("a") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, env={**os.environ, "OPENAI_API_KEY": "x"})


def results(out: Path) -> tuple[dict[str, Any], str, str]:
    scores = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    return scores, *((out / name).read_text(encoding="utf-8") for name in ("ratings.jsonl", "responses.jsonl"))  # type: ignore[return-value]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_it_ends_the_same(tmp_path: Path) -> None:
    rows = [row(i, [(f"Edit text {i}.", [f"{i}.{c} holds" for c in range(3)])]) for i in range(INSTANCES)]
    data = write_jsonl(tmp_path / "data.jsonl", rows)
    with OpenAIServer(delay=0.05) as server:
        whole, killed = tmp_path / "whole", tmp_path / "killed"
        process = start(data, server.url, whole)
        assert process.wait(timeout=120) == 0, (tmp_path / "whole.log").read_text()[-2000:]
        assert server.stats()["total"] == CALLS
        process = start(data, server.url, killed)
        until = time.monotonic() + 60
        while server.stats()["total"] < CALLS * 1.4:
            assert process.poll() is None, "it was over before its time"
            assert time.monotonic() < until
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(timeout=10) == -signal.SIGKILL
        assert not (killed / "scores.json").exists(), "results are whole or absent"
        process = start(data, server.url, killed)
        assert process.wait(timeout=120) == 0, (tmp_path / "killed.log").read_text()[-2000:]
        assert 0 <= server.stats()["total"] - 2 * CALLS <= (MODELS + 1) * CONCURRENCY, (
            "what was in flight is asked again"
        )
        assert server.stats()["max_in_flight"] <= (MODELS + 1) * CONCURRENCY, "all types share the judge's slots"
    assert results(killed) == results(whole)
    assert len(results(whole)[1].splitlines()) == INSTANCES * MODELS * TYPES
