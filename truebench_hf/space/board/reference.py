"""Figures that the papers published, shipped as JSON, and what is publicly known about the models in them."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from truebench_hf import jsonl

_BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@functools.cache
def table(name: str) -> dict[str, Any]:
    """A published table: `columns`, `rows`, `notes`. Names open with the paper: `truebench_table5_category`."""
    room = "truebench" if name.startswith("truebench") else "rubric_eval"
    content: dict[str, Any] = json.loads((_BENCHMARKS / room / "reference" / f"{name}.json").read_text("utf-8"))
    return content


@functools.cache
def facts() -> dict[str, dict[str, Any]]:
    """Per published model: `size_b` (billions of parameters), `open` weights, `licence`."""
    file = _BENCHMARKS / "truebench" / "reference" / "model_facts.json"
    content: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8"))["models"]
    return content


@functools.cache
def mini() -> tuple[dict[str, Any], ...]:
    """The rows of the built-in TRUEBench sample, with the official columns."""
    return tuple(row for _, row in jsonl.read(_BENCHMARKS / "truebench" / "mini.jsonl"))
