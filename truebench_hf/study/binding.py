"""What of a study's options ties its folder to them, and what a folder holds that a command would drop: see `Binds`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from math import inf
from pathlib import Path
from typing import Any

from truebench_hf.engine.info import read_info
from truebench_hf.errors import UserError
from truebench_hf.options import Binds, flag
from truebench_hf.study.options import FolderOptions
from truebench_hf.study.roles import Roles


def bound(
    options: FolderOptions, roles: Roles, unasked: Collection[str], *, results: bool
) -> tuple[dict[str, Any], set[str]]:
    """What `run.json` notes of the options and the models, and which of it may change.

    `unasked` are options that say nothing here, `results` whether the folder has some, by which more is tied.
    """
    held: dict[str, Any] = {}
    free: set[str] = set() if results else {"judge_models"}
    for field in fields(options):
        binds: Binds | None = field.metadata["binds"]
        value = getattr(options, field.name)
        if field.name in unasked:
            continue
        if binds is None:
            usual = () if field.default is MISSING else field.default  # which says nothing
            free.add(field.name)
            if field.name not in ("out", "prompt") and value != usual:
                held[field.name] = str(value) if value == inf else value  # which JSON has no number for
            continue
        name = binds.name or field.name
        held[name] = binds.value(options) if binds.value else value
        if binds.grows or (binds.late and not results):
            free.add(name)
        if "role" in field.metadata:
            key = "judge_models" if binds.late else "models"
            held.setdefault(key, {}).update(roles.identities(field.name))
    return held, free


def growing(options: FolderOptions) -> dict[str, Binds]:
    """The options that may be added to, by the names under which run.json notes them."""
    found = [(field.metadata["binds"], field.name) for field in fields(options)]
    return {binds.name or name: binds for binds, name in found if binds and binds.grows}


def refuse_to_drop(options: FolderOptions, held: Mapping[str, Any]) -> None:
    """Results are written anew from what a command names: one that names less would drop what the folder holds."""
    before = read_info(Path(options.out)).get("results", {})
    for name, binds in growing(options).items():
        now = _several(held[name])
        if gone := [one for one in _several(before.get(name)) if one not in now]:
            option = next(field.name for field in fields(options) if field.metadata["binds"] is binds)
            raise UserError(
                f"--out {options.out} has results of {', '.join(map(str, gone))} too, which would be dropped; name "
                f"{binds.again or f'them again with {flag(option)}'} (finished calls are not asked again), or choose "
                "another folder"
            )


def _several(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
