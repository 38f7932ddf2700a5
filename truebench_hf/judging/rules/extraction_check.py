"""Whether a criterion really says what a rule says, word for word: a check on rules that a model has read out of it.

It only ever takes away: what is not found in the criterion is no rule of it, and what says anything more than its rule is
measured and not decided. English, for all but digits and quoted texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from truebench_hf.judging.rules.matching import language_codes
from truebench_hf.rules import (
    Case,
    CodeBlock,
    Contains,
    Count,
    Csv,
    EndsWith,
    Excludes,
    Forbidden,
    Headings,
    Json,
    Language,
    Listed,
    OneOf,
    Order,
    Pattern,
    Rule,
    StartsWith,
    Table,
)
from truebench_hf.types import Criterion

_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NUMBERS = {word: number for number, word in enumerate(_WORDS)} | {"single": 1}
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?|[a-z]+")
_UPPER = (
    r"at most|(?:no|not|nor) (?:more|longer) than|(?:not|never|n't) exceed\w*|maximum|up to|within|limited to|limit of|"
    r"or (?:fewer|less)|(?P<below>fewer than|less than|shorter than|under|below)"
)
_LOWER = (
    r"at least|(?:no|not) (?:fewer|less) than|minimum|or more|(?P<above>more than|longer than|over|above|exceed\w*)"
)
_RANGE = r"between \S+ and \S+|\d+ ?(?:to|-|–) ?\d+"
_BOUND = re.compile(rf"\b(?:(?P<upper>{_UPPER})|(?P<lower>{_LOWER})|(?P<range>{_RANGE}))\b")
# By what a rule is named in a criterion.
_UNITS = {
    "words": "word", "characters": "character|letter", "characters_no_spaces": "character|letter",
    "characters_with_spaces": "character|letter", "sentences": "sentence", "questions": "question", "lines": "line",
    "paragraphs": "paragraph", "list_items": "item|bullet|point|list|entries", "emoji": "emoji", "hashtags": "hashtag",
}  # fmt: skip
_OTHERWISE = ("lines", "questions")  # "3 lines" may be sentences, "2 questions" those that somebody is to answer
_SPACES = {
    "characters_no_spaces": r"(?:without|excluding|not (?:counting|including)|no) (?:\w+ )?(?:spaces?|blanks?)|spaces? (?:excluded|not)",
    "characters_with_spaces": r"(?<!not )(?:including|counting|with) (?:\w+ )?(?:spaces?|blanks?)|spaces? (?:included|count)",
}
_CLASSES = {
    "digits": "digit|number|numeral", "letters": "letter", "latin_letters": "latin|roman", "emoji": "emoji",
    "uppercase": "uppercase|upper|case|capital|letter", "lowercase": "lowercase|lower|case|letter",
    "punctuation": "punctuation|mark", "commas": "comma", "markdown": "markdown",
}  # fmt: skip
_SHAPES = {"any": "json", "object": "object|dictionary", "list": "list|array"}
_MARKS = {"any": "list", "bullet": "bullet|dash", "number": "number"}
_FORMS = {"upper": "upper|capital|caps|case|letter", "lower": "lower|case|letter", "title": "title|case"}
# What a criterion may say beside its rule and still say no more: any other word may be a further demand, a condition, a
# hedge, or the name of a part of the response.
_FILLERS = """
the a an response answer reply output text message model model's assistant assistant's generated must should shall
will has have to be is are does do it its in of long length total contain contains containing consist consists use
uses using used written provided entirely completely fully whole entire exactly precisely any start starts begin
begins end ends valid format formatted
"""
_KNOWN = frozenset(_FILLERS.split())
_NEGATION = re.compile(r"\b(?:no|not|none|never|without|avoids?|free from|free of)\b|n['’]t\b")


def unstated(rule: Rule, text: str) -> str:
    """What of a rule the criterion does not say; "" where all of it stands there."""
    said = text.casefold()
    return next((what for what, there in _claims(rule, text, said) if not there), "")


def says_more(rules: Sequence[Rule], criterion: Criterion) -> bool:
    """Whether a criterion says, or may say, anything beside its one rule: then it is not for rules to decide.

    That a text is there never settles whether what is meant by it is.
    """
    if len(rules) != 1 or criterion.condition or isinstance(rules[0], Contains):
        return True
    (rule,) = rules
    if isinstance(rule, Count) and (
        rule.per != "whole" or rule.unit in _OTHERWISE or _other_mark(rule, criterion.text.casefold())
    ):
        return True
    rest = criterion.text.casefold()
    for quoted in _texts(rule):
        rest = rest.replace(quoted.casefold(), " ")
    if isinstance(rule, Count):
        rest = _BOUND.sub(" ", rest)
    if isinstance(rule, StartsWith | EndsWith):
        rest = re.sub(r"\b(starts?|begins?|ends?) with\b|\bquestion mark\b", " ", rest)
    turned = len(_NEGATION.findall(rest))  # turns a demand over, and twice turns it back
    if turned != isinstance(rule, Forbidden | Excludes):
        return True
    rest = _NEGATION.sub(" ", rest)
    known = set(_bounds_of(rule, criterion.text.casefold())) if isinstance(rule, Count) else set()
    if set(_numbers(rest)) - known or re.search(r"[;:()/]|,(?!\d)", rest):
        return True
    return not all(_filler(word, rule) for word in re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", rest))


def _other_mark(rule: Count, said: str) -> bool:
    """Whether a criterion says how the items of its list are marked, and the rule does not."""
    return rule.unit == "list_items" and rule.mark == "any" and re.search(r"bullet|number|order|dash", said) is not None


def _filler(word: str, rule: Rule) -> bool:
    if word in _KNOWN or word in _NUMBERS:
        return True
    return re.fullmatch(rf"(?:{_about(rule)})\w{{0,3}}", word) is not None


def _about(rule: Rule) -> str:
    """The words by which a rule is named."""
    if isinstance(rule, Count):
        return _UNITS[rule.unit]
    if isinstance(rule, Language):
        return "|".join(map(_language, rule.codes))
    if isinstance(rule, Json | Csv | Table | CodeBlock):
        shape = f"|{_SHAPES[rule.shape]}" if isinstance(rule, Json) else ""
        return {"code_block": "code|block|fenced", "table": "table|markdown"}.get(rule.kind, rule.kind) + shape
    if isinstance(rule, Listed):
        return f"list|{_MARKS[rule.mark]}"
    if isinstance(rule, Case):
        return _FORMS[rule.form]
    return "|".join(_CLASSES[name] for name in rule.classes) if isinstance(rule, Forbidden) and rule.classes else "(?!)"


def _claims(rule: Rule, text: str, said: str) -> Iterator[tuple[str, bool]]:
    """All that a rule claims of the text, in words, and whether it stands there."""
    for quoted in _texts(rule):
        asked = quoted == "?" and "question" in said
        yield f"the text {quoted!r}", asked or quoted in text
    if isinstance(rule, Count):
        yield f"anything of {rule.unit}", _names(_about(rule), said)
        yield "these bounds", _bounded(rule, said)
        yield "this of spaces", _names(_SPACES.get(rule.unit, ""), said)
        yield f"that it is so per {rule.per}", rule.per == "whole" or _names(rule.per, said)
        yield f"that the items are marked so ({rule.mark})", rule.mark == "any" or _names(_MARKS[rule.mark], said)
    elif isinstance(rule, Language):
        for code in rule.codes:
            yield f"the language {code!r}", _names(_language(code), said)
    elif isinstance(rule, Json | Csv | Table | CodeBlock):
        yield f"anything of {rule.kind}", _names({"code_block": "code"}.get(rule.kind, rule.kind), said)
        if isinstance(rule, Json):
            yield f"that it is {rule.shape}", _names(_SHAPES[rule.shape], said)
        if isinstance(rule, Csv | Table):
            given = (rule.min_rows, rule.max_rows, rule.min_columns, rule.max_columns)
            for number in {number for number in given if number is not None}:
                yield f"the number {number}", number in _numbers(said)
    elif isinstance(rule, Case):
        yield f"anything of {rule.form} case", _names(_about(rule), said)
    elif isinstance(rule, Forbidden):
        for name in rule.classes:
            yield f"anything of {name}", _names(_CLASSES[name], said)
        yield "that something must not be there", _NEGATION.search(said) is not None
    elif isinstance(rule, Excludes):
        yield "that something must not be there", _NEGATION.search(said) is not None
    elif isinstance(rule, Contains):
        numbers = _numbers(said)
        yield "how often it is there", rule.min == 1 or rule.min in numbers
        yield "how often it may be there", rule.max is None or rule.max in numbers
    elif isinstance(rule, Headings):
        yield "anything of headings", _names("heading|header", said)
        for number in {number for number in (rule.min, rule.max) if number is not None}:
            yield f"the number {number}", number in _numbers(said)
    elif isinstance(rule, Pattern):
        yield "a regular expression", rule.regex in text
    elif isinstance(rule, Listed):
        yield f"that it is a list ({rule.mark})", _names(_MARKS[rule.mark], said)
    elif isinstance(rule, Order):
        yield "an order", _names("sort|order|alphabet|ascend|descend|numeric", said)


def _texts(rule: Rule) -> tuple[str, ...]:
    """The texts that a rule takes from the criterion as they stand there."""
    if isinstance(rule, StartsWith | EndsWith):
        return (rule.value,)
    if isinstance(rule, Contains | Excludes | OneOf):
        return rule.values
    if isinstance(rule, Csv | Table):
        return rule.header
    if isinstance(rule, Json):
        return rule.keys
    if isinstance(rule, CodeBlock):
        return (rule.language,) if rule.language else ()
    return tuple(rule.characters) if isinstance(rule, Forbidden) else ()


def _bounded(rule: Count, said: str) -> bool:
    """Whether the numbers stand there, with words that say on which side of them a response may lie."""
    upper, lower = _bounds(said)
    if not set(_bounds_of(rule, said)) <= set(_numbers(said)):
        return False
    if rule.min is not None and rule.min == rule.max:
        return not upper and not lower
    return (rule.max is not None) == bool(upper) and (rule.min is not None) == bool(lower)


def _bounds_of(rule: Count, said: str) -> tuple[int, ...]:
    """The numbers that must stand in the criterion: "fewer than 50" makes 49 the largest."""
    upper, lower = _bounds(said)
    given = ((rule.max, 1 if upper == "below" else 0), (rule.min, -1 if lower == "above" else 0))
    return tuple(number + step for number, step in given if number is not None)


def _bounds(said: str) -> tuple[str, str]:
    """How a criterion bounds something from above and from below, "" where it does not."""
    upper = lower = ""
    for found in _BOUND.finditer(said):
        if found["upper"]:
            upper = "below" if found["below"] else "upper"
        elif found["lower"]:
            lower = "above" if found["above"] else "lower"
        else:
            upper, lower = "upper", "lower"
    return upper, lower


def _numbers(said: str) -> list[int]:
    found = (one.replace(",", "").rstrip(".") for one in _NUMBER.findall(said))
    return [int(one) if one.isdecimal() else _NUMBERS[one] for one in found if one.isdecimal() or one in _NUMBERS]


def _names(words: str, said: str) -> bool:
    return re.search(rf"\b(?:{words})", said) is not None


def _language(code: str) -> str:
    return "|".join(name for name, codes in language_codes().items() if code in codes) or "(?!)"
