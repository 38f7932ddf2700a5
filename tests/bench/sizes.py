"""What evaluating many models takes, for docs/sizes.md: `python -m tests.bench.sizes DATA`.

Calls and tokens are those of `truebench run --estimate` on the data; all else is arithmetic on rates to be replaced by
one's own.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence

from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.benchmarks.truebench.run import Run
from truebench_hf.types import Usage

MODELS, JUDGES = 1000, 4
PRICES = ((0.1, 0.4), (0.4, 1.6), (2.0, 8.0))  # per million tokens read and written
AT_A_TIME, SECONDS = (64, 512, 4096), (1.0, 10.0)  # calls, and what one takes
GPUS, READ, WRITTEN = (8, 64, 512), 10_000, 1_500  # tokens a second and GPU
BYTES, ROW = 4, 1_500  # of a token in the ledger, and of what else a row of it takes (measured: 1,480)


def spent(data: str, level: str) -> dict[str, Usage]:
    """What one model takes on the data, by part, judged by four judges."""
    with tempfile.TemporaryDirectory() as out:
        options = RunOptions(
            data=data, model="openai:model", judge=tuple(f"openai:judge-{n}" for n in range(1, JUDGES + 1)),
            panel="majority", judge_level=level, estimate=True, out=f"{out}/run",
        )  # fmt: skip
        return dict(Run(options).run().value)  # type: ignore[call-overload, no-any-return]


def lines(parts: Mapping[str, Usage]) -> Iterator[str]:
    """The tables of the page for what one model takes."""
    answers = parts["model"]
    judged = sum((usage for part, usage in parts.items() if part != "model"), Usage())
    whole = answers + judged
    every = [("answers", answers), (f"verdicts of {JUDGES} judges", judged), ("all", whole)]
    yield from table(
        ("", "calls", "tokens read", "tokens written", f"calls, {MODELS:,} models", "read", "written"),
        [
            (name, f"{u.calls:,}", f"{u.input_tokens:,}", f"{u.output_tokens:,}", f"{MODELS * u.calls / 1e6:.1f} M",
             f"{MODELS * u.input_tokens / 1e9:.1f} G", f"{MODELS * u.output_tokens / 1e9:.2f} G")
            for name, u in every
        ],
    )  # fmt: skip
    yield from table(
        ("price of a million tokens read, written", *(name for name, _ in every)),
        [
            (f"{read:.2f}, {written:.2f}", *(f"{MODELS * (u.input_tokens * read + u.output_tokens * written) / 1e6:,.0f}" for _, u in every))
            for read, written in PRICES
        ],
    )  # fmt: skip
    yield from table(
        ("a call takes", *(f"{many:,} at a time" for many in AT_A_TIME)),
        [(f"{s:g} s", *(hours(MODELS * whole.calls * s / many) for many in AT_A_TIME)) for s in SECONDS],
    )
    yield from table(
        ("", *(f"{many} GPUs" for many in GPUS)),
        [
            (name, *(hours(MODELS * (u.input_tokens / READ + u.output_tokens / WRITTEN) / many) for many in GPUS))
            for name, u in every
        ],
    )
    size = BYTES * (whole.input_tokens + whole.output_tokens) + ROW * whole.calls
    yield f"ledger of one model: {size / 1e6:.0f} MB; of all: {MODELS * size / 1e9:.0f} GB"


def hours(seconds: float) -> str:
    """A time as people plan it."""
    return f"{seconds / 3600:,.{0 if seconds >= 36_000 else 1}f} h"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown, and an empty line."""
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="the release as a file")
    parser.add_argument("--level", default="rubric", help="checklist or rubric")
    given = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "of nobody: nothing is asked")
    print("\n".join(lines(spent(given.data, given.level))))
