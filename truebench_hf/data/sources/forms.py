"""The form of a set of rubrics by others, from `sets.yaml`, and how a row of it becomes items."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal

from truebench_hf.data import jsonl
from truebench_hf.data.instances import criterion
from truebench_hf.data.judged import Case, category_shown, stated
from truebench_hf.data.rows import Record, Row, tables
from truebench_hf.data.rubrics import RUBRIC_TYPES, Item, Rubric
from truebench_hf.types import Criterion, Label, Message

SETS = "sources/sets.yaml"
# A line that begins a criterion: "1. ...", "2) ...", "- ...".
_BULLET = re.compile(r"\s*(?:\(?\d{1,3}[.):]|[-*•])\s+(?=\S)")
_KIND = re.compile(r"(.+?)\s*\[(Hard Rule|Principle)\]\s*", re.IGNORECASE | re.DOTALL)


class CriteriaForm(Row, extra="forbid"):
    """Where criteria stand: in a `column` (a path into objects), each with its text, kinds and points in fields.

    Without a column the row is the one criterion. Without a `text` they are texts, or objects as
    `truebench_hf.data.instances` reads them; `lines` are of one text.
    """

    column: str = ""
    text: str = ""
    kinds: str = ""
    points: str = ""
    values: Mapping[str, float] = {}
    weighted: bool = False
    lines: bool = False
    fixed: str = ""  # the one criterion of a set that has none of its own


class SetForm(Row, extra="forbid"):
    """How a set is called, listed and read; see `sets.yaml`."""

    published: str
    holds: str = ""
    kind: str = ""
    prefix: str = ""
    title: str = ""
    category: Literal["constrained", "compositional", "multi_turn", "system"] | None = None
    language: str = "UND"
    id: str = ""
    digits: int = 6
    system: str = ""
    texts: tuple[str, ...] = ()
    messages: str = ""
    reference: str = ""
    example: str = ""
    criteria: CriteriaForm = CriteriaForm()
    pair: Mapping[str, str] = {}
    preferred: str = ""
    wins: Mapping[str, str] = {}
    labelled: bool = False


@cache
def sets() -> dict[str, SetForm]:
    """The sets by name."""
    return {name: SetForm(**{"prefix": name, **form}) for name, form in tables(SETS)["sets"].items()}


def plain(form: SetForm, record: Record) -> list[Item]:
    """The items of a row that has nothing to it beside its columns: one, or one for each response of a pair.

    Where it is known, the fact `preferred` says whether that is the better one; in a `labelled` set that is the label of
    its one criterion, too. A set in which nothing ("") may win has rows without responses, too, as prompts to answer.
    """
    criteria, name, optional = criteria_of(form.criteria, record), name_of(form, record), "" in form.wins
    if not form.pair or (optional and not any(map(record.maybe, form.pair.values()))):
        return [item_of(form, record, criteria)]
    better = None if optional and record.maybe(form.preferred) is None else one_of(record, form.preferred, form.wins)
    items = []
    for which, column in form.pair.items():
        facts = {} if better is None else {"preferred": which == better}
        labels: list[Label] = ["yes" if which == better else "no"] if form.labelled else []
        answer: dict[str, Any] = {"response": record.text(column), "response_id": f"{name}-{which}", "labels": labels}
        items.append(item_of(form, record, criteria, facts=facts, **answer))
    return items


def item_of(
    form: SetForm, record: Record, criteria: Sequence[Criterion] | None = None, *, name: str = "",
    messages: Sequence[Message] = (), category: str | None = None, language: str = "", labels: Sequence[Label | None] = (),
    response: str | None = None, response_id: str = "", model: str = "", example: str | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Item:  # fmt: skip
    """One instruction of a source with its rubrics (paper 003, section 3.1 and appendices A and B).

    What is not given stands in the columns that the form names. `messages` end with the user message that is to be
    answered, system message and earlier turns before it. `response` is an answer to be judged, None where the source has
    none, by `model` where it says so; `labels` are what people said of it, one for each criterion. `example` is one that
    it ships as a good one; a reference is one that it holds responses against (CFBench's criteria say "matches the
    reference answer"), so that judges are shown it; elsewhere it would only sway them. The kinds of criteria are the
    source's; those of a type of ours are known, the others are hints. A category that no form tells is what the
    conversation shows. `facts` go by the source's own field names; that of its kind is one.
    """
    criteria = tuple(criteria_of(form.criteria, record) if criteria is None else criteria)
    *before, instruction = messages or messages_of(form, record)
    name = name or name_of(form, record)
    reference = record.maybe(form.reference) if form.reference else None
    example = example or (record.maybe(form.example) if form.example else None)
    category = category or form.category or category_shown(before) or "constrained"
    case = Case(instruction.content, response or "", criteria, tuple(before), None, category, reference)
    response_id, rubrics = response_id or f"{name}-r0", []
    for i, (item, label) in enumerate(zip(criteria, labels or (None,) * len(criteria), strict=True)):
        kind = item.kind if item.kind in RUBRIC_TYPES else None
        hint = "" if kind else item.kind or ""
        rubrics.append(Rubric(f"{response_id}-c{i}", i, stated(item), label, kind, hint=hint))
    return Item(
        response_id, name, category, language or form.language, form.title,
        "" if response is None else model or form.title, case, tuple(rubrics), response is not None, example or reference,
        ({form.kind: record.maybe(form.kind)} if form.kind else {}) | dict(facts or {}),
    )  # fmt: skip


def name_of(form: SetForm, record: Record) -> str:
    """What the instruction of a row is called, by its id or its place."""
    return f"{form.prefix}-{record.id(form.id) if form.id else f'{record.number:0{form.digits}d}'}"


def messages_of(form: SetForm, record: Record) -> tuple[Message, ...]:
    """The conversation of a row, up to the user's message to be answered. Raises UserError."""
    if form.messages:
        messages = record.messages(form.messages)
        if messages[-1].role != "user":
            raise record.wrong(form.messages, "must end with a user message")
        return messages
    first, *others = form.texts
    text = "\n\n".join([record.text(first), *filter(None, map(record.maybe, others))])
    system = record.maybe(form.system) if form.system else None
    return (*([Message("system", system)] if system else []), Message("user", text))


def criteria_of(form: CriteriaForm, record: Record) -> list[Criterion]:
    """The criteria of a row where the form says that they stand. Raises UserError."""
    if form.fixed:
        return [Criterion(form.fixed, "task_completion")]
    *way, name = form.column.split(".")
    for step in way:
        record = record.part(step, None, record.decoded(step))
    if form.lines:
        kinds = ((text, _KIND.fullmatch(text)) for text in _lines(record, name))
        return [Criterion(kind[1], kind[2].title()) if kind else Criterion(text) for text, kind in kinds]
    if form.weighted:
        weighted = [criterion(record, name, place, value) for place, value in enumerate(record.items(name))]
        if not form.kinds:
            return weighted
        parts = zip(weighted, record.parts(name), strict=True)
        return [replace(entry, kind=joined(part.words(form.kinds))) for entry, part in parts]
    if not form.text:
        return list(map(Criterion, record.texts(name)))
    criteria = []
    for part in record.parts(name) if name else [record]:
        points = one_of(part, form.points, form.values) if form.points else 1.0
        criteria.append(Criterion(part.text(form.text), joined(part.words(form.kinds)), weight=points))
    return criteria


def _lines(record: Record, name: str) -> list[str]:
    """The criteria of a rubric that is one text: a JSON list, or lines of which each bullet begins one.

    Without bullets every line is a criterion. Raises UserError where nothing is left.
    """
    text = record.text(name).strip()
    if isinstance(values := jsonl.held(text), list):  # else a text, maybe in square brackets
        return record.part(name, None, {name: values}).texts(name)
    lines = [line for line in text.splitlines() if line.strip()]
    bulleted = any(map(_BULLET.match, lines))
    criteria: list[str] = []
    for line in lines:
        bullet = _BULLET.match(line)
        if not bulleted or bullet:
            criteria.append(line[bullet.end() if bullet else 0 :].strip())
        elif criteria:  # goes on with the one before; words before the first bullet are a heading
            criteria[-1] += f" {line.strip()}"
    return criteria


def joined(words: Sequence[object]) -> str | None:
    """Several kinds as one."""
    return ", ".join(map(str, words)) or None


def one_of(record: Record, name: str, names: Mapping[str, Any]) -> Any:
    """What `names` has for a field, a text or a whole number. Raises UserError on a value that is none of them."""
    text = record.id(name)
    if text not in names:
        raise record.wrong(name, f"is {record.row[name]!r}, which is none of {', '.join(filter(None, names))}")
    return names[text]
