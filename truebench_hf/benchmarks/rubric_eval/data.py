"""RubricEval data: rows (one labelled rubric judgment each) read, checked, and put together by response.

Rows have the columns of `mini.COLUMNS`. Paper 003, section 3.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from truebench_hf import row_files
from truebench_hf.benchmarks.rubric_eval.mini import rows as mini_rows
from truebench_hf.benchmarks.rubric_eval.rubric_types import INSTRUCTION_CATEGORIES, RUBRIC_TYPES
from truebench_hf.engine.ledger import canonical, digest
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.case import Case
from truebench_hf.redaction import masked
from truebench_hf.rows import Record
from truebench_hf.study.items import Items
from truebench_hf.types import Criterion, Label, Message


@dataclass(frozen=True, slots=True)
class Rubric:
    """One row: a rubric, where it stands in the checklist (from 0), and its reference label (None: unlabelled).

    `hint` is what the source benchmark called this kind of rubric, `pair` names the contrast pair it belongs to.
    """

    id: str
    index: int
    text: str
    label: Label | None
    kind: str | None = None
    dimension: str | None = None
    split: str = ""
    hint: str = ""
    pair: str = ""
    row: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)  # all that the data says of it


@dataclass(frozen=True, slots=True)
class Item:
    """One response: what a judge is shown, and the rows that belong to it.

    `case` holds the whole checklist, of which only some rubrics may have a row (RubricEval drops what all judges agree
    on): a judge at checklist level reads all of it, one at rubric or decision level only `labelled`.
    """

    id: str
    instruction_id: str
    category: str
    language: str
    source: str
    model: str
    case: Case
    rubrics: tuple[Rubric, ...]

    @property
    def labelled(self) -> Case:
        """The case with the criteria of its rows alone, in the order of `rubrics`."""
        return replace(self.case, criteria=tuple(self.case.criteria[rubric.index] for rubric in self.rubrics))


def load(data: str, flag: str = "--data") -> list[dict[str, Any]]:
    """The rows of `rubric_mini`, a file, a folder of files named by split, or a Hub id, all splits of it.

    A row without a `split` gets that of its file. Secrets that this process knows are masked. Raises UserError naming
    the row that cannot be read, or the remedy where nothing is found.
    """
    if data == "rubric_mini":
        return masked(mini_rows())  # type: ignore[no-any-return]
    found = row_files.splits(data, ("rubric_mini",), flag)
    return [_in_split(masked(record.row), split) for split, records in found.items() for record in records]


def _in_split(row: dict[str, Any], split: str) -> dict[str, Any]:
    return row | {"split": split} if split and not row.get("split") else row


def items(rows: Iterable[Mapping[str, Any]]) -> list[Item]:
    """Rows put together by response, in the order in which responses and rows first appear.

    Needed columns: messages, response, rubric, instruction_category. `reference` is shown to judges. Where `response_id`, `instruction_id`, `id`,
    `checklist` or `rubric_index` are absent they are derived. Raises UserError naming the row and the field.
    """
    grouped: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for number, row in enumerate(map(named, rows), 1):
        where = f"row {number}" + (f" ({row['id']})" if row.get("id") else "")
        _check(row, where)
        grouped.setdefault(_response_id(row), []).append((where, row))
    if not grouped:
        raise UserError("the data holds no rows")
    found = [_item(name, group) for name, group in grouped.items()]
    names = Counter(rubric.id for item in found for rubric in item.rubrics)
    if doubled := next((name for name, n in names.items() if n > 1), None):
        raise UserError(f"{names[doubled]} rows have the id {doubled!r}; every row needs its own")
    return found


def selection(every: Sequence[Item]) -> Items[Item]:
    """The items of a study: a sample takes one response of every instruction before a second of any.

    Languages, categories and sources keep their shares.
    """
    return Items(
        every, lambda item: item.id, content, lambda item: (item.language, item.category, item.source),
        lambda item: item.instruction_id,
    )  # fmt: skip


def content(item: Item) -> list[Any]:
    """All of an item that shapes results, whatever file it came from; what judges are shown is all in it."""
    return [
        item.id, item.instruction_id, item.category, item.language, item.case.instruction, item.case.response,
        [[message.role, message.content] for message in item.case.history],
        [criterion.text for criterion in item.case.criteria],
        [[r.id, r.index, r.label, r.kind, r.split] for r in item.rubrics],
        item.case.context, item.case.reference,
    ]  # fmt: skip


def _item(name: str, group: Sequence[tuple[str, Mapping[str, Any]]]) -> Item:
    where, first = group[0]
    checklist = list(first.get("checklist") or (row["rubric"] for _, row in group))
    for place, row in group:
        for column in ("messages", "context", "reference", "response", "checklist"):
            if row.get(column) != first.get(column):
                raise UserError(f"{place}: field {column!r} differs from that of {where}, of the same response {name}")
    rubrics = tuple(_rubric(name, row, checklist, place) for place, row in group)
    doubled = {r.index for r in rubrics if sum(other.index == r.index for other in rubrics) > 1}
    if doubled:
        raise UserError(f"{where}: response {name} has more than one row for rubric_index {min(doubled)}; remove one")
    kinds = {rubric.index: rubric.kind for rubric in rubrics}
    criteria = tuple(Criterion(text, kinds.get(i)) for i, text in enumerate(checklist))
    history = tuple(Message(message["role"], message["content"]) for message in first["messages"])
    case = Case(
        history[-1].content, first["response"], criteria, history[:-1], first.get("context"),
        first["instruction_category"], first.get("reference") or None,
    )  # fmt: skip
    facts = (first["instruction_category"], str(first.get("language") or ""), str(first.get("source_benchmark") or ""))
    return Item(name, instruction_id(first), *facts, str(first.get("response_model") or ""), case, rubrics)


def _rubric(response_id: str, row: Mapping[str, Any], checklist: Sequence[str], where: str) -> Rubric:
    index = row.get("rubric_index")
    if index is None:
        index = checklist.index(row["rubric"]) if row["rubric"] in checklist else -1
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(checklist):
        raise UserError(f"{where}: field 'rubric_index' must be a place in 'checklist', 0 to {len(checklist) - 1}")
    if checklist[index] != row["rubric"]:
        raise UserError(f"{where}: field 'rubric' is not the entry {index} of 'checklist'")
    kind = row.get("rubric_type") or None
    return Rubric(
        id=str(row.get("id") or f"{response_id}-c{index}"),
        index=index,
        text=row["rubric"],
        label=Record(where, row).label("label"),
        kind=kind,
        dimension=RUBRIC_TYPES[kind].dimension if kind else None,
        split=str(row.get("split") or ""),
        hint=str(row.get("source_label") or ""),
        pair=str(row.get("pair_id") or ""),
        row=row,
    )


def instruction_id(row: Mapping[str, Any]) -> str:
    """The id of a row's instruction: its own, or one made of the conversation."""
    return str(row.get("instruction_id") or digest(canonical(row["messages"]))[:12])


