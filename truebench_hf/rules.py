"""Rules: what a criterion asks for, where a program can measure it, as small typed values.

    rule_of({"kind": "count", "unit": "words", "max": 50}).text == '{"kind": "count", "unit": "words", "max": 50}'

A criterion carries the text of its rule in `Criterion.rule`. What measures rules is `judging.rules`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, model_validator

from truebench_hf.errors import UserError, unknown

Unit = Literal[
    "words", "characters", "characters_no_spaces", "characters_with_spaces", "sentences", "questions", "lines", "paragraphs",
    "list_items", "emoji", "hashtags",
]  # fmt: skip
Part = Literal["whole", "paragraph", "line", "item", "sentence"]
Class = Literal[
    "digits", "letters", "latin_letters", "uppercase", "lowercase", "emoji", "punctuation", "commas", "markdown"
]
# Parts that are too small to hold a unit: a line has no paragraphs.
_LARGER = {
    "sentences": ("sentence",), "lines": ("sentence", "line"), "paragraphs": ("sentence", "line", "item", "paragraph"),
    "list_items": ("sentence", "line", "item"),
}  # fmt: skip
# ISO 639-1 codes of the languages that the detector (lingua) tells apart.
_CODES = """
af ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gu he hi hr hu hy id is it ja ka kk ko la lg lt lv mi mk
mn mr ms nb nl nn pa pl pt ro ru sk sl sn so sq sr st sv sw ta te th tl tn tr ts uk ur vi xh yo zh zu
"""
LANGUAGES = frozenset(_CODES.split())

_Number = Annotated[int, Field(ge=0, strict=True)]
_Text = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]


class _Rule(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def text(self) -> str:
        """The rule as one line of JSON, always the same for the same rule; `rule_of` reads it."""
        told = self.model_dump(mode="json", exclude_defaults=True)
        return json.dumps({"kind": getattr(self, "kind")} | told, ensure_ascii=False)  # noqa: B009


def _ordered(low: int | None, high: int | None, what: str) -> None:
    if low is not None and high is not None and low > high:
        raise ValueError(f"the smallest number of {what} ({low}) is above the largest ({high})")


class Count(_Rule):
    """From `min` to `max` units in the response, or in each of its parts (`per`); None: no such bound. Equal: exactly.

    `mark` says how list items are marked, where it matters: by bullets or dashes, or by numbers.
    """

    kind: Literal["count"] = "count"
    unit: Unit
    min: _Number | None = None
    max: _Number | None = None
    per: Part = "whole"
    mark: Literal["any", "bullet", "number"] = "any"

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("give min, max or both (the same twice for an exact number)")
        if self.per in _LARGER.get(self.unit, ()):
            raise ValueError(f"a {self.per} holds no {self.unit}")
        if self.mark != "any" and self.unit != "list_items":
            raise ValueError(f"only list_items have a mark, not {self.unit}")
        _ordered(self.min, self.max, self.unit)
        return self


class Language(_Rule):
    """The response is in one of these languages (ISO 639-1), all of it."""

    kind: Literal["language"] = "language"
    codes: Annotated[tuple[Annotated[str, StringConstraints(to_lower=True)], ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _checked(self) -> Self:
        for code in self.codes:
            if code not in LANGUAGES:
                raise ValueError(str(unknown("language", code, sorted(LANGUAGES))))
        return self


class Json(_Rule):
    """The response is valid JSON (an `object`, a `list`); an object, or every object of a list, has at least these keys."""

    kind: Literal["json"] = "json"
    shape: Literal["any", "object", "list"] = "any"
    keys: tuple[_Text, ...] = ()


class _Grid(_Rule):
    min_rows: _Number | None = None
    max_rows: _Number | None = None
    min_columns: _Number | None = None
    max_columns: _Number | None = None
    header: tuple[_Text, ...] = ()

    @model_validator(mode="after")
    def _checked(self) -> Self:
        _ordered(self.min_rows, self.max_rows, "rows")
        _ordered(self.min_columns, self.max_columns, "columns")
        return self


class Csv(_Grid):
    """The response is CSV with so many rows (below the header) and columns; `header` names columns it has."""

    kind: Literal["csv"] = "csv"


class Table(_Grid):
    """The response has a Markdown table with so many rows (below the header) and columns."""

    kind: Literal["table"] = "table"


class CodeBlock(_Rule):
    """The response has a fenced code block, marked as one of this language where one is named."""

    kind: Literal["code_block"] = "code_block"
    language: _Text | None = None


class StartsWith(_Rule):
    """The response begins with this text."""

    kind: Literal["starts_with"] = "starts_with"
    value: _Text


class EndsWith(_Rule):
    """The response ends with this text: "?" for a question."""

    kind: Literal["ends_with"] = "ends_with"
    value: _Text


class Contains(_Rule):
    """The response has every one of these texts (or `any` of them), each of them from `min` to `max` times."""

    kind: Literal["contains"] = "contains"
    values: Annotated[tuple[_Text, ...], Field(min_length=1)]
    any: bool = False
    min: Annotated[int, Field(ge=1, strict=True)] = 1
    max: _Number | None = None

    @model_validator(mode="after")
    def _checked(self) -> Self:
        _ordered(self.min, self.max, "times")
        return self


class Excludes(_Rule):
    """The response has none of these texts."""

    kind: Literal["excludes"] = "excludes"
    values: Annotated[tuple[_Text, ...], Field(min_length=1)]


class Case(_Rule):
    """All letters that have case are upper or lower case; `title`: every word begins with a capital letter."""

    kind: Literal["case"] = "case"
    form: Literal["upper", "lower", "title"]


class Forbidden(_Rule):
    """The response has none of these characters, and none of these classes of them."""

    kind: Literal["forbidden"] = "forbidden"
    characters: str = ""
    classes: tuple[Class, ...] = ()

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if not self.characters.strip() and not self.classes:
            raise ValueError(f"give characters, or classes out of {', '.join(get_args(Class))}")
        return self


class Sorted(_Rule):
    """The items of the list in the response (without a list, its lines) are in order, from the end with `reverse`."""

    kind: Literal["sorted"] = "sorted"
    by: Literal["alphabetical", "numeric"] = "alphabetical"
    reverse: bool = False


class Listed(_Rule):
    """The response is a list: every line of it is marked as an item, by a bullet or dash, or by a number."""

    kind: Literal["listed"] = "listed"
    mark: Literal["any", "bullet", "number"] = "any"


Rule = (
    Count | Language | Json | Csv | Table | CodeBlock | StartsWith | EndsWith | Contains | Excludes | Case | Forbidden | Sorted | Listed
)  # fmt: skip
KINDS: dict[str, type[_Rule]] = {str(one.model_fields["kind"].default): one for one in get_args(Rule)}


def rule_of(value: str | Mapping[str, Any]) -> Rule:
    """The rule that a JSON text or an object tells. Raises UserError naming what is wrong with it."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise UserError(f"a rule must be a JSON object such as {_EXAMPLE}, not {str(value)!r:.80}") from error
    if not isinstance(value, Mapping):
        raise UserError(f"a rule must be an object such as {_EXAMPLE}, not {value!r:.80}")
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise UserError(f"rule {str(dict(value))!s:.80}: {unknown('kind', str(kind or ''), KINDS)}")
    try:
        return _adapter().validate_python(dict(value))
    except ValidationError as error:
        raise UserError(f"rule of kind {kind}: {_said(error, KINDS[kind])}") from error


