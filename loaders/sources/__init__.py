"""Sources of rubrics, one module each, read to one common form: `read(NAME, PATH)`.

Tested on the real files: structflowbench, llmbar. Tested only on hand-made records in the documented form:
advancedif, infobench, complexbench, complexbench_en, cfbench, sysbench, wildbench. `rubric_eval` reads rows in the
columns of the set of that name, and is tested on rubric_mini.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from truebench_hf.errors import UserError, unknown
from truebench_hf.loaders.sources import (
    advancedif,
    cfbench,
    complexbench,
    infobench,
    llmbar,
    rubric_eval,
    structflowbench,
    sysbench,
    wildbench,
)
from truebench_hf.loaders.sources.common import RubricSource

__all__ = ["READERS", "RubricSource", "read"]

READERS: dict[str, Callable[[Path], list[RubricSource]]] = {
    "advancedif": advancedif.read,
    "infobench": infobench.read,
    "complexbench": complexbench.read,
    "complexbench_en": partial(complexbench.read, english=True),
    "cfbench": cfbench.read,
    "sysbench": sysbench.read,
    "structflowbench": structflowbench.read,
    "wildbench": wildbench.read,
    "llmbar": llmbar.read,
    "rubric_eval": rubric_eval.read,
}


def read(name: str, path: str | Path) -> list[RubricSource]:
    """The instructions of a source, from its file as published (a folder for llmbar).

    Raises UserError on an unknown name, an absent file, doubled ids, and on a malformed record with its number and the
    field.
    """
    if name not in READERS:
        raise unknown("source of rubrics", name, READERS)
    if not Path(path).exists():
        raise UserError(f"{name}: no such file: {path}")
    found = READERS[name](Path(path))
    seen: set[str] = set()
    for source in found:
        if source.id in seen:
            raise UserError(f"{path}: id {source.id!r} stands twice; remove one")
        seen.add(source.id)
    return found
