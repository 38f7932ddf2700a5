"""What FACTS asks: documents with requests, from the built-in sample, the open set, or rows of anybody's (see `rows`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from truebench_hf.benchmarks.facts.rows import FactsRow, needed, read, with_document
from truebench_hf.data import catalogue, row_files
from truebench_hf.data.instances import free_id
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError, refused
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.grounding.types import Source
from truebench_hf.types import Instance, Turn

MINI = Path(__file__).with_name("mini.jsonl")
OPEN = "google/FACTS-grounding-public"
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
        passages = (f"[{passage.id}]\n{passage.text}" for passage in self.source.passages)
        return "\n\n".join(filter(None, (self.source.document, *passages)))

    @property
    def groups(self) -> dict[str, str]:
        """What scores are told apart by, as far as the data has columns for it; what a model has sorted says so."""
        named = {"domain": self.domain, "task": self.task, "length": _length(self.length), "language": self.language}
        headings = {column: f"{column} (classified)" for column in self.classified}
        return {headings.get(column, column): name for column, name in named.items() if name}

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
    splits = row_files.splits(str(MINI) if mini else data, ("facts_mini", "open (or facts_grounding)"))
    return of_rows(splits, data, folder_of(data))


def folder_of(data: str) -> Path | None:
    """Return the folder in which data lies, where its rows may name files; None for data from elsewhere."""
    place = Path(data).expanduser()
    return place if place.is_dir() else place.parent if place.is_file() else None


def _public() -> Iterator[Record]:
    """The rows of the public set. Beside its examples lies a table of prompts, so that it is no plain data set."""
    from huggingface_hub import hf_hub_download

    with refused(f"--data open: examples.csv of {OPEN} cannot be had", "; download it and give its path"):
        path = hf_hub_download(OPEN, "examples.csv", repo_type="dataset")
    yield from row_files.records(Path(path))


def of_rows(splits: Mapping[str, Iterable[Record]], data: str = "the data", folder: Path | None = None) -> list[Item]:
    """The items of rows by split. One split alone is none that scores are told apart by, unless it has FACTS's name.

    An id that is absent is a hash of what is asked, so that it stays where rows come and go. Raises UserError on a row
    that cannot be used, and on an id that stands twice.
    """
    items: list[Item] = []
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


def of_row(record: Record, own_id: str = "", folder: Path | None = None, otherwise: str = "") -> Item:
    """One item from a row; without an id it has `own_id`, else a hash of what is asked.

    Raises UserError with the field that is wrong; where there is no document `otherwise` is another remedy.
    """
    record = with_document(record, folder)
    return item_of(read(record, FactsRow), record, own_id, otherwise)


def item_of(row: FactsRow, record: Record, own_id: str = "", otherwise: str = "") -> Item:
    """The item of a row that was read."""
    source = needed(row, record, otherwise)
    return Item(
        row.id or own_id or _content_id(source), source, row.language, row.domain, row.task, row.context_tokens,
        row.split, row.baseline, row.reference, row.classified,
    )  # fmt: skip


def _content_id(source: Source) -> str:
    passages = [(passage.id, passage.text) for passage in source.passages]
    return digest(canonical([source.request, source.document, source.system, passages]))[:12]


def _length(tokens: int | None) -> str:
    return "" if tokens is None else next((name for most, name in _LENGTHS if tokens < most), "over 32k")
