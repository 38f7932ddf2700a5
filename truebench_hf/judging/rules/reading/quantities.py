"""Clauses about an amount of text: "must not exceed 100 words", "consist of three sentences", "each line has 5 words"."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from pydantic import ValidationError

from truebench_hf.judging.rules.reading.amounts import AMOUNT, BEHIND, Amount, amount
from truebench_hf.judging.rules.reading.clauses import Clause, Reading
from truebench_hf.rules import Count, Part, Unit

_UNITS: tuple[tuple[str, Unit], ...] = (
    (r"words?", "words"),
    (r"(?:characters?|chars?)", "characters"),
    (r"sentences?", "sentences"),
    (r"lines?", "lines"),
    (r"paragraphs?", "paragraphs"),
    (
        r"(?:bullet(?:ed)?[ -]?points?|bullets?|bullet(?:ed)? (?:list )?items?|list items?|numbered (?:list )?(?:points?|steps?|items?)"
        r"|(?:points?|items?) (?:that|which) (?:each )?(?:begins?|starts?) with a dash)",
        "list_items",
    ),
    (r"emojis?", "emoji"),
    (r"hashtags?", "hashtags"),
    (r"questions?", "questions"),
)
_UNIT = f"(?P<unit>{'|'.join(form for form, _ in _UNITS)})"
_FORMS = tuple((re.compile(form), unit) for form, unit in _UNITS)
_SPACES = re.compile(
    r",? (?P<kind>including|counting|with|excluding|without|not counting|no) (?:the )?(?:blank )?spaces?|,? spaces? (?P<state>included|excluded)"
)
_PARTS: dict[str, Part] = {"line": "line", "paragraph": "paragraph", "sentence": "sentence", "item": "item"}
_IDLE = (
    r"(?: long| in length| in total| overall| in all| of text| altogether|,? including (?:the )?(?:title|punctuation|heading|greeting)"
    r"|,? counting what stands between spaces| total| in (?:the|your) (?:response|answer|summary|text))?"
)
_MADE = (
    "written|provided|given|presented|structured|divided|split|organi[sz]ed|formatted|summari[sz]ed|condensed|expressed|delivered|answered|"
    "composed|produced|kept|stated|arranged|broken|laid out|returned|shortened|generated|created|drafted|explained|described"
)
_HOLDS = (
    rf"(?:(?:be|have|contain|include|use|write|total|number|span|comprise|run to|give|offer|list|provide|feature|show)|consist (?:only )?of|"
    rf"be (?:composed|made up|comprised) of|be (?:{_MADE}) (?:in(?:to)?|as|with|using|within)|(?:answer|respond|reply|be) (?:in|with|within)|stay|keep|remain|"
    rf"fit (?:in|into|within)|be (?:in|delivered in|presented in|provided in) the form of|be kept|be) "
)
_LENGTH = r"(?:(?:a )?(?:total |overall )?(?:length|word count) (?:of )?)?"
_LIMITED = r"(?P<limited>(?:be )?(?:limited|restricted|kept|confined) to|be limited|keep to|stay within|be within|be kept within) "
_EXCEED = r"(?P<exceed>exceed|surpass|go over|go beyond|be over|be in excess of) "
_FALL = r"(?P<fall>fall below|be below|go below|be under) "
_AMOUNT = rf"{AMOUNT} {_UNIT}(?: {BEHIND})?"
_SAID = re.compile(
    rf"(?:{_LIMITED}|{_EXCEED}|{_FALL}|{_HOLDS}{_LENGTH})(?:(?:only|just)(?P<only> ))?{_AMOUNT}{_IDLE}(?:,? (?:{BEHIND.replace('behind_', 'late_')}))?"
)
_LISTED = re.compile(
    rf"(?:{_HOLDS})(?:a |the )?(?:single )?(?:bullet(?:ed)?|numbered|ordered|unordered|bullet-point)?(?: ?-?point)? ?list (?:of|with|containing|consisting of) "
    rf"{AMOUNT} (?P<things>items|entries|points|bullet points|elements)"
)
_LIST_OF = re.compile(rf"(?:contain|include|have|be|provide|give) (?:a |the )?list of {AMOUNT} (?:\w+ )?\w+s")
_OF_LENGTH = re.compile(rf"be an? (?:\w+ ){{1,3}}of {AMOUNT} {_UNIT}(?: {BEHIND})?")
_DIVIDED = re.compile(r"be (?:divided|split|broken|organi[sz]ed) into (?:clear |separate )?paragraphs")
_IN_LIST = re.compile(
    rf"(?:{_HOLDS}){AMOUNT} (?P<things>items?|entries|points?|bullet points?|elements?)(?: {BEHIND})?"
)
_LIST = re.compile(
    r"(?:the |a |each )?(?:summary |bullet(?:ed)? |numbered |bullet-point |ordered |unordered |output |final )*list"
)
_NUMBER_OF = re.compile(
    r"the (?:total )?(?:number of (?P<what>word|character|sentence|paragraph)s|(?P<unit>word|character|sentence|paragraph) count)"
    r"(?: (?:in|of) (?:the|your) (?:response|answer|reply|output|text|summary|essay|email|story))?"
)
_SHOWN = re.compile(r"(?:give|offer|list|provide|feature|show|include|use|keep) ")
_BOTH = re.compile(rf"(?:{_HOLDS}{_LENGTH})(?P<first>[^,]+?)(?:,? and| but|, but) (?P<second>.+)")
_ONE = re.compile(rf"{AMOUNT}(?: {_UNIT})?(?: {BEHIND})?{_IDLE}")
_PEOPLE = 30  # so few characters are perhaps those of a story
_TOLD_OF = re.compile(r"\b(?:story|narrative|tale|fable|poem|monologue|song|ballad|article|essay|joke|speech)\b")
_SUMMED = re.compile(r"\bsummar|\bcondense")
_IN_VERSE = re.compile(r"\b(?:poem|haiku|limerick|song|lyrics|sonnet|ballad|rap)\b")
_MEANT = re.compile(r"\b(?:long|length|word count)\b")


def read(clause: Clause, text: str) -> Reading | None:
    """The count that a clause asks for. `text` is the whole sentence, which may tell what lines are."""
    said, spaces = _without_spaces(clause.said)
    if clause.of == "other" and (number := _NUMBER_OF.fullmatch(clause.name)) is not None:
        clause, said = replace(clause, of="answer"), f"{said} {number['what'] or number['unit']}s"
    if clause.of == "other":
        return _of_list(clause, said) if _LIST.fullmatch(clause.name) else None
    found = _double(said) or _single(said, clause.denied)
    if found is None:
        return _aside(said, spaces) if clause.of == "answer" and not clause.denied else None
    bounds, unit, only = found
    certain = not only and not (
        unit == "words" and bounds.plain and not _MEANT.search(f"{clause.name} {said}") and _loose(clause)
    )
    if unit == "lines" and clause.of == "answer" and not _IN_VERSE.search(clause.name):
        certain = False
        unit = "sentences" if _SUMMED.search(text) else "lines"
    if unit == "characters":
        unit = spaces or unit
    elif spaces:
        return None
    if _SHOWN.match(said) and unit in (
        "words",
        "sentences",
        "lines",
        "paragraphs",
        "characters",
    ):  # "uses 5 words" that were given; "gives three sentences" as examples
        certain = False
    if unit == "questions":  # a quiz has some, too
        certain = False
    if (
        unit in ("emoji", "hashtags") and bounds.plain and clause.of == "answer"
    ):  # "includes 2 emojis": at least, or exactly
        certain = False
    if clause.name in ("it", "this") and clause.of == "answer":  # what was spoken of before may be a part
        certain = False
    if unit == "characters" and clause.of == "answer" and (bounds.low or 0) < _PEOPLE and (bounds.high or 0) < _PEOPLE:
        if _TOLD_OF.search(clause.name):  # "the story must have three characters"
            return None
        certain = False
    if clause.plural:  # "the answers must be under 50 words": each of them, or all
        certain = False
    made = _count(unit, bounds, clause, said)
    return None if made is None else ((made,), certain)


def _loose(clause: Clause) -> bool:
    """Whether "has 10 words" may be a list of words: of a work, it is a length."""
    return bool(
        re.search(
            r"\b(?:response|answer|reply|output|result|content|message|completion|it|this|model|list)\b", clause.name
        )
    )


def _count(unit: Unit, bounds: Amount, clause: Clause, said: str) -> Count | None:
    try:
        per, mark = _PARTS.get(clause.of, "whole"), _mark(said) if unit == "list_items" else "any"
        return Count(unit=unit, min=bounds.low, max=bounds.high, per=per, mark=mark)
    except ValidationError:
        return None


def _mark(said: str) -> Literal["any", "bullet", "number"]:
    """How the items of a list are to be marked; a "point" may be either."""
    marks = {name for name, word in (("bullet", r"\bbullet|dash"), ("number", r"\bnumbered")) if re.search(word, said)}
    return marks.pop() if len(marks) == 1 else "any"  # type: ignore[return-value]


def _without_spaces(said: str) -> tuple[str, Unit | None]:
    """(the words without those on spaces, the unit that these make of characters)."""
    match = _SPACES.search(said)
    if match is None:
        return said, None
    without = match["kind"] in ("excluding", "without", "not counting", "no") or match["state"] == "excluded"
    left = f"{said[: match.start()]}{said[match.end() :]}".strip()
    return left, "characters_no_spaces" if without else "characters_with_spaces"


def _single(said: str, denied: bool) -> tuple[Amount, Unit, bool] | None:
    match = _SAID.fullmatch(said)
    if match is None:
        return None
    groups = match.groupdict()
    bounds = amount(match)
    late = groups["late_most"] or groups["late_least"]
    if bounds is None or (late and not bounds.plain):
        return None
    if late:
        bounds = Amount(None, bounds.high) if groups["late_most"] else Amount(bounds.low, None)
    if groups["limited"] and bounds.plain:
        bounds = Amount(None, bounds.high)
    if groups["exceed"] or groups["fall"]:
        if not bounds.plain:
            return None
        value = bounds.low or 0
        bounds = Amount(value + 1, None) if groups["exceed"] else Amount(None, value - 1)
    if denied and groups["limited"]:  # "is not limited to 100 words" allows
        return None
    if denied:
        turned = _denied(bounds)
        if turned is None:
            return None
        bounds = turned
    return bounds, _unit(match["unit"]), bool(groups["only"])


def _denied(bounds: Amount) -> Amount | None:
    """What is left where a bound is not to be met; the other side of it."""
    if bounds.low is not None and bounds.high is None:
        return Amount(None, bounds.low - 1) if bounds.low else None
    if bounds.high is not None and bounds.low is None:
        return Amount(bounds.high + 1, None)
    return None


def _double(said: str) -> tuple[Amount, Unit, bool] | None:
    """ "shorter than 130 words and longer than 110": a bound on either side."""
    match = _BOTH.fullmatch(said)
    if match is None:
        return None
    sides = [_ONE.fullmatch(match[name].strip()) for name in ("first", "second")]
    if sides[0] is None or sides[1] is None:
        return None
    units = {_unit(side["unit"]) for side in sides if side is not None and side["unit"]}
    bounds = [amount(side) for side in sides if side is not None]
    if len(units) != 1 or bounds[0] is None or bounds[1] is None:
        return None
    both = bounds[0].within(bounds[1])
    return None if both is None else (both, units.pop(), False)


def _unit(form: str) -> Unit:
    return next(unit for pattern, unit in _FORMS if pattern.fullmatch(form))


def _aside(said: str, spaces: Unit | None) -> Reading | None:
    """An amount that is told of a list, or beside other things."""
    if _DIVIDED.fullmatch(said):
        return (Count(unit="paragraphs", min=2),), False
    if (match := _OF_LENGTH.fullmatch(said)) is not None and (bounds := amount(match)) is not None:
        unit = _unit(match["unit"])
        return (Count(unit=spaces or unit if unit == "characters" else unit, min=bounds.low, max=bounds.high),), False
    for pattern, certain in ((_LISTED, True), (_LIST_OF, False)):
        if (match := pattern.fullmatch(said)) is not None and (bounds := amount(match)) is not None:
            return (Count(unit="list_items", min=bounds.low, max=bounds.high, mark=_mark(said)),), certain
    return None


def _of_list(clause: Clause, said: str) -> Reading | None:
    match = _IN_LIST.fullmatch(said)
    bounds = amount(match) if match is not None and not clause.denied and not clause.name.startswith("each") else None
    return (
        None
        if bounds is None
        else ((Count(unit="list_items", min=bounds.low, max=bounds.high, mark=_mark(f"{clause.name} {said}")),), True)
    )
