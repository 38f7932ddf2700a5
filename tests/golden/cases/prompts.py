"""`study prompts`: the list, each prompt filled with its sample, variants, a source, and one that is not there."""

from __future__ import annotations

from pathlib import Path

from tests.golden.case import Case, run_command
from truebench_hf.prompts import names


def _write() -> None:
    Path("mine.jinja").write_text("Is {{ response }} right? {{ criteria | join(', ') }} {{ tag }}\n", encoding="utf-8")


def _all() -> None:
    """Every prompt as users are shown it, a file each."""
    for name in names():
        Path("shown").mkdir(exist_ok=True)
        Path("shown", f"{name}.txt").write_text(run_command(f"study prompts {name}"), encoding="utf-8")


CASES = (
    Case(
        "prompts", _write,
        (
            "study prompts",
            _all,
            "study prompts checklist --prompt checklist=plain",
            "study prompts checklist --prompt checklist=mine.jinja",
            "study prompts checklist --structured",
            "study prompts rubric --no-reasoning",
            "study prompts decision --source",
            "study prompts check",
        ),
    ),
)  # fmt: skip
