"""Sets of rubrics by others, read to one common form: `read(NAME, PATH)`, in commands `--data NAME:PATH`.

Tested on the real files: structflowbench, llmbar. Tested only on hand-made records in the documented form: all others.
`rubric_eval` reads rows in the columns of the set of that name, and is tested on rubric_mini. People's labels stand in
profbench, healthbench_meta and rubric_eval; points, negative ones for faults, in profbench, healthbench, rubrichub, rar
and multichallenge. Columns: `sets.yaml`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from truebench_hf.data import row_files
from truebench_hf.data.row_files import Rows, Sieve, Usable
from truebench_hf.data.row_files import is_source as is_source
from truebench_hf.data.row_formats import Entry, RowFile
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import Item, Responses, UnansweredRow
from truebench_hf.data.sources.forms import sets
from truebench_hf.data.sources.parsers import PARSERS, healthbench_meta
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
    rows = _pairs(str(path)) if name == "llmbar" else _rows(str(path), split)
    if name in _BY_RESPONSE:
        items = by_response(rows.name, rows.entries(), strict, _BY_RESPONSE[name])
    else:
        key = attrgetter("id" if name == "llmbar" else "instruction_id")
        sieve = Sieve(rows.name, rows.entries(), partial(PARSERS[name], sets()[name]), key=key, strict=strict)
        items = Usable(list(sieve), sieve.left_out)
    if warns and items.left_out:
        _LOG.warning("%s", items.left_out)
    return items


def instances(data: str) -> Usable[Instance]:
    """An instance of every instruction of `SOURCE:PATH`, whoever answered it. Raises UserError as `read`."""
    name, _, path = data.partition(":")
    items = read(name, path)
    return Usable(of_items(name, items), items.left_out)


def of_items(name: str, items: Iterable[Item]) -> list[Instance]:
    """The same of items of a source that were read: what a model is to be asked, criteria, points and right answers."""
    instances: dict[str, Instance] = {}
    kind = sets()[name].kind if name in sets() else ""
    for item in items:
        if item.instruction_id in instances or not item.case.criteria:
            continue
        case, history = item.case, item.case.history
        system = history[0].content if history and history[0].role == "system" else None
        turn = Turn(case.instruction, case.criteria, case.reference)
        language, category = "" if item.language == "UND" else item.language, item.facts.get(kind) or item.category
        about = (item.instruction_id, language, str(category), "", (turn,), system, case.context)
        instances[item.instruction_id] = Instance(*about, history[system is not None :])
    return list(instances.values())


def by_response(
    name: str, entries: Iterable[Entry], strict: bool = False, row: Callable[[Record], Mapping[str, Any]] = attrgetter("row")
) -> Usable[Item]:  # fmt: skip
    """Rows of rubric_eval, as `row` makes them of the file's; those without label may lack the response, too."""
    responses = Responses(UnansweredRow)

    def add(record: Record) -> list[Item]:
        responses.add(replace(record, row=row(record)))
        return []

    sieve = Sieve(name, entries, add, strict=strict)
    return Usable([*sieve, *responses.items], sieve.left_out)


def _rows(path: str, split: str) -> Rows:
    splits = row_files.splits(path, flag="source")
    return splits[split] if split in splits else row_files.the_one(splits, path)


def _pairs(path: str) -> Rows:
    """The pairs of one dataset.json of LLMBar, or of every dataset.json below a folder; each knows its subset and place."""
    place = Path(path).expanduser()
    files = sorted(place.rglob("dataset.json")) if place.is_dir() else [place]
    if not files or not files[0].exists():
        raise UserError(f"llmbar: {place}: no such file, or no dataset.json below it; give one, or a folder of them")

    def read() -> Iterator[Entry]:
        for file in files:
            for entry in RowFile.at(file).entries():
                if isinstance(entry, Record):
                    about = {"subset": file.parent.name, "place": entry.number}
                    entry = replace(entry, row={**entry.row, **about})
                yield entry

    return Rows(read, str(place))


_BY_RESPONSE: dict[str, Callable[[Record], Mapping[str, Any]]] = {
    "healthbench_meta": healthbench_meta,
    "rubric_eval": attrgetter("row"),
}
READERS = (*PARSERS, *_BY_RESPONSE)
