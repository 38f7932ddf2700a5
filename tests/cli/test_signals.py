"""A command that ends early: by Ctrl-C, SIGTERM or SIGHUP, by a server that stays away, by a disk that is full."""

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

from tests.support import forked
from tests.support.bad_server import Bad, BadServer, reply
from tests.support.runs import ROOT, Done, command, command_here, row, script, write_jsonl

UNDERSTOOD = re.compile(r"\A\d+ prompts.*, \d+ criteria; the first: .*\n")  # told before anything is asked
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("name", WAITING)
def test_while_it_waits(name: str, tmp_path: Path) -> None:
    words, number, later = WAITING[name]
    out = tmp_path / "out"
    process = start(*(word.replace("{out}", str(out)) for word in words))
    wait_for(process, (out / "run.json").exists)
    time.sleep(later)
    process.send_signal(number)
    assert_stopped(process, number)


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_signal_after_the_work_hides_nothing() -> None:
    process = start("study", "prompts", "checklist")
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    problem = process.communicate(timeout=120)[1]
    assert process.returncode in (0, 128 + signal.SIGTERM), problem


@pytest.mark.slow
def test_the_space() -> None:
    process = start("space")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("The Space is at")
    process.send_signal(signal.SIGTERM)
    assert_stopped(process, signal.SIGTERM)


@pytest.mark.slow
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


NO_CREDIT = Bad(reply(402, {"error": {"message": "no money left"}}), "open")
AT_MODEL = ("--model", "openai:m", "--model-arg", "base_url=URL")
AT_JUDGE = ("--judge", "openai:j", "--judge-base-url", "URL")


@pytest.mark.parametrize(
    "arguments",
    [
        ("metaeval", "--data", "rubric_mini", *AT_JUDGE, "--paradigms", "decision,rubric"),
        *(
            pytest.param(arguments, marks=pytest.mark.slow)
            for arguments in (
                ("study", "generate", "--data", "mini", *AT_MODEL),
                ("metaeval", "--data", "rubric_mini", *AT_JUDGE, "--paradigms", "checklist"),
                ("study", "calibrate", "--data", "rubric_mini", *AT_JUDGE),
                ("study", "contrast", "--data", "rubric_mini", "--writer", "openai:w", "--writer-base-url", "URL", *AT_JUDGE),
                (
                    "study", "arbitrate", "--data", "rubric_mini", *AT_JUDGE, "--judge", "openai:b", "--meta-judge", "openai:c",
                    "--meta-judge", "openai:d", "--meta-judge-base-url", "URL",
                ),
                ("study", "taxonomy", "--data", "rubric_mini", *AT_MODEL, "--no-tsne"),
            )
        ),
    ],
    ids=lambda arguments: " ".join(arguments[:1]),
)  # fmt: skip
def test_every_command_gives_up(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with BadServer(lambda n, text: NO_CREDIT if n >= 8 else None) as server:
        given = [part.replace("URL", server.url) for part in arguments]
        done = command_here(capsys, *given, "--out", str(tmp_path / "out"))
    assert done.returncode == 2, done.stderr
    assert "no credit: " in done.stderr
    assert done.stderr.count("\n") == 1
    assert server.posts >= 8


@pytest.mark.slow
def test_retries_of_the_hubs_client_are_no_lines_before_ours(tmp_path: Path) -> None:
    """It tries five times within 23 seconds where nobody listens, and would print two lines for each."""
    model = script(tmp_path / "model.json", [])
    done = command(
        "run", "--data", "org/nothing", "--model", model, "--judge", model, "--out", str(tmp_path / "out"),
        HF_ENDPOINT="http://127.0.0.1:9", HF_HOME=str(tmp_path / "home"), HF_HUB_OFFLINE="0",
    )  # fmt: skip
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("truebench: --data org/nothing: ")


FULL = Path("/dev/full")  # takes no byte, as a full disk does
COUNT = 20
needs_dev_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")


class Run:
    """A `truebench run` with long answers; `record` notes what the model is asked."""

    def __init__(self, folder: Path) -> None:
        self.out, self.record = folder / "out", folder / "record.jsonl"
        prompts = [(f"ask {i} " + "x" * 2000, ["is short"]) for i in range(COUNT)]
        data = write_jsonl(folder / "data.jsonl", [row(i, [pair]) for i, pair in enumerate(prompts)])
        model = script(folder / "model.json", [{"contains": "ask", "reply": "y" * 2000}])
        judge = script(folder / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
        self.arguments = ["run", "--data", data, "--model", model, "--judge", judge, "--out", str(self.out)]

    def cramped(self, longest: int, *arguments: str) -> Done:
        """This run, or the command given, in a process of its own that cannot write past `longest` bytes of any file."""
        done = forked.truebench(arguments or self.arguments, ROOT, os.environ, longest)
        return Done(done.returncode, done.stdout, done.stderr)

    def __call__(self, capsys: pytest.CaptureFixture[str]) -> Done:
        return command_here(capsys, *self.arguments, "--model-arg", f"record={self.record}")

    def asked(self) -> int:
        return len(self.record.read_text(encoding="utf-8").splitlines()) if self.record.exists() else 0


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def one_line(done: Done, *words: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("truebench: ")
    assert done.stderr.count("\n") == 1, done.stderr
    for word in (*words, "free space", "repeat the command"):
        assert word in done.stderr


def test_answers_that_were_kept_before_the_ledger_was_full_are_not_asked_for_again(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    one_line(run.cramped(60_000), f"--out {run.out}: ", "ledger.sqlite")
    with sqlite3.connect(run.out / "ledger.sqlite") as ledger:
        kept = ledger.execute("SELECT COUNT(*) FROM calls WHERE role = 'model'").fetchone()[0]
    ledger.close()
    assert 0 < kept < COUNT
    done = run(capsys)
    assert (done.returncode, done.stderr) == (0, "")
    assert run.asked() == COUNT - kept


def test_a_disk_that_is_full_from_the_beginning(run: Run) -> None:
    one_line(run.cramped(1_000), f"--out {run.out}: ")
    assert run.asked() == 0, "no answer is paid for that could not be kept"


@needs_dev_full
@pytest.mark.parametrize("name", ["run.json", "judgments.jsonl", "report.html"])
def test_results_that_find_no_room_are_written_by_the_next_call(
    run: Run, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.open

    def cramped(path: Path, mode: str = "r", *given: Any, **more: Any) -> Any:
        return real(FULL, "w", **more) if path == run.out / f"{name}.part" else real(path, mode, *given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", cramped)
        one_line(run(capsys), f"--out {run.out}: cannot write {name}")
    assert not (run.out / name).exists(), "files are whole or absent"
    assert run.asked() in (0, COUNT)
    assert run(capsys).returncode == 0
    assert run.asked() == COUNT, "nothing is asked for twice"
    assert (run.out / name).stat().st_size


def test_what_other_commands_write(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys).returncode == 0
    one_line(run.cramped(1_000, "label", "out", str(run.out), "--n", "2"), "File too large")


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(111, "Connection refused"), EOFError("marshal data too short")]
)
def test_an_error_that_is_none_of_the_disk_keeps_its_traceback(
    run: Run, error: Exception, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(study: object) -> None:
        raise error

    monkeypatch.setattr("truebench_hf.study.study.Study.run", refused)
    done = run(capsys)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert f"{type(error).__name__}: {error}" in done.stderr
