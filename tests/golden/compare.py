"""The files that are expected of a case: read, written, and compared with what is there now.

Two ways to compare, by the environment variable GOLDEN:

- by default fractions may differ in the sixth digit, which fits differ in by machine;
- `GOLDEN=strict` allows no tolerance, for commits that move or merge code and shall change nothing.

In both, files of JSON are compared by value, whatever the order of keys, and ledgers by the prompts of each role,
whatever the order of calls. Everything else is compared as text, as `held` gives it.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).parent / "expected"
RENEW = "python -m tests.golden --renew"
_NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
_FILES, _SHOWN = 4, 12  # of how many files the difference is shown, and how many lines of it


def write(name: str, found: Mapping[str, str]) -> None:
    """Put the files of a case in place of the expected ones; a file that is alike keeps its text."""
    before = read(name)
    shutil.rmtree(EXPECTED / name, ignore_errors=True)
    for file, text in found.items():
        path = EXPECTED / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = file in before and alike(file, before[file], text)
        path.write_text(before[file] if kept else text, encoding="utf-8", newline="\n")


def read(name: str) -> dict[str, str]:
    """The files expected of a case."""
    folder = EXPECTED / name
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def differences(name: str, expected: Mapping[str, str], found: Mapping[str, str], strict: bool = False) -> str:
    """A short account of what differs, "" where nothing does."""
    parts = []
    for file in sorted({*expected, *found}, key=_reading_order):
        before, now = expected.get(file), found.get(file)
        if before is None or now is None:
            parts.append(f"{file}: {'new' if before is None else 'missing'}")
        elif not alike(file, before, now, strict):
            parts.append(_diff(file, before, now) if len(parts) < _FILES else f"{file}: differs")
    if not parts:
        return ""
    remedy = f"if this is what users shall get: {RENEW} {name}"
    return "\n".join([f"{name}: {len(parts)} files differ from {EXPECTED.name}/{name}", *parts, remedy])


def _reading_order(file: str) -> tuple[bool, bool, str]:
    """What a user reads first, hashes last."""
    return file.endswith(".sqlite.txt"), file != "printed.txt", file


def alike(file: str, before: str, now: str, strict: bool = False) -> bool:
    """Whether two states of a file are the same: JSON by value, ledgers by role, all else as text."""
    if before == now:
        return True
    if file.endswith((".json", ".jsonl")):
        try:
            return _same_value(json_values(before), json_values(now), _equal if strict else _close)
        except ValueError:
            return False
    if file.endswith(".sqlite.txt"):
        return prompts_by_role(before) == prompts_by_role(now)
    if strict or _NUMBER.split(before) != _NUMBER.split(now):
        return False
    pairs = zip(_NUMBER.findall(before), _NUMBER.findall(now), strict=True)
    return all(_close(float(a), float(b)) for a, b in pairs)


def _equal(a: float, b: float) -> bool:
    return a == b


def _close(a: float, b: float) -> bool:
    # Counts are exact.
    return a == b if isinstance(a, int) and isinstance(b, int) else math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)


def json_values(text: str) -> list[Any]:
    """The values of a file of JSON, or of several values one after the other."""
    decoder, values, rest = json.JSONDecoder(), [], text.lstrip()
    while rest:
        value, end = decoder.raw_decode(rest)
        values.append(value)
        rest = rest[end:].lstrip()
    return values


def _same_value(a: Any, b: Any, numbers: Callable[[float, float], bool]) -> bool:
    """Whether two JSON values are the same. A fraction may be a text too, as in a message."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same_value(a[key], b[key], numbers) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same_value(x, y, numbers) for x, y in zip(a, b, strict=True))
    if isinstance(a, str) and isinstance(b, str):
        return alike("", a, b, strict=numbers is _equal)
    if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, int | float) or not isinstance(b, int | float):
        return a is b
    return numbers(a, b)


def prompts_by_role(ledger: str) -> dict[str, Counter[str]]:
    """How often each prompt was asked, by role."""
    roles: dict[str, Counter[str]] = {}
    role = ""
    for line in ledger.splitlines():
        if line.startswith("  "):
            roles[role][line] += 1
        else:
            role = line
            roles[role] = Counter()
    return roles


def _diff(file: str, before: str, now: str) -> str:
    lines = list(difflib.unified_diff(before.splitlines(), now.splitlines(), lineterm="", n=0))[2:]
    lines = [line if len(line) <= 160 else line[:157] + "..." for line in lines if not line.startswith("@@")]
    more = [f"... {len(lines) - _SHOWN} lines more"] if len(lines) > _SHOWN else []
    return "\n".join([f"{file}:", *lines[:_SHOWN], *more])
