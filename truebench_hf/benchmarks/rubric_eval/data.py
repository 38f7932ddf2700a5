"""The data of every study of this room as items: rows of rubric_eval, a source of rubrics, or a researcher's own labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.rubric_eval.mini import SPLITS
from truebench_hf.benchmarks.rubric_eval.mini import rows as mini_rows
from truebench_hf.data import catalogue, row_files, sources
from truebench_hf.data.judged import Case, stated
from truebench_hf.data.row_files import Usable
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import INSTRUCTION_CATEGORIES, Item, Responses, Rubric
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.options import InMemory
from truebench_hf.study.items import Items
from truebench_hf.types import Criterion, Label


def load(data: str, flag: str = "--data") -> list[dict[str, Any]]:
    """The rows of `rubric_mini`, a file, a folder of files named by split, or a Hub id, all splits of it.

    A row without a `split` gets that of its file. Raises UserError naming the row that cannot be read, or the remedy where
    nothing is found.
    """
    if isinstance(data, InMemory):
        return [dict(row) for row in data.value]
    if catalogue.built(data, "rubric_mini"):
        by_split = {split: mini_rows(split=split) for split in SPLITS}
    else:
        files = row_files.splits(data, ("rubric_mini",), flag)
        by_split = {split: [dict(record.row) for record in records] for split, records in files.items()}
    return [
        row | {"split": split} if split and not row.get("split") else row
        for split, rows in by_split.items()
        for row in rows
    ]


def items(rows: Iterable[Mapping[str, Any]]) -> list[Item]:
    """Rows put together by response. Raises UserError naming the row and the field; see `rows.checked`."""
    responses = Responses()
    for number, row in enumerate(rows, 1):
        responses.add(Record(f"row {number}" + (f" ({row['id']})" if row.get("id") else ""), row))
    if not responses.items:
        raise UserError("the data holds no rows")
    return responses.items


def labelled_items(rows: Iterable[Mapping[str, Any]]) -> list[Item]:
    """Rows of `prompt`, `response`, `criterion` and `label`, put together by response, in the order of the rows.

    A label is 0 or 1, true or false, yes or no, or empty: judged, but compared with nothing. `category`, `language` and
    `cluster` may be absent; rows of one cluster go together, and without it those of one prompt. Raises UserError naming
    the row and the field.
    """
    responses: dict[str, tuple[Record, dict[str, tuple[str, Label | None]]]] = {}
    for number, row in enumerate(rows, 1):
        record = Record(f"row {number}", row)
        prompt = record.text("prompt")
        if not isinstance(row.get("response"), str):
            raise record.wrong("response", "must be a text")
        groups = [row.get(name) for name in ("category", "language", "cluster")]
        # Rows that belong to other groups are judged by themselves.
        name = digest(canonical([prompt, row["response"], *(groups if any(groups) else ())]))[:16]
        criteria = responses.setdefault(name, (record, {}))[1]
        text = record.text("criterion")
        if "label" not in row:
            raise record.wrong("label", "must be yes or no, true or false, 1 or 0, or empty for none")
        if text in criteria:
            raise record.wrong("criterion", f"has a label for this response in {criteria[text][0]} too; keep one")
        criteria[text] = record.where, record.label("label")
    return [_item(name, record, criteria) for name, (record, criteria) in responses.items()]


def _item(name: str, record: Record, criteria: Mapping[str, tuple[str, Label | None]]) -> Item:
    prompt, category = record.text("prompt"), record.maybe("category") or ""
    folded = "_".join(category.casefold().replace("-", " ").split())
    category = folded if folded in INSTRUCTION_CATEGORIES else category
    known_category = category if category in INSTRUCTION_CATEGORIES else None  # those that prompts have a note on
    cluster = digest(canonical(prompt))[:12] if record.row.get("cluster") in (None, "") else record.id("cluster")
    texts = tuple(Criterion(text) for text in criteria)
    rubrics = tuple(
        Rubric(f"{name}-c{place}", place, text, label) for place, (text, (_, label)) in enumerate(criteria.items())
    )
    case = Case(prompt, str(record.row["response"]), texts, category=known_category)
    return Item(name, cluster, category, record.maybe("language") or "", "", "", case, rubrics)


def read(data: str) -> Usable[Item]:
    """The items of `SOURCE:PATH`, which need no labels or responses, of rubric_eval rows, or of plain labelled ones.

    Rows of a source that cannot be used are left out and told; elsewhere they are an error. Raises UserError
    where the data cannot be read or holds no rubrics.
    """
    kind, _, path = data.partition(":")
    if sources.is_source(data):
        usable = sources.read(kind, path)
    else:
        rows = load(data)
        columns = set(rows[0]) if rows else set()
        if rows and not columns & {"messages", "rubric", "criterion"}:
            remedy = "stands beside prompt, response and label, or the columns are those of rubric_mini"
            raise Record("row 1", rows[0]).wrong("criterion", remedy)
        plain = "criterion" in columns and "messages" not in columns
        usable = Usable(labelled_items(rows) if plain else items(rows))
    if not any(item.case.criteria for item in usable):
        raise UserError(f"--data {data}: holds no rubrics")
    return usable


def answered(data: str) -> Usable[Item]:
    """The same, but for what a source has no response to."""
    usable = read(data)
    return Usable((item for item in usable if item.answered), usable.left_out)


def selection(items: Sequence[Item], left_out: Sequence[str] = ()) -> Items[Item]:
    """The items of a study: a sample takes one response of every instruction before a second of any.

    Languages, categories and sources keep their shares.
    """
    return Items(
        items, lambda item: item.id, content, lambda item: (item.language, item.category, item.source),
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
