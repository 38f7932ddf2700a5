"""Instruction-following evaluation on the Hugging Face stack: five papers, one system.

`truebench_hf.run(...)` is `truebench run` as a Python call; nothing heavy is imported before it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truebench_hf.types import Report

__version__ = "0.1.0"


def run(**options: Any) -> Report:
    """Score a model on TRUEBench. Takes the options of `truebench run` by name (`data`, `model`, `judge`, `out`, ...).

    Lists may be given as any sequence. Raises UserError on what the caller can fix, TypeError on unknown options.
    """
    from truebench_hf.benchmarks.truebench.options import RunOptions
    from truebench_hf.benchmarks.truebench.run import run as run_truebench

    return run_truebench(RunOptions(**{k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}))
