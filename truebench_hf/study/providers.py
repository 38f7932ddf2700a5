"""Who ran the models of a study, as far as names and answers tell: for `run.json`, the report's notes, and boards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from truebench_hf.models.providers import OPEN, Served, pinning
from truebench_hf.study.outcome import Board
from truebench_hf.study.roles import Roles
from truebench_hf.text import anonymous

FACT = "Provider"
Told = Mapping[str, Mapping[str, Mapping[str, int]]]  # by model as run.json names it, kind and value how many answers


def served(roles: Roles, before: Told) -> dict[str, Any]:
    """What the answers of this session told of who gave them, on top of what those of sessions `before` did."""
    found: dict[str, dict[str, Counter[str]]] = {
        name: {kind: Counter(counts) for kind, counts in kinds.items()} for name, kinds in before.items()
    }
    for role in roles.models:
        for name, model in zip(roles.identities(role), roles.named(role).values(), strict=True):
            told = getattr(model, "served", None)  # only of models that can tell
            for kind, counts in told.told.items() if isinstance(told, Served) else ():
                found.setdefault(name, {}).setdefault(kind, Counter()).update(counts)
    return {name: {kind: dict(counts) for kind, counts in kinds.items()} for name, kinds in found.items()}


def values(told: Any, name: str, kind: str) -> list[str]:
    """What the answers of a model said of one kind; of a `run.json` whoever wrote it."""
    found = told
    for key in (name, kind):
        found = found.get(key) if isinstance(found, Mapping) else None
    return list(map(str, found)) if isinstance(found, Mapping) else []


def providers(settings: Mapping[str, Any], told: Told) -> dict[str, str]:
    """By spec the provider of every model that has one: that which answered, else the one its name pins."""
    found = {}
    for spec, (name, identity) in identities(settings).items():
        given = str(identity.get("provider", ""))
        pinned = given.partition(":")[2]
        said = " + ".join(sorted(values(told, name, "provider"))) or (pinned if given != OPEN else "")
        if said or given == OPEN:
            found[spec] = ", ".join(filter(None, (said, "not pinned" if given == OPEN else "")))
    return found


def notes(settings: Mapping[str, Any], told: Told) -> list[str]:
    """What readers must know: a provider that was left open, and models that several ran."""
    found = providers(settings, told)
    left = [f"{pinning(spec)}. Here it was: {said}." for spec, said in found.items() if said.endswith("not pinned")]
    several = [f"Several providers ran {spec}: {said}." for spec, said in found.items() if " + " in said]
    return [*left, *(note for note in several if "not pinned" not in note)]


def marked(board: Board, settings: Mapping[str, Any], told: Told) -> Board:
    """The board with the provider among the facts of the lines that have one."""
    found = {anonymous.name(spec): said for spec, said in providers(settings, told).items()}
    rows = tuple(
        replace(row, facts={**row.facts, FACT: found[spec]}) if spec in found else row
        for row in board.rows
        for spec in [row.name.partition(", ")[0]]  # behind it may stand how answers were selected
    )
    return replace(board, rows=rows)


def identities(settings: Mapping[str, Any]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """By spec a model's name in `run.json` and what shapes its answers; of a `run.json` whoever wrote it."""
    found = {}
    for group in (settings.get("judge_models"), settings.get("models")):  # who is both counts as the model
        for name, identity in group.items() if isinstance(group, Mapping) else ():
            role, _, own = str(name).partition(" ")
            spec = own or settings.get(role)
            if isinstance(spec, str) and isinstance(identity, Mapping):
                found[spec] = (name, identity)
    return found
