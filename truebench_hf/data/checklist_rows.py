"""Rows of the `checklists` form: an instruction, responses, checklists, and what people and judges said of them.

Needed are `messages`, which end with the user's; every other list may be absent. Lists refer to each
other by ids: `answers` are those of an annotator to every question of one checklist about one response, `judgments`
the same by a judge, one entry a draw.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import (
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.dataclasses import dataclass

from truebench_hf.data.case import Case
from truebench_hf.data.rows import Decoded, Id, MaybeLabel, MaybeText, Record, Texts, user_error
from truebench_hf.data.rows import Text as FilledText
from truebench_hf.metrics.votes import majority
from truebench_hf.types import Criterion, Label, Message

Source = Literal["human", "model"]
Mode = Literal["direct", "reasoning"]
Protocol = Literal["direct", "check_then_score"]
Effect = Literal["easier", "harder", "no effect"]
SOURCES, MODES, PROTOCOLS, EFFECTS = map(get_args, (Source, Mode, Protocol, Effect))
_FORM = ConfigDict(extra="ignore", validate_by_name=True, validate_by_alias=True)
_Number = Annotated[int, Strict(), Field(ge=1)]
_OneToFive = Annotated[int, Strict(), Field(ge=1, le=5)]
_By = Field(validation_alias=AliasChoices("annotator", "judge"))


def _list(value: Any) -> Any:
    """A list that may be written as JSON or be absent, its entries without what they leave empty."""
    value = TypeAdapter(Decoded).validate_python(value)
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list")
    return [{k: v for k, v in one.items() if v is not None} if isinstance(one, dict) else one for one in value]


T = TypeVar("T")
_Parts = Annotated[tuple[T, ...], BeforeValidator(_list)]
_Labels = Annotated[tuple[MaybeLabel, ...], BeforeValidator(lambda value: TypeAdapter(Decoded).validate_python(value))]


@dataclass(frozen=True, slots=True, config=_FORM)
class Text:
    """A response to the instruction."""

    id: Id
    text: Annotated[str, Strict()]
    model: Annotated[str, Strict()] = ""


@dataclass(frozen=True, slots=True, config=_FORM)
class Written:
    """A checklist. `run` tells those of one author apart, from 1; the `chosen` one is what others are held against."""

    id: Id
    author: FilledText
    source: Source
    run: _Number
    chosen: Annotated[bool, Strict()]
    questions: Annotated[tuple[str, ...], BeforeValidator(lambda value: _texts().validate_python(value))]


@dataclass(frozen=True, slots=True, config=_FORM)
class Answers:
    """Yes or no to each question of a checklist about a response, None where it was left open.

    `mode` and `sample` (from 1) are of judges; people have neither.
    """

    response_id: Id
    checklist_id: Id
    by: Annotated[FilledText, _By]
    answers: _Labels
    mode: str = ""
    sample: _Number = 1


@dataclass(frozen=True, slots=True, config=_FORM)
class Sorting:
    """The categories that an annotator gave each question of a checklist, any number of them."""

    checklist_id: Id
    annotator: FilledText
    categories: tuple[Annotated[tuple[FilledText, ...], BeforeValidator(lambda names: _once_each(names))], ...]


@dataclass(frozen=True, slots=True, config=_FORM)
class Preference:
    """1 (response A much better) over 3 (near-identical) to 5 (response B much better)."""

    annotator: FilledText
    response_a: Id
    response_b: Id
    rating: _OneToFive


@dataclass(frozen=True, slots=True, config=_FORM)
class Scored:
    """A response scored from 1 to 5, directly or after its checklist, whose `effect` on scoring may be told."""

    response_id: Id
    annotator: FilledText
    protocol: Protocol
    score: _OneToFive
    checklist_id: Id | None = None
    effect: Effect | None = None


@dataclass(frozen=True, slots=True, config=_FORM)
class Entry:
    """A row, whose `row` holds it as it stood in the data."""

    id: Id
    language: Annotated[str, BeforeValidator(lambda value: _maybe_text().validate_python(value) or "")]
    category: Annotated[str, BeforeValidator(lambda value: _maybe_text().validate_python(value) or "")]
    messages: _Parts[Message]
    responses: _Parts[Text]
    checklists: _Parts[Written]
    answers: _Parts[Answers] = ()
    judgments: _Parts[Answers] = ()
    categories: _Parts[Sorting] = ()
    preferences: _Parts[Preference] = ()
    ratings: _Parts[Scored] = ()
    row: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @model_validator(mode="after")
    def _hangs_together(self) -> Entry:
        """Raise ValueError where lists refer to what is not there, or where something stands twice."""
        if not self.messages or self.messages[-1].role != "user" or not self.messages[-1].content.strip():
            raise ValueError("field 'messages' must end with a message of the user that is not blank")
        for name, key in _KEYS:
            _check_once(name, [key(one) for one in getattr(self, name)])
        if sum(one.chosen for one in self.checklists) > 1:
            raise ValueError("field 'checklists' has more than one that is chosen; choose one")
        lengths = {one.id: len(one.questions) for one in self.checklists}
        for name, what, entries in _REFERENCES:
            ids = {one.id for one in getattr(self, what)}
            for place, one in enumerate(getattr(self, entries)):
                if (value := getattr(one, name)) is not None and value not in ids:
                    raise ValueError(
                        f"field '{entries}[{place}].{name}' names {what[:-1]} {value!r}, which is not there"
                    )
        for entries, of in (("answers", "answers"), ("judgments", "answers"), ("categories", "categories")):
            for place, one in enumerate(getattr(self, entries)):
                if (count := len(getattr(one, of))) != (due := lengths[one.checklist_id]):
                    raise ValueError(
                        f"field '{entries}[{place}].{of}' must hold one for each question, {due} in all, not {count}"
                    )
        for place, judged in enumerate(self.judgments):
            if judged.mode not in MODES:
                raise ValueError(f"field 'judgments[{place}].mode' must be one of {', '.join(MODES)}")
        for place, preference in enumerate(self.preferences):
            if preference.response_a == preference.response_b:
                raise ValueError(f"field 'preferences[{place}].response_b' is response A too")
        for place, scored in enumerate(self.ratings):
            if scored.protocol == "direct" and (scored.effect or scored.checklist_id):
                name = "effect" if scored.effect else "checklist_id"
                raise ValueError(
                    f"field 'ratings[{place}].{name}' is of check_then_score, and this was scored directly"
                )
        return self

    @property
    def chosen(self) -> Written | None:
        """The checklist that others are held against."""
        return next((one for one in self.checklists if one.chosen), None)

    def case(self, response: str = "", questions: Sequence[str] = ()) -> Case:
        """What a model is shown: the instruction with what came before, a response's text, and questions on it."""
        *before, asked = self.messages
        return Case(asked.content, response, tuple(map(Criterion, questions)), tuple(before), benchmark="tick")

    def people(self, response: Text, checklist: Written) -> tuple[Label | None, ...] | None:
        """The majority of the annotators on each question, None on a tie; None where nobody answered."""
        about = (response.id, checklist.id)
        given = [one.answers for one in self.answers if (one.response_id, one.checklist_id) == about]
        return tuple(majority(votes).label for votes in zip(*given, strict=True)) if given else None  # type: ignore[misc]


