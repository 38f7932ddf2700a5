"""Sets of rubrics by others, read to one common form: `read(NAME, PATH)`, in commands `--data NAME:PATH`.

Tested on the real files: structflowbench, llmbar. Tested only on hand-made records in the documented form: all others.
`rubric_eval` reads rows in the columns of the set of that name, and is tested on rubric_mini. People's labels stand in
profbench, healthbench_meta and rubric_eval; points, negative ones for faults, in profbench, healthbench, rubrichub, rar
and multichallenge. Columns: `sets.yaml`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from truebench_hf.data import row_files
from truebench_hf.data.row_files import Rows
from truebench_hf.data.row_files import is_source as is_source
from truebench_hf.data.row_formats import Entry, RowFile
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import Item, Responses, UnansweredRow
from truebench_hf.data.sources.forms import sets
from truebench_hf.data.sources.parsers import PARSERS, healthbench_meta, llmbar
from truebench_hf.data.usable import Sieve, Usable
from truebench_hf.errors import UserError, unknown
from truebench_hf.types import Instance, Turn

_LOG = logging.getLogger(__name__)


def read(name: str, path: str | Path, *, strict: bool = False, warns: bool = True, split: str = "test") -> Usable[Item]:
    """The instructions of a source, from its file as published, a folder of it, or its id on the Hub.

    Of several splits the one named `split` is read, else test; llmbar takes a folder of its repository. A row that
    cannot be used (malformed, or with an id that an earlier one has) is left out: `left_out` of the result says how
    many and why, and if it `warns` so does the log, which is printed where nobody asked for it elsewhere. Raises
    UserError on an unknown name, an absent file, a file of which more than half cannot be used, and with `strict` on
    the first such row, with its number and the field.
    """
    if name not in READERS:
        raise unknown("source of rubrics", name, READERS)
    found = READERS[name](str(path), strict, split)
    if warns and found.left_out:
        _LOG.warning("%s", found.left_out)
    return found


def instances(data: str) -> Usable[Instance]:
    """An instance of every instruction of `SOURCE:PATH`, whoever answered it. Raises UserError as `read`."""
    name, _, path = data.partition(":")
    found = read(name, path)
    return Usable(of_items(name, found), found.left_out)


def of_items(name: str, items: Iterable[Item]) -> list[Instance]:
    """The same of items of a source that were read: what a model is to be asked, criteria, points and right answers."""
    found: dict[str, Instance] = {}
    kind = sets()[name].kind if name in sets() else ""
    for item in items:
        if item.instruction_id not in found and item.case.criteria:
            found[item.instruction_id] = _instance(item, item.facts.get(kind))
    return list(found.values())


def _instance(item: Item, kind: object) -> Instance:
    history = item.case.history
    system = history[0].content if history and history[0].role == "system" else None
    turn = Turn(item.case.instruction, item.case.criteria, item.case.reference)
    language = "" if item.language == "UND" else item.language
    category = str(kind) if kind else item.category
    before = history[system is not None :]
    return Instance(item.instruction_id, language, category, "", (turn,), system, item.case.context, before)


def _each(name: str, path: str, strict: bool, split: str) -> Usable[Item]:
    rows = _rows_of(path, split)
    parse = partial(PARSERS[name], sets()[name])
    sieve = Sieve(rows.name, rows.entries(), parse, key=attrgetter("instruction_id"), strict=strict)
    return Usable(list(sieve), sieve.left_out)


def _by_response(row: Callable[[Record], Mapping[str, Any]], path: str, strict: bool, split: str) -> Usable[Item]:
    """Rows of rubric_eval, as `row` makes them of the file's; those without label may lack the response, too."""
    found = Responses(UnansweredRow)

    def add(record: Record) -> list[Item]:
        found.add(Record(record.where, row(record), record.number))
        return []

    rows = _rows_of(path, split)
    sieve = Sieve(rows.name, rows.entries(), add, strict=strict)
    return Usable([*sieve, *found.items], sieve.left_out)


def _llmbar(given: str, strict: bool, split: str) -> Usable[Item]:
    """The outputs of all pairs in one dataset.json, or in every dataset.json below a folder (one subset each)."""
    path = Path(given).expanduser()
    if not path.exists():
        raise UserError(f"llmbar: no such file: {path}; give a dataset.json, or a folder of them")
    files = sorted(path.rglob("dataset.json")) if path.is_dir() else [path]
    if not files:
        raise UserError(f"{path}: holds no dataset.json")
    pairs = (_of_subset(entry, file.parent.name) for file in files for entry in RowFile.at(file).entries())
    sieve = Sieve(str(path), pairs, partial(llmbar, sets()["llmbar"]), key=attrgetter("id"), strict=strict)
    return Usable(list(sieve), sieve.left_out)


def _of_subset(entry: Entry, subset: str) -> Entry:
    """The pair with the name of its subset, and its place there."""
    if isinstance(entry, UserError):
        return entry
    return replace(entry, row={**entry.row, "subset": subset, "place": entry.number})


def _rows_of(path: str, split: str) -> Rows:
    found = row_files.splits(path, flag="source")
    return found[split] if split in found else row_files.the_one(found, path)


READERS: dict[str, Callable[[str, bool, str], Usable[Item]]] = {
    **{name: partial(_each, name) for name in PARSERS},
    "healthbench_meta": partial(_by_response, healthbench_meta),
    "llmbar": _llmbar,
    "rubric_eval": partial(_by_response, lambda record: record.row),
}
