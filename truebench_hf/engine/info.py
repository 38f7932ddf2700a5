"""What a run folder says of itself in `run.json`, and whether a session may go on in it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError

INFO, LEDGER = "run.json", "ledger.sqlite"
FORMAT = 1  # of the folder; one of another format is not continued
_LARGEST = 2**24  # bytes of a run.json
_NONE = type(None)
# What is looked into, by whoever reads the folder of a stranger: of a part that is there, the types it may have.
_TYPES: dict[str, tuple[type, ...]] = {
    "settings": (dict,), "sessions": (list,), "kind": (str,), "results": (dict,), "usage": (dict,), "written": (dict,),
    "tables": (dict,),
    "format": (int,), "settings.model": (str, list, _NONE), "settings.judge": (str, list, _NONE),
    "settings.cascade_judge": (str, _NONE), "settings.panel": (dict, str, _NONE), "settings.panel.judges": (list,),
    "settings.judging": (dict,), "settings.judging.level": (str,),
    "settings.judging.rules": (str,), "settings.judging.votes": (int,), "settings.prompts": (dict,),
    "settings.items": (int,), "settings.samples": (int,),
}  # fmt: skip


def read_info(path: Path) -> dict[str, Any]:
    """What a folder's `run.json` says; {} where there is none. Raises UserError where it cannot be read."""
    file = path / INFO
    try:
        with file.open("rb") as content:
            text = content.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise ValueError(f"larger than {_LARGEST / 2**20:g} MiB")
        return parsed(text.decode("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise UserError(
            f"{file}: cannot be read: {error}; move it and the results beside it away, and the same command makes them "
            f"again from {LEDGER}; or choose another folder"
        ) from error


def parsed(text: str) -> dict[str, Any]:
    """What a text says that should be a `run.json`. Raises ValueError where it is none."""
    try:
        info = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(info, dict):
        raise ValueError("not an object")
    wrong, absent = [], object()
    for name, types in _TYPES.items():
        part: Any = info
        for step in name.split("."):
            part = part.get(step, absent) if isinstance(part, dict) else absent
        if part is not absent and not isinstance(part, types):
            wrong.append(name)
    if wrong:
        raise ValueError(f"not as we write it: {', '.join(wrong)}")
    return info


def may_open(path: Path, kind: str, files: Collection[str]) -> dict[str, Any]:
    """What a folder says of itself, if a study of a kind may go on in it that writes `files`. Raises UserError."""
    if path.is_symlink() and not path.exists():
        raise UserError(f"--out {path} is a link to {path.readlink()}, which is not there; make that folder first")
    info = read_info(path)
    if "settings" in info:  # which every run.json of ours has
        if (version := info.get("format")) != FORMAT:
            raise UserError(f"--out {path} was made by another version (format {version}); choose another folder")
        if kind and (earlier := info.get("kind", "")) not in ("", kind):
            raise UserError(f"--out {path} holds a study of kind {earlier}, not {kind}; choose another folder")
    elif held := results(path, (INFO, *files)):
        raise UserError(f"--out {path} holds {', '.join(held)}, which no run of ours left there; choose another folder")
    paid = info and ("usage" not in info or calls(info))
    if paid and not (path / LEDGER).exists() and (held := results(path, files)):
        raise lost(path, held)
    return info


def results(path: Path, files: Collection[str]) -> list[str]:
    """Those of the files that are there and hold something."""
    places = {name: path / name for name in files}
    return [
        name
        for name, place in places.items()
        if (any(place.iterdir()) if place.is_dir() else place.exists() and place.stat().st_size > 0)
    ]


def calls(info: Mapping[str, Any]) -> int:
    """How many answers the ledger held when the last session was finished, as far as `run.json` tells."""
    total = info.get("usage", {}).get("total")
    counts = [of.get("calls") for of in total.values() if isinstance(of, dict)] if isinstance(total, dict) else []
    return sum(count for count in counts if isinstance(count, int))


def count_noted(out: str, name: str = "items", default: int = 0) -> int:
    """How many items (or samples) the last session in a folder had in work; `default` where there was none."""
    count = read_info(Path(out)).get("settings", {}).get(name, default)
    return count if isinstance(count, int) else default


def lost(path: Path, held: Collection[str]) -> UserError:
    """The error for a folder whose ledger is gone, while it holds these results."""
    return UserError(
        f"--out {path} has lost its {LEDGER}: everything would be asked and paid for again, and {', '.join(held)} replaced; "
        f"put {LEDGER} back, or move these files away to begin anew, or choose another folder"
    )