_REFERENCES = (
    ("response_id", "responses", "answers"), ("response_id", "responses", "judgments"), ("response_id", "responses", "ratings"),
    ("response_a", "responses", "preferences"), ("response_b", "responses", "preferences"),
    ("checklist_id", "checklists", "answers"), ("checklist_id", "checklists", "judgments"),
    ("checklist_id", "checklists", "categories"), ("checklist_id", "checklists", "ratings"),
)  # fmt: skip
_KEYS: tuple[tuple[str, Callable[[Any], Hashable]], ...] = (
    ("responses", lambda one: f"the id {one.id}"),
    ("checklists", lambda one: f"the id {one.id}"),
    ("checklists", lambda one: f"{one.author}, run {one.run}"),
    ("answers", lambda one: f"{one.by} on response {one.response_id}, checklist {one.checklist_id}"),
    ("judgments", lambda one: f"{one.by}, {one.mode}, sample {one.sample}, on response {one.response_id}, "
     f"checklist {one.checklist_id}"),
    ("categories", lambda one: f"{one.annotator} on checklist {one.checklist_id}"),
    ("preferences", lambda one: f"{one.annotator} on {' and '.join(sorted((one.response_a, one.response_b)))}"),
    ("ratings", lambda one: f"{one.annotator} on response {one.response_id}, {one.protocol}"),
)  # fmt: skip


def _check_once(name: str, keys: Sequence[Hashable]) -> None:
    doubled = [key for n, key in enumerate(keys) if key in keys[:n]]
    if doubled:
        raise ValueError(f"field {name!r} has more than one of {doubled[0]}; keep one")


def _once_each(names: Any) -> Any:
    return list(dict.fromkeys(names)) if isinstance(names, list) and all(isinstance(n, str) for n in names) else names


@cache
def _texts() -> TypeAdapter[Any]:
    return TypeAdapter(Texts)


@cache
def _maybe_text() -> TypeAdapter[Any]:
    return TypeAdapter(MaybeText)


# What a row, and the entries of its lists, may leave out, and what that means.
_ROW: dict[str, Any] = {"language": "", "category": "", "label_source": ""}
_LISTS: dict[str, dict[str, Any]] = {
    "responses": {"model": ""}, "checklists": {"source": "human", "run": 1, "chosen": False}, "categories": {},
    "answers": {}, "judgments": {"sample": 1}, "preferences": {}, "ratings": {"checklist_id": None, "effect": None},
}  # fmt: skip


def filled(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with all columns: what it may leave out is written down. Nothing is checked."""
    whole = {**_ROW, **{name: [] for name in _LISTS}, **row}
    for name, absent in _LISTS.items():
        if isinstance(whole[name], list):
            whole[name] = [absent | one if isinstance(one, dict) else one for one in whole[name]]
    if isinstance(lists := whole["checklists"], list):
        whole["checklists"] = [
            {"id": f"c{n}", **one} if isinstance(one, dict) else one for n, one in enumerate(lists, 1)
        ]
    return whole


def read(record: Record) -> Entry:
    """The row of a record. Raises UserError naming where it stands and the field that is wrong."""
    try:
        entry = _entries().validate_python(filled({name: value for name, value in record.row.items() if name != "row"}))
    except ValidationError as error:
        raise user_error(error, record) from error
    made: Entry = replace(entry, row=dict(record.row))
    return made


@cache
def _entries() -> TypeAdapter[Entry]:
    return TypeAdapter(Entry)
