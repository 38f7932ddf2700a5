"""TRUEBench as a whole: the command, from its start to its reports, over what the calls alone must take.

`make bench`, or `python -m tests.bench.whole_runs [DATA]`, DATA being the release as a file; without it data of its size
are made. Calls go to a loopback server that answers after a fixed time, in a process of its own.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from pathlib import Path

from tests.bench import processes, saturation
from tests.bench.processes import Took
from truebench_hf.benchmarks.truebench import data as releases

# Level, seconds a call, calls of either kind at a time, runs, and the aim for wall time over ideal.
_RUNS = (("checklist", 0.2, 32, 3, "1.20"), ("checklist", 1.0, 64, 2, ""), ("rubric", 0.2, 32, 2, ""))
_AGAIN = 5
_STORM = (0.4, 32, 500, 3)  # seconds a call, calls of either kind at a time, instances, runs


def main(data: Path | None = None) -> None:
    """Print one table: what was run, the ideal, seconds, and one over the other; then what starting takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = data or processes.release_like(folder / "data.jsonl")
        instances = releases.load(str(data))
        turns = sum(len(instance.turns) for instance in instances)
        criteria = sum(len(turn.criteria) for instance in instances for turn in instance.turns)
        print(f"\nwhole runs: {len(instances):,} instances, {turns:,} answers")
        print(f"{'':<44}{'ideal s':>9}{'wall s':>9}{'ratio':>7}{'aim':>6}{'CPU s':>8}")
        for level, delay, many, repeats, aim in _RUNS:
            calls = criteria if level == "rubric" else turns
            ideal = math.ceil(max(calls, turns) / many) * delay
            with processes.server(delay) as url:
                took = [
                    processes.timed(
                        *processes.run(url, data, folder / f"{level}{delay}-{i}", many, "--judge-level", level)
                    )
                    for i in range(repeats)
                ]
            _line(f"{level}, {delay:g} s a call, {many} + {many} at a time", took, ideal, aim)
            if (level, delay) == _RUNS[0][:2]:
                _others(data, folder, delay, 2 * many, ideal)
                # Nobody listens there any more: all answers are in the ledger.
                again = processes.run(url, data, folder / f"{level}{delay}-0", many, "--judge-level", level)
                replays = [processes.timed(*again) for _ in range(_AGAIN)]
        _storm(data, folder)
        _line("the first again, from its ledger", replays, None, "")
        _line(
            "import truebench_hf", [processes.timed("-c", "import truebench_hf") for _ in range(_AGAIN)], None, "0.2 s"
        )
        _line(
            "truebench --help", [processes.timed("-m", "truebench_hf", "--help") for _ in range(_AGAIN)], None, "0.4 s"
        )


def _others(data: Path, folder: Path, delay: float, many: int, ideal: float) -> None:
    """What the calls alone take others on this machine, with neither start nor reports: nobody comes down to the ideal."""
    with processes.server(0.0) as url:
        sent = saturation.recorded(url, data, folder, delay)
        for who in saturation.CLIENTS[:2]:
            found = [saturation.alone(who, url, sent, many) for _ in range(2)]
            _line(f"  its calls alone, {who}", [Took(one["wall"], one["cpu"], 0.0) for one in found], ideal, "")


def _storm(data: Path, folder: Path) -> None:
    """What every fifth call costs that fails: a fifth more calls, and the waits in front of them."""
    delay, many, instances, repeats = _STORM
    took: dict[float, list[Took]] = {}
    for share in (0.0, 0.2):
        with processes.storm(delay, share) as url:
            runs = (
                processes.run(url, data, folder / f"storm{share}-{i}", many, "--limit", str(instances))
                for i in range(repeats)
            )
            took[share] = [processes.timed(*one) for one in runs]
    calm = statistics.median(one.wall for one in took[0.0])
    _line("a storm of 20 % failures, over the calm", took[0.2], calm, "1.35")


def _line(what: str, took: list[Took], ideal: float | None, aim: str) -> None:
    wall, cpu = statistics.median(one.wall for one in took), statistics.median(one.cpu for one in took)
    over = ("", "") if ideal is None else (f"{ideal:.2f}", f"{wall / ideal:.3f}")
    print(f"{what:<44}{over[0]:>9}{wall:>9.2f}{over[1]:>7}{aim:>6}{cpu:>8.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, help="the release as a file")
    main(parser.parse_args().data)
