"""Who ran the models of a study, as far as names and answers tell: for `run.json`, the report's notes, and boards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from truebench_hf.models.providers import OPEN, Served, pinning
from truebench_hf.study.ranking import Board
from truebench_hf.text import anonymous

if TYPE_CHECKING:
    from truebench_hf.study.roles import Roles

FACT = "Provider"
Told = Mapping[str, Mapping[str, Mapping[str, int]]]  # by model as run.json names it, kind and value how many answers


def served(roles: Roles, before: Told) -> dict[str, Any]:
    """What the answers of this session told of who gave them, on top of what those of sessions `before` did."""
    by_model: dict[str, dict[str, Counter[str]]] = {
        name: {kind: Counter(counts) for kind, counts in kinds.items()} for name, kinds in before.items()
    }
    for role in roles.models:
        for name, model in zip(roles.identities(role), roles.named(role).values(), strict=True):
            answers_told = getattr(model, "served", None)  # only of models that can tell
            for kind, counts in answers_told.counts.items() if isinstance(answers_told, Served) else ():
                by_model.setdefault(name, {}).setdefault(kind, Counter()).update(counts)
    return {name: {kind: dict(counts) for kind, counts in kinds.items()} for name, kinds in by_model.items()}


def values(counts: Any, name: str, kind: str) -> list[str]:
    """What the answers of a model said of one kind; of a `run.json` whoever wrote it."""
    part = counts
    for key in (name, kind):
        part = part.get(key) if isinstance(part, Mapping) else None
    return list(map(str, part)) if isinstance(part, Mapping) else []


def providers(settings: Mapping[str, Any], served_by: Told) -> dict[str, str]:
    """By spec the provider of every model that has one: that which answered, else the one its name pins."""
    by_spec = {}
    for spec, (name, identity) in identities(settings).items():
        provider = str(identity.get("provider", ""))
        pinned = provider.partition(":")[2]
        answered_by = " + ".join(sorted(values(served_by, name, "provider"))) or (pinned if provider != OPEN else "")
        if answered_by or provider == OPEN:
            by_spec[spec] = ", ".join(filter(None, (answered_by, "not pinned" if provider == OPEN else "")))
    return by_spec


def notes(settings: Mapping[str, Any], served_by: Told) -> list[str]:
    """What readers must know: a provider that was left open, and models that several ran."""
    by_spec = providers(settings, served_by)
    left = [
        f"{pinning(spec)}. Here it was: {provider}."
        for spec, provider in by_spec.items()
        if provider.endswith("not pinned")
    ]
    shared = [f"Several providers ran {spec}: {provider}." for spec, provider in by_spec.items() if " + " in provider]
    return [*left, *(note for note in shared if "not pinned" not in note)]


def marked(board: Board, settings: Mapping[str, Any], served_by: Told) -> Board:
    """The board with the provider among the facts of the lines that have one."""
    by_name = {anonymous.name(spec): provider for spec, provider in providers(settings, served_by).items()}
    rows = tuple(
        replace(row, facts={**row.facts, FACT: by_name[spec]}) if spec in by_name else row
        for row in board.rows
        for spec in [row.name.partition(", ")[0]]  # behind it may stand how answers were selected
    )
    return replace(board, rows=rows)


def identities(settings: Mapping[str, Any]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """By spec a model's name in `run.json` and what shapes its answers; of a `run.json` whoever wrote it."""
    by_spec = {}
    for group in (settings.get("judge_models"), settings.get("models")):  # who is both counts as the model
        for name, identity in group.items() if isinstance(group, Mapping) else ():
            role, _, own = str(name).partition(" ")
            spec = own or settings.get(role)
            if isinstance(spec, str) and isinstance(identity, Mapping):
                by_spec[spec] = (name, identity)
    return by_spec
