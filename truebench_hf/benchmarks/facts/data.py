"""What FACTS asks: documents with requests, from the built-in sample, the open set, or rows of anybody's.

A row has a request (`request`, `user_request`, `question`, `query`, `user_input`, `input`, `prompt`) and what alone must
answer it: a document (`document`, `context_document`, `context`) or passages (`passages`, `contexts`,
`retrieved_contexts`, `retrieval_context`, `documents`: a list of texts, or of objects with `id` and `text`). It may have
`id`, `system` (or `system_instruction`), `language`, `domain`, `task`, `context_tokens`, `split`, `baseline` (an answer to
measure eligibility by) and `reference` (also `ground_truth`, `expected_output`). So the public CSV of FACTS Grounding is
read as it is, and so are the logs of tools that evaluate retrieval.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Strict

from truebench_hf.data import catalogue, jsonl, row_files
from truebench_hf.data.answer_files import IDS
from truebench_hf.data.instances import free_id
from truebench_hf.data.rows import Id, Name, Record, Row, Text, Words, fold, holds, named
from truebench_hf.errors import UserError, refused
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.grounding.types import Passage, Source
from truebench_hf.types import Instance, Turn

MINI = Path(__file__).with_name("mini.jsonl")
OPEN = "google/FACTS-grounding-public"
_REQUEST = ("request", "user_request", "question", "query", "user_input", "input", "prompt")
_SYSTEM = ("system", "system_instruction", "system_prompt")
_DOCUMENT = ("document", "context_document", "context")
_PASSAGES = ("passages", "contexts", "retrieved_contexts", "retrieval_context", "documents")
_BASELINE = ("baseline", "baseline_response", "baseline_answer", "grounded_response")
_REFERENCE = ("reference", "ground_truth", "expected_output", "reference_answer")
_TOKENS = ("context_tokens", "document_tokens")
_TEXTS, _IDS = ("text", "content", "page_content", "passage"), ("id", "doc_id", "passage_id", "chunk_id", "title")
_LENGTHS = ((1_000, "under 1k"), (2_000, "1k to 2k"), (4_000, "2k to 4k"), (8_000, "4k to 8k"),
            (16_000, "8k to 16k"), (32_000, "16k to 32k"))  # fmt: skip


class _PassageRow(Row):
    keeps_blanks = ("text",)

    id: Id | None = named(*_IDS, default=None)
    text: Annotated[str, Strict()] = named(*_TEXTS)


def _listed(value: Any) -> Any:
    """The list or object that a cell of a table holds, as JSON or as Python writes it; a plain text as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            held = jsonl.maybe(value)
            held = ast.literal_eval(value.strip()) if held is None else held
            return held if isinstance(held, list | dict) else value
    return value


def _passages(value: Any) -> list[Any]:
    """Texts, objects with a text, or an object of texts by id; what has no id is numbered."""
    value = _listed(value)
    if isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values()):
        value = [{"id": str(key), "text": text} for key, text in value.items()]
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, Sequence) or not value:
        raise ValueError("must be a list of passages: texts, or objects with id and text")
    texts = ({"text": part} if isinstance(part, str) else part for part in value)
    return [{**part, "id": place} if isinstance(part, dict) and not any(holds(part.get(name)) for name in _IDS) else part
            for place, part in enumerate(texts, 1)]  # fmt: skip


def _document(value: Any) -> list[Any]:
    """A document is a passage without an id of its own."""
    return [{"id": _WHOLE, "text": value}] if isinstance(_listed(value), str) else _passages(value)


def _tokens(value: Any) -> int:
    try:
        return int(float(value))
    except (TypeError, ValueError, OverflowError):
        raise ValueError("must be a number of tokens") from None


_WHOLE = "\0"
R = TypeVar("R", bound="FactsRow")


class FactsRow(Row):
    """A row in any of the forms above."""

    any_case = True

    id: Id | None = named(*IDS, "question_id", default=None)
    request: Text = named(*_REQUEST, default="")
    system: Text = named(*_SYSTEM, default="")
    document: Annotated[tuple[_PassageRow, ...], BeforeValidator(_document)] = named(*_DOCUMENT, default=())
    passages: Annotated[tuple[_PassageRow, ...], BeforeValidator(_passages)] = named(*_PASSAGES, default=())
    language: Name = ""
    domain: Name = ""
    task: Name = ""
    split: Name = ""
    context_tokens: Annotated[int | None, BeforeValidator(_tokens)] = named(*_TOKENS, default=None)
    baseline: Text | None = named(*_BASELINE, default=None)
    reference: Text | None = named(*_REFERENCE, default=None)
    classified: Words = ()
    found_nothing: bool = False  # an empty list of passages: retrieval found nothing, and the evidence is the request

    @property
    def source(self) -> Source | None:
        """What the row says an answer must rest on; None where it holds neither document nor passages."""
        parts = self.document or self.passages
        if [part.id for part in parts] == [_WHOLE]:
            return Source(self.request, parts[0].text, self.system)
        made: dict[str, Passage] = {}
        for place, part in enumerate(parts, 1):
            own = str(part.id) if part.id not in made else f"{part.id} ({place})"
            made[own] = Passage(own, part.text)
        rests_on_something = parts or self.found_nothing
        return Source(self.request, "", self.system, tuple(made.values())) if rests_on_something else None


