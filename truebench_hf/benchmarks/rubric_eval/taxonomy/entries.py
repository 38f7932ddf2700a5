"""The distinct rubrics of some data, to be sorted by type, and where they come from (paper 003, appendices B, I, L)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.rubric_types import INSTRUCTION_CATEGORIES
from truebench_hf.errors import UserError
from truebench_hf.judging.case import stated
from truebench_hf.loaders.sources import read
from truebench_hf.loaders.sources.kept import Kept
from truebench_hf.study.items import Items

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One rubric of one instruction. `kind` is its type where the data knows it, `hint` what its source calls it.

    `rows` counts the labelled rubric judgments it stands in by split, empty for a source that has none.
    """

    instruction_id: str
    source: str
    category: str
    language: str
    instruction: str
    rubric: str
    kind: str | None
    hint: str
    rows: Mapping[str, int]


def is_source(chosen: str) -> bool:
    """Whether the data is `SOURCE:PATH` (see `truebench_hf.loaders.sources`) rather than rubric_eval rows."""
    kind, colon, _ = chosen.partition(":")
    return bool(colon) and kind.isidentifier()


def entries(chosen: str, loaded: Sequence[Row] | None = None, strict: bool = False) -> Items[Entry]:
    """The distinct rubrics of `SOURCE:PATH` or of rubric_eval rows; a sample keeps languages, categories and sources.

    `loaded` are the rows of `chosen`, for those who have them already. Rows of a source that cannot be used are left out
    and told, or with `strict` an error. Raises UserError where the data cannot be read or holds no rubrics.
    """
    found: dict[tuple[str, str], Entry] = {}
    rows: dict[tuple[str, str], Counter[str]] = {}
    if is_source(chosen):
        every = _of_source(chosen, strict)
    else:
        every = Kept(_of_rows(data.load(chosen) if loaded is None else loaded))
    for entry in every:
        key = (entry.instruction_id, entry.rubric)
        rows.setdefault(key, Counter()).update(entry.rows)
        # One response may leave a rubric without a row and thus without a type; another has it.
        if key not in found or (found[key].kind is None and entry.kind is not None):
            found[key] = entry
    if not found:
        raise UserError(f"--data {chosen}: holds no rubrics")
    counted = [
        Entry(e.instruction_id, e.source, e.category, e.language, e.instruction, e.rubric, e.kind, e.hint, rows[key])
        for key, e in found.items()
    ]
    return Items(
        counted, lambda e: f"{e.instruction_id} {e.rubric}",
        lambda e: [e.instruction_id, e.source, e.category, e.instruction, e.rubric, e.kind, e.hint],
        lambda e: (e.language, e.category, e.source), left_out=tuple(every.left_out.reasons),
    )  # fmt: skip


@dataclass(frozen=True)
class SourceCounts:
    """One line of the source statistics: instructions, their rubrics, and labelled judgments by split."""

    category: str
    source: str
    instructions: int
    rubrics: int
    rows: Mapping[str, int]


def by_source(found: Sequence[Entry]) -> list[SourceCounts]:
    """Counts per category and source, categories in the paper's order (Tables 5 and 8)."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in found:
        groups.setdefault((entry.category, entry.source), []).append(entry)
    order = list(INSTRUCTION_CATEGORIES)
    counts = []
    for (category, source), group in sorted(groups.items(), key=lambda pair: (order.index(pair[0][0]), pair[0][1])):
        splits: Counter[str] = Counter()
        for entry in group:
            splits.update(entry.rows)
        instructions = len({entry.instruction_id for entry in group})
        counts.append(SourceCounts(category, source, instructions, len(group), dict(splits)))
    return counts


def _of_rows(rows: Sequence[Row]) -> Iterator[Entry]:
    for item in data.items(rows):
        known = {rubric.index: rubric for rubric in item.rubrics}
        for i, criterion in enumerate(item.case.criteria):
            row = known.get(i)
            yield Entry(
                item.instruction_id, item.source, item.category, item.language, item.case.instruction, criterion.text,
                row.kind if row else None, row.hint if row else "", {row.split: 1} if row else {},
            )  # fmt: skip


def _of_source(chosen: str, strict: bool) -> Kept[Entry]:
    name, _, path = chosen.partition(":")
    found = read(name, path, strict=strict)
    made = (
        Entry(
            record.id, record.source, record.category, record.language, record.messages[-1].content,
            stated(criterion), None, criterion.kind or "", {},
        )
        for record in found for criterion in record.rubrics
    )  # fmt: skip
    return Kept(made, found.left_out)
