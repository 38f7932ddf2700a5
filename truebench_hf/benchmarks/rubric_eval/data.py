"""The data of every study of this room: labelled rows of rubric_eval, or a source of rubrics, as items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.rubric_eval.mini import SPLITS
from truebench_hf.benchmarks.rubric_eval.mini import rows as mini_rows
from truebench_hf.data import catalogue, row_files, sources
from truebench_hf.data.case import stated
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import Item, Responses
from truebench_hf.data.usable import Usable
from truebench_hf.errors import UserError
from truebench_hf.study.items import Items


def load(data: str, flag: str = "--data") -> list[dict[str, Any]]:
    """The rows of `rubric_mini`, a file, a folder of files named by split, or a Hub id, all splits of it.

    A row without a `split` gets that of its file. Raises UserError naming the row that cannot be read, or the remedy where
    nothing is found.
    """
    if catalogue.built(data, "rubric_mini"):
        return [_in_split(row, split) for split in SPLITS for row in mini_rows(split=split)]
    found = row_files.splits(data, ("rubric_mini",), flag)
    return [_in_split(dict(record.row), split) for split, records in found.items() for record in records]


def _in_split(row: dict[str, Any], split: str) -> dict[str, Any]:
    return row | {"split": split} if split and not row.get("split") else row


def items(rows: Iterable[Mapping[str, Any]]) -> list[Item]:
    """Rows put together by response. Raises UserError naming the row and the field; see `rows.checked`."""
    found = Responses()
    for number, row in enumerate(rows, 1):
        found.add(Record(f"row {number}" + (f" ({row['id']})" if row.get("id") else ""), row))
    if not found.items:
        raise UserError("the data holds no rows")
    return found.items


def read(data: str) -> Usable[Item]:
    """The items of `SOURCE:PATH`, which need no labels or responses, or of rubric_eval rows.

    Rows of a source that cannot be used are left out and told; in rubric_eval rows they are an error. Raises UserError
    where the data cannot be read or holds no rubrics.
    """
    kind, _, path = data.partition(":")
    found = sources.read(kind, path) if sources.is_source(data) else Usable(items(load(data)))
    if not any(item.case.criteria for item in found):
        raise UserError(f"--data {data}: holds no rubrics")
    return found


def answered(data: str) -> Usable[Item]:
    """The same, but for what a source has no response to."""
    found = read(data)
    return Usable((item for item in found if item.answered), found.left_out)


def selection(every: Sequence[Item], left_out: Sequence[str] = ()) -> Items[Item]:
    """The items of a study: a sample takes one response of every instruction before a second of any.

    Languages, categories and sources keep their shares.
    """
    return Items(
        every, lambda item: item.id, content, lambda item: (item.language, item.category, item.source),
        lambda item: item.instruction_id, left_out=tuple(left_out),
    )  # fmt: skip


def content(item: Item) -> list[Any]:
    """All of an item that shapes verdicts, whatever file it came from; what judges are shown is all in it."""
    return [
        item.id, item.instruction_id, item.category, item.language, item.case.instruction, item.case.response,
        [[message.role, message.content] for message in item.case.history],
        [stated(criterion) for criterion in item.case.criteria],
        [[r.id, r.index, r.label, r.kind, r.split] for r in item.rubrics],
        item.case.context, item.case.reference,
    ]  # fmt: skip
