"""`python -m tests.golden.scores_held COMMIT CASE...`: finds every score that a case had at a commit in what it gives now.

A score is {value, ci95 or interval, n, unscored}; all other fractions in files of scores are looked for one by one. What
is missing is printed; the exit code is 1 where anything is.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from tests.golden import compare

SCORE_FILES = ("scores.json", "validation.json", "checklists.json")
Score = tuple[Any, ...]


def scores(value: Any) -> Iterator[Score]:
    """The scores within a JSON value, and as (fraction,) all other fractions."""
    if isinstance(value, dict) and "value" in value and "n" in value:
        ends = value.get("interval", value.get("ci95"))
        yield value["value"], *(ends or (None, None)), value["n"], value.get("unscored", 0)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from scores(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from scores(inner)
    elif isinstance(value, float):
        yield (value,)


def at(commit: str, case: str) -> Iterator[tuple[str, Score]]:
    """(file, score) of all files of scores that were expected of a case at a commit."""
    folder = f"tests/golden/expected/{case}"
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", commit, folder], capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if name.endswith(SCORE_FILES):
            text = subprocess.run(
                ["git", "show", f"{commit}:{name}"], capture_output=True, text=True, check=True
            ).stdout
            yield from ((name, score) for value in compare.json_values(text) for score in scores(value))


def same(a: Score, b: Score) -> bool:
    """Whether two scores are equal, but for the last digits of fractions."""
    return len(a) == len(b) and all(
        x == y if x is None or y is None else math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-9)
        for x, y in zip(a, b, strict=True)
    )


def main(commit: str, *cases: str) -> int:
    """Print what is missing, and how many scores of each case are there; return how many are missing."""
    missing = 0
    for case in cases:
        now = [score for file, text in compare.read(case).items() if file.endswith(SCORE_FILES)
               for value in compare.json_values(text) for score in scores(value)]  # fmt: skip
        parts = [(part,) for score in now for part in score if isinstance(part, float)]
        before = list(at(commit, case))
        gone = [(name, score) for name, score in before if not any(same(score, other) for other in [*now, *parts])]
        for name, score in gone:
            print(f"missing: {name}: {score}")
        print(f"{case}: {len(before) - len(gone)} of {len(before)} scores are there")
        missing += len(gone)
    return missing


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)
