"""Time and memory of what is done with stored verdicts, at 100,000 and at 1,000,000 of them.

`make bench`, or `python -m tests.bench.growth`. The commands are the real ones, each in a process of its own.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

from tests.bench.processes import timed
from tests.bench.stored import CRITERIA, real_run, stored_run

SIZES = (100_000, 1_000_000)
RUNS = 104  # with 9,591 verdicts each, TRUEBench's number of criteria, they are a million
_JUDGES = ("openai:gpt-5", "hf:Qwen/Qwen3-32B")  # of two, one of them of a model's family, there is a self-preference
_REPEATS = (3, 1)


def main() -> None:
    """Print one table: what, verdicts, seconds and processor seconds (medians of repeats), peak memory, how it grows."""
    acts = {"score, one run": _score, f"leaderboard, {RUNS} runs": _leaderboard, "compare, two runs": _compare}
    print(f"{'stored verdicts':<24}{'verdicts':>10}{'seconds':>9}{'CPU s':>8}{'peak MiB':>10}{'grown':>8}")
    for what, act in acts.items():
        base = None
        for verdicts, repeats in zip(SIZES, _REPEATS, strict=True):
            with tempfile.TemporaryDirectory() as folder:
                command = act(Path(folder), verdicts)
                told = [astuple(timed("-m", "truebench_hf", *command)) for _ in range(repeats)]
            wall, processor, peak = (statistics.median(column) for column in zip(*told, strict=True))
            grown = f"{peak / base:.2f} x" if base else ""
            base = base or peak
            print(f"{what:<24}{verdicts:>10,}{wall:>9.1f}{processor:>8.1f}{peak:>10.0f}{grown:>8}", flush=True)


def _score(folder: Path, verdicts: int) -> Sequence[str]:
    run = stored_run(folder / "run", real_run(folder / "real"), verdicts // CRITERIA)
    return "study", "score", str(run), "--allow-unscored"


def _leaderboard(folder: Path, verdicts: int) -> Sequence[str]:
    """Half of the models, judged by two judges each, with the page."""
    real = real_run(folder / "real")
    for number in range(RUNS):
        model = f"hf:{'Qwen/Qwen3' if number % 8 < 2 else 'org/Model'}-{number // 2}-7B"
        instances = verdicts // RUNS // CRITERIA
        stored_run(folder / "runs" / f"{number:03}", real, instances, model, _JUDGES[number % 2], number)
    return "leaderboard", str(folder / "runs"), "--out", str(folder / "out")


def _compare(folder: Path, verdicts: int) -> Sequence[str]:
    real = real_run(folder / "real")
    pair = [
        stored_run(folder / name, real, verdicts // 2 // CRITERIA, f"hf:org/{name}-7B", seed=ord(name)) for name in "ab"
    ]
    return "compare", *map(str, pair)


if __name__ == "__main__":
    main()
