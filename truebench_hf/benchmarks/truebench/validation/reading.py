"""What a reader found in rows of the constructed set of v0.6.1: whether edits are what they claim, and what is unedited.

`reading.json` holds indices and findings in our words, none of the release's texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.validation.edits import Edited
from truebench_hf.hashing import canonical, digest


@cache
def reading() -> dict[str, Any]:
    """The file: `rows` with id, edit, hash, `holds` (of unedited rows: is faultless) and a note."""
    found: dict[str, Any] = json.loads(Path(__file__).with_name("reading.json").read_text(encoding="utf-8"))
    return found


def told(rows: Sequence[Edited]) -> tuple[tuple[str, str], ...]:
    """By kind of edit what was found in those of the rows that were read; () where they are others than were read."""
    read, lines = _read(rows), []
    for kind in dict.fromkeys(one["edit"] for one in read):
        some = [one for one in read if one["edit"] == kind]
        good = sum(one["holds"] for one in some)
        what = "faultless" if kind == "unedited" else "edited as claimed"
        flaws = [f"{one['id']}: {one['note']}" for one in some if not one["holds"]]
        lines.append((kind, f"{good} of {len(some)} read are {what}. {' '.join(flaws)}".strip()))
    return tuple(lines)


def ceiling(rows: Sequence[Edited]) -> str:
    """What the reading of unedited rows means for precision, in a sentence; "" where none were read."""
    unedited = [one for one in _read(rows) if one["edit"] == "unedited"]
    if not unedited:
        return ""
    share = sum(not one["holds"] for one in unedited) / len(unedited)
    edited = sum(row.edit != "unedited" for row in rows)
    found = edited + share * (len(rows) - edited)
    return (
        "Unedited rows count as faultless. A validator that finds every edit, and in unedited rows what the reader found, "
        f"would have a precision of about {edited / found:.2f} and an F1 of about {2 * edited / (edited + found):.2f}."
    )


def _read(rows: Sequence[Edited]) -> list[dict[str, Any]]:
    """What was read of these rows: the same texts with the same edit."""
    there = {(row.edit, hashed(row)) for row in rows}
    return [one for one in reading()["rows"] if (one["edit"], one["hash"]) in there]


def hashed(row: Edited) -> str:
    """The first digits of a hash over what a reader sees of the instance: what was said, and the criteria's texts."""
    one = row.instance
    turns = [(turn.prompt, [criterion.text for criterion in turn.criteria]) for turn in one.turns]
    return digest(canonical([one.system, one.context, [message.content for message in one.history], turns]))[:12]
