"""TRL imported as outside of tests: pytest puts `tests/` on the path, and its folder `vllm` looks like the package."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

TESTS = str(Path(__file__).parents[1])


def import_trl() -> None:
    """Import it once, while `tests/` is off the path; afterwards Python knows it."""
    before = sys.path
    sys.path = [place for place in before if place != TESTS]
    try:
        importlib.import_module("trl.trainer.grpo_trainer")
    finally:
        sys.path = before
