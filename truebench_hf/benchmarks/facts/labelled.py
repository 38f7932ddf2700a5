"""Labelled answers: a prompt, an answer to it, and what people say of it.

A row has the columns of FACTS data (see `facts/rows.py`), `response` (or `answer`), and `accurate`, `eligible` or both:
yes or no, blank where nobody said. `baseline` is the answer that eligibility is measured against. `sentences` may label
parts of the answer: a list of {"text": ..., "grounded": yes or no}; or `ungrounded_sentences` names those that are not
grounded (texts, or objects with `sentence`), and then all others are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Strict, TypeAdapter

from truebench_hf.benchmarks.facts import data
from truebench_hf.benchmarks.facts.data import MINI, Item
from truebench_hf.benchmarks.facts.rows import FactsRow, read, with_document
from truebench_hf.data import catalogue, row_files
from truebench_hf.data.rows import Decoded, MaybeLabel, Record, Row, Text, named
from truebench_hf.errors import UserError
from truebench_hf.types import Label

_ANSWERS = ("response", "answer", "model_response", "output")
# What the three answers of a document of facts_mini are, by construction; the first is the baseline of the others.
_MINI = {"grounded": ("yes", None), "ungrounded": ("no", "yes"), "evasive": ("yes", "no")}


class _SentenceRow(Row):
    text: Text
    grounded: MaybeLabel = None


def _sentences(value: Any) -> list[Any]:
    value = TypeAdapter(Decoded).validate_python(value)
    if not isinstance(value, list):
        raise ValueError("must be a list of sentences")
    return [sentence.get("sentence") if isinstance(sentence, dict) else sentence for sentence in value]


class LabelledRow(FactsRow):
    """A row of FACTS with an answer and its labels."""

    answer: Annotated[str, Strict()] = named(*_ANSWERS)
    accurate: MaybeLabel = None
    eligible: MaybeLabel = None
    sentences: Annotated[tuple[_SentenceRow, ...], *Decoded.__metadata__] = ()
    ungrounded_sentences: Annotated[tuple[Text, ...], BeforeValidator(_sentences)] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """A part of an answer, from `start` to `end`, and whether it is grounded."""

    start: int
    end: int
    grounded: Label


@dataclass(frozen=True, slots=True)
class Labelled:
    """An answer to an item and its labels; None where there is none. `rest` is the label of what no span covers."""

    id: str
    item: Item
    answer: str
    accurate: Label | None
    eligible: Label | None
    spans: tuple[Span, ...] = ()
    rest: Label | None = None

    @property
    def group(self) -> str:
        """What answers share that tell about one another: the document."""
        return self.item.document

    @property
    def rated(self) -> bool:
        """Whether a judge can be asked about its eligibility: it is no measure of itself."""
        baseline = (self.item.baseline or "").strip()
        return self.eligible is not None and bool(baseline) and baseline != self.answer.strip()

    def label(self, start: int | None, end: int | None) -> Label | None:
        """The label of a part of the answer: ungrounded as soon as it touches what is; None where nobody said."""
        if start is None or end is None:
            return None
        touched = [span.grounded for span in self.spans if span.start < end and start < span.end]
        return "no" if "no" in touched else "yes" if touched else self.rest


def load(source: str) -> list[Labelled]:
    """The rows of facts_mini (its 36 answers), a file, a folder or a Hub id. Raises UserError on a row that is no use."""
    if catalogue.built(source, "facts_mini"):
        return [answer for record in row_files.records(MINI) for answer in _mini_rows(record)]
    tables = row_files.splits(source, ("facts_mini",), "--labelled")
    folder = data.folder_of(source)
    rows = [of_record(record, str(number), folder) for number, record in enumerate(chain(*tables.values()), 1)]
    (twice, count), *_ = Counter(row.id for row in rows).most_common(1) or [("", 0)]
    if count > 1:
        raise UserError(f"--labelled {source}: id {twice} stands twice; every answer needs its own")
    return rows


def of_record(record: Record, number: str, folder: Path | None = None) -> Labelled:
    """One labelled answer; `number` is its id where the row has none. Raises UserError naming the field that is wrong."""
    record = with_document(record, folder)
    row = read(record, LabelledRow)
    item = data.item_of(row, record, number)
    return Labelled(item.id, item, row.answer, row.accurate, row.eligible, *_spans(row, record, row.answer))


def _mini_rows(record: Record) -> Iterable[Labelled]:
    row = read(record, FactsRow)
    item = data.item_of(row, record)
    for kind, (accurate, eligible) in _MINI.items():
        answer = record.text(f"{kind}_response")
        labelled = replace(record, row={**record.row, "response": answer}).read(LabelledRow)
        spans, rest = _spans(labelled, record, answer) if kind == "ungrounded" else ((), "yes")
        yield Labelled(f"{item.id}-{kind}", item, answer, accurate, eligible, spans, rest)  # type: ignore[arg-type]


def _spans(row: LabelledRow, record: Record, answer: str) -> tuple[tuple[Span, ...], Label | None]:
    """(labelled parts, the label of all else). Raises UserError on a part that is not in the answer."""
    labels = [(part.text, part.grounded) for part in row.sentences] or [
        (text, "no") for text in row.ungrounded_sentences
    ]
    name = "sentences" if row.sentences else "ungrounded_sentences"
    spans = [_span(record, name, answer, text, label) for text, label in labels if label in ("yes", "no")]
    none_ungrounded = bool(row.ungrounded_sentences) or record.row.get("ungrounded_sentences") in (
        [],
        "[]",
    )  # that there are none
    return tuple(spans), "yes" if none_ungrounded and not row.sentences else None


def _span(record: Record, name: str, answer: str, text: str, label: Any) -> Span:
    if (start := answer.find(text)) < 0:
        raise record.wrong(name, f"has {text[:60]!r}, which does not stand in the answer word for word")
    return Span(start, start + len(text), label)
