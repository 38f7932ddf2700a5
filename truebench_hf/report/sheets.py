"""Asking people: questions out as one HTML form and one CSV an annotator, their answers back in, checked once.

Every study with annotators uses this module (paper 003, section 3.3; paper 004, section 3.3). A sheet shows of a
question its material, its text and its options, and nothing else: it is blind.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf.data.row_formats import read_text
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.report.csv_table import csv_text, read_table
from truebench_hf.report.labels import Annotations
from truebench_hf.text.terminal import on_page
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Message

_FIELDS = ("id", "annotator", "question", "options", "answer", "note")
_NEEDED = ("id", "annotator", "options", "answer")


@dataclass(frozen=True)
class Question:
    """One question to annotators.

    `id` tells them nothing. `material` maps titles to texts, to be read in order. Without `options` the answer is a text
    of the annotator's own. Questions of one `group` stay together and in order; once the answer `settles` is given, the
    rest of its group may stay blank. `blind` is what the question is about, for whoever takes the answers: no sheet has it.
    """

    id: str
    question: str
    material: Mapping[str, str]
    options: tuple[str, ...] = ("yes", "no")
    group: str = ""
    settles: str = ""
    blind: Any = None


@dataclass(frozen=True, slots=True)
class Answer:
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
    shown = {title: text for title, text in more.items() if text}
    shown |= {"Conversation so far": earlier} if earlier else {}
    shown |= {"Instruction": instruction}
    return shown if response is None else shown | {"Response": response or "(the response is empty)"}


def write(questions: Iterable[Question], out: str | Path, annotators: Sequence[str], seed: int = 0) -> list[Path]:
    """Write `NAME.csv` and `NAME.html` into `out` for each annotator; every one gets all groups in an own seeded order.

    Returns the files. Raises UserError on ids that a sheet cannot give back, on annotators that are not plain distinct
    names, and where a sheet is there already: it may hold somebody's work.
    """
    asked = _checked(questions)
    check_names(annotators)
    folder = Path(out)
    files = [folder / f"{name}.{kind}" for name in annotators for kind in ("csv", "html")]
    if there := next((file for file in files if file.exists()), None):
        raise UserError(f"{there} is there already and may hold answers; choose another folder by --out")
    folder.mkdir(parents=True, exist_ok=True)
    for name in annotators:
        order = _order(asked, f"{seed} {name}")
        write_whole(folder / f"{name}.csv", [_csv(order, name)], encoding="utf-8-sig", errors="replace", newline="")
        write_whole(folder / f"{name}.html", [form(order, name)], errors="replace")
    return files


def read(paths: Iterable[str | Path], *, written: bool = False) -> Annotations:
    """Return the answers in any number of CSV and JSON files, or folders of them; see `read_answers` for `written`.

    An answer handed in twice counts once; a blank never overrides an answer. Raises UserError on a malformed file, where
    one annotator gives two different answers to one question (naming both places), and where there are no questions.
    """
    table: dict[str, dict[str, Answer]] = {}
    for path in _files(paths):
        for answer in read_answers(path, written):
            known = table.setdefault(answer.id, {})
            first = next(iter(known.values()), answer)
            if first.options != answer.options:
                raise UserError(f"{answer.where}: question {answer.id!r} has other options than at {first.where}")
            before = known.get(answer.annotator)
            if before is None or before.answer is None:
                known[answer.annotator] = answer
            elif answer.answer not in (None, before.answer):
                raise UserError(
                    f"{answer.where}: {answer.annotator} answers question {answer.id!r} with {answer.answer!r}, "
                    f"and with {before.answer!r} at {before.where}; remove one"
                )
    if not table:
        raise UserError("the files hold no questions; give the sheets that annotators filled in")
    return Annotations(
        {name: {who: answer.answer for who, answer in table[name].items()} for name in sorted(table)},
        {name: next(iter(table[name].values())).options for name in sorted(table)},
        {(name, who): answer.note for name in sorted(table) for who, answer in table[name].items() if answer.note},
    )


def read_answers(path: Path, written: bool = False) -> Iterator[Answer]:
    """Yield the answers in a filled-in CSV sheet, or in the CSV or JSON that the HTML form downloads.

    With `written` a question may have no options to choose from. Raises UserError naming file, line and field of what is
    wrong.
    """
    readers = {".csv": _csv_rows, ".json": _json_rows}
    if path.suffix.lower() not in readers:
        raise UserError(f"{path}: give the .csv or .json file of an annotator")
    for where, row in readers[path.suffix.lower()](read_text(path), str(path)):
        yield _answer(row, where, written)


def form(questions: Sequence[Question], annotator: str) -> str:
    """The self-contained HTML form of one annotator: works offline, keeps answers in the browser, downloads them."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["on_page"] = on_page
    template = environment.from_string(Path(__file__).with_name("sheet.html.jinja").read_text(encoding="utf-8"))
    # Answers are kept in the browser under this name: another sheet of the same annotator must not find them.
    content = json.dumps([[q.id, dict(q.material), q.question, q.options] for q in questions], sort_keys=True)
    key = f"truebench-sheet-{digest(f'{annotator} {content}')[:16]}"
    return template.render(questions=questions, annotator=annotator, key=key)


