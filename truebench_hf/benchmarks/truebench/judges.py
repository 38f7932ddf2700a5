"""Who judged a run, and in what way, from its settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from truebench_hf.hashing import canonical, digest

JUDGING = ("judge", "cascade_judge", "panel", "judging", "prompts", "judge_models")  # all that shapes verdicts


def judging_specs(settings: Mapping[str, Any]) -> set[str]:
    """The specs of all who had a say in a run, from its settings, or from no more than the `judge` of its rows."""
    if isinstance(panel := settings.get("panel"), Mapping) and panel:
        return {str(spec) for spec in (*panel.get("judges", ()), panel.get("tie_breaker")) if spec}
    named = [str(settings[name]) for name in ("judge", "cascade_judge") if settings.get(name)]
    return {spec for name in named for spec in _one_by_one(name)}


def judging_id(settings: Mapping[str, Any]) -> str:
    """A short hash of all that shapes verdicts: two runs that share it were judged by one judge in one way."""
    shaping = {name: settings.get(name) for name in JUDGING}
    return digest(canonical(shaping))[:12]


def _one_by_one(judge: str) -> list[str]:
    """The judges of a panel from its name, `a + b (majority)`; a lone judge as it is."""
    return re.sub(r" \([^()]*\)$", "", judge).split(" + ") if " + " in judge else [judge]
