"""The panel of a meta-evaluation: who sits in it, by which rule it decides, and how both are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.rubric_eval.options import MetaevalOptions


def panel_facts(options: MetaevalOptions, judges: Sequence[str]) -> dict[str, Any] | None:
    """What makes the panel of `judges` what it is, as it is kept beside its results; None without one."""
    if options.panel is None:
        return None
    weights = list(options.panel_weights)
    return {"judges": list(judges), "rule": options.panel, "weights": weights, "tie_breaker": options.tie_breaker}


def panel_name(panel: Mapping[str, Any]) -> str:
    """The name a panel has in tables: its rule, and the weights of its judges if it has any."""
    return f"panel ({_rule(panel)})"


def panel_shown(panel: Mapping[str, Any]) -> str:
    """Everything about a panel in one line."""
    ties = f"; {panel['tie_breaker']} breaks ties" if panel["tie_breaker"] else ""
    return f"{_rule(panel)} of {', '.join(panel['judges'])}{ties}"


def _rule(panel: Mapping[str, Any]) -> str:
    weights = ",".join(f"{weight:g}" for weight in panel["weights"])
    return f"{panel['rule']} {weights}".rstrip()
