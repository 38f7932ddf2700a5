"""Sources of rubrics, one module each, read to one common form: `read(NAME, PATH)`.

Tested on the real files: structflowbench, llmbar. Tested only on hand-made records in the documented form:
advancedif, infobench, complexbench, complexbench_en, cfbench, sysbench, wildbench. `rubric_eval` reads rows in the
columns of the set of that name, and is tested on rubric_mini.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from pathlib import Path

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.benchmarks.rubric_eval.rows import Responses
from truebench_hf.errors import UserError, unknown
from truebench_hf.loaders.sources import (
    advancedif,
    cfbench,
    complexbench,
    infobench,
    llmbar,
    structflowbench,
    sysbench,
    wildbench,
)
from truebench_hf.loaders.usable import Usable, usable
from truebench_hf.redaction import masked
from truebench_hf.rows import Record

_LOG = logging.getLogger(__name__)


def read(name: str, path: str | Path, *, strict: bool = False) -> Usable[Item]:
    """The instructions of a source, from its file as published (a folder for llmbar).

    A row that cannot be used (malformed, or with an id that an earlier one has) is left out: `left_out` of the result
    says how many and why, and so does a warning in the log, which is printed where nobody asked for it elsewhere.
    Raises UserError on an unknown name, an absent file, a file of which more than half cannot be used, and with `strict`
    on the first such row, with its number and the field.
    """
    if name not in READERS:
        raise unknown("source of rubrics", name, READERS)
    if not Path(path).exists():
        raise UserError(f"{name}: no such file: {path}")
    found = READERS[name](Path(path), strict)
    if found.left_out:
        _LOG.warning("%s", found.left_out)
    found[:] = masked(list(found))
    return found


def _each(parse: Callable[[Record], list[Item]], path: Path, strict: bool) -> Usable[Item]:
    return usable(path, parse, key=attrgetter("instruction_id"), strict=strict)


def _rows(path: Path, strict: bool) -> Usable[Item]:
    """Rows of rubric_eval; those without label may lack the response, too."""
    found = Responses(unanswered=True)

    def add(record: Record) -> list[Item]:
        found.add(record)
        return []

    left_out = usable(path, add, strict=strict).left_out
    return Usable(found.items, left_out)


_PARSERS: dict[str, Callable[[Record], list[Item]]] = {
    "advancedif": advancedif.parse,
    "infobench": infobench.parse,
    "complexbench": complexbench.parse,
    "complexbench_en": partial(complexbench.parse, english=True),
    "cfbench": cfbench.parse,
    "sysbench": sysbench.parse,
    "structflowbench": structflowbench.parse,
    "wildbench": wildbench.parse,
}
READERS: dict[str, Callable[[Path, bool], Usable[Item]]] = {
    **{name: partial(_each, parse) for name, parse in _PARSERS.items()},
    "llmbar": llmbar.read,
    "rubric_eval": _rows,
}
