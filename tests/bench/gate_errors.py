"""How often `truebench check` errs, and what an unchanged pull request costs.

`make bench`, or `python -m tests.bench.gate_errors`. The verdicts are those of the gate itself on drawn scores: an instance
is passed with a chance of its own (Beta with mean `rate`), and passes or not anew in each run, given that.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.bench.processes import timed
from tests.support.runs import script, write_jsonl
from truebench_hf.comparing.anchors import ALPHA
from truebench_hf.comparing.gate_statistics import score_loss, verdicts

RUNS, SIZES, RATE, SPREAD = 1000, (50, 200, 1000), 0.8, 4.0
MARGIN, BEYOND = 0.03, 0.06
ANCHORS, BEFORE, FALLEN = 60, 0.9, 0.75
ROWS, REPEATS = 200, 3


def outcomes(random: np.random.Generator, n: int, loss: float) -> Iterator[str]:
    """The verdict of each of 1,000 checks of an application that is worse by `loss`, n rows each."""
    for _ in range(RUNS):
        chances = random.beta(RATE * SPREAD, (1 - RATE) * SPREAD, n)
        old, new = random.random(n) < chances, random.random(n) < chances * (1 - loss / RATE)
        yield verdicts([score_loss(old.astype(float), new.astype(float))], [MARGIN])[0]


def suspected(random: np.random.Generator, rate: float) -> float:
    """The share of 1,000 days on which a judge that agrees with `rate` of its labels counts as drifted from 90 %."""
    days = (
        [random.random(ANCHORS) < BEFORE, random.random(ANCHORS) < rate] for _ in range(RUNS)
    )  # judgments of two days are independent
    bounds = [score_loss(*np.array(day, dtype=float)).bounds(ALPHA) for day in days]
    return sum(low_high is not None and low_high[0] > 0 for low_high in bounds) / RUNS


def unchanged() -> list[float]:
    """The seconds of `judge` and `check` together on answers that are the same as before, after all calls are cached."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [
            {"id": f"q{n}", "prompt": f"Parcel {n}?", "criteria": ["apologises", "names a day"]} for n in range(ROWS)
        ]
        answers = [{"id": f"q{n}", "response": f"Sorry, parcel {n} comes on Monday."} for n in range(ROWS)]
        data, responses = write_jsonl(folder / "data.jsonl", rows), write_jsonl(folder / "answers.jsonl", answers)
        judge = script(folder / "judge.json", [{"contains": "<criteria", "verdicts": {}}])

        def judged(out: str) -> float:
            return timed(
                "-m", "truebench_hf", "judge", "--data", str(data), "--responses", str(responses), "--model-name", "app",
                "--judge", judge, "--cache", str(folder / "cache"), "--out", str(folder / out),
            ).wall  # fmt: skip

        judged("released")
        return [
            judged(f"new{n}")
            + timed("-m", "truebench_hf", "check", str(folder / f"new{n}"), "--against", str(folder / "released")).wall
            for n in range(REPEATS)
        ]


def main() -> None:
    """Print the shares of wrong verdicts, and the time of an unchanged pull request."""
    random = np.random.default_rng(41)
    print(f"{'check, margin 3 points':<32}{'rows':>8}{'within':>9}{'worse':>9}{'unsure':>9}")
    for title, loss in (
        ("equal applications", 0.0),
        ("worse by the margin", MARGIN),
        ("worse by 6 points more", MARGIN + BEYOND),
    ):
        for n in SIZES:
            counted = list(outcomes(random, n, loss))
            shares = "".join(f"{counted.count(verdict) / RUNS:>9.1%}" for verdict in ("within", "worse", "unsure"))
            print(f"{title:<32}{n:>8,}{shares}")
    print(f"\n{ANCHORS} anchors, from {BEFORE:.0%}: to {FALLEN:.0%} caught {suspected(random, FALLEN):.1%}, ", end="")
    print(f"unchanged suspected {suspected(random, BEFORE):.1%}")
    print(f"unchanged pull request of {ROWS} rows, judge and check: {statistics.median(unchanged()):.2f} s")


if __name__ == "__main__":
    main()
