"""The distinct rubrics of some data, to be sorted by type, and where they come from (paper 003, appendices B, I, L)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.taxonomy import INSTRUCTION_CATEGORIES
from truebench_hf.errors import UserError


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


def entries(chosen: str, limit: int | None = None) -> list[Entry]:
    """The distinct rubrics of `SOURCE:PATH` (see `truebench_hf.loaders.sources`) or of rubric_eval rows.

    The first `limit` of them. Raises UserError where the data cannot be read or holds no rubrics.
    """
    kind, colon, path = chosen.partition(":")
    found: dict[tuple[str, str], Entry] = {}
    rows: dict[tuple[str, str], Counter[str]] = {}
    for entry in _of_source(kind, path) if colon and kind.isidentifier() else _of_rows(chosen):
        key = (entry.instruction_id, entry.rubric)
        rows.setdefault(key, Counter()).update(entry.rows)
        # One response may leave a rubric without a row and thus without a type; another has it.
        if key not in found or (found[key].kind is None and entry.kind is not None):
            found[key] = entry
    if limit is not None and limit < 1:
        raise UserError(f"--limit {limit}: must be at least 1")
    if not found:
        raise UserError(f"--data {chosen}: holds no rubrics")
    counted = [
        Entry(e.instruction_id, e.source, e.category, e.language, e.instruction, e.rubric, e.kind, e.hint, rows[key])
        for key, e in found.items()
    ]
    return counted[:limit]


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


def _of_rows(chosen: str) -> Iterator[Entry]:
    for item in data.items(data.load(chosen)):
        known = {rubric.index: rubric for rubric in item.rubrics}
        for i, criterion in enumerate(item.case.criteria):
            row = known.get(i)
            yield Entry(
                item.instruction_id, item.source, item.category, item.language, item.case.instruction, criterion.text,
                row.kind if row else None, row.hint if row else "", {row.split: 1} if row else {},
            )  # fmt: skip


def _of_source(name: str, path: str) -> Iterator[Entry]:
    from truebench_hf.loaders.sources import read

    for record in read(name, path):
        for criterion in record.rubrics:
            yield Entry(
                record.id, record.source, record.category, record.language, record.messages[-1].content,
                criterion.text, None, criterion.kind or "", {},
            )  # fmt: skip
