"""The form of a set of rubrics by others, from `sets.yaml`, and how a row of it becomes an item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import ConfigDict

from truebench_hf.data.case import Case, category_shown, stated
from truebench_hf.data.instances import criterion
from truebench_hf.data.rows import Record, Row
from truebench_hf.data.rubrics import RUBRIC_TYPES, Item, Rubric
from truebench_hf.types import Criterion, Label, Message

Category = Literal["constrained", "compositional", "multi_turn", "system"]


class SetForm(Row):
    """How a set is called, listed and read; see `sets.yaml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    published: str
    holds: str = ""
    kind: str = ""
    prefix: str = ""
    title: str = ""
    category: Category | None = None
    language: str = "UND"
    id: str = ""
    system: str = ""
    texts: tuple[str, ...] = ()
    messages: str = ""
    reference: str = ""
    example: str = ""
    facts: tuple[str, ...] = ()


@cache
def tables() -> dict[str, Any]:
    """What `sets.yaml` holds."""
    import yaml

    found: dict[str, Any] = yaml.safe_load((files(__package__) / "sets.yaml").read_text(encoding="utf-8"))
    return found


@cache
def sets() -> dict[str, SetForm]:
    """The sets by name."""
    return {name: SetForm(**{"prefix": name, **form}) for name, form in tables()["sets"].items()}


def item_of(form: SetForm, record: Record, criteria: Sequence[Criterion], **more: Any) -> Item:
    """The item of a row whose columns the form names; `more` is what `source_item` takes besides."""
    messages = more.pop("messages", None) or _messages(form, record)
    name = more.pop("name", None) or f"{form.prefix}-{record.id(form.id)}"
    facts = {fact: record.maybe(fact) for fact in form.facts} | more.pop("facts", {})
    beside = {name: record.maybe(column) for name in ("reference", "example") if (column := getattr(form, name))}
    return source_item(form, name, messages, criteria, facts=facts, **beside | more)


def _messages(form: SetForm, record: Record) -> tuple[Message, ...]:
    if form.messages:
        return asked(record, form.messages)
    first, *others = form.texts
    text = "\n\n".join([record.text(first), *filter(None, map(record.maybe, others))])
    system = record.maybe(form.system) if form.system else None
    return (*([Message("system", system)] if system else []), Message("user", text))


def source_item(
    form: SetForm,
    name: str,
    messages: Sequence[Message],
    criteria: Sequence[Criterion],
    *,
    category: Category | None = None,
    language: str = "",
    labels: Sequence[Label | None] = (),
    response: str | None = None,
    response_id: str = "",
    model: str = "",
    example: str | None = None,
    reference: str | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Item:
    """One instruction of a source with its rubrics (paper 003, section 3.1 and appendices A and B).

    `messages` end with the user message that is to be answered, system message and earlier turns before it. `response`
    is an answer to be judged, None where the source has none, by `model` where it says so; `labels` are what people said
    of it, one for each criterion. `example` is one that it ships as a good one, `reference` one that it holds responses
    against (CFBench's criteria say "matches the reference answer"), so that judges are shown it; elsewhere it would only
    sway them. The kinds of criteria are the source's; those of a type of ours are known, the others are hints. Category
    and language are those of the form where they are not given, a category that no form tells is what the conversation
    shows. `facts` go by the source's own field names.
    """
    history, criteria = tuple(messages[:-1]), tuple(criteria)
    category = category or form.category or category_of(messages)
    case = Case(messages[-1].content, response or "", criteria, history, None, category, reference)
    response_id = response_id or f"{name}-r0"
    pairs = zip(criteria, labels or (None,) * len(criteria), strict=True)
    rubrics = tuple(_rubric(f"{response_id}-c{i}", i, one, label) for i, (one, label) in enumerate(pairs))
    model = "" if response is None else model or form.title
    return Item(
        response_id, name, category, language or form.language, form.title, model, case, rubrics, response is not None,
        example or reference, facts or {},
    )  # fmt: skip


def _rubric(name: str, index: int, criterion: Criterion, label: Label | None) -> Rubric:
    kind = criterion.kind if criterion.kind in RUBRIC_TYPES else None
    return Rubric(name, index, stated(criterion), label, kind, hint="" if kind else criterion.kind or "")


def asked(record: Record, name: str) -> tuple[Message, ...]:
    """A conversation that ends with the user's message to be answered. Raises UserError."""
    messages = record.messages(name)
    if messages[-1].role != "user":
        raise record.wrong(name, "must end with a user message")
    return messages


def category_of(messages: Sequence[Message]) -> Category:
    """RubricEval's category that a conversation shows by itself; "compositional" shows in no conversation."""
    found: Category = category_shown(messages[:-1]) or "constrained"  # type: ignore[assignment]
    return found


def weighted(record: Record, name: str, kind: str | None = None) -> list[Criterion]:
    """The criteria of a list of objects with a text and points (see `truebench_hf.data.instances`), signs kept.

    `kind` names the field that tells the kind of each, a text or several. Raises UserError.
    """
    found = [criterion(record, name, place, value) for place, value in enumerate(record.items(name))]
    if kind is None:
        return found
    kinds = (joined(part.words(kind)) for part in record.parts(name))
    return [replace(one, kind=its) for one, its in zip(found, kinds, strict=True)]


def joined(words: Sequence[object]) -> str | None:
    """Several kinds as one."""
    return ", ".join(map(str, words)) or None


def one_of(record: Record, name: str, names: Mapping[str, Any]) -> Any:
    """What `names` has for a field. Raises UserError on a value that is none of them."""
    value = record.text(name)
    if value not in names:
        raise record.wrong(name, f"is {value!r}, which is none of {', '.join(names)}")
    return names[value]
