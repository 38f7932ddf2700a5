"""Answers that are there already: logs to be graded, and answers that people have labelled.

A labelled row has the columns of FACTS data (see `data.py`), `response` (or `answer`), and `accurate`, `eligible` or both:
yes or no, blank where nobody said. `baseline` is the answer that eligibility is measured against. `sentences` may label
parts of the answer: a list of {"text": ..., "grounded": yes or no}; or `ungrounded_sentences` names those that are not
grounded (texts, or objects with `sentence`), and then all others are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Strict, TypeAdapter

from truebench_hf.benchmarks.facts import data
from truebench_hf.benchmarks.facts.data import MINI, FactsItem, FactsRow, read
from truebench_hf.data import catalogue, row_files
from truebench_hf.data.answer_files import Answers, matched, of_model, read_answers
from truebench_hf.data.judged import as_answered
from truebench_hf.data.records import JUDGMENTS
from truebench_hf.data.row_formats import what_is
from truebench_hf.data.rows import Decoded, MaybeLabel, Record, Row, Text, named, words
from truebench_hf.errors import UserError
from truebench_hf.types import Label, Response

# What the three answers of a document of facts_mini are, by construction; the first is the baseline of the others.
_MINI = {"grounded": ("yes", None), "ungrounded": ("no", "yes"), "evasive": ("yes", "no")}


@dataclass(frozen=True, slots=True)
class Task:
    """An item to be answered, or with an answer that is there; `baseline` is its baseline answer, if known.

    Several answers to one item have ids of their own, and share the `document`: the id of the item.
    """

    item: FactsItem
    document: str
    response: Response | None = None
    baseline: str | None = None


def given_answers(
    path: str, items: Sequence[FactsItem] | None, model_name: str | None = None
) -> tuple[str, list[Task]]:
    """(whose they are, the answers of a file in the order of the data), each with what it must rest on.

    Rows belong to the item of their id, unless they show another request, or else to the one item with their request.
    What a row itself says was retrieved takes the place of the item's document. Without items every row must say so. An
    item without an answer has that for its error. Raises UserError where rows cannot be used, belong to nothing, or are
    of several models and `model_name` is none of them.
    """
    file = Path(path) / JUDGMENTS if Path(path).is_dir() else Path(path)
    if what_is(file) not in ("file", "stream"):
        raise UserError(f"--answers {path}: no such file, nor a run folder with {JUDGMENTS}")
    model, rows = of_model(list(read_answers(file)), model_name, path, file.stem)
    if not rows:
        raise UserError(f"{path}: holds no answers")
    if items is not None:
        by_id = matched({item.id: [item.source.request] for item in items}, rows, path)
        pairs = [(item, by_id.get(item.id, [])) for item in items]
    else:  # equal ids with equal sources are one item with several answers
        sharing: dict[str, tuple[FactsItem, list[Answers]]] = {}
        for row in rows:
            record = Record(row.where, row.row)
            item = data.of_row(record, row.id or "", file.parent, ", or give what was asked by --data")
            first, own = sharing.setdefault(item.id, (item, []))
            if first.source != item.source:
                raise UserError(
                    f"{row.where}: id {item.id} stands twice with another document or request; give ids of their own"
                )
            own.append(row)
        pairs = list(sharing.values())
    return model, [task for item, own in pairs for task in _tasks(item, own, model, file)]


def _tasks(item: FactsItem, rows: Sequence[Answers], model: str, file: Path) -> Iterator[Task]:
    """The different answers to an item, the first under its id, or the one that is missing."""
    different: dict[str, Answers] = {}
    for row in rows:
        if (text := _text(row)) is not None:
            different.setdefault(text, row)
    if not different:
        response = Response(item.id, model, as_answered(item.instance, []), (), error=f"no answer in {file.name}")
        yield Task(item, item.id, response)
    for number, (text, row) in enumerate(different.items(), 1):
        own = item if number == 1 else replace(item, id=f"{item.id}#{number}")
        if retrieved := read(Record(row.where, row.row), FactsRow, files=False).source:
            source = replace(item.source, document=retrieved.document, passages=retrieved.passages)
            own = replace(own, source=source, length=None)
        yield Task(own, item.id, Response(own.id, model, as_answered(own.instance, [text]), row.thinking[:1]))


def _text(row: Answers) -> str | None:
    """The one answer of a row. Raises UserError where it has several turns."""
    texts = (row.answers,) if isinstance(row.answers, str) else row.answers or (None,)
    if len(texts) > 1:
        raise UserError(f"{row.where}: holds {len(texts)} answers; give one to each request")
    return texts[0]


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

    answer: Annotated[str, Strict()] = named(*words("retrieval")["answer"])
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
class LabelledAnswer:
    """An answer to an item and its labels; None where there is none. `rest` is the label of what no span covers."""

    id: str
    item: FactsItem
    answer: str
    accurate: Label | None
    eligible: Label | None
    spans: tuple[Span, ...] = ()
    rest: Label | None = None

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


def load_labelled(source: str) -> list[LabelledAnswer]:
    """The rows of facts_mini (its 36 answers), a file, a folder or a Hub id. Raises UserError on a row that is no use."""
    if catalogue.built(source, "facts_mini"):
        return [
            replace(labelled_row(replace(record, row={**record.row, **labels})), id=f"{record.id('id')}-{kind}")
            for record in row_files.records(MINI)
            for kind, labels in _mini_labels(record)
        ]
    tables = row_files.splits(source, ("facts_mini",), "--labelled")
    folder = data.folder_of(source)
    rows = [labelled_row(record, str(number), folder) for number, record in enumerate(chain(*tables.values()), 1)]
    (twice, count), *_ = Counter(row.id for row in rows).most_common(1) or [("", 0)]
    if count > 1:
        raise UserError(f"--labelled {source}: id {twice} stands twice; every answer needs its own")
    return rows


def labelled_row(record: Record, number: str = "", folder: Path | None = None) -> LabelledAnswer:
    """One labelled answer; `number` is its id where the row has none. Raises UserError naming the field that is wrong."""
    row = read(record, LabelledRow, folder)
    item = data.item_of(row, record, number)
    labels = [(part.text, part.grounded) for part in row.sentences] or [
        (text, "no") for text in row.ungrounded_sentences
    ]
    spans = []
    for text, label in labels:
        if label in ("yes", "no"):
            if (start := row.answer.find(text)) < 0:
                name = "sentences" if row.sentences else "ungrounded_sentences"
                raise record.wrong(name, f"has {text[:60]!r}, which does not stand in the answer word for word")
            spans.append(Span(start, start + len(text), label))
    none_named = record.row.get("ungrounded_sentences") in ([], "[]")
    all_named = bool(row.ungrounded_sentences) or none_named
    rest: Label | None = "yes" if all_named and not row.sentences else None
    return LabelledAnswer(item.id, item, row.answer, row.accurate, row.eligible, tuple(spans), rest)


def _mini_labels(record: Record) -> Iterator[tuple[str, dict[str, Any]]]:
    """The three answers to a document of facts_mini, by kind, as columns of labelled rows."""
    for kind, (accurate, eligible) in _MINI.items():
        labels = {"response": record.row[f"{kind}_response"], "accurate": accurate, "eligible": eligible}
        yield kind, labels | ({} if kind == "ungrounded" else {"ungrounded_sentences": []})