def read(record: Record, form: type[R]) -> R:
    """The row of a record. Raises UserError with the field that is wrong."""
    nothing = [name for name, value in record.row.items() if value in ([], "[]")]
    row = {name: value for name, value in record.row.items() if name not in nothing}
    found_nothing = any(fold(name) in (*_PASSAGES, *_DOCUMENT) for name in nothing)
    return replace(record, row=row | {"found_nothing": found_nothing}).read(form)


@dataclass(frozen=True, slots=True)
class Item:
    """A document (or passages) with a request; `length` is the document's in tokens, where the data tells it."""

    id: str
    source: Source
    language: str = ""
    domain: str = ""
    task: str = ""
    length: int | None = None
    split: str = ""
    baseline: str | None = None
    reference: str | None = None
    classified: tuple[str, ...] = ()  # columns that `facts classify` has filled

    @property
    def document(self) -> str:
        """Document or passages as a model is shown them, each passage under its id."""
        passages = (f"[{one.id}]\n{one.text}" for one in self.source.passages)
        return "\n\n".join(filter(None, (self.source.document, *passages)))

    @property
    def groups(self) -> dict[str, str]:
        """What scores are told apart by, as far as the data has columns for it; what a model has sorted says so."""
        named = {"domain": self.domain, "task": self.task, "length": _length(self.length), "language": self.language}
        told = {column: f"{column} (classified)" for column in self.classified}
        return {told.get(column, column): name for column, name in named.items() if name}

    @property
    def instance(self) -> Instance:
        """As a conversation of one turn, the document ahead of the request."""
        turn = Turn(self.source.request, (), self.reference)
        return Instance(
            self.id, self.language, self.domain, self.task, (turn,), self.source.system or None, self.document or None
        )


def load(data: str) -> list[Item]:
    """The items of `facts_mini`, `open` (also `facts_grounding`), a file, a folder or a Hub id, all splits of it.

    Raises UserError naming the first row that cannot be used and its field, or the remedy where nothing is found.
    """
    if data in ("open", OPEN) or catalogue.built(data, "facts_grounding"):
        return of_rows({"open": _public()}, data)
    mini = catalogue.built(data, "facts_mini")
    found = row_files.splits(str(MINI) if mini else data, ("facts_mini", "open (or facts_grounding)"))
    return of_rows(found, data)


def _public() -> Iterator[Record]:
    """The rows of the public set. Beside its examples lies a table of prompts, so that it is no plain data set."""
    from huggingface_hub import hf_hub_download

    with refused(f"--data open: examples.csv of {OPEN} cannot be had", "; download it and give its path"):
        path = hf_hub_download(OPEN, "examples.csv", repo_type="dataset")
    yield from row_files.records(Path(path))


def of_rows(splits: Mapping[str, Iterable[Record]], data: str = "the data") -> list[Item]:
    """The items of rows by split. One split alone is none that scores are told apart by, unless it has FACTS's name.

    An id that is absent is a hash of what is asked, so that it stays where rows come and go. Raises UserError on a row
    that cannot be used, and on an id that stands twice.
    """
    items: list[Item] = []
    seen: dict[str, str] = {}
    several = len(splits) > 1
    for split, records in splits.items():
        for record in records:
            item = of_row(record)
            own = item.split or (split if several or split in ("open", "blind") else "")
            if item.id in seen and item.id == _content_id(item.source):
                item = replace(item, id=free_id(item.id, seen))
            if item.id in seen:
                raise UserError(f"{record.where}: id {item.id} stands twice (first at {seen[item.id]}); remove one")
            seen[item.id] = record.where
            items.append(replace(item, split=own))
    if not items:
        raise UserError(f"{data}: holds no rows")
    return items


def of_row(record: Record, own_id: str = "") -> Item:
    """One item from a row; without an id it has `own_id`, else a hash of what is asked.

    Raises UserError with the field that is wrong.
    """
    return item_of(read(record, FactsRow), record, own_id)


def item_of(row: FactsRow, record: Record, own_id: str = "") -> Item:
    """The item of a row that was read."""
    if row.source is None or not row.request:
        what, names = ("request", _REQUEST) if row.source else ("document", (*_DOCUMENT, *_PASSAGES))
        raise UserError(
            f"{record.where}: has no {what}; call its column {', '.join(names[:-1])} or {names[-1]}; {record.there}"
        )
    return Item(
        row.id or own_id or _content_id(row.source), row.source, row.language, row.domain, row.task, row.context_tokens,
        row.split, row.baseline, row.reference, row.classified,
    )  # fmt: skip


def _content_id(source: Source) -> str:
    passages = [(passage.id, passage.text) for passage in source.passages]
    return digest(canonical([source.request, source.document, source.system, passages]))[:12]


def _length(tokens: int | None) -> str:
    return "" if tokens is None else next((name for most, name in _LENGTHS if tokens < most), "over 32k")
