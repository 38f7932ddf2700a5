"""Instances of anybody's data: the one grammar of a row, and the one place where rows become instances.

A row has a prompt: `prompt` (a text), `messages` ({role, content}, the user's last; what comes before it is history),
`turns` ({prompt, criteria}) or `input` (a text, or texts, one per turn, as in TRUEBench's own files). It has `criteria`
(also `rubric`, `rubrics` or `checklist`): texts, or objects with `text` (also `criterion`, `question`, `description` or
`title`) and, if they are worth more or less than others, `weight` (or `points`, negative ones for faults), and with
`rule` where a program can measure them (`truebench_hf.data.rules`); one text holds one a line. With several turns that have
none of their own it is a list of such lists. All else may be absent: `id` (or `index`), `language`, `category`, `task`
(or `sub_category`), `system`, `context`, `reference`, `history`. A cell of a table holds a list as JSON.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from truebench_hf.data.judged import unusual
from truebench_hf.data.row_formats import read_text
from truebench_hf.data.rows import MaybeText, Name, Record, Row, Text, fold, holds, named, unwrapped, words
from truebench_hf.data.rules import stored, stored_text
from truebench_hf.errors import UserError, unknown
from truebench_hf.text.terminal import warn
from truebench_hf.types import Criterion, Instance, Message, Turn

_PROMPTS, CRITERIA = ("prompt", "messages", "turns", "input"), ("criteria", "rubric", "rubrics", "checklist")
_IDS, _TASKS = ("id", "index"), ("task", "sub_category")
_OTHERS = ("language", "category", "system", "context", "reference", "history")
GROUPS = (_PROMPTS, CRITERIA, _IDS, _TASKS, *((name,) for name in _OTHERS))  # columns that mean the same
COLUMNS = tuple(chain(*GROUPS))
_TEXTS, _WEIGHTS = ("text", "criterion", "question", "description", "title"), ("weight", "points")
CRITERION = (*_TEXTS, *_WEIGHTS, "kind", "condition", "rule")
MOST = 1e9  # points of a criterion: sums of more than these mean nothing
_MARKER = re.compile(r"^(?:[-*•]|\d{1,3}[.)])\s+")  # of an item in a list that somebody wrote by hand


def of_rows(
    records: Iterable[Record],
    columns: Mapping[str, Sequence[str]] | None = None,
    more: Sequence[Criterion] = (),
    *,
    separator: str = "",
    judged: bool = True,
    repeated: bool = False,
) -> list[Instance]:
    """The instances of rows. `columns` maps our names to the rows', criteria to one or more; `more` criteria are added to
    every turn. A `separator` ends a criterion in a text as a line break does.

    With `judged` every instance needs a criterion in one of its turns at least; with `repeated` an instance may stand
    in several rows, as it does beside several responses to it. An id that is absent is a hash of what is asked, so that
    it stays where rows come and go. Columns may have likely names in any case (see `headers`), which a note tells.
    Raises UserError naming the row and the field that is wrong.
    """
    instances: dict[str, Instance] = {}
    seen: dict[str, str] = {}
    for record, names in _under_our_names(list(records), columns or {}):
        instance = with_criteria(of_row(record, "", separator, names), more)
        if judged and not any(turn.criteria for turn in instance.turns):
            remedy = "give 'criteria' (a list, or one a line), --column criteria=COLUMN, or --criteria FILE to all"
            draft = "a model drafts some: `truebench study checklist generate`"
            raise UserError(f"{record.where}: has no criteria, and {record.there}; {remedy} ({draft})")
        if instance.id in seen and not (repeated and instance == instances[instance.id]):
            if name := id_of(record, ""):
                raise UserError(f"{record.where}: id {name} stands twice (first at {seen[name]}); remove one")
            instance = replace(instance, id=free_id(instance.id, seen))
        seen.setdefault(instance.id, record.where)
        instances.setdefault(instance.id, instance)
    if not instances:
        raise UserError("the data holds no instances")
    return list(instances.values())


def _under_our_names(
    records: Sequence[Record], by_hand: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Record, list[str]]]:
    """Yield every record under our names, with its columns of criteria where several were chosen by hand."""
    for name, theirs in ((name, theirs) for name, names in by_hand.items() for theirs in names):
        if records and not any(theirs in record.row for record in records):
            present = ", ".join(dict.fromkeys(str(column) for record in records for column in record.row))
            raise UserError(f"--column {name}={theirs}: no row has a column {theirs!r}; there are {present}")
    columns = headers(records, by_hand)
    if columns:
        named = (
            f"{first!r}{''.join(f' with {name!r} below it' for name in more)} as {ours}"
            for ours, (first, *more) in columns.items()
        )
        warn(f"Note: read {', '.join(named)}.")
    for record in records:
        own = under_headers(record.row, columns)
        row = renamed(own, {ours: theirs[0] for ours, theirs in by_hand.items()})
        # The columns of criteria that were chosen, where they say something.
        names = [name for name in by_hand.get("criteria", ()) if _says(own, name)]
        row |= {"criteria": own[names[0]]} if len(names) == 1 else {name: own[name] for name in names}
        yield replace(record, row=row), names if len(names) > 1 else []


def headers(rows: Iterable[Record], by_hand: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Find the columns of rows by our names; a column that is mapped by hand keeps its name.

    Raises UserError where two columns may be meant.
    """
    taken = {*chain(*by_hand.values())}
    used: dict[str, str] = {}  # columns in which any row has a value -> the same in small letters
    plain = True  # whether all that an `input` holds are texts
    for record in rows:
        for name, value in unwrapped({name: value for name, value in record.row.items() if name not in taken}).items():
            if holds(value):
                folded = used[str(name)] = fold(name)
                plain &= folded != "input" or (isinstance(value, str) and not value.lstrip().startswith("["))
    columns: dict[str, tuple[str, ...]] = {}
    for group in GROUPS:
        if set(group) & set(by_hand):
            continue
        prompts = set(group) & set(used.values())
        if "input" in group and plain and "instruction" in used.values() and prompts == {"input"}:
            parts = {folded: name for name, folded in used.items()}
            columns["prompt"] = parts["instruction"], parts["input"]  # an instruction with what it is about
        elif not set(group) & set(used):
            # One of its names in another case, or else a likely name.
            likely = words("likely").get(group[0], ())
            chosen = [(folded, name) for name, folded in used.items() if folded in group]
            chosen = chosen or [(group[0], name) for name, folded in used.items() if folded in likely]
            if len(chosen) > 1:
                (ours, first), (_, second) = chosen[:2]
                remedy = f"say which by --column {ours}={first!r}"
                raise UserError(f"the columns {first!r} and {second!r} may both be the {group[0]}; {remedy}")
            columns |= {ours: (theirs,) for ours, theirs in chosen}
    return columns


