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
from typing import Any

from truebench_hf.data import jsonl, row_files
from truebench_hf.data.answer_files import IDS
from truebench_hf.data.headers import in_any_case
from truebench_hf.data.instances import HALF, free_id
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
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
_COLUMNS = {
    *_REQUEST, *_SYSTEM, *_DOCUMENT, *_PASSAGES, *_BASELINE, *_REFERENCE, *_TOKENS, *IDS, "question_id", "language", "domain",
    "task", "split", "classified",
}  # fmt: skip
_TEXTS, _IDS = ("text", "content", "page_content", "passage"), ("id", "doc_id", "passage_id", "chunk_id", "title")
_LENGTHS = ((1_000, "under 1k"), (2_000, "1k to 2k"), (4_000, "2k to 4k"), (8_000, "4k to 8k"),
            (16_000, "8k to 16k"), (32_000, "16k to 32k"))  # fmt: skip


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
    if data in ("open", OPEN) or row_files.built(data, "facts_grounding"):
        return of_rows({"open": _public()}, data)
    mini = row_files.built(data, "facts_mini")
    found = row_files.splits(str(MINI) if mini else data, ("facts_mini", "open (or facts_grounding)"))
    return of_rows(found, data)


def _public() -> Iterator[Record]:
    """The rows of the public set. Beside its examples lies a table of prompts, so that it is no plain data set."""
    from huggingface_hub import hf_hub_download

    try:
        path = hf_hub_download(OPEN, "examples.csv", repo_type="dataset")
    except Exception as error:  # the client has many errors of its own; all mean: cannot be had
        why = " ".join(str(error).split())[:300]
        raise UserError(
            f"--data open: examples.csv of {OPEN} cannot be had: {why}; download it and give its path"
        ) from error
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
    record = in_our_columns(record)
    source = source_of(record)
    if source is None or not source.request:
        what, names = ("request", _REQUEST) if source else ("document", (*_DOCUMENT, *_PASSAGES))
        raise UserError(
            f"{record.where}: has no {what}; call its column {', '.join(names[:-1])} or {names[-1]}; {record.there}"
        )
    key = next((name for name in (*IDS, "question_id") if _there(record, name)), None)
    language, domain, task, split = named = [
        record.maybe(name) or "" for name in ("language", "domain", "task", "split")
    ]
    own = record.id(key) if key else own_id or _content_id(source)
    if any(HALF.search(text) for text in (own, *named)):
        raise record.wrong(key or "domain", "holds half a character (a lone surrogate); write it anew")
    return Item(
        own, source, language, domain, task, _tokens(record), split, baseline=_text(record, _BASELINE),
        reference=_text(record, _REFERENCE), classified=record.words("classified"),
    )  # fmt: skip


def _content_id(source: Source) -> str:
    passages = [(passage.id, passage.text) for passage in source.passages]
    return digest(canonical([source.request, source.document, source.system, passages]))[:12]


def in_our_columns(record: Record) -> Record:
    """The row under our names, whatever the case of its own."""
    return replace(record, row=in_any_case(record.row, _COLUMNS))


def source_of(record: Record) -> Source | None:
    """What a row says an answer must rest on; None where it holds neither document nor passages.

    An empty list of passages says that retrieval found nothing: then that is the evidence, beside the request.
    """
    record = in_our_columns(record)
    request, system = _text(record, _REQUEST) or "", _text(record, _SYSTEM) or ""
    language = (record.maybe("language") or "").casefold()
    name = next((name for name in (*_DOCUMENT, *_PASSAGES) if _there(record, name)), None)
    if name is None:
        nothing = any(record.row.get(column) in ([], "[]") for column in (*_PASSAGES, *_DOCUMENT))
        return Source(request, "", system, language=language) if nothing else None
    value = record.row[name]
    if isinstance(value, str):
        listed = _listed(value)
        if listed is None and name in _DOCUMENT:
            return Source(request, value, system, language=language)
        value = [value] if listed is None else listed
    return Source(request, "", system, _passages(record, name, value), language)


def _listed(text: str) -> Any:
    """The list or object that a cell of a table holds, as JSON or as Python writes it; None where it is a plain text."""
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        found = jsonl.maybe(text)
        found = ast.literal_eval(text.strip()) if found is None else found
        return found if isinstance(found, list | dict) else None
    return None


def _passages(record: Record, name: str, value: Any) -> tuple[Passage, ...]:
    """Texts, objects with a text, or an object of texts by id. What has no id is numbered, and so is an id's second."""
    if isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values()):
        value = [{"id": str(key), "text": text} for key, text in value.items()]
    if not isinstance(value, Sequence) or not value:
        raise record.wrong(name, "must be a list of passages: texts, or objects with id and text")
    made: dict[str, Passage] = {}
    for place, entry in enumerate(value, 1):
        one = _passage(record, name, place, entry)
        own = one.id if one.id not in made else f"{one.id} ({place})"
        made[own] = replace(one, id=own)
    return tuple(made.values())


def _passage(record: Record, name: str, place: int, entry: Any) -> Passage:
    if isinstance(entry, str):
        return Passage(str(place), entry)
    part = record.part(name, place - 1, entry)
    key = next((key for key in _TEXTS if isinstance(part.row.get(key), str)), None)
    if key is None:
        raise part.wrong("text", "must be a text")
    named = next((key for key in _IDS if _there(part, key)), None)
    return Passage(part.id(named) if named else str(place), part.row[key])


def _tokens(record: Record) -> int | None:
    name = next((name for name in _TOKENS if _there(record, name)), None)
    if name is None:
        return None
    try:
        return int(float(record.row[name]))
    except (TypeError, ValueError, OverflowError):
        raise record.wrong(name, "must be a number of tokens") from None


def _length(tokens: int | None) -> str:
    return "" if tokens is None else next((name for most, name in _LENGTHS if tokens < most), "over 32k")


def _text(record: Record, names: Sequence[str]) -> str | None:
    """The first of these that a row has; a list of one text is that text (`ground_truths`)."""
    name = next((name for name in names if _there(record, name)), None)
    return None if name is None else record.text(name)


def _there(record: Record, name: str) -> bool:
    value = record.row.get(name)
    return value is not None and value not in ([], "[]") and (not isinstance(value, str) or bool(value.strip()))