def stored(value: Any) -> tuple[tuple[Rule, ...], bool]:
    """The rules that stand with a criterion, and whether they are all that it says, so that they may decide it.

    One rule or a list of rules is all of it; {"beside": [...]} are rules of a criterion that says more, to be measured
    and no more: without any no program looks at it. Raises UserError as `rule_of`.
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError, RecursionError):  # which `rule_of` tells
            value = json.loads(value)
    if isinstance(value, Mapping) and set(value) == {"beside"}:
        if not isinstance(value["beside"], list | tuple):
            raise UserError(f"'beside' must be a list of rules such as {_EXAMPLE}")
        return tuple(map(rule_of, value["beside"])), False
    if isinstance(value, list | tuple):
        if not value:
            raise UserError(
                'an empty list is no rule: leave it out, or give {"beside": []} so that no program looks at it'
            )
        return tuple(map(rule_of, value)), True
    return (rule_of(value),), True


def stored_text(rules: Sequence[Rule], complete: bool) -> str:
    """The text from which `stored` reads these rules."""
    texts = f"[{', '.join(rule.text for rule in rules)}]"
    return rules[0].text if complete and len(rules) == 1 else texts if complete else f'{{"beside": {texts}}}'


_EXAMPLE = '{"kind": "count", "unit": "words", "max": 50}'


@cache
def _adapter() -> TypeAdapter[Rule]:
    return TypeAdapter(Annotated[Rule, Field(discriminator="kind")])


def _said(error: ValidationError, kind: type[_Rule]) -> str:
    """The first fault in words; the place begins with the kind."""
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part)[:60] for part in fault["loc"][1:])
    if fault["type"] == "extra_forbidden":
        return str(unknown("field", place, [name for name in kind.model_fields if name != "kind"]))
    said = fault["msg"].removeprefix("Value error, ").replace("Input should be", "must be", 1)
    return f"field {place!r} {'is absent' if fault['type'] == 'missing' else said}" if place else said