def check_names(annotators: Sequence[str]) -> None:
    """Raise UserError where these cannot be names of annotators, and of their files."""
    if not annotators or len({name.casefold() for name in annotators}) != len(annotators):
        raise UserError("give one or more annotators, each with a name of its own")
    for name in annotators:
        # It becomes a file name.
        if not re.fullmatch(r"\w[\w .-]{0,63}", name) or name != name.strip(" ."):
            raise UserError(f"annotator {name!r}: use letters, digits, blanks, - and _, 64 at most")


def _checked(questions: Iterable[Question]) -> list[Question]:
    asked: dict[str, Question] = {}
    for question in questions:
        # A spreadsheet and a browser have to give the id back as it was; it may be made of ids of the user's data.
        if not question.id or question.id != question.id.strip() or not question.id.isprintable():
            raise UserError(f"id {question.id!r}: a sheet takes ids of one line, without blanks around them; rename it")
        if question.id in asked:
            raise UserError(f"id {question.id!r} stands twice; every question needs its own")
        asked[question.id] = question
    if not asked:
        raise UserError("there is nothing to annotate")
    return list(asked.values())


def _order(questions: Sequence[Question], seed: str) -> list[Question]:
    """The questions, groups at random; the annotator's name is part of the seed: another one changes nobody's order."""
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.group or f"alone {question.id}", []).append(question)
    return [question for group in random.Random(seed).sample(list(groups.values()), len(groups)) for question in group]


def _csv(questions: Sequence[Question], annotator: str) -> str:
    """A sheet for a spreadsheet program: the answer column is left to be filled in."""
    titles = list(dict.fromkeys(title for question in questions for title in question.material))
    rows = [["id", "annotator", *titles, "question", "options", "answer", "note"]]
    for asked in questions:
        shown = [asked.material.get(title, "") for title in titles]
        rows.append([asked.id, annotator, *shown, asked.question, "|".join(asked.options), "", ""])
    return csv_text(rows, "\r\n")


def _answer(row: Mapping[str, Any], where: str, written: bool) -> Answer:
    for name in ("id", "annotator"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise UserError(f"{where}: field {name!r} is blank")
    options, text, note = row.get("options"), row.get("answer") or "", row.get("note") or ""
    own = written and options in ([], (), ("",))
    if not own and (
        not isinstance(options, tuple | list) or len(options) < 2 or not all(isinstance(o, str) for o in options)
    ):
        raise UserError(f"{where}: field 'options' must name two or more answers")
    if not isinstance(text, str) or not isinstance(note, str):
        raise UserError(f"{where}: fields 'answer' and 'note' must be texts")
    options, text = () if own else tuple(options or ()), text.strip()
    answer = (text if own else _chosen(text, options, where)) if text else None
    return Answer(row["id"].strip(), row["annotator"].strip(), options, answer, note.strip(), where)


def _chosen(text: str, options: Sequence[str], where: str) -> str:
    """The option that was meant; spreadsheet programs like to change capitals (yes, Yes, YES)."""
    alike = [option for option in options if option.casefold() == text.casefold()]
    if text not in options and len(alike) != 1:
        raise UserError(f"{where}: answer {text[:40]!r} is none of {', '.join(options)}")
    return text if text in options else alike[0]


def _csv_rows(text: str, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, cells in read_table(text, where, _NEEDED, _FIELDS, "an annotation sheet"):
        yield place, {**cells, "options": tuple(cells.get("options", "").split("|"))}


def _json_rows(text: str, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not JSON: {error}") from error
    if not isinstance(value, dict) or not isinstance(value.get("answers"), list):
        raise UserError(f"{where}: not the answers of an annotation form: field 'answers' must be a list")
    for number, row in enumerate(value["answers"], 1):
        if not isinstance(row, dict):
            raise UserError(f"{where}, answer {number}: must be an object")
        yield f"{where}, answer {number}", {**row, "annotator": value.get("annotator")}


def _files(paths: Iterable[str | Path]) -> list[Path]:
    files: list[Path] = []
    for path in map(Path, paths):
        inside = (
            sorted(file for file in path.iterdir() if file.suffix in (".csv", ".json")) if path.is_dir() else [path]
        )
        if not inside:
            raise UserError(f"{path}: holds no .csv or .json files")
        files += inside
    return files
