"""Asking people: questions out as one HTML form and one CSV an annotator, their answers back in, and one label a question.

Every study with annotators uses this module (paper 003, section 3.3; paper 004, section 3.3). A sheet shows of a
question its material, its text and its options, and nothing else: it is blind. A file of labels (`labels.jsonl`) has a
line per question: its id, the label, how it came about, and what each annotator answered. Later answers join those.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from truebench_hf.data import jsonl
from truebench_hf.data.row_files import records
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.metrics.binary import ratio
from truebench_hf.metrics.kappa import cohen_kappa, fleiss_kappa, krippendorff_alpha, verbal_band
from truebench_hf.metrics.votes import majority
from truebench_hf.report.sections import csv_text, unguard
from truebench_hf.report.table import Column, Table
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Message, Score

How = Literal["unanimous", "single", "majority", "decided", "tie", "unanswered"]
FILE = "labels.jsonl"
_NEEDED = ("id", "annotator", "options", "answer")
_COLUMNS = (*_NEEDED, "note")


@dataclass(frozen=True)
class Question:
    """One question to annotators.

    `id` tells them nothing. `material` maps titles to texts, to be read in order. Without `options` the answer is a text
    of the annotator's own. Questions of one `group` stay together and in order; once an answer that `settles` is given,
    the rest of its group may stay blank. `blind` is what the question is about, for whoever takes the answers: no sheet
    has it.
    """

    id: str
    question: str
    material: Mapping[str, str]
    options: tuple[str, ...] = ("yes", "no")
    group: str = ""
    settles: tuple[str, ...] = ()
    blind: Any = None


@dataclass(frozen=True, slots=True)
class SheetAnswer:
    """What one annotator answered to one question; `answer` None is not answered. `where` is the file and line."""

    id: str
    annotator: str
    options: tuple[str, ...]
    answer: str | None
    note: str
    where: str


def material(
    before: Sequence[Message], instruction: str, response: str | None = None, **more: str | None
) -> dict[str, str]:
    """The material of a question about a response, or about an instruction alone.

    `before` is what was said ahead of the instruction. `more` are further texts by title, shown first, if there are any.
    """
    earlier = "\n\n".join(f"[{message.role}]\n{message.content}" for message in before)
    texts = {title: text for title, text in more.items() if text}
    texts |= {"Conversation so far": earlier} if earlier else {}
    texts |= {"Instruction": instruction}
    return texts if response is None else texts | {"Response": response or "(the response is empty)"}


def write(questions: Iterable[Question], out: str | Path, annotators: Sequence[str], seed: int = 0) -> list[Path]:
    """Write `NAME.csv` and `NAME.html` into `out` for each annotator; every one gets all groups in an own seeded order.

    Returns the files. Raises UserError on ids that a sheet cannot give back, on annotators that are not plain distinct
    names, and where a sheet is there already: it may hold somebody's work.
    """
    checked = check_questions(questions)
    check_names(annotators)
    folder = Path(out)
    files = [folder / f"{name}.{kind}" for name in annotators for kind in ("csv", "html")]
    if taken := next((file for file in files if file.exists()), None):
        raise UserError(f"{taken} is there already and may hold answers; choose another folder by --out")
    folder.mkdir(parents=True, exist_ok=True)
    for name in annotators:
        order = in_order(checked, name, seed)
        titles = list(dict.fromkeys(title for question in order for title in question.material))
        rows = [["id", "annotator", *titles, "question", "options", "answer", "note"]]
        for item in order:  # the columns of answers and notes are left to be filled in
            texts = [item.material.get(title, "") for title in titles]
            rows.append([item.id, name, *texts, item.question, "|".join(item.options), "", ""])
        _write_csv(folder / f"{name}.csv", rows)
        write_whole(folder / f"{name}.html", [form(order, name)], errors="replace")
    return files


def write_answers(path: Path, answers: Iterable[SheetAnswer]) -> None:
    """Write answers as the form downloads them."""
    _write_csv(path, [_COLUMNS, *([a.id, a.annotator, "|".join(a.options), a.answer or "", a.note] for a in answers)])


def form(questions: Sequence[Question], annotator: str, save: str = "", answers: Iterable[SheetAnswer] = ()) -> str:
    """Return the self-contained HTML form of one annotator, filled in with these answers.

    It works offline, keeps answers in the browser and downloads them as CSV; with `save` it sends each to that address.
    """
    from truebench_hf.report.page import render

    # Answers are kept in the browser under this name: another sheet of the same annotator must not find them.
    content = json.dumps([[q.id, dict(q.material), q.question, q.options] for q in questions], sort_keys=True)
    key = f"truebench-sheet-{digest(f'{annotator} {content}')[:16]}"
    filled = [{"id": answer.id, "answer": answer.answer, "note": answer.note} for answer in answers]
    shown = {"questions": questions, "annotator": annotator, "key": key, "save": save, "answers": filled}
    return render("sheet.html.jinja", **shown)


def in_order(questions: Sequence[Question], annotator: str, seed: int) -> list[Question]:
    """Return the questions with their groups at random; who else annotates changes nobody's order."""
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.group or f"alone {question.id}", []).append(question)
    order = random.Random(f"{seed} {annotator}").sample(list(groups.values()), len(groups))
    return [question for group in order for question in group]


