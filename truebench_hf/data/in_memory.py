"""What is no text, named in options all the same: models and data that are objects of the caller's."""

from __future__ import annotations

from typing import Any


class InMemory(str):
    """An object (`value`) that stands in options as a text, by which it is shown and written down.

    Two are equal where they hold the same object, whatever they are called: two functions may share a name.
    """

    value: Any

    def __new__(cls, text: str, value: Any) -> InMemory:
        named = super().__new__(cls, text)
        named.value = value
        return named

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InMemory) and other.value is self.value

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return id(self.value)

    def __deepcopy__(self, memo: dict[int, Any]) -> InMemory:
        return self  # `dataclasses.asdict` copies what it finds; a copy of the object would be another one
