"""LLMBar: an instruction and two outputs, of which one follows it (repository princeton-nlp/LLMBar).

Two items per pair, one for each output, under the same single rubric, since the corpus has no rubrics of its own.
The fact `preferred` says whether annotators chose this output; the label is relative, so that a preferred output does
not necessarily meet the rubric.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from pathlib import Path

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.rows import Record
from truebench_hf.data.usable import Usable, joined, usable
from truebench_hf.errors import UserError
from truebench_hf.loaders.sources.common import source_item
from truebench_hf.types import Criterion, Message

_RUBRIC = Criterion(
    "Does the response do what the instruction asks, all of it, and not something that merely looks like it?",
    "task_completion",
)


def read(given: str, strict: bool, split: str) -> Usable[Item]:
    """The outputs of all pairs in one dataset.json, or in every dataset.json below a folder (one subset each).

    There are no splits, whichever is asked for.
    """
    path = Path(given).expanduser()
    if not path.exists():
        raise UserError(f"llmbar: no such file: {path}; give a dataset.json, or a folder of them")
    files = sorted(path.rglob("dataset.json")) if path.is_dir() else [path]
    if not files:
        raise UserError(f"{path}: holds no dataset.json")
    parts = (usable(file, partial(_outputs, file.parent.name), key=attrgetter("id"), strict=strict) for file in files)
    return joined(path, parts)


def _outputs(subset: str, record: Record) -> list[Item]:
    label = record.row.get("label")
    if isinstance(label, bool) or label not in (1, 2):
        raise record.wrong("label", "must be 1 or 2")
    pair = f"llmbar-{subset.lower()}-{record.number:03d}"
    messages = (Message("user", record.text("input")),)
    return [
        source_item(
            pair, "LLMBar", "constrained", "EN", messages, (_RUBRIC,), response=record.text(f"output_{output}"),
            response_id=f"{pair}-{output}",
            facts={"pair": pair, "subset": subset, "output": output, "preferred": output == label},
        )
        for output in (1, 2)
    ]  # fmt: skip
