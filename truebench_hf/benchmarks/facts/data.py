"""What FACTS asks: documents with requests, from the built-in sample, the open set, or rows in every form that people have.

A row has a request and a document or passages, under any of the names that `data/log_forms.yaml` has for `retrieval`.
Passages are a list of texts, or of objects with id and text as LangChain, LlamaIndex and Phoenix write them, as it is, as
JSON, or as Python prints it in the cell of a table. An empty list, or an empty cell in a column of passages, says that
retrieval found none. A document may stand in a file of its own, beside the data. There may be `id`, `language`, `domain`,
`task`, `split`, a baseline (an answer to measure eligibility by) and a reference. Columns may be named in any case, and
stand within `inputs` and `outputs` (LangSmith) or `attributes` (Phoenix).
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Strict

from truebench_hf.data import catalogue, jsonl, row_files
from truebench_hf.data.answer_files import IDS
from truebench_hf.data.instances import free_id
from truebench_hf.data.row_formats import read_text
from truebench_hf.data.rows import Id, Name, Record, Row, Text, Words, fold, holds, named, unwrapped, words
from truebench_hf.errors import UserError, refused
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.grounding.types import Passage, Source
from truebench_hf.text.terminal import warn
from truebench_hf.types import Instance, Turn

MINI = Path(__file__).with_name("mini.jsonl")
OPEN = "google/FACTS-grounding-public"
_LENGTHS = ((1_000, "under 1k"), (2_000, "1k to 2k"), (4_000, "2k to 4k"), (8_000, "4k to 8k"),
            (16_000, "8k to 16k"), (32_000, "16k to 32k"))  # fmt: skip
_NAMES: Mapping[str, Sequence[str]] = words("retrieval")  # of columns, by what they hold
_EXPECTED: Mapping[str, Sequence[str]] = words("retrieval")["expected"]
_READABLE = (".txt", ".md", ".markdown", ".rst", ".html", ".htm", ".json", ".csv", "")
_FILE_NAME = re.compile(r"https?://\S+|[\w./\\-]+\.(?:txt|md|markdown|rst|html?|pdf|docx?)")  # in place of a document
_WHOLE = "\0"
R = TypeVar("R", bound="FactsRow")


@dataclass(frozen=True, slots=True)
class FactsItem:
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
        passages = (f"[{passage.id}]\n{passage.text}" for passage in self.source.passages)
        return "\n\n".join(filter(None, (self.source.document, *passages)))

    @property
    def groups(self) -> dict[str, str]:
        """What scores are told apart by, as far as the data has columns for it; what a model has sorted says so."""
        tokens = self.length
        length = "" if tokens is None else next((name for most, name in _LENGTHS if tokens < most), "over 32k")
        named = {"domain": self.domain, "task": self.task, "length": length, "language": self.language}
        headings = {column: f"{column} (classified)" for column in self.classified}
        return {headings.get(column, column): name for column, name in named.items() if name}

    @property
    def instance(self) -> Instance:
        """As a conversation of one turn, the document ahead of the request."""
        turn = Turn(self.source.request, (), self.reference)
        return Instance(
            self.id, self.language, self.domain, self.task, (turn,), self.source.system or None, self.document or None
        )


def load(data: str) -> list[FactsItem]:
    """The items of `facts_mini`, `open` (also `facts_grounding`), a file, a folder or a Hub id, all splits of it.

    Raises UserError naming the first row that cannot be used and its field, or the remedy where nothing is found.
    """
    if data in ("open", OPEN) or catalogue.built(data, "facts_grounding"):
        from huggingface_hub import hf_hub_download

        # Beside the examples of the public set lies a table of prompts, so that it is no plain data set.
        with refused(f"--data open: examples.csv of {OPEN} cannot be had", "; download it and give its path"):
            path = hf_hub_download(OPEN, "examples.csv", repo_type="dataset")
        return of_rows({"open": row_files.records(Path(path))}, data)
    mini = catalogue.built(data, "facts_mini")
    splits = row_files.splits(str(MINI) if mini else data, ("facts_mini", "open (or facts_grounding)"))
    return of_rows(splits, data, folder_of(data))


def folder_of(data: str) -> Path | None:
    """Return the folder in which data lies, where its rows may name files; None for data from elsewhere."""
    place = Path(data).expanduser()
    return place if place.is_dir() else place.parent if place.is_file() else None


def of_rows(
    splits: Mapping[str, Iterable[Record]], data: str = "the data", folder: Path | None = None
) -> list[FactsItem]:
    """The items of rows by split. One split alone is none that scores are told apart by, unless it has FACTS's name.

    An id that is absent is a hash of what is asked, so that it stays where rows come and go. Raises UserError on a row
    that cannot be used, and on an id that stands twice.
    """
    items: list[FactsItem] = []
    seen: dict[str, str] = {}
    many_splits = len(splits) > 1
    for split, records in splits.items():
        for record in records:
            item = of_row(record, folder=folder)
            own = item.split or (split if many_splits or split in ("open", "blind") else "")
            if item.id in seen and item.id == _content_id(item.source):
                item = replace(item, id=free_id(item.id, seen))
            if item.id in seen:
                raise UserError(f"{record.where}: id {item.id} stands twice (first at {seen[item.id]}); remove one")
            seen[item.id] = record.where
            items.append(replace(item, split=own))
    if not items:
        raise UserError(f"{data}: holds no rows")
    return items


def of_row(record: Record, own_id: str = "", folder: Path | None = None, otherwise: str = "") -> FactsItem:
    """One item from a row; without an id it has `own_id`, else a hash of what is asked.

    Raises UserError with the field that is wrong; where there is no document `otherwise` is another remedy.
    """
    return item_of(read(record, FactsRow, folder), record, own_id, otherwise)


def item_of(row: FactsRow, record: Record, own_id: str = "", otherwise: str = "") -> FactsItem:
    """The item of a row that was read. Raises UserError, with the remedies, where it lacks a request or what must answer it."""
    source = row.source
    if source is not None and row.request:
        return FactsItem(
            row.id or own_id or _content_id(source), source, row.language, row.domain, row.task, row.context_tokens,
            row.split, row.baseline, row.reference, row.classified,
        )  # fmt: skip
    what, names = ("request", _NAMES["request"]) if source else ("document", [*_NAMES["document"], *_NAMES["passages"]])
    none = "" if source else "; [] says that retrieval found none"
    raise UserError(
        f"{record.where}: has no {what}; call its column {', '.join(names[:-1])} or {names[-1]}{none}{otherwise}; {record.there}"
    )


def _content_id(source: Source) -> str:
    passages = [(passage.id, passage.text) for passage in source.passages]
    return digest(canonical([source.request, source.document, source.system, passages]))[:12]


def _named(what: str, **more: Any) -> Any:
    return named(*_NAMES[what], **more)


class _PassageRow(Row):
    any_case = True
    keeps_blanks = ("text",)

    id: Id | None = _named("passage_id", default=None)
    text: Annotated[str, Strict()] = _named("passage_text")


def _passages(value: Any) -> list[Any]:
    """Texts, objects with a text, or an object of texts by id; what has no id is numbered."""
    value = _parsed_cell(value)
    if isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values()):
        value = [{"id": str(key), "text": text} for key, text in value.items()]
    value = [value] if isinstance(value, str) else value
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        value = [text for text in value if text.strip()]
    if not isinstance(value, Sequence) or not value:
        raise ValueError("must be a list of passages: texts, or objects with id and text")
    return [_passage(part, number) for number, part in enumerate(value, 1)]


def _passage(part: Any, number: int) -> Any:
    """A passage as LangChain, LlamaIndex and Phoenix write it; one without an id has the title in its metadata, or its number."""
    if not isinstance(part, Mapping):
        return {"id": number, "text": part} if isinstance(part, str) else part
    inner = next((part[name] for name in _NAMES["passage_within"] if isinstance(part.get(name), Mapping)), part)
    plain = {fold(str(name).replace(".", "_")): value for name, value in inner.items()}
    about = plain.get("metadata")
    known = about if isinstance(about, Mapping) else {}
    plain = {name: known[name] for name in ("title", "source") if known.get(name)} | plain
    return plain if any(holds(plain.get(name)) for name in _NAMES["passage_id"]) else plain | {"id": number}


def _document(value: Any) -> list[Any]:
    """A document is a passage without an id of its own."""
    return [{"id": _WHOLE, "text": value}] if isinstance(_parsed_cell(value), str) else _passages(value)


def _parsed_cell(value: Any) -> Any:
    """The list or object that a cell of a table holds, as JSON or as Python prints it; a plain text as it is.

    Python prints objects such as `Document(page_content='...')`, and NumPy its lists without commas.
    """
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError):
        parsed = jsonl.maybe(value)
        if parsed is None:
            tokens = [token[:2] for token in tokenize.generate_tokens(io.StringIO(value.strip()).readline)]
            words = [token for token in tokens if token[0] not in (tokenize.NL, tokenize.NEWLINE)]
            spaced: list[tuple[int, str]] = []
            for word in words:
                spaced += [(tokenize.OP, ",")] if spaced and spaced[-1][0] == word[0] == tokenize.STRING else []
                spaced.append(word)
            parsed = _plain_node(ast.parse(tokenize.untokenize(spaced).strip(), mode="eval").body)
        return parsed if isinstance(parsed, list | dict) else value
    return value


def _plain_node(node: ast.AST) -> Any:
    if isinstance(node, ast.List | ast.Tuple):
        return [_plain_node(part) for part in node.elts]
    if isinstance(node, ast.Call) and node.keywords and not node.args:
        return {str(part.arg): _plain_node(part.value) for part in node.keywords}
    if isinstance(node, ast.Call) and node.args:  # array([...], dtype=object)
        return _plain_node(node.args[0])
    return ast.literal_eval(node)


def _token_count(value: Any) -> int:
    try:
        return int(float(value))
    except (TypeError, ValueError, OverflowError):
        raise ValueError("must be a number of tokens") from None


class FactsRow(Row):
    """A row in any of the forms above."""

    any_case = True

    id: Id | None = named(*IDS, "question_id", default=None)
    request: Text = _named("request", default="")
    system: Text = _named("system", default="")
    document: Annotated[tuple[_PassageRow, ...], BeforeValidator(_document)] = _named("document", default=())
    passages: Annotated[tuple[_PassageRow, ...], BeforeValidator(_passages)] = _named("passages", default=())
    language: Name = ""
    domain: Name = ""
    task: Name = ""
    split: Name = ""
    context_tokens: Annotated[int | None, BeforeValidator(_token_count)] = _named("context_tokens", default=None)
    baseline: Text | None = _named("baseline", default=None)
    reference: Text | None = _named("reference", default=None)
    classified: Words = ()
    retrieved_none: bool = False  # retrieval found no passage, and the evidence is the request

    @property
    def source(self) -> Source | None:
        """What the row says an answer must rest on; None where it holds neither document nor passages."""
        parts = self.document or self.passages
        if [part.id for part in parts] == [_WHOLE]:
            return Source(self.request, parts[0].text, self.system)
        passages: dict[str, Passage] = {}
        for number, part in enumerate(parts, 1):
            name = str(part.id) if part.id not in passages else f"{part.id} ({number})"
            passages[name] = Passage(name, part.text)
        known = parts or self.retrieved_none
        return Source(self.request, "", self.system, tuple(passages.values())) if known else None


def read(record: Record, form: type[R], folder: Path | None = None, *, files: bool = True) -> R:
    """The row of a record, with the text of a file that it names where it holds neither document nor passages.

    The file stands in `folder`, that of the data, or below it; without `files` none is looked for. Raises UserError with
    the field that is wrong.
    """
    row = unwrapped(record.row)
    columns = {fold(name): name for name in row}
    expected = {name for name, beside in _EXPECTED.items() if any(other in columns for other in beside)}
    evidence = [name for name in (*_NAMES["document"], *_NAMES["passages"]) if name in columns and name not in expected]
    empty = [name for name in evidence if _is_empty(name, row[columns[name]])]
    full = [name for name in evidence if name not in empty and holds(row[columns[name]])]
    left_out = {*empty, *expected, *full[1:]}
    if full[1:]:
        _note_left_out(
            record.where.rpartition(", ")[0], columns[full[0]], ", ".join(columns[name] for name in full[1:])
        )
    named_file = next((columns[name] for name in _NAMES["file"] if name in columns and holds(row[columns[name]])), None)
    if full and full[0] in _NAMES["document"] and _FILE_NAME.fullmatch(str(row[columns[full[0]]]).strip()):
        named_file, full = columns[full[0]], []
        left_out.add(fold(named_file))
    kept = {name: value for name, value in row.items() if fold(name) not in left_out} | {"retrieved_none": bool(empty)}
    if files and named_file and not empty and not full:
        kept |= {"document": _text_of_file(replace(record, row=row), named_file, folder)}
    elif files and not full and not empty and (blank := [columns[name] for name in evidence]):
        raise record.wrong(blank[0], "is blank; fill in the document, or write [] where retrieval found none")
    return replace(record, row=kept).read(form)


@cache
def _note_left_out(file: str, used: str, others: str) -> None:
    """Say once per file which of several columns of evidence is read."""
    warn(f"Note: {file}: answers are held against the column {used}; left out: {others}.")


def _text_of_file(record: Record, column: str, folder: Path | None) -> str:
    name = str(record.row[column]).strip()
    inside = folder and folder.resolve()
    path = inside and (inside / name).resolve()
    if inside and path and path.is_file() and path.is_relative_to(inside) and path.suffix.lower() in _READABLE:
        return read_text(path)
    what = f"names {name:.80}, which is no text file in the folder of the data ({folder or 'it has none'}) or below it"
    raise record.wrong(column, f"{what}; save its text there as .txt or .md, or put it in document")


def _is_empty(name: str, value: Any) -> bool:
    """Whether a column says that nothing was retrieved; one document that is blank has been forgotten."""
    blank = not holds(value) or str(value).strip().casefold() in ("nan", "none", "null")
    return value in ([], "[]") or (name in _NAMES["passages"] and (blank or _all_blank(value)))


def _all_blank(value: Any) -> bool:
    parts = _parsed_cell(value)
    return isinstance(parts, list) and not any(holds(part) for part in parts)
