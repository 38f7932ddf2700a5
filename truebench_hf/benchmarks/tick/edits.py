"""Checklists that people edited in the folder of a study are never written over: it uses them, or stops.

`run.json` notes a hash of every `checklists.jsonl` that the study wrote, and whether its checklists were given.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from truebench_hf import jsonl
from truebench_hf.benchmarks.tick.source import FILE
from truebench_hf.engine.folder import read_info
from truebench_hf.engine.ledger import canonical, digest
from truebench_hf.errors import UserError
from truebench_hf.redaction import masked
from truebench_hf.study.study import Study

NOTED = "checklists"


def refuse_edited(options: Any) -> None:
    """Raise UserError where the study would write over checklists that are not its own, without having read them."""
    file = Path(options.out) / FILE
    if not file.exists() or _same(options.checklists, file) or _same(options.data, file):
        return
    noted = read_info(Path(options.out)).get(NOTED)
    given = noted.get(_hash(file)) if isinstance(noted, dict) else None
    if given is None:
        raise UserError(
            f"{file} was changed by hand since it was written; add --checklists {file} to use it (nothing that was "
            "answered or judged is asked again), or move it away to have the checklists written anew"
        )
    if given and options.checklists is None:
        raise UserError(
            f"{file} holds checklists that were given by --checklists; add --checklists {file} to use them again, or move "
            "it away to have others"
        )


def keep(study: Study[Any, Any, Any, Any], rows: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """(the rows of `checklists.jsonl` to write, what `run.json` notes of them).

    Where the file was read by this very command, rows that are not in work (with a smaller --limit) stay as they are. The
    note is written at once: the study may be killed between the two files. Raises UserError where the file was edited
    meanwhile.
    """
    refuse_edited(study.options)
    info, file = study.folder.info, Path(study.options.out) / FILE
    given, written = study.options.checklists is not None, list(rows)
    if _same(study.options.checklists, file) or _same(study.options.data, file):
        given, mine = True, {row["id"]: row for row in rows}
        there = [(str(row.get("id") or number), row) for number, (_, row) in enumerate(jsonl.read(file), 1)]
        written = [mine.pop(id, row) for id, row in there] + list(mine.values())
    written = masked(written)  # as it will stand in the file
    before = info.get(NOTED)
    noted = {NOTED: (before if isinstance(before, dict) else {}) | {digest(canonical(written)): given}}
    info |= noted
    study.folder.write_json("run.json", info)
    return written, noted


def _hash(file: Path) -> str:
    """Of what the rows say, not of the bytes: blanks and line ends are no edit."""
    try:
        return digest(canonical([row for _, row in jsonl.read(file)]))
    except UserError:
        return ""  # broken by hand


def _same(given: str | None, file: Path) -> bool:
    return given is not None and Path(given).resolve() == file.resolve()
