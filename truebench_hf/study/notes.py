"""What studies tell their readers beside the figures, each in one wording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.types import Verdict


def weak_judges(specs: Iterable[object]) -> list[str]:
    """That a judge among these specs is the embedded model or a larger sister of it."""
    weak = any("smollm2" in str(spec).lower() for spec in specs)
    return ["SmolLM2 is far too weak a judge to be trusted: these figures show the workflow only."] if weak else []


def cut_off(count: int) -> list[str]:
    """That so many responses end in the middle."""
    return [f"Responses cut off at the token limit, and judged as they stand: {count}."] if count else []


def lost_calls(count: int) -> list[str]:
    """That so many calls were with a worker when it died."""
    return [f"Calls lost with workers of Ray, and repeated: {count:,}."] if count else []


def by_rules(
    cases: Iterable[Sequence[Verdict]], rules: str, level: str, *, votes: int = 1, judges: int = 1
) -> list[str]:
    """How many criteria rules decided, and what that saved; `cases` are the verdicts asked for together.

    Each of the `judges` would have been asked, as often as it votes: at rubric level about every criterion, elsewhere
    about every case.
    """
    if rules != "decide":
        return []
    decided = every = calls = 0
    for verdicts in cases:
        ruled = sum(verdict.judge == JUDGE for verdict in verdicts)
        decided, every = decided + ruled, every + len(verdicts)
        calls += ruled if level == "rubric" else bool(ruled) and ruled == len(verdicts)
    return [decided_by_rules(decided, every, calls * votes * judges)]


def decided_by_rules(decided: int, every: int, calls: int) -> str:
    """Say how many criteria of how many rules decided, and how many calls that saved."""
    saved = f"; judge calls saved: {calls}" if calls else ""
    return f"Decided by rules: {decided} of {every} criteria{saved}."


def decided_by_counting(decided: int, every: int) -> str:
    """Say how many criteria of how many are decided where there is no judge."""
    return f"No judge: {decided} of {every} criteria decided by counting, {every - decided} left open."


def rules_fact(made: Mapping[str, Any]) -> dict[str, str]:
    """What a place on a board says of the rules that its verdicts were made with; nothing where there were none."""
    rules = made.get("rules", "off")
    return {} if rules == "off" else {"Rules": str(rules)}
