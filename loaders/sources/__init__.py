"""Sources of rubrics, one module each, read to one common form: `read(NAME, PATH)`, in commands `--data NAME:PATH`.

Tested on the real files: structflowbench, llmbar. Tested only on hand-made records in the documented form:
advancedif, infobench, complexbench, complexbench_en, cfbench, sysbench, wildbench, profbench, healthbench,
healthbench_meta, rubrichub, rar, multichallenge, biggen. `rubric_eval` reads rows in the columns of the set of that
name, and is tested on rubric_mini.

People's labels stand in profbench, healthbench_meta and rubric_eval; points, negative ones for faults, in profbench,
healthbench, rubrichub, rar and multichallenge.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.benchmarks.rubric_eval.rows import Responses
from truebench_hf.data import row_files
from truebench_hf.data.row_files import Rows
from truebench_hf.data.row_files import is_source as is_source
from truebench_hf.data.rows import Record
from truebench_hf.data.usable import Sieve, Usable
from truebench_hf.errors import unknown
from truebench_hf.loaders.sources import (
    advancedif,
    biggen,
    cfbench,
    complexbench,
    healthbench,
    infobench,
    llmbar,
    multichallenge,
    profbench,
    rubrichub,
    rubrics_as_rewards,
    structflowbench,
    sysbench,
    wildbench,
)
from truebench_hf.text.redaction import masked

_LOG = logging.getLogger(__name__)


def read(
    name: str, path: str | Path, *, strict: bool = False, warns: bool = True, split: str = "test"
) -> Usable[Item]:  # fmt: skip
    """The instructions of a source, from its file as published, a folder of it, or its id on the Hub.

    Of several splits the one named `split` is read, else test; llmbar takes a folder of its repository. A row that cannot be used
    (malformed, or with an id that an earlier one has) is left out: `left_out` of the result says how many and why, and if
    it `warns` so does the log, which is printed where nobody asked for it elsewhere.
    Raises UserError on an unknown name, an absent file, a file of which more than half cannot be used, and with `strict`
    on the first such row, with its number and the field.
    """
    if name not in READERS:
        raise unknown("source of rubrics", name, READERS)
    found = READERS[name](str(path), strict, split)
    if warns and found.left_out:
        _LOG.warning("%s", found.left_out)
    found[:] = masked(list(found))
    return found


def _each(parse: Callable[[Record], list[Item]], path: str, strict: bool, split: str) -> Usable[Item]:
    rows = _rows_of(path, split)
    sieve = Sieve(rows.name, rows.entries(), parse, key=attrgetter("instruction_id"), strict=strict)
    return Usable(list(sieve), sieve.left_out)


def _by_response(row: Callable[[Record], Mapping[str, Any]], path: str, strict: bool, split: str) -> Usable[Item]:
    """Rows of rubric_eval, as `row` makes them of the file's; those without label may lack the response, too."""
    found = Responses(unanswered=True)

    def add(record: Record) -> list[Item]:
        found.add(Record(record.where, row(record), record.number))
        return []

    rows = _rows_of(path, split)
    sieve = Sieve(rows.name, rows.entries(), add, strict=strict)
    return Usable([*sieve, *found.items], sieve.left_out)


def _rows_of(path: str, split: str) -> Rows:
    found = row_files.splits(path, flag="source")
    return found[split] if split in found else row_files.the_one(found, path)


_PARSERS: dict[str, Callable[[Record], list[Item]]] = {
    "advancedif": advancedif.parse,
    "biggen": biggen.parse,
    "cfbench": cfbench.parse,
    "complexbench": complexbench.parse,
    "complexbench_en": partial(complexbench.parse, english=True),
    "healthbench": healthbench.parse,
    "infobench": infobench.parse,
    "multichallenge": multichallenge.parse,
    "profbench": profbench.parse,
    "rar": rubrics_as_rewards.parse,
    "rar_without_pitfalls": partial(rubrics_as_rewards.parse, pitfalls=False),
    "rubrichub": rubrichub.parse,
    "structflowbench": structflowbench.parse,
    "sysbench": sysbench.parse,
    "wildbench": wildbench.parse,
}
READERS: dict[str, Callable[[str, bool, str], Usable[Item]]] = {
    **{name: partial(_each, parse) for name, parse in _PARSERS.items()},
    "healthbench_meta": partial(_by_response, healthbench.meta),
    "llmbar": llmbar.read,
    "rubric_eval": partial(_by_response, lambda record: record.row),
}