def under_headers(row: Mapping[str, Any], columns: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The row under our names; texts of several columns stand below each other in one field of ours."""
    row, ours = unwrapped(row), dict[str, Any]()
    for name, (first, *more) in columns.items():
        texts = (str(row.get(column) or "").strip() for column in (first, *more))
        ours[name] = "\n\n".join(filter(None, texts)) if more else row.get(first)
    theirs = {*chain(*columns.values())}
    return {name: value for name, value in row.items() if name not in theirs} | ours


def with_criteria(instance: Instance, more: Sequence[Criterion]) -> Instance:
    """The instance with these criteria added to every turn."""
    if not more:
        return instance
    return replace(instance, turns=tuple(replace(turn, criteria=(*turn.criteria, *more)) for turn in instance.turns))


def of_row(record: Record, number: str = "", separator: str = "", criteria: Sequence[str] = ()) -> Instance:
    """One instance from a row; its id is `number` where it has none, and without that a hash of what it asks.

    `criteria` are the columns that hold some, where they are not by our names. Raises UserError with the field that is
    wrong.
    """
    form = _which(record, _PROMPTS)
    if form is None:
        remedy = "give 'prompt', 'messages' or 'turns', or --column prompt=COLUMN"
        raise UserError(f"{record.where}: has no prompt; {remedy}; {record.there}")
    system, history = record.maybe("system"), record.messages("history") if record.row.get("history") else ()
    if form == "messages" or (form == "prompt" and isinstance(record.row[form], list)):
        own, before, prompt = _conversation(record, form)
        if (own and system) or (before and history):
            twice = "system" if own and system else "history"
            raise record.wrong(form, f"tells what {twice!r} tells too; leave out one")
        system, history, turns = own or system, before or history, [Turn(prompt, ())]
    elif form == "prompt" or (form == "input" and not str(record.row[form]).lstrip().startswith("[")):
        turns = [Turn(record.text(form), ())]
    else:
        turns = _turns(record, form, separator)
    turns = _with_row(record, turns, separator, criteria)
    # "" for what is absent: these name rows and columns of tables. Each name is kept once for all rows.
    fields = ("language", "category", _first(record, _TASKS) or "task")
    language, category, task = (sys.intern(record.value(field, Name)) for field in fields)
    name, context = id_of(record, number), record.maybe("context")
    instance = Instance(name, language, category, task, tuple(turns), system, context, history)
    return instance if instance.id else replace(instance, id=content_id(instance))


def free_id(name: str, taken: Container[str]) -> str:
    """The id with the first number behind it that makes it one of its own."""
    return next(other for number in count(2) if (other := f"{name}-{number}") not in taken)


def content_id(instance: Instance) -> str:
    """An id that follows from what an instance asks, whatever it is judged by."""
    history = [(message.role, message.content) for message in instance.history]
    content = [instance.system, instance.context, history, [turn.prompt for turn in instance.turns]]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]


def as_row(instance: Instance) -> dict[str, Any]:
    """The row of an instance: `of_row` makes the same of it again. What says nothing is left out."""
    turns: list[dict[str, Any]] = []
    for turn in instance.turns:
        criteria: list[str | dict[str, Any]] = []
        for criterion in turn.criteria:
            more = unusual(criterion)
            criteria.append({"text": criterion.text, **more} if more else criterion.text)
        turns.append({"prompt": turn.prompt, "criteria": criteria})
        turns[-1] |= {} if turn.reference is None else {"reference": turn.reference}
    names = {name: getattr(instance, name) for name in ("language", "category", "task", "system", "context")}
    names["history"] = [{"role": message.role, "content": message.content} for message in instance.history]
    return {"id": instance.id, **{name: value for name, value in names.items() if value}, "turns": turns}


def id_of(record: Record, number: str) -> str:
    """The id of a row; `number` where it has none. Raises UserError on one that cannot be."""
    name = _first(record, _IDS)
    return record.id(name) if name else number


def warn_unsplit(records: Sequence[Record], columns: Mapping[str, Sequence[str]]) -> None:
    """Say how many texts of criteria are read as one criterion each, though a `;` may part several."""
    head, names = headers(records, columns), columns.get("criteria", CRITERIA)
    rows = ((record.where, under_headers(record.row, head)) for record in records)
    cells = ((where, row.get(name)) for where, row in rows for name in names)
    texts = ((where, text) for where, text in cells if isinstance(text, str))
    if places := [where for where, text in texts if len(_split(text, "")) == 1 < len(_split(text, ";"))]:
        warn(
            f"Note: cells of criteria with ';' and no line break: {len(places)} (the first: {places[0]}). Each is read as "
            "one criterion; --criteria-separator ';' (in Python criteria_separator=';') splits them."
        )


def criteria_file(path: str, separator: str = "") -> tuple[Criterion, ...]:
    """The criteria of a file: one a line, or a JSON list. Raises UserError naming what cannot be read."""
    text = read_text(path, "--criteria ")
    if not text.strip() or Path(path).suffix in (".yaml", ".yml"):
        raise UserError(f"--criteria {path}: give a file with one criterion a line, or with a JSON list of them")
    return criteria_of(Record(f"--criteria {path}", {"criteria": text}), "criteria", text, separator)


def _conversation(record: Record, form: str) -> tuple[str | None, tuple[Message, ...], str]:
    """(system message, what was said before, the user's last message) of a conversation that somebody had."""
    *before, last = record.messages(form)
    if last.role != "user":
        remedy = "leave out the answer, which the model gives, or judge it by `truebench judge --logs FILE`"
        raise record.wrong(form, f"must end with a message of the user; {remedy}")
    if not last.content.strip():
        raise record.wrong(form, "must not end with a blank message")
    system = before[0].content if before and before[0].role == "system" else None
    return system, tuple(before[system is not None :]), last.content


def _turns(record: Record, form: str, separator: str) -> list[Turn]:
    """The turns of a list of texts or objects, with the criteria and the reference that they hold themselves."""
    value, turns = record.row[form], []
    if isinstance(value, str) and not value.strip().startswith("["):
        raise record.wrong(form, "must be a list, with an entry for each turn")
    for number, value in enumerate(record.items(form)):
        if isinstance(value, str):
            value = {"prompt": value}
        part = record.part(form, number, value)
        name = _which(part, CRITERIA)
        criteria = criteria_of(part, name, part.row[name], separator) if name else ()
        turns.append(Turn(part.text("prompt"), criteria, part.maybe("reference")))
    count = record.row.get("turns")
    if form == "input" and count is not None and str(count).strip() not in ("", str(len(turns))):
        raise UserError(f"{record.where}: field 'turns' is {count!r}, but 'input' has {len(turns)} turns")
    return turns


def _with_row(record: Record, turns: Sequence[Turn], separator: str, columns: Sequence[str]) -> list[Turn]:
    """The turns with the criteria and the reference that stand in the row beside them."""
    if reference := record.maybe("reference"):
        if len(turns) > 1:
            raise record.wrong("reference", "is of one answer, and there are several turns; put it into its turn")
        turns = [replace(turns[0], reference=reference)]
    own, beside = any(turn.criteria for turn in turns), list(turns)
    for name in columns or filter(None, [_which(record, CRITERIA)]):
        if own:
            raise record.wrong(name, "stands beside turns that have criteria of their own; put all into the turns")
        value = _listed(record, name, record.row[name], separator)
        if len(turns) == 1 and not all(isinstance(entry, list) for entry in value):
            value = [value]
        if len(value) != len(turns) or not all(isinstance(entry, list) for entry in value):
            raise record.wrong(name, f"must be a list of lists of texts, one list for each of the {len(turns)} turns")
        for i, entry in enumerate(value):
            criteria = criteria_of(record, f"{name}[{i}]" if len(turns) > 1 else name, entry, separator)
            beside[i] = replace(beside[i], criteria=(*beside[i].criteria, *criteria))
    return beside


def criteria_of(record: Record, name: str, value: Any, separator: str = "") -> tuple[Criterion, ...]:
    """The criteria in a value of a field: a list of them, or a text. Raises UserError."""
    return tuple(criterion(record, name, i, entry) for i, entry in enumerate(_listed(record, name, value, separator)))


def _listed(record: Record, name: str, value: Any, separator: str) -> list[Any]:
    """A list as it is; a text as the JSON it holds, or else line by line, lines parted by the separator."""
    if isinstance(value, str):
        if value.strip()[:1] not in ("[", "{"):
            return _split(value, separator)
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise record.wrong(name, f"begins like JSON and is none ({error}); write JSON, or one a line") from error
    if not isinstance(value, list):
        raise record.wrong(name, "must be a list of criteria, or a text with one a line")
    return value


def _split(text: str, separator: str) -> list[str]:
    """The criteria in a text; a text that is JSON holds none."""
    if text.strip()[:1] in ("[", "{"):
        return []
    parts = [part for line in text.splitlines() for part in (line.split(separator) if separator else [line])]
    return [_MARKER.sub("", part.strip()) for part in parts if part.strip()]


def criterion(record: Record, name: str, number: int, value: Any) -> Criterion:
    """The criterion at a place of a list: a text, or an object with the fields `CRITERION`. Raises UserError."""
    if isinstance(value, str) and value.strip():
        return Criterion(value)
    if not isinstance(value, dict):
        raise record.wrong(f"{name}[{number}]", f"must be a text, or an object with 'text', not {value!r:.80}")
    row = record.part(name, number, value).read(CriterionCell)
    return Criterion(row.text, row.kind, row.condition, row.weight, row.rule)


def _weight(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < abs(value) <= MOST:
        raise ValueError(f"must be a number other than 0 (below it for a fault), not {value!r:.80}")
    return float(value)


def rule_text(value: Any) -> str | None:
    """The text of what stands in a field `rule` (see `rules.stored`), None without one. Raises ValueError."""
    if value != [] and not holds(value):
        return None

    try:
        return stored_text(*stored(value))
    except UserError as error:
        raise ValueError(f"holds no rule: {error}") from error


class CriterionCell(Row):
    """An object that is a criterion."""

    keeps_blanks = ("rule",)

    text: Text = named(*_TEXTS)
    weight: Annotated[float, BeforeValidator(_weight)] = named(*_WEIGHTS, default=1.0)
    kind: MaybeText = None
    condition: MaybeText = None
    rule: Annotated[str | None, BeforeValidator(rule_text)] = None


def _says(row: Mapping[str, Any], name: str) -> bool:
    """Whether a field is given. The number of turns, which official rows have, is none of their prompts."""
    value = row.get(name)
    return holds(value) and not (name == "turns" and str(value).strip().isdigit())


def _first(record: Record, names: Sequence[str]) -> str | None:
    """The first of these that a row has."""
    return next((name for name in names if _says(record.row, name)), None)


def _which(record: Record, names: Sequence[str]) -> str | None:
    """Which of these a row has; of two nobody knows which is meant."""
    present = [name for name in names if _says(record.row, name)]
    if len(present) > 1:
        remedy = f"leave out one, or say which by --column {present[0]}={present[0]}"
        raise UserError(f"{record.where}: has {present[0]!r} and {present[1]!r}, which mean the same; {remedy}")
    return present[0] if present else None


def renamed(
    row: Mapping[str, Any], columns: Mapping[str, str], same: Sequence[Sequence[str]] = GROUPS
) -> dict[str, Any]:
    """The row under our names; what is mapped stands in place of all that means the `same`. Raises UserError on a name
    that is none of ours."""
    for name in columns:
        if not any(name in group for group in same):
            raise unknown("column", name, chain(*same))
    meant = {name for group in same if set(group) & set(columns) for name in group}
    kept = {name: value for name, value in row.items() if name not in meant}
    return kept | {ours: row.get(theirs) for ours, theirs in columns.items()}