def check_names(annotators: Sequence[str]) -> None:
    """Raise UserError where these cannot be names of annotators, and of their files."""
    if not annotators or len({name.casefold() for name in annotators}) != len(annotators):
        raise UserError("give one or more annotators, each with a name of its own")
    for name in annotators:
        if not re.fullmatch(r"\w[\w .-]{0,63}", name) or name != name.strip(" ."):  # it becomes a file name
            raise UserError(f"annotator {name!r}: use letters, digits, blanks, - and _, 64 at most")


def check_questions(questions: Iterable[Question]) -> list[Question]:
    """Return the questions. Raises UserError on none, and on ids that a sheet cannot give back."""
    checked: dict[str, Question] = {}
    for question in questions:
        # A spreadsheet and a browser have to give the id back as it was; it may be made of ids of the user's data.
        if not question.id or question.id != question.id.strip() or not question.id.isprintable():
            raise UserError(f"id {question.id!r}: a sheet takes ids of one line, without blanks around them; rename it")
        if question.id in checked:
            raise UserError(f"id {question.id!r} stands twice; every question needs its own")
        checked[question.id] = question
    if not checked:
        raise UserError("there is nothing to annotate")
    return list(checked.values())


def read(paths: Iterable[str | Path], *, written: bool = False) -> Annotations:
    """Return the answers in any number of CSV sheets, or folders of them; see `read_answers` for `written`.

    An answer handed in twice counts once; a blank never overrides an answer. Raises UserError on a malformed file, where
    one annotator gives two different answers to one question (naming both places).
    """
    files: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(path.glob("*.csv")) if path.is_dir() else [path]
        if not inside:
            raise UserError(f"{path}: holds no .csv files")
        files += inside
    first: dict[str, SheetAnswer] = {}  # by question
    kept: dict[tuple[str, str], SheetAnswer] = {}  # by question and annotator
    for answer in (answer for file in files for answer in read_answers(file, written)):
        key = answer.id, answer.annotator
        if (earlier := first.setdefault(answer.id, answer)).options != answer.options:
            raise UserError(f"{answer.where}: question {answer.id!r} has other options than at {earlier.where}")
        if (before := kept.get(key)) is None or before.answer is None:
            kept[key] = answer
        elif answer.answer not in (None, before.answer):
            raise UserError(
                f"{answer.where}: {answer.annotator} answers question {answer.id!r} with {answer.answer!r}, "
                f"and with {before.answer!r} at {before.where}; remove one"
            )
    labels: dict[str, dict[str, str | None]] = {name: {} for name in sorted(first)}
    for (name, annotator), answer in kept.items():
        labels[name][annotator] = answer.answer
    notes = {key: answer.note for key, answer in kept.items() if answer.note}
    return Annotations(labels, {name: first[name].options for name in labels}, notes)


def read_answers(path: Path, written: bool = False) -> Iterator[SheetAnswer]:
    """Yield the answers in a filled-in sheet, or in the CSV that the HTML form downloads.

    With `written` a question may have no options to choose from. Raises UserError naming file, record and field of what is
    wrong.
    """
    if path.suffix.lower() != ".csv":
        raise UserError(f"{path}: give the .csv file of an annotator")
    for record in records(path):
        row, where = {name.strip(): unguard(cell) for name, cell in record.row.items()}, record.where
        if absent := [name for name in _NEEDED if name not in row]:
            raise UserError(f"{where}: not of an annotation sheet: column {absent[0]!r} is missing")
        for name in ("id", "annotator"):
            if not row[name].strip():
                raise UserError(f"{where}: field {name!r} is blank")
        if len(options := tuple(row["options"].split("|"))) < 2:
            if row["options"] or not written:
                raise UserError(f"{where}: field 'options' must name two or more answers")
            options = ()
        answer = chosen(row["answer"], options, where)
        yield SheetAnswer(
            row["id"].strip(), row["annotator"].strip(), options, answer, row.get("note", "").strip(), where
        )


def chosen(text: str, options: Sequence[str], where: str) -> str | None:
    """Return the option that was meant, or the text itself where there are none; None is blank. Raises UserError.

    Spreadsheet programs like to change capitals (yes, Yes, YES).
    """
    text = text.strip()
    alike = [option for option in options if option.casefold() == text.casefold()]
    if text and options and text not in options and len(alike) != 1:
        raise UserError(f"{where}: answer {text[:40]!r} is none of {', '.join(options)}")
    return alike[0] if alike and text not in options else text or None


def _write_csv(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write a table to be filled in; the mark at its beginning tells spreadsheet programs that it is UTF-8."""
    write_whole(path, [csv_text(rows, "\r\n")], encoding="utf-8-sig", errors="replace", newline="")


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
        return {item: label for item, answers in self.labels.items() if (label := answers.get(annotator)) is not None}


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
    for item, label in (decided := decisions or {}).items():
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
    labels = annotations.labels.values()
    columns = {name: [answers.get(name) for answers in labels] for name in annotations.annotators}
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
        "band": verbal_band(fleiss), "krippendorff_alpha": krippendorff_alpha(ratings).value,
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

    def is_label(row: Any, name: str) -> bool:
        return isinstance(row, dict) and isinstance(row.get(name), str) and row.get("label", 0) in (*answers, None)

    for where, row in jsonl.read(path, remedy) if path.is_file() else ():
        entries = row.get("annotations") if isinstance(row, dict) else None
        readable = isinstance(entries, list) and all(is_label(entry, "annotator") for entry in entries)
        if not readable or not is_label(row, "id") or not isinstance(row.get("how"), str):
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
