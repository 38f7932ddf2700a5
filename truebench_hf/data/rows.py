"""One row of data: the types of its fields, the base of all row models, how their errors read, and the words that people
and tools have for the same. Files: `row_files`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from typing import Annotated, Any, ClassVar, TypeVar, cast

import yaml
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from truebench_hf.data import jsonl
from truebench_hf.errors import UserError
from truebench_hf.text.terminal import HALF
from truebench_hf.types import Label, Message

R = TypeVar("R", bound="Row")
_SHOWN = 30  # fields of a record that an error names
_CUT = 60  # characters of a wrong value
# Every way in which files name a label: words, flags and numbers (whole or not, as a table with gaps holds them).
_LABELS: dict[str, Label | None] = {
    "yes": "yes", "true": "yes", "1": "yes", "1.0": "yes", "no": "no", "false": "no", "0": "no", "0.0": "no", "": None,
}  # fmt: skip


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a text that is not blank")
    return value


def _maybe(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError("must be a text or null")
    return value if value and value.strip() else None


def _name(value: Any) -> str:
    text = _maybe(value) or ""
    if HALF.search(text):
        raise ValueError("holds half a character (a lone surrogate); write it anew")
    return text


def _id(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():  # a column of numbers with a gap in it, to pandas
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).strip():
        raise ValueError("must be a whole number or a text")
    return _name(str(value))


def _label(value: Any) -> Label | None:
    text = "" if value is None else str(value).strip().casefold() if isinstance(value, str | int | float) else None
    if text not in _LABELS:
        raise ValueError(f"must be yes or no, true or false, 1 or 0, or empty for none, not {value!r}")
    return _LABELS[text]


def _decoded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"must be JSON ({error})") from error


def _words(value: Any) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) and value.strip() else value or []
    if not isinstance(values, list | tuple) or not all(isinstance(text, str) for text in values):
        raise ValueError("must be a text or a list of texts")
    return tuple(values)


# Types of fields. Lists may be written as JSON text, as cells of a table hold them.
Text = Annotated[str, BeforeValidator(_text)]  # a text that is not blank
MaybeText = Annotated[str | None, BeforeValidator(_maybe)]  # None where it is absent, null or blank
Name = Annotated[str, BeforeValidator(_name)]  # what tables are told apart by: "" where it is absent
Id = Annotated[str, BeforeValidator(_id)]  # a text or a whole number, as a text
MaybeLabel = Annotated[Label | None, BeforeValidator(_label)]  # see `_LABELS`; None where nobody gave one
Labels = Annotated[list[MaybeLabel], Field(min_length=1), BeforeValidator(_decoded)]  # a list of such
Items = Annotated[list[Any], Field(min_length=1), BeforeValidator(_decoded)]  # a list that is not empty
Texts = Annotated[list[Text], Field(min_length=1), BeforeValidator(_decoded)]  # a list of texts, none of them blank
Words = Annotated[tuple[str, ...], BeforeValidator(_words)]  # a text or a list of texts, or nothing
Decoded = Annotated[Any, BeforeValidator(_decoded)]  # any value, read from JSON where it is a text
Messages = Annotated[tuple[Message, ...], Field(min_length=1), BeforeValidator(_decoded)]  # {role, content}, not empty


class Row(BaseModel):
    """The base of every form of row.

    Fields that a form does not name are ignored. Of several names of a field (`named`) the first that says something is
    read; null, blank texts and empty lists say nothing, but in the fields `keeps_blanks`.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", arbitrary_types_allowed=True)
    keeps_blanks: ClassVar[tuple[str, ...]] = ()
    any_case: ClassVar[bool] = False  # whether columns may be named in any case (see `fold`)

    @model_validator(mode="before")
    @classmethod
    def _choose_names(cls, row: Any) -> Any:
        if not isinstance(row, Mapping):
            return row
        if cls.any_case:
            row = {fold(name): value for name, value in row.items()} | dict(row)
        known: set[str] = set()
        read: set[str] = set()
        for field, names in _names(cls).items():
            present = [name for name in names if name in row]
            says = [n for n in present if row[n] is not None and (field in cls.keeps_blanks or holds(row[n]))]
            known.update(names)
            read.update((says or (present if cls.model_fields[field].is_required() else []))[:1])
        return {name: value for name, value in row.items() if name in read or name not in known}


@cache
def _names(form: type[Row]) -> dict[str, list[str]]:
    """The names that each field of a form may have."""
    aliases = {field: about.validation_alias for field, about in form.model_fields.items()}
    return {field: list(getattr(alias, "choices", [field])) for field, alias in aliases.items()}


def named(*names: str, **more: Any) -> Any:
    """A field with several names; see `Row`."""
    return Field(validation_alias=AliasChoices(*names), **more)


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """A column's name in small letters, its words joined by `_`."""
    return re.sub(r"[\s_-]+", "_", str(name).strip().casefold())


def holds(value: Any) -> bool:
    """Return True if a value says something: null, a blank text and an empty list do not."""
    return value is not None and value != [] and (not isinstance(value, str) or bool(value.strip()))


def _reader(kind: Any) -> Any:
    """A method that reads a field of one of the types above."""
    return lambda record, name: record.value(name, kind)


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """What reads values of a type, made once."""
    return TypeAdapter(kind)


@dataclass(frozen=True, slots=True)
class Record:
    """A row and where it stands (file and line or number). Every method raises UserError naming both and the field.

    Fields are read by the type that they must be of, which says what may be absent: `record.text(name)`.
    `number` is its place among all rows of the file, from 0; `kind` is what its fields are those of: a file's rows have
    the same ones.
    """

    where: str
    row: Mapping[str, Any]
    number: int = 0
    kind: str = "file"

    def read(self, form: type[R]) -> R:
        """The row as one of a form."""
        try:
            return form.model_validate(self.row)
        except ValidationError as error:
            raise user_error(error, self, _names(form).values()) from error

    def value(self, name: str, kind: Any) -> Any:
        """The field as a value of one of the types above."""
        try:
            return adapter(kind).validate_python(self.row.get(name))
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            raise self.wrong(f"{name}{_place(fault['loc'], inside=True)}", _message(fault)) from error

    # Fields by the type that they must be of.
    text = cast("Callable[[Record, str], str]", _reader(Text))
    maybe = cast("Callable[[Record, str], str | None]", _reader(MaybeText))
    id = cast("Callable[[Record, str], str]", _reader(Id))
    label = cast("Callable[[Record, str], Label | None]", _reader(MaybeLabel))
    items = cast("Callable[[Record, str], list[Any]]", _reader(Items))
    texts = cast("Callable[[Record, str], list[str]]", _reader(Texts))
    words = cast("Callable[[Record, str], tuple[str, ...]]", _reader(Words))
    messages = cast("Callable[[Record, str], tuple[Message, ...]]", _reader(Messages))
    decoded = cast("Callable[[Record, str], Any]", _reader(Decoded))

    def parts(self, name: str) -> list[Record]:
        """A list of objects, each as a record of its own."""
        return [self.part(name, number, value) for number, value in enumerate(self.items(name))]

    def part(self, name: str, key: object, value: Any) -> Record:
        """One object inside a field (at `key`, or all of it for None), as a record of its own."""
        place = name if key is None else f"{name}[{key}]"
        if not isinstance(value, dict):
            raise self.wrong(place, "must be an object")
        return Record(f"{self.where}, {place}", value, kind="object")

    def wrong(self, name: str, what: str) -> UserError:
        """The error for a field of this record; where it is absent, with those that are there."""
        if name in self.row or "[" in name or "." in name:
            return UserError(f"{self.where}: field {name!r} {what}")
        return UserError(f"{self.where}: missing field {name!r}; {self.there} (it {what})")

    @property
    def there(self) -> str:
        """The fields that the record has, in words."""
        names = [str(name)[:_CUT] for name in self.row]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"the {self.kind} has {', '.join(names[:_SHOWN]) or 'none'}{more}"


def user_error(error: ValidationError, record: Record, names: Iterable[Sequence[str]] = ()) -> UserError:
    """The first thing that is wrong with a row, in one line that names the row and the field, with its other `names`."""
    fault = error.errors(include_url=False)[0]
    place = _place(fault["loc"])
    if fault["type"] == "missing" and len(fault["loc"]) == 1:
        others = ", ".join(other for first, *more in names if first == place for other in more)
        return UserError(f"{record.where}: missing field {place!r}{others and f' (or {others})'}; {record.there}")
    field = f"field {place!r} " if place else ""
    return UserError(f"{record.where}: {field}{_message(fault)}")


def _place(parts: Iterable[str | int], inside: bool = False) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{str(part)[:60]}" for part in parts)
    return text if inside else text.lstrip(".")


_MESSAGES = {
    "missing": "is needed", "extra_forbidden": "is unknown; leave it out",
    "unexpected_keyword_argument": "is unknown; leave it out", "string_type": "must be a text",
    "list_type": "must be a list", "tuple_type": "must be a list", "too_short": "must be a list that is not empty",
    "dict_type": "must be an object", "model_type": "must be an object", "dataclass_type": "must be an object",
    "int_type": "must be a whole number", "int_parsing": "must be a whole number", "float_type": "must be a number",
    "bool_type": "must be true or false",
}  # fmt: skip


def _message(fault: Mapping[str, Any]) -> str:
    if fault["type"] == "value_error":
        return str(fault["ctx"]["error"])
    if fault["type"] == "literal_error":
        names = str(fault["ctx"]["expected"]).replace("'", "").replace(" or ", ", ")
        return f"is {repr(fault['input'])[:_CUT]}, which is none of {names}"
    text = _MESSAGES.get(fault["type"]) or str(fault["msg"])
    if fault["type"] not in _MESSAGES and isinstance(value := fault.get("input"), str | int | float):
        text += f", not {repr(value)[:_CUT]}"
    return text.replace("Input should", "must", 1).replace("must be a valid ", "must be a ", 1)


_WRAPPERS = ("inputs", "outputs", "attributes", "body", "params")  # the last two of batches
_DOTTED = {"input.value": "input", "output.value": "output", "retrieval.documents": "documents"}
# Fields that may hold an object, with what counts in it: Phoenix and LlamaIndex.
_HOLDERS = {"input": "value", "output": "value", "retrieval": "documents", "response": "response"}


@cache
def words(what: str) -> Any:
    """What people, logs and tools call the same, from `log_forms.yaml`: lists of names and paths, or a table of them."""
    names = tables("log_forms.yaml")[what]
    if not isinstance(names, list):
        return names
    return tuple(chain.from_iterable(name if isinstance(name, list) else [name] for name in names))


@cache
def tables(file: str) -> Any:
    """What a YAML file of this room holds."""
    return yaml.safe_load((files(__package__) / file).read_text(encoding="utf-8"))


def unwrapped(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with the fields of its `inputs`, `outputs` and other wrappers beside the others, where they are objects.

    So LangSmith, Phoenix and batches keep them, also as columns such as `inputs.question` and `attributes.output.value`.
    """
    flat = dict(row)
    for name, value in row.items():
        if fold(name) not in _WRAPPERS:
            continue
        if isinstance(value := jsonl.held(value), Mapping):
            del flat[name]
            flat = {**value, **flat}
    for name in list(flat):
        field, held_there = _HOLDERS.get(fold(name)), jsonl.held(flat[name])
        if field and isinstance(held_there, Mapping) and field in held_there:
            del flat[name]
            flat = {**held_there, **flat, (name if field == "value" else field): held_there[field]}
    for name in [name for name in flat if "." in str(name)]:
        inner = fold(name).removeprefix("attributes.")
        wrapper, _, field = inner.partition(".")
        if plain := _DOTTED.get(inner) or (field if wrapper in ("inputs", "input", "outputs", "output") else ""):
            flat.setdefault(plain, flat.pop(name))
    return flat
