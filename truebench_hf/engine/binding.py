"""What ties a run folder to its options: which settings differ, and what its settings are after a session."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.text.terminal import shortened

_SHOWN = 60  # characters of a value that differs


def joined(
    out: object, there: Mapping[str, Any], settings: Mapping[str, Any], free: Collection[str], *, used: bool
) -> dict[str, Any]:
    """The settings of a folder, those `there` and those of this session; where it is `used` only `free` ones may differ.

    Objects are compared entry by entry; new entries may join. Raises UserError naming both values of what differs.
    """
    here: dict[str, Any] = json.loads(json.dumps(settings))  # compared as JSON: that is how they were kept
    bound = [name for name in here if name in there and name not in free] if used else []
    if differing := [text for name in bound for text in _differing(name, there[name], here[name])]:
        shown = "; ".join(differing)
        raise UserError(f"--out {out} belongs to a run with other options ({shown}); choose another folder")
    kept = {name: value for name, value in there.items() if name in here or name not in free}
    grown = {
        n: kept[n] | v for n, v in here.items() if n in bound and isinstance(v, dict) and isinstance(kept[n], dict)
    }
    return kept | here | grown


def _differing(name: str, there: Any, here: Any, *, entry: bool = False) -> list[str]:
    """What differs, objects entry by entry: `sampling.max_tokens: 4096 there, 7 now`.

    A setting may get or lack an entry, a model say; the `entry` itself may not.
    """
    if isinstance(there, dict) and isinstance(here, dict):
        keys = [key for key in there | here if entry or (key in there and key in here)]
        pairs = ((key, there.get(key), here.get(key)) for key in keys)
        return [text for key, a, b in pairs for text in _differing(f"{name}.{key}", a, b, entry=True)]
    if there == here:
        return []
    before, now = (shortened(json.dumps(value, ensure_ascii=False), _SHOWN) for value in (there, here))
    return [f"{name}: {before} there, {now} now"]
