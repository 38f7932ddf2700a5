"""Rules: what a criterion asks for, where a program can measure it, as small typed values.

    rule_of({"kind": "count", "unit": "words", "max": 50}).text == '{"kind": "count", "unit": "words", "max": 50}'

A criterion carries the text of its rule in `Criterion.rule`. What measures rules is `judging.rules`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, Self, get_args

import pydantic
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from truebench_hf.errors import UserError, unknown

Unit = Literal[
    "words", "characters", "characters_no_spaces", "characters_with_spaces", "sentences", "questions", "lines", "paragraphs",
    "list_items", "emoji", "hashtags",
]  # fmt: skip
Part = Literal["whole", "paragraph", "line", "item", "sentence"]
Mark = Literal["any", "bullet", "number"]
Class = Literal[
    "digits", "letters", "latin_letters", "uppercase", "lowercase", "emoji", "punctuation", "commas", "markdown"
]
# ISO 639-1 codes of the languages that the detector (lingua) tells apart.
_CODES = """
    af ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gu he hi hr hu hy id is it ja ka kk ko la lg lt lv mi
    mk mn mr ms nb nl nn pa pl pt ro ru sk sl sn so sq sr st sv sw ta te th tl tn tr ts uk ur vi xh yo zh zu
"""
LANGUAGES = frozenset(_CODES.split())
_Number = Annotated[int, Field(ge=0, strict=True)]
_Text = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
_Texts = Annotated[tuple[_Text, ...], Field(min_length=1)]


def _language(code: str) -> str:
    if code not in LANGUAGES:
        raise ValueError(str(unknown("language", code, sorted(LANGUAGES))))
    return code


def _expression(text: str) -> str:
    import regex

    try:
        regex.compile(text)
    except regex.error as error:
        raise ValueError(f"the regular expression cannot be read: {error}") from error
    return text


class _RuleModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @property
    def text(self) -> str:
        """The rule as one line of JSON, always the same for the same rule; `rule_of` reads it."""
        return json.dumps(self.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False)

    @pydantic.model_serializer(mode="wrap")
    def _with_kind(self, fields: pydantic.SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": getattr(self, "kind"), **fields(self)}  # noqa: B009

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for low, high in (("min", "max"), ("min_rows", "max_rows"), ("min_columns", "max_columns")):
            least, most = getattr(self, low, None), getattr(self, high, None)
            if least is not None and most is not None and least > most:
                raise ValueError(f"{low} ({least}) is above {high} ({most})")
        return self


class CountRule(_RuleModel):
    """From `min` to `max` units in the response, or in each of its parts (`per`). `mark`: how list items are marked."""

    kind: Literal["count"] = "count"
    unit: Unit
    min: _Number | None = None
    max: _Number | None = None
    per: Part = "whole"
    mark: Mark = "any"

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("give min, max or both (the same twice for an exact number)")
        return self


class Language(_RuleModel):
    """All of the response is in one of these languages (ISO 639-1)."""

    kind: Literal["language"] = "language"
    codes: Annotated[
        tuple[Annotated[str, StringConstraints(to_lower=True), AfterValidator(_language)], ...], Field(min_length=1)
    ]


class _Quoting(_RuleModel):
    """`whole_words` and `case` (upper and lower case differ): left out, both readings must agree."""

    values: _Texts
    whole_words: bool | None = None
    case: bool | None = None


class Contains(_Quoting):
    """The response has all of these texts (or `any` of them), each from `min` to `max` times."""

    kind: Literal["contains"] = "contains"
    any: bool = False
    min: Annotated[int, Field(ge=1, strict=True)] = 1
    max: _Number | None = None


class Excludes(_Quoting):
    """The response has none of these texts."""

    kind: Literal["excludes"] = "excludes"


class StartsWith(_RuleModel):
    """The response begins with this text."""

    kind: Literal["starts_with"] = "starts_with"
    value: _Text


class EndsWith(_RuleModel):
    """The response ends with this text: "?" for a question."""

    kind: Literal["ends_with"] = "ends_with"
    value: _Text


class OneOf(_RuleModel):
    """The response is one of these texts and nothing else."""

    kind: Literal["one_of"] = "one_of"
    values: _Texts


class Pattern(_RuleModel):
    """A regular expression occurs in the response (`search`), or is all of it (`full`)."""

    kind: Literal["pattern"] = "pattern"
    regex: Annotated[_Text, AfterValidator(_expression)]
    match: Literal["search", "full"] = "search"


class CaseRule(_RuleModel):
    """All letters that have case are upper or lower case."""

    kind: Literal["case"] = "case"
    form: Literal["upper", "lower"]


class Forbidden(_RuleModel):
    """The response has none of these characters, and none of these classes of them."""

    kind: Literal["forbidden"] = "forbidden"
    characters: str = ""
    classes: tuple[Class, ...] = ()

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if not self.characters.strip() and not self.classes:
            raise ValueError(f"give characters, or classes out of {', '.join(get_args(Class))}")
        return self


class Json(_RuleModel):
    """The response is valid JSON; an object, or every object of a list, has at least these keys."""

    kind: Literal["json"] = "json"
    shape: Literal["any", "object", "list"] = "any"
    keys: tuple[_Text, ...] = ()


class TableRule(_RuleModel):
    """The response has a Markdown table with so many rows (below the header) and columns; `header` names some of these."""

    kind: Literal["table"] = "table"
    min_rows: _Number | None = None
    max_rows: _Number | None = None
    min_columns: _Number | None = None
    max_columns: _Number | None = None
    header: tuple[_Text, ...] = ()


class Headings(_RuleModel):
    """The response has from `min` to `max` Markdown headings, of this `level` (1 to 6) where one is named."""

    kind: Literal["headings"] = "headings"
    min: _Number | None = None
    max: _Number | None = None
    level: Annotated[int, Field(ge=1, le=6, strict=True)] | None = None


class ListedRule(_RuleModel):
    """The response is a list: every line of it is marked as an item, by a bullet or dash, or by a number."""

    kind: Literal["listed"] = "listed"
    mark: Mark = "any"


class Order(_RuleModel):
    """The items of the list in the response (without a list, its lines) are in order, from the end with `reverse`."""

    kind: Literal["order"] = "order"
    by: Literal["alphabetical", "numeric"] = "alphabetical"
    reverse: bool = False


class _Several(_RuleModel):
    rules: Annotated[tuple[Rule, ...], Field(min_length=1)]


class All(_Several):
    """All of these rules hold."""

    kind: Literal["all"] = "all"


class AnyOf(_Several):
    """One of these rules holds."""

    kind: Literal["any"] = "any"


Rule = Annotated[
    CountRule | Language | Contains | Excludes | StartsWith | EndsWith | OneOf | Pattern | CaseRule | Forbidden | Json | TableRule
    | Headings | ListedRule | Order | All | AnyOf, Field(discriminator="kind"),
]  # fmt: skip
KINDS: dict[str, type[_RuleModel]] = {
    str(kind.model_fields["kind"].default): kind for kind in get_args(get_args(Rule)[0])
}
_ADAPTER: TypeAdapter[Rule] = TypeAdapter(Rule, config=ConfigDict(defer_build=True))


def rule_of(value: str | Mapping[str, Any]) -> Rule:
    """Return the rule that a JSON text or an object tells. Raises UserError naming what is wrong with it."""
    try:
        return _ADAPTER.validate_json(value) if isinstance(value, str) else _ADAPTER.validate_python(value)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        if fault["type"].startswith("union_tag"):
            raise unknown("kind", fault["ctx"].get("tag", ""), KINDS) from error
        if not fault["loc"]:
            raise UserError(
                'a rule must be a JSON object such as {"kind": "count", "unit": "words", "max": 50}'
            ) from error
        message = fault["msg"].removeprefix("Value error, ").replace("Input should", "must", 1)
        raise UserError(f"rule, {'.'.join(map(str, fault['loc']))}: {message}") from error


def stored(value: Any) -> tuple[tuple[Rule, ...], bool]:
    """Return the rules that stand with a criterion, and whether they are all that it says, so that they may decide it.

    One rule or a list of rules is all of it; {"beside": [...]} are rules of a criterion that says more, to be measured
    and no more: without any no program looks at it. Raises UserError as `rule_of`.
    """
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):  # which `rule_of` tells
            value = json.loads(value)
    beside = isinstance(value, Mapping) and set(value) == {"beside"}
    rules = value["beside"] if beside else value if isinstance(value, list | tuple) else [value]
    if not isinstance(rules, list | tuple) or not (rules or beside):
        raise UserError('an empty list is no rule: leave it out, or give {"beside": []} so that no program measures')
    return tuple(map(rule_of, rules)), not beside


def stored_text(rules: Sequence[Rule], complete: bool) -> str:
    """Return the text from which `stored` reads these rules."""
    texts = f"[{', '.join(rule.text for rule in rules)}]"
    return rules[0].text if complete and len(rules) == 1 else texts if complete else f'{{"beside": {texts}}}'
