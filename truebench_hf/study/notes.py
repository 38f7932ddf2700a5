"""What studies tell their readers beside the figures, each in one wording."""

from __future__ import annotations

from collections.abc import Iterable


def weak_judges(specs: Iterable[object]) -> list[str]:
    """That a judge among these specs is the embedded model or a larger sister of it."""
    weak = any("smollm2" in str(spec).lower() for spec in specs)
    return ["SmolLM2 is far too weak a judge to be trusted: these figures show the workflow only."] if weak else []


def cut_off(count: int) -> list[str]:
    """That so many responses end in the middle."""
    return [f"Responses cut off at the token limit, and judged as they stand: {count}."] if count else []
