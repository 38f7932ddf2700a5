"""Killed five times with SIGKILL and started again, a run ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench import processes
from tests.support.runs import ROOT, row, write_jsonl

INSTANCES, TURNS, KILLS, CONCURRENCY = 2485, 3000, 5, 32  # the size of v0.6.1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def server() -> Iterator[str]:
    """The test server as a process of its own: it must outlive the clients that are killed."""
    with processes.server(0.2) as url:
        yield url.removesuffix("/v1")


def stats(server: str, path: str = "/stats", body: bytes | None = None) -> Any:
    with urllib.request.urlopen(urllib.request.Request(server + path, data=body), timeout=10) as answer:
        return json.load(answer)


def start(data: str, server: str, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "truebench_hf.cli.main", "run", "--data", data, "--out", str(out)]
    for role in ("model", "judge"):
        command += [f"--{role}", f"openai:test-{role}", f"--{role}-base-url", f"{server}/v1"]
        command += [f"--{role}-concurrency", str(CONCURRENCY)]
    with (out.parent / f"{out.name}.log").open("a") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, env={**os.environ, "OPENAI_API_KEY": "x"})


def finish(process: subprocess.Popen[bytes], out: Path) -> None:
    code = process.wait(timeout=300)
    assert code == 0, (out.parent / f"{out.name}.log").read_text()[-2000:]


def kill_at(process: subprocess.Popen[bytes], server: str, requests: int, later: float) -> None:
    """SIGKILL the run `later` seconds after the server has seen that many requests."""
    until = time.monotonic() + 120
    while stats(server)["total"] < requests:
        assert process.poll() is None, "it was over before its time"
        assert time.monotonic() < until
        time.sleep(0.005)
    time.sleep(later)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(timeout=10) == -signal.SIGKILL


def results(out: Path) -> tuple[Any, list[Any]]:
    scores = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    usage = json.loads((out / "run.json").read_text(encoding="utf-8"))["usage"]["total"]
    return scores | {"usage": usage}, [
        json.loads(line) for line in (out / "judgments.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def test_killed_five_times_it_ends_the_same(server: str, tmp_path: Path) -> None:
    dice = random.Random(20261)
    second = set(dice.sample(range(INSTANCES), TURNS - INSTANCES))  # who has a second turn
    rows = [
        row(i, [(f"Task {i}, turn {t}: write something.", [f"{i}.{t}.{c} holds" for c in range(3)]) for t in range(1 + (i in second))])
        for i in range(INSTANCES)
    ]  # fmt: skip
    calls = 2 * TURNS
    data = write_jsonl(tmp_path / "data.jsonl", rows)
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    finish(start(data, server, undisturbed), undisturbed)
    assert stats(server)["total"] == calls
    stats(server, "/reset", b"{}")

    for _ in range(KILLS):
        moment = stats(server)["total"] + dice.randint(1, calls // 7)  # of the work left, so that each run does some
        kill_at(start(data, server, killed), server, moment, dice.uniform(0, 0.06))
        with sqlite3.connect(killed / "ledger.sqlite") as ledger:
            assert ledger.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        ledger.close()
        assert not (killed / "judgments.jsonl").exists(), "results are whole or absent"
    finish(start(data, server, killed), killed)

    excess = stats(server)["total"] - calls
    assert 0 <= excess <= KILLS * 2 * CONCURRENCY, "only what was in flight is asked for again"
    assert results(killed) == results(undisturbed)
    ids = [line["id"] for line in results(killed)[1]]
    assert ids == [str(i) for i in range(INSTANCES)], "no row doubled, none lost"
    with sqlite3.connect(killed / "ledger.sqlite") as ledger:
        assert ledger.execute("SELECT COUNT(*) FROM calls").fetchone() == (calls,)
    ledger.close()
    sessions = json.loads((killed / "run.json").read_text())["sessions"]
    assert [session["finished"] is None for session in sessions] == [True] * KILLS + [False]
