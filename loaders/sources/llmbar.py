"""LLMBar: an instruction and two outputs, of which one follows it (repository princeton-nlp/LLMBar).

Two sources per pair, one for each output, under the same single rubric, since the corpus has no rubrics of its own.
`meta["preferred"]` says whether annotators chose this output; the label is relative, so that a preferred output does
not necessarily meet the rubric.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from truebench_hf.errors import UserError
from truebench_hf.loaders.sources.common import RubricSource, by_id
from truebench_hf.loaders.sources.kept import Kept, joined, kept
from truebench_hf.rows import Record
from truebench_hf.types import Criterion, Message

_RUBRIC = Criterion(
    "Does the response do what the instruction asks, all of it, and not something that merely looks like it?",
    "task_completion",
)


def read(path: Path, strict: bool = False) -> Kept[RubricSource]:
    """The outputs of all pairs in one dataset.json, or in every dataset.json below a folder (one subset each)."""
    files = sorted(path.rglob("dataset.json")) if path.is_dir() else [path]
    if not files:
        raise UserError(f"{path}: holds no dataset.json")
    parts = (kept(file, partial(_outputs, file.parent.name), key=by_id, strict=strict) for file in files)
    return joined(path, parts)


def _outputs(subset: str, record: Record) -> list[RubricSource]:
    label = record.row.get("label")
    if isinstance(label, bool) or label not in (1, 2):
        raise record.wrong("label", "must be 1 or 2")
    pair = f"llmbar-{subset.lower()}-{record.number:03d}"
    messages = (Message("user", record.text("input")),)
    return [
        RubricSource(
            f"{pair}-{output}", "LLMBar", "constrained", "EN", messages, (_RUBRIC,),
            response=record.text(f"output_{output}"),
            meta={"pair": pair, "subset": subset, "output": output, "preferred": output == label},
        )
        for output in (1, 2)
    ]  # fmt: skip
