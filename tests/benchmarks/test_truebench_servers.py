"""Servers that fail: a run stops where nothing is to be had, goes on later, and pays for no call twice."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support import stages
from tests.support.bad_server import Bad, BadServer, reply, storm
from tests.support.runs import Done, command_here, row, write_jsonl
from truebench_hf.benchmarks.truebench.data import RunOptions

ROWS = 24


def _error(status: int, code: str = "", headers: str = "") -> Bad:
    return Bad(reply(status, {"error": {"message": f"told {status} {code}", "code": code}}, headers), "open")


class Run:
    """`truebench run` with model and judge at one server, one line per instance."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        rows = [row(i, [(f"Task {i}.", ["It holds."])]) for i in range(ROWS)]
        self.data, self.out, self.capsys = write_jsonl(folder / "data.jsonl", rows), folder / "out", capsys

    def __call__(self, server: BadServer, *more: str) -> Done:
        urls = ("--model-base-url", server.url, "--judge-base-url", server.url)
        limits = ("--model-concurrency", "4", "--judge-concurrency", "4")
        usual = () if any("patience=" in text for text in more) else patience(0.7)
        given = ("--model", "openai:m", "--judge", "openai:j", "--out", str(self.out), *usual)
        return command_here(self.capsys, "run", "--data", self.data, *given, *urls, *limits, *more)


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    return Run(tmp_path, capsys)


def patience(seconds: float) -> tuple[str, ...]:
    return "--model-arg", f"patience={seconds}", "--judge-arg", f"patience={seconds}"


GONE = "stopped: for 0.7 s every call found the server, the model or the key gone"


@pytest.mark.parametrize(
    ("bad", "words", "reason"),
    [
        pytest.param(Bad(b"", "reset"), (GONE, "start"), "a server that drops whoever calls", marks=pytest.mark.slow),
        pytest.param(_error(502), (GONE, "told 502"), "a gateway with nobody behind it", marks=pytest.mark.slow),
        (_error(429, "insufficient_quota"), ("no credit", "top up"), "OpenAI without credit"),
        pytest.param(_error(401), (GONE, "check URL"), "a key that was withdrawn", marks=pytest.mark.slow),
        (_error(404, "model_not_found"), (GONE, "told 404"), "a model that was taken away"),
    ],
)
def test_a_run_without_hope_stops_itself_and_goes_on_later(run: Run, bad: Bad, words: Any, reason: str) -> None:
    began = time.monotonic()
    with BadServer(lambda n, text: bad if n >= 20 else None) as server:
        done = run(server)
    assert time.monotonic() - began < 60, reason
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    for part in (*words, server.url, "the same command goes on where it was"):
        assert part in done.stderr, reason
    with BadServer(port=server.port) as back:
        assert run(back).returncode == 0
    assert back.posts == 2 * ROWS - 20, "nothing is paid for twice"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        pytest.param(_error(404, "model_not_found"), "some of the replicas lack the model", marks=pytest.mark.slow),
        (_error(401), "a gateway that forgets keys"),
        pytest.param(Bad(b"", "reset"), "a proxy some of whose backends are down", marks=pytest.mark.slow),
    ],
)
def test_a_server_that_is_half_there_does_not_stop_a_run(run: Run, bad: Bad, reason: str) -> None:
    failed: set[str] = set()

    def choose(number: int, text: str) -> Bad | None:
        """Each call fails once, but for the very first ones."""
        if number < 12 or text in failed:
            return None
        failed.add(text)
        return bad

    began = time.monotonic()
    with BadServer(choose, delay=0.1) as server:
        done = run(server, *patience(1.2))
    assert (done.returncode, done.stderr) == (0, ""), reason
    assert server.posts > 3 * ROWS
    assert time.monotonic() - began > 1.4, "longer than patience"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        pytest.param(_error(429), "a limit without a time", marks=pytest.mark.slow),
        (_error(429, headers="Retry-After: 1\r\n"), "a limit with one"),
    ],
)
def test_being_told_to_wait_is_no_failure(run: Run, bad: Bad, reason: str) -> None:
    with BadServer(lambda n, text: bad if 10 <= n < 18 else None) as server:
        done = run(server, "--model-arg", "attempts=1", "--judge-arg", "attempts=1", *patience(0.3))
    assert (done.returncode, done.stderr) == (0, ""), reason
    assert server.posts == 2 * ROWS + 8


# A storm in which every fifth call fails


STORMED = 500  # a thousand calls


def judged(folder: Path, data: str, share: float) -> tuple[BadServer, Any]:
    """The server that failed that share of all calls, and the judged lines of a run there."""
    with BadServer(storm(share), delay=0.02) as server:
        stages.run(RunOptions(
            data=data, model="openai:m", judge=("openai:j",), model_base_url=server.url, judge_base_url=server.url,
            out=str(folder), model_concurrency=32, judge_concurrency=32,
        ))  # fmt: skip
    return server, [json.loads(line) for line in (folder / "judgments.jsonl").read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_storm_costs_the_calls_that_it_spoils_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    data = write_jsonl(tmp_path / "data.jsonl", [row(i, [(f"Task {i}", ["a", "b"])]) for i in range(STORMED)])
    calm, expected = judged(tmp_path / "calm", data, 0.0)
    assert (calm.posts, calm.spoiled) == (2 * STORMED, 0)
    stormy, found = judged(tmp_path / "storm", data, 0.2)
    assert found == expected, "nothing is lost and nothing differs"
    assert stormy.spoiled > 0.4 * STORMED
    assert stormy.posts == 2 * STORMED + stormy.spoiled


def test_after_a_limit_all_callers_pause_together(run: Run) -> None:
    with BadServer(lambda n, text: _error(429, headers="Retry-After: 1\r\n") if n == 20 else None) as server:
        assert run(server).returncode == 0
    gaps = [later - earlier for earlier, later in zip(server.times, server.times[1:], strict=False)]
    assert max(gaps) >= 0.95
    last = gaps.index(max(gaps))
    assert 20 <= last < 30, "only what was under way came in after the limit"
