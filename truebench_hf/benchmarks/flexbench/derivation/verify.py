"""Verification: is anything missing, asked twice, invented, or impossible to see in a conversation (appendix B.3)?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.flexbench.derivation.asking import listed, problem
from truebench_hf.benchmarks.flexbench.procedure import Dimension
from truebench_hf.models.asking import Problem

EXAMPLE = '{"missing": [], "duplicates": [], "invented": [], "unverifiable": []}'


@dataclass(frozen=True)
class Findings:
    """What a verifier found, a line each; complete without any."""

    lines: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing is left to mend."""
        return not self.lines


def read_findings(value: dict[str, Any], dimensions: Sequence[Dimension]) -> Findings | Problem:
    """The findings of an answer; a Problem where a list is absent, or names a dimension that is not there."""
    absent = [
        key for key in ("missing", "duplicates", "invented", "unverifiable") if not isinstance(value.get(key), list)
    ]
    if absent:
        return Problem(f"it has no list {', '.join(absent)}")
    questions = {one.id: one.question for one in dimensions}
    told = value["duplicates"]
    pairs = [tuple(map(str, pair)) for pair in ([told] if listed(told) else listed(told, list))]
    named = [*map(str, value["invented"]), *map(str, value["unverifiable"]), *(name for pair in pairs for name in pair)]
    findings = [f"{name} is no dimension" for name in dict.fromkeys(named) if name not in questions]
    findings += [f"{list(pair)} is no pair of two dimensions" for pair in pairs if len(set(pair)) != 2]
    if findings:
        return problem(findings)
    # What is said to be missing counts in whatever form: left out, the dimensions would pass as complete.
    missing = [
        text if isinstance(text, str) else json.dumps(text, ensure_ascii=False) for text in value["missing"] if text
    ]
    lines = [f"missing: {text}" for text in missing if text.strip()]
    lines += [f"{a} and {b} ask the same" for a, b in pairs]
    lines += [f"{name} demands what the instruction does not say" for name in listed(value["invented"])]
    lines += [f"{name} cannot be answered from a conversation" for name in listed(value["unverifiable"])]
    return Findings(tuple(lines))
