"""A rule held against a response: what was measured, and whether the rule is met where no reading leaves a doubt."""

from __future__ import annotations

from dataclasses import dataclass

from truebench_hf.rules import Count, Rule


@dataclass(frozen=True, slots=True)
class Measured:
    """`facts` are what is stated to people and judges. `met` is None where reasonable readings of the response differ."""

    facts: str
    met: bool | None


def measure(rule: Rule, response: str) -> Measured:
    """What a response measures by a rule. Never raises, whatever the text."""
    if not isinstance(rule, Count) or rule.unit != "words" or rule.per != "whole":
        return Measured("", None)
    number = len(response.split())
    met = (rule.min is None or number >= rule.min) and (rule.max is None or number <= rule.max)
    return Measured(f"{number} {'word' if number == 1 else 'words'}", met)
