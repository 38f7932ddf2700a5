"""Labels of people: from the answers of several annotators to one label a question, and how far the annotators agree.

A file of labels (`labels.jsonl`) has a line per question: its id, the label, how it came about, and what each annotator
answered. Later answers join those of the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from truebench_hf.data import jsonl
from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import ratio
from truebench_hf.metrics.kappa import cohen_kappa, fleiss_kappa, krippendorff_alpha, verbal_band
from truebench_hf.metrics.votes import majority
from truebench_hf.report.table import Column, Table
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Score

How = Literal["unanimous", "single", "majority", "decided", "tie", "unanswered"]
FILE = "labels.jsonl"


@dataclass(frozen=True)
class Annotations:
    """Answers by question and annotator; None is asked but not answered.

    An annotator who was not asked about a question is absent there. `notes` is by (question, annotator).
    """

    labels: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def annotators(self) -> tuple[str, ...]:
        """All annotators, by name."""
        return tuple(sorted({name for answers in self.labels.values() for name in answers}))

    def part(self, wanted: Callable[[str], bool]) -> Annotations:
        """Return the answers to the questions with these ids alone."""
        labels = {name: answers for name, answers in self.labels.items() if wanted(name)}
        return Annotations(labels, {name: self.options[name] for name in labels}, self.notes)

    def of(self, annotator: str) -> dict[str, str]:
        """Return the answers that one annotator gave."""
        answers = ((item, by_name.get(annotator)) for item, by_name in self.labels.items())
        return {item: label for item, label in answers if label is not None}

    def decisions(self) -> dict[str, str]:
        """Return the answers as decisions, where those who gave them are adjudicators: the last by name counts."""
        return {item: label for name in self.annotators for item, label in self.of(name).items()}


@dataclass(frozen=True)
class Settled:
    """One label per question, None where it is open, how it came about, and the answers that it is made of."""

    annotations: Annotations
    labels: Mapping[str, str | None]
    how: Mapping[str, How]

    @property
    def open(self) -> tuple[str, ...]:
        """The questions that need adjudication: ties, and those nobody answered."""
        return tuple(item for item, label in self.labels.items() if label is None)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The lines of a file of labels: id, label, how, label_source, annotations (in the columns of `rubric_eval`)."""
        rows, notes = list[dict[str, Any]](), self.annotations.notes
        for item, label in self.labels.items():
            entries = [
                {"annotator": name, "label": answer} | ({"note": notes[item, name]} if (item, name) in notes else {})
                for name, answer in sorted(self.annotations.labels[item].items())
            ]
            row = {"id": item, "label": label, "how": self.how[item], "label_source": "human", "annotations": entries}
            rows.append(row)
        return rows


def adjudicate(annotations: Annotations, decisions: Mapping[str, str] | None = None) -> Settled:
    """Return one label per question: the adjudicator's decision, else the answer most annotators gave; a tie stays open.

    Raises UserError on a decision about an unknown question or with a label that is none of its options.
    """
    decided = decisions or {}
    for item, label in decided.items():
        if item not in annotations.labels:
            raise UserError(f"decision on {item!r}: no annotator was asked about it")
        if label not in annotations.options[item]:
            raise UserError(f"decision on {item!r}: {label!r} is none of {', '.join(annotations.options[item])}")
    labels, how = dict[str, str | None](), dict[str, How]()
    for item, answers in annotations.labels.items():
        votes = [answer for answer in answers.values() if answer is not None]
        if item in decided:
            labels[item], how[item] = decided[item], "decided"
        elif len(set(votes)) == 1:
            labels[item], how[item] = votes[0], "unanimous" if len(votes) > 1 else "single"
        else:
            labels[item] = majority(votes)
            how[item] = "unanswered" if not votes else "tie" if labels[item] is None else "majority"
    return Settled(annotations, labels, how)


def annotator_kappas(annotations: Annotations) -> dict[tuple[str, str], Score]:
    """Return Cohen's kappa of every pair of annotators."""
    answers = annotations.labels.values()
    columns = {name: [by_name.get(name) for by_name in answers] for name in annotations.annotators}
    return {pair: cohen_kappa(columns[pair[0]], columns[pair[1]]) for pair in combinations(columns, 2)}


