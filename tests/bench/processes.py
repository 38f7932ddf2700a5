"""Whole commands as processes of their own, timed: what a user waits for, start and reports included."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


# A process is charged with the memory of the one that it was forked from, so that a small one stands between.
_MEASURED = """import json, resource, subprocess, sys, time
begun = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
wall, spent = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([code, wall, spent.ru_utime + spent.ru_stime, spent.ru_maxrss / 1024]))
"""


@dataclass(frozen=True)
class Took:
    """What a process took: seconds on the clock, seconds of processor time, and MiB of memory at most."""

    wall: float
    cpu: float
    mib: float


def timed(*command: str | Path) -> Took:
    """Run `python COMMAND...` to its end. Raises RuntimeError with its last words where it fails."""
    program = [sys.executable, "-c", _MEASURED, sys.executable, *map(str, command)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True)
    code, *told = json.loads(done.stdout)
    if code:
        raise RuntimeError(f"{command}: exit code {code}\n{done.stderr[-2000:]}")
    return Took(*told)


@contextmanager
def server(delay: float) -> Iterator[str]:
    """The loopback server as a process of its own; yields its base URL."""
    with _serving("tests.support.openai_server", "--delay", str(delay), "--quiet") as url:
        yield url


@contextmanager
def storm(delay: float, share: float) -> Iterator[str]:
    """A server of its own that fails that share of all calls; yields its base URL."""
    with _serving("tests.support.bad_server", "--delay", str(delay), "--share", str(share)) as url:
        yield url


@contextmanager
def _serving(module: str, *options: str) -> Iterator[str]:
    command = [sys.executable, "-m", module, *options]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


def run(url: str, data: Path, out: Path, at_a_time: int, *more: str) -> Sequence[str]:
    """The command that has `data` answered and judged at `url`, so many calls of either kind at a time."""
    many = str(at_a_time)
    return [
        "-m", "truebench_hf", "run", "--data", str(data), "--out", str(out), "--allow-unscored", "--rules", "off",
        "--model", "openai:model", "--model-base-url", url, "--model-concurrency", many,
        "--judge", "openai:judge", "--judge-base-url", url, "--judge-concurrency", many, *more,
    ]  # fmt: skip
