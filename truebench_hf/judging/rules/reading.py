"""The rules of a criterion: the one stored with it."""

from __future__ import annotations

from dataclasses import dataclass

from truebench_hf.rules import Rule, rule_of
from truebench_hf.types import Criterion


@dataclass(frozen=True, slots=True)
class Found:
    """Rules that a criterion states. `complete`: it states nothing else, so that they may decide it."""

    rules: tuple[Rule, ...]
    complete: bool


def found(criterion: Criterion) -> Found | None:
    """The rules of a criterion, None where it states none. Raises UserError on a stored rule that is none."""
    return Found((rule_of(criterion.rule),), complete=True) if criterion.rule else None