def agreement_table(annotations: Annotations, unit: str = "questions") -> Table:
    """Return how far annotators agree with each other, about units of this name."""
    names, answers = annotations.annotators, annotations.labels.values()
    ratings = [[by_name.get(name) for name in names] for by_name in answers]
    pairs = [pair for row in ratings for pair in combinations([label for label in row if label is not None], 2)]
    fleiss = fleiss_kappa(ratings).value
    row = {
        "annotators": ", ".join(names), "n": len(ratings),
        "missing": sum(label is None for by_name in answers for label in by_name.values()),
        "raw": ratio(sum(first == second for first, second in pairs), len(pairs)), "fleiss_kappa": fleiss,
        "band": None if fleiss is None else verbal_band(fleiss), "krippendorff_alpha": krippendorff_alpha(ratings).value,
    }  # fmt: skip
    columns = (
        Column("annotators", "Annotators"), Column("n", unit, "count"), Column("missing", "unanswered", "count"),
        Column("raw", "raw", "number", "Share of pairs of answers to one question that are alike.", digits=1),
        Column("fleiss_kappa", "Fleiss' kappa", "number", unit="", digits=3), Column("band", "band"),
        Column("krippendorff_alpha", "Krippendorff's alpha", "number", unit="", digits=3),
    )  # fmt: skip
    return Table("annotators", columns, [row], "Agreement of annotators")


def joined(before: Iterable[Mapping[str, Any]], new: Annotations, options: tuple[str, ...]) -> Annotations:
    """Return the answers in sheets beside those in rows of labels: a newer answer counts, a blank replaces none.

    Raises UserError where the sheets ask for other answers than `options`.
    """
    if other := next((item for item, choices in new.options.items() if set(choices) != set(options)), None):
        raise UserError(
            f"{other}: a sheet asks for {' or '.join(new.options[other])}, not for {' or '.join(options)}; "
            "give the sheets that were made for this folder"
        )
    labels: dict[str, dict[str, str | None]] = {}
    notes: dict[tuple[str, str], str] = {}
    for row in before:
        labels[row["id"]] = {entry["annotator"]: entry["label"] for entry in row["annotations"]}
        notes |= {(row["id"], e["annotator"]): e["note"] for e in row["annotations"] if e.get("note")}
    for item, answers in new.labels.items():
        known = labels.setdefault(item, {})
        known |= {name: answer for name, answer in answers.items() if answer is not None or name not in known}
    return Annotations(labels, dict.fromkeys(labels, options), notes | dict(new.notes))


def read_rows(path: Path, answers: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the rows of a file of labels; none where there is no file. Raises UserError naming the line that is none.

    Labels are some of `answers`, or None.
    """
    remedy = "give a file that `truebench label in` wrote"
    rows: dict[str, dict[str, Any]] = {}
    for where, row in jsonl.read(path, remedy) if path.is_file() else ():
        entries = row.get("annotations") if isinstance(row, dict) else None
        readable = isinstance(entries, list) and all(
            isinstance(entry, dict) and _is_label(entry, "annotator", answers) for entry in entries
        )
        if not readable or not _is_label(row, "id", answers) or not isinstance(row.get("how"), str):
            raise UserError(
                f"{where}: is no line of labels: fields 'id' and 'how' must be texts, 'label' {', '.join(answers)} or null, "
                f"and 'annotations' a list of annotators with their labels; {remedy}"
            )
        if row["id"] in rows:
            raise UserError(f"{where}: id {row['id']} stands twice; remove one")
        rows[row["id"]] = row
    return list(rows.values())


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of labels, whole or not at all."""
    write_whole(path, map(line, rows))


def line(row: Mapping[str, Any]) -> str:
    """Return the line of a file of labels for a row."""
    return json.dumps(row, ensure_ascii=False) + "\n"


def _is_label(row: Mapping[str, Any], name: str, answers: tuple[str, ...]) -> bool:
    return isinstance(row.get(name), str) and row.get("label", 0) in (*answers, None)
