"""Logic extraction: base actions, their branches, and which branches exclude each other (appendix E)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from truebench_hf.benchmarks.flexbench.derivation.asking import listed, problem
from truebench_hf.benchmarks.flexbench.procedure import Dimension
from truebench_hf.metrics.flexeval import UNGATED, circle
from truebench_hf.models.asking import Problem

EXAMPLE = '{"groups": []}'


def read_logic(value: dict[str, Any], dimensions: Sequence[Dimension]) -> tuple[Dimension, ...] | Problem:
    """The dimensions with their base actions and exclusions; a Problem says what cannot be."""
    if not isinstance(value.get("groups"), list):
        return Problem("it has no list `groups`")
    known = {one.id: one for one in dimensions}
    bases: dict[str, str] = {}
    excluded: dict[str, str] = {}
    findings: list[str] = []
    for number, group in enumerate(listed(value["groups"], dict), 1):
        base, branches = group.get("base"), listed(group.get("branches"))
        if base is not None and (not isinstance(base, str) or base not in known):
            findings.append(f"group {number}: its base {base!r} is no dimension")
        for name in branches:
            if name not in known:
                findings.append(f"group {number}: its branch {name!r} is no dimension")
            elif name in bases:
                findings.append(f"{name} is a branch of two groups")
            else:
                bases[name] = str(base or UNGATED)
        if not branches:
            findings.append(f"group {number} has no branches")
        findings += _exclusive(number, _sets(group.get("exclusive")), branches, excluded)
    structure = {name: bases.get(name) for name in known}
    if around := circle(structure):
        findings.append(f"{', '.join(around)} depend on each other in a circle")
    if findings:
        return problem(findings)
    return tuple(replace(one, base=structure[one.id], exclusive=excluded.get(one.id, "")) for one in dimensions)


def _sets(value: Any) -> list[Any]:
    """Sets of branches that exclude each other; one set may stand there by itself."""
    return [value] if listed(value) else listed(value, list)


def _exclusive(number: int, sets: list[Any], branches: list[str], excluded: dict[str, str]) -> list[str]:
    """Note which branches exclude each other; what is wrong with the sets."""
    findings = []
    for place, names in enumerate(sets, 1):
        names = list(dict.fromkeys(map(str, names)))
        if len(names) < 2:
            findings.append(f"group {number}: what excludes each other is two branches at least")
        for name in names:
            if name not in branches:
                findings.append(f"group {number}: {name!r} excludes others and is no branch of it")
            elif name in excluded:
                findings.append(f"{name} stands in two sets that exclude each other")
            else:
                excluded[name] = f"x{number}.{place}"
    return findings
