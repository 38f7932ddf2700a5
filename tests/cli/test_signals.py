"""Ctrl-C, SIGTERM and SIGHUP end a command soon, at any moment, in one line; and the same command goes on."""

from __future__ import annotations

import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.bad_server import BadServer
from tests.support.runs import ROOT, row, write_jsonl

pytestmark = pytest.mark.slow  # processes that are killed

UNDERSTOOD = re.compile(
    r"\A\d+ prompts.*, \d+ criteria; the first: .*\n(smollm2 runs on this machine: .*\n)?"
)  # told before anything is asked
STOPPED = "truebench: stopped; the same command goes on where it was\n"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ROWS = 24


def start(*arguments: str, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "truebench_hf.cli.main", *arguments]
    env = {**os.environ, "OPENAI_API_KEY": "x"}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    return subprocess.Popen(command, cwd=ROOT, env=env, text=True, **streams)


def wait_for(process: subprocess.Popen[str], what: Callable[[], bool], seconds: float = 240) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.005)


def ready(process: subprocess.Popen[str]) -> bool:
    """Whether our own code has begun, which takes care of SIGTERM first of all."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.fixture(autouse=True)
def _signals_as_at_a_terminal() -> None:
    """A test before may have left one ignored in this process, and what is started here would inherit that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) in (signal.SIG_IGN, None):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def assert_stopped(process: subprocess.Popen[str], number: int, within: float = 60) -> None:
    """It ended by the signal, and said so in one line; `within` is far more than a busy machine needs."""
    told, problem = process.communicate(timeout=within)
    assert (process.returncode, UNDERSTOOD.sub("", told), problem) == (128 + number, "", STOPPED)


@pytest.fixture
def server() -> Iterator[BadServer]:
    with BadServer(delay=0.15) as running:
        yield running


@pytest.fixture
def arguments(server: BadServer, tmp_path: Path) -> tuple[str, ...]:
    data = write_jsonl(tmp_path / "data.jsonl", [row(i, [(f"Task {i}.", ["It holds."])]) for i in range(ROWS)])
    urls = ("--model-base-url", server.url, "--judge-base-url", server.url)
    limits = ("--model-concurrency", "2", "--judge-concurrency", "2")
    models = ("--model", "openai:m", "--judge", "openai:j")
    return ("run", "--data", data, *models, *urls, *limits, "--out", f"{tmp_path}/o")


@pytest.mark.parametrize(
    "moments",
    [(0.0, 0.2), pytest.param([i * 0.2 for i in range(8)], marks=pytest.mark.slow)],
    ids=["some moments", "eight moments"],
)
def test_the_first_seconds_are_no_exception(arguments: tuple[str, ...], tmp_path: Path, moments: list[float]) -> None:
    for i, moment in enumerate(moments):
        process = start(*arguments[:-1], str(tmp_path / f"out {i}"))
        wait_for(process, lambda process=process: ready(process))  # type: ignore[misc]
        time.sleep(moment)
        process.send_signal(SIGNALS[i % 3])
        assert_stopped(process, SIGNALS[i % 3])


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *(pytest.param(n, marks=pytest.mark.slow) for n in (signal.SIGINT, signal.SIGHUP))]
)
def test_in_the_middle_of_a_run(number: int, server: BadServer, arguments: tuple[str, ...], tmp_path: Path) -> None:
    process = start(*arguments)
    wait_for(process, lambda: server.posts >= 12)
    process.send_signal(number)
    assert_stopped(process, number)
    with sqlite3.connect(tmp_path / "o" / "ledger.sqlite") as ledger:
        (kept,) = ledger.execute("SELECT COUNT(*) FROM calls").fetchone()
    ledger.close()
    assert kept >= server.posts - 4, "all but what was under way"
    server.delay = 0.0
    again = start(*arguments)
    assert again.communicate(timeout=240)[1] == ""
    assert again.returncode == 0
    assert server.posts <= 2 * ROWS + 4, "nothing else is asked for again"


GENERATE = ("study", "generate", "--data", "mini", "--out", "{out}", "--model")
WAITING: dict[str, tuple[tuple[str, ...], int, float]] = {
    # All calls wait for their next try, and a name is looked up in a thread.
    "for a server": (
        (*GENERATE, "openai:m", "--model-base-url", "http://no-such-host.invalid/v1"),
        signal.SIGTERM,
        0.5,
    ),
    "for weights": ((*GENERATE, "smollm2", "--max-tokens", "4000"), signal.SIGINT, 0.2),
    "for a local model": ((*GENERATE, "smollm2", "--max-tokens", "4000"), signal.SIGHUP, 8.0),
}


@pytest.mark.parametrize("name", WAITING)
def test_while_it_waits(name: str, tmp_path: Path) -> None:
    words, number, later = WAITING[name]
    out = tmp_path / "out"
    process = start(*(word.replace("{out}", str(out)) for word in words))
    wait_for(process, (out / "run.json").exists)
    time.sleep(later)
    process.send_signal(number)
    assert_stopped(process, number)


def test_what_is_ignored_stays_ignored(server: BadServer, arguments: tuple[str, ...]) -> None:
    """As under nohup, and for Ctrl-C in the background of a script; SIGTERM ends it all the same."""

    def deaf() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    process = start(*arguments, preexec_fn=deaf)
    wait_for(process, lambda: server.posts >= 4)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGINT)
    wait_for(process, lambda: server.posts >= 10)
    process.send_signal(signal.SIGTERM)
    assert_stopped(process, signal.SIGTERM)


_DEAF = """
import asyncio, sys
from truebench_hf.cli import main
main._GRACE = float(sys.argv[1])
async def sleep():
    try:
        print("ready", flush=True)
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        print("lost", flush=True)
    await asyncio.sleep(600)
main.main(lambda: asyncio.run(sleep()))
"""


def test_an_interruption_that_gets_lost_still_ends_it() -> None:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    deaf = [sys.executable, "-c", _DEAF, "2"]
    process = subprocess.Popen(deaf, cwd=ROOT, text=True, **streams)  # type: ignore[call-overload]
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "lost\n"
    process.send_signal(signal.SIGHUP)  # systemd sends both
    assert_stopped(process, signal.SIGTERM)


def test_a_signal_after_the_work_hides_nothing() -> None:
    process = start("study", "prompts", "checklist")
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    problem = process.communicate(timeout=120)[1]
    assert process.returncode in (0, 128 + signal.SIGTERM), problem


def test_the_space() -> None:
    process = start("space")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("The Space is at")
    process.send_signal(signal.SIGTERM)
    assert_stopped(process, signal.SIGTERM)


def test_a_terminal_that_is_closed(server: BadServer, arguments: tuple[str, ...]) -> None:
    """With a progress bar that has nowhere to go."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["OPENAI_API_KEY"] = "x"
        os.execv(sys.executable, [sys.executable, "-m", "truebench_hf.cli.main", *arguments])
    until = time.monotonic() + 240
    while server.posts < 12 and time.monotonic() < until:
        time.sleep(0.01)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGHUP
