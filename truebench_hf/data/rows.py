"""One row of data, of whatever file, whose fields are checked as they are read; where they come from: `row_files`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from truebench_hf.errors import UserError
from truebench_hf.types import Label, Message, Role

_SHOWN = 30  # fields of a record that an error names
_ROLES = get_args(Role)
# Every way in which files say a label: words, flags and numbers (whole or not, as a table with gaps holds them).
_LABELS: dict[str, Label | None] = {
    "yes": "yes", "true": "yes", "1": "yes", "1.0": "yes", "no": "no", "false": "no", "0": "no", "0.0": "no", "": None,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Record:
    """A row and where it stands (file and line or number). Every method raises UserError naming both and the field.

    `number` is its place among all rows of the file, from 0; `kind` is what its fields are those of: a file's rows have
    the same ones.
    """

    where: str
    row: Mapping[str, Any]
    number: int = 0
    kind: str = "file"

    def text(self, name: str) -> str:
        """A field that must be a text with something in it."""
        value = self.row.get(name)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(name, "must be a text that is not blank")
        return value

    def maybe(self, name: str) -> str | None:
        """A text field that may be absent, null or blank: then None."""
        value = self.row.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.wrong(name, "must be a text or null")
        return value if value.strip() else None

    def id(self, name: str) -> str:
        """A number or a text, as a text."""
        value = self.row.get(name)
        if isinstance(value, float) and value.is_integer():  # a column of numbers with a gap in it, to pandas
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).strip():
            raise self.wrong(name, "must be a whole number or a text")
        return str(value)

    def label(self, name: str) -> Label | None:
        """A label (see `_LABELS`) in any case; None where it is absent, null or blank: nobody gave one."""
        value = self.row.get(name)
        said = "" if value is None else str(value).strip().casefold() if isinstance(value, str | int | float) else None
        if said not in _LABELS:
            raise self.wrong(name, f"must be yes or no, true or false, 1 or 0, or empty for none, not {value!r}")
        return _LABELS[said]

    def items(self, name: str) -> list[Any]:
        """A list with something in it; a list written as JSON text (as in CSV) is read."""
        value = self.decoded(name)
        if not isinstance(value, list) or not value:
            raise self.wrong(name, "must be a list that is not empty")
        return value

    def texts(self, name: str) -> list[str]:
        """A list of texts, none of them blank."""
        values = self.items(name)
        if not all(isinstance(value, str) and value.strip() for value in values):
            raise self.wrong(name, "must be a list of texts, none of them blank")
        return values

    def words(self, name: str) -> tuple[str, ...]:
        """A text or a list of texts, possibly empty or absent, as a tuple."""
        value = self.row.get(name)
        values = [value] if isinstance(value, str) and value.strip() else value or []
        if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
            raise self.wrong(name, "must be a text or a list of texts")
        return tuple(values)

    def parts(self, name: str) -> list[Record]:
        """A list of objects, each as a record of its own."""
        return [self.part(name, number, value) for number, value in enumerate(self.items(name))]

    def part(self, name: str, key: object, value: Any) -> Record:
        """One object inside a field (at `key`, or all of it for None), as a record of its own."""
        shown = name if key is None else f"{name}[{key}]"
        if not isinstance(value, dict):
            raise self.wrong(shown, "must be an object")
        return Record(f"{self.where}, {shown}", value, kind="object")

    def messages(self, name: str) -> tuple[Message, ...]:
        """A conversation: a list of {role, content} with the roles system, user and assistant."""
        return tuple(part.message() for part in self.parts(name))

    def message(self) -> Message:
        """This record as a message."""
        role = self.text("role")
        if role not in _ROLES:
            raise self.wrong("role", f"is {role!r}, which is none of {', '.join(_ROLES)}")
        content = self.row.get("content")
        if not isinstance(content, str):
            raise self.wrong("content", "must be a text")
        return Message(role, content)  # type: ignore[arg-type]  # checked against the roles above

    def decoded(self, name: str) -> Any:
        """A field as it is, or read from JSON where it is a text."""
        value = self.row.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise self.wrong(name, f"must be JSON ({error})") from error

    def wrong(self, name: str, what: str) -> UserError:
        """The error for a field of this record; where it is absent, with those that are there."""
        if name in self.row or "[" in name:
            return UserError(f"{self.where}: field {name!r} {what}")
        return UserError(f"{self.where}: missing field {name!r}; {self.there} (it {what})")

    @property
    def there(self) -> str:
        """The fields that the record has, in words."""
        names = list(map(str, self.row))
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"the {self.kind} has {', '.join(names[:_SHOWN]) or 'none'}{more}"
