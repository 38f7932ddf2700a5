"""Whole commands as processes of their own, timed: what a user waits for, start and reports included."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from truebench_hf.benchmarks.truebench import data

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
    with _serving("tests.support.openai_server", "--delay", str(delay)) as url:
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
        "-m", "truebench_hf", "run", "--data", str(data), "--out", str(out), "--allow-unscored", "--rules", "off", "--no-cache",
        "--model", "openai:model", "--model-base-url", url, "--model-concurrency", many,
        "--judge", "openai:judge", "--judge-base-url", url, "--judge-concurrency", many, *more,
    ]  # fmt: skip


INSTANCES, TURNS, CRITERIA = 2485, 3000, 9591
_TURNS = {1: 2187, 2: 97, 3: 189, 4: 8, 5: 4}  # instances by their number of turns
_CHARACTERS = 755  # of a prompt, on average


def release_like(path: Path) -> Path:
    """A file of 2,485 instances, 3,000 turns and 9,591 criteria, with texts of the built-in sample."""
    draw = random.Random(0)
    sample = data.load("mini")
    texts = cycle([turn.prompt for instance in sample for turn in instance.turns])
    criteria = cycle([c.text for instance in sample for turn in instance.turns for c in turn.criteria])
    left, made = [CRITERIA - 3 * TURNS], 0

    def turn() -> dict[str, object]:
        nonlocal made
        made += 1
        size, prompt = draw.expovariate(1 / _CHARACTERS), f"Task {made}."
        while len(prompt) < size:
            prompt += f"\n{next(texts)}"
        more = 1 if left[0] > 0 else 0
        left[0] -= more
        return {"prompt": prompt, "criteria": [next(criteria) for _ in range(3 + more)]}

    sizes = [size for size, count in _TURNS.items() for _ in range(count)]
    draw.shuffle(sizes)
    with path.open("w", encoding="utf-8") as file:
        for number, (size, like) in enumerate(zip(sizes, cycle(sample), strict=False)):
            row = {"id": str(number), "language": like.language, "category": like.category, "task": like.task}
            row["turns"] = [turn() for _ in range(size)]
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path