def named(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row with the name of its rubric type, which Parquet and the Hub hold as a number (a class label)."""
    kind = row.get("rubric_type")
    if isinstance(kind, bool) or not isinstance(kind, int) or not 0 <= kind < len(RUBRIC_TYPES):
        return row
    return {**row, "rubric_type": list(RUBRIC_TYPES)[kind]}


def _check(row: Mapping[str, Any], where: str) -> None:
    messages, kind = row.get("messages"), row.get("rubric_type")
    if not isinstance(messages, list) or not messages or not all(map(_is_message, messages)):
        raise UserError(f"{where}: field 'messages' must be a list of {{role, content}}, the user's last")
    if messages[-1]["role"] != "user":
        raise UserError(f"{where}: field 'messages' must end with the user's message that was answered")
    for column in ("response", "rubric"):
        if not isinstance(row.get(column), str) or not (row[column].strip() or column == "response"):
            raise UserError(f"{where}: field {column!r} must be a text")
    for column in ("context", "reference"):
        if not isinstance(row.get(column), str | None):
            raise UserError(f"{where}: field {column!r} must be a text or empty")
    checklist = row.get("checklist")
    if checklist and not (isinstance(checklist, list) and all(isinstance(text, str) for text in checklist)):
        raise UserError(f"{where}: field 'checklist' must be a list of texts")
    if row.get("instruction_category") not in INSTRUCTION_CATEGORIES:
        raise unknown(f"instruction_category ({where})", str(row.get("instruction_category")), INSTRUCTION_CATEGORIES)
    if kind and kind not in RUBRIC_TYPES:
        raise unknown(f"rubric_type ({where})", str(kind), RUBRIC_TYPES)
    Record(where, row).label("label")


def _is_message(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and message.get("role") in ("system", "user", "assistant")
        and isinstance(message.get("content"), str)
    )


def _response_id(row: Mapping[str, Any]) -> str:
    if row.get("response_id"):
        return str(row["response_id"])
    model = row.get("response_model")  # two models may say the same
    return digest(canonical([row["messages"], row["response"], *([str(model)] if model else [])]))[:16]
