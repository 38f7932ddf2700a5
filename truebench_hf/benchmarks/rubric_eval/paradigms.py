"""The ways of asking a judge that a meta-evaluation compares."""

from __future__ import annotations

from collections.abc import Mapping

# Granularity times reasoning (paper 003, section 5.1), and typed decisions, which the paper does not have.
PARADIGMS: Mapping[str, tuple[str, bool]] = {
    "checklist": ("checklist", False),
    "checklist-reasoning": ("checklist", True),
    "rubric": ("rubric", False),
    "rubric-reasoning": ("rubric", True),
    "decision": ("decision", False),
}
