"""Checklists in the form that the rubric judge of the library `verifiers` reads (its v1, `judges/rubric.py`).

A file (.json or .toml) holds a list `criteria` of objects: `name` (unique; its metric), `text`, `weight` (0 or more) and
`choices`, the answers from the worst to the best, of which the first is worth 0 and the last 1. The reward is the mean
by weight. Other fields are refused there. Read from the library's source in 2026; it is not part of our tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truebench_hf.errors import UserError, write_error

if TYPE_CHECKING:
    from truebench_hf.api.reading import Criteria


def to_verifiers(criteria: Criteria) -> dict[str, Any]:
    """`{"criteria": [...]}` of criteria in any form that `truebench_hf.judge` takes.

    A fault (negative points) has its choices turned round, so that "no" is the best answer: what is earned by leaving it
    out differs from our fraction by a constant and a factor, but where ours stops at 0 or 1. Raises UserError.
    """
    from truebench_hf.api.reading import read_case
    from truebench_hf.judging.case import one_line

    read = read_case("-", "", criteria, None, None).criteria
    return {
        "criteria": [
            {
                "name": f"criterion_{number}",
                "text": one_line(one),
                "weight": abs(one.weight),
                "choices": ["no", "yes"] if one.weight > 0 else ["yes", "no"],
            }
            for number, one in enumerate(read, 1)
        ]
    }


def write_verifiers(rows: Iterable[Mapping[str, Any]], folder: str | Path) -> list[Path]:
    """One `ID.json` for each row with criteria (see `truebench_hf.data.instances`); an absent id is a hash of the prompt.

    One each, since a rubric judge there has one file (`path`) and rows hold none: a task with a checklist of its own
    makes its judge with `RubricJudgeConfig(path=...)`. Raises UserError on rows that cannot be used, on ids that make no
    file names, and where the folder cannot be written.
    """
    from truebench_hf.data import instances
    from truebench_hf.data.rows import Record

    read = instances.of_rows([Record(f"row {number}", dict(row)) for number, row in enumerate(rows, 1)])
    for one in read:
        if not re.fullmatch(r"[\w-][\w.-]{0,99}", one.id):
            raise UserError(f"id {one.id!r}: makes no file name; use letters, digits, _ - and .")
        if len(one.turns) > 1:
            raise UserError(f"id {one.id}: has several turns, a rubric judge one list; give a row for each turn")
    written = []
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        for one in read:
            path = target / f"{one.id}.json"
            path.write_text(
                json.dumps(to_verifiers(one.turns[0].criteria), ensure_ascii=False, indent=1) + "\n", "utf-8"
            )
            written.append(path)
    except OSError as error:
        raise write_error(f"{target}", error) from error
    return written
