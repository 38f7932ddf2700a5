"""Annotation sheets: rows out to people without their labels, answers back in, adjudicated, agreement measured.

Every study with annotators uses this module (paper 003, section 3.3; paper 004, section 3.3). A row to be annotated is
a mapping with

    id        a text that tells the annotator nothing
    sections  {title: text}: what is to be read, in order
    question  what is asked about it
    options   the answers to choose from, by default yes and no; none: the answer is a text of the annotator's own
    group     what it is a part of: rows of one group stay together and in order (if not given, it is on its own)
    settles   the answer that settles its group: once given, the rest of the group may stay blank

and nothing else of it is ever exported, so that labelled rows may be passed as they are: the sheets are blind.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.report.csv_cells import guard
from truebench_hf.report.sheet_answers import Adjudicated, Annotations, adjudicate, agreement, label_rows, read_back
from truebench_hf.report.sheet_files import FIELDS
from truebench_hf.text.terminal import on_page
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Message

__all__ = [
    "Adjudicated", "Annotations", "Item", "adjudicate", "agreement", "check_names", "export", "form", "label_rows", "material",
    "read_back",
]  # fmt: skip

_OPTIONS = ("yes", "no")


@dataclass(frozen=True)
class Item:
    """One question to an annotator."""

    id: str
    sections: Mapping[str, str]
    question: str
    options: tuple[str, ...] = _OPTIONS
    group: str = ""
    settles: str = ""


def material(
    before: Sequence[Message], instruction: str, response: str | None = None, **more: str | None
) -> dict[str, str]:
    """The sections of a row in which somebody is to judge a response, or to look at an instruction alone.

    `before` is what was said ahead of the instruction. `more` are further texts by title, shown first, if there are any.
    """
    earlier = "\n\n".join(f"[{message.role}]\n{message.content}" for message in before)
    shown = {title: text for title, text in more.items() if text}
    shown |= {"Conversation so far": earlier} if earlier else {}
    shown |= {"Instruction": instruction}
    return shown if response is None else shown | {"Response": response or "(the response is empty)"}


def export(rows: Iterable[Mapping[str, Any]], out: str | Path, annotators: Sequence[str], seed: int = 0) -> list[Path]:
    """Write `NAME.csv` and `NAME.html` into `out` for each annotator; every one gets all groups in an own seeded order.

    Returns the files. Raises UserError on a malformed or doubled row, on annotators that are not plain distinct names,
    and where a sheet is there already: it may hold somebody's work.
    """
    items = _items(rows)
    check_names(annotators)
    folder = Path(out)
    files = [folder / f"{name}.{kind}" for name in annotators for kind in ("csv", "html")]
    if there := next((file for file in files if file.exists()), None):
        raise UserError(f"{there} is there already and may hold answers; choose another folder by --out")
    folder.mkdir(parents=True, exist_ok=True)
    for name in annotators:
        order = _order(items, f"{seed} {name}")
        write_whole(folder / f"{name}.csv", [_csv(order, name)], encoding="utf-8-sig", errors="replace", newline="")
        write_whole(folder / f"{name}.html", [form(order, name)], errors="replace")
    return files


def _order(items: Sequence[Item], seed: str) -> list[Item]:
    """The items, groups at random; the annotator's name is part of the seed, so that another changes nobody's order."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.group or f"alone {item.id}", []).append(item)
    return [item for group in random.Random(seed).sample(list(groups.values()), len(groups)) for item in group]


def form(items: Sequence[Item], annotator: str) -> str:
    """The self-contained HTML form of one annotator: works offline, keeps answers in the browser, downloads them."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["on_page"] = on_page
    template = environment.from_string(Path(__file__).with_name("sheet.html.jinja").read_text(encoding="utf-8"))
    # Answers are kept in the browser under this name: another sheet of the same annotator must not find them.
    content = json.dumps([[i.id, dict(i.sections), i.question, i.options] for i in items], sort_keys=True)
    key = f"truebench-sheet-{digest(f'{annotator} {content}')[:16]}"
    return template.render(items=items, annotator=annotator, key=key)


def _csv(items: Sequence[Item], annotator: str) -> str:
    """A sheet for a spreadsheet program: the answer column is left to be filled in."""
    titles = list(dict.fromkeys(title for item in items for title in item.sections))
    if taken := set(titles) & set(FIELDS):
        raise UserError(f"a section must not be called {sorted(taken)[0]!r}: a column of the sheet has that name")
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["id", "annotator", *map(guard, titles), "question", "options", "answer", "note"])
    for item in items:
        shown = [item.sections.get(title, "") for title in titles]
        cells = [item.id, annotator, *shown, item.question, "|".join(item.options), "", ""]
        writer.writerow([guard(cell) for cell in cells])
    return text.getvalue()


def _items(rows: Iterable[Mapping[str, Any]]) -> list[Item]:
    items: dict[str, Item] = {}
    for number, row in enumerate(rows, 1):
        item = _item(row, f"row {number}")
        if item.id in items:
            raise UserError(f"row {number}: id {item.id!r} stands twice; every row needs its own")
        items[item.id] = item
    if not items:
        raise UserError("there are no rows to annotate")
    return list(items.values())


def _item(row: Mapping[str, Any], where: str) -> Item:
    if not _short(row.get("id")):
        raise UserError(f"{where}: field 'id' must be a text of one line without blanks around it")
    if not isinstance(row.get("question"), str) or not row["question"].strip():
        raise UserError(f"{where}: field 'question' must be a text")
    sections, options = row.get("sections"), row.get("options", _OPTIONS)
    if not isinstance(sections, Mapping) or not all(isinstance(x, str) for pair in sections.items() for x in pair):
        raise UserError(f"{where}: field 'sections' must map titles to texts")
    if not isinstance(options, list | tuple) or len(set(options)) != len(options) or len(options) == 1:
        raise UserError(f"{where}: field 'options' must be a list of two or more different texts, or of none")
    if not all(_short(option) and "|" not in option for option in options):
        raise UserError(
            f"{where}: field 'options' must hold texts of one line without blanks around them and without '|'"
        )
    group, settles = row.get("group", ""), row.get("settles", "")
    if not isinstance(group, str) or settles not in ("", *options):
        raise UserError(f"{where}: field 'group' must be a text, and 'settles' one of the options")
    return Item(row["id"], dict(sections), row["question"], tuple(options), group, settles)


def _short(value: object) -> bool:
    """Whether this is a text that a spreadsheet and a browser give back as it was."""
    return isinstance(value, str) and bool(value) and value == value.strip() and value.isprintable()


def check_names(annotators: Sequence[str]) -> None:
    """Raise UserError where these cannot be names of annotators, and of their files."""
    if not annotators or len({name.casefold() for name in annotators}) != len(annotators):
        raise UserError("give one or more annotators, each with a name of its own")
    for name in annotators:
        # It becomes a file name.
        if not re.fullmatch(r"\w[\w .-]{0,63}", name) or name != name.strip(" ."):
            raise UserError(f"annotator {name!r}: use letters, digits, blanks, - and _, 64 at most")
