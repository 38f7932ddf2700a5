"""Clauses about the form of the answer: JSON, CSV, tables, code blocks, bullet points, letter case, order."""

from __future__ import annotations

import re
from typing import Literal

from truebench_hf.judging.rules.reading.amounts import number
from truebench_hf.judging.rules.reading.clauses import Clause, Reading
from truebench_hf.judging.rules.reading.normalized import LITERAL, Quoted
from truebench_hf.rules import Case, CodeBlock, Count, Csv, Json, Listed, Rule, Sorted, Table

_MADE = (
    "formatted|structured|provided|presented|written|returned|output|given|organi[sz]ed|displayed|shown|delivered|produced|generated|"
    "expressed|enclosed|wrapped|put|placed|arranged|represented|created|rendered|listed|summari[sz]ed"
)
_AS = rf"(?:be (?:(?:{_MADE}) )?(?:in the form of |in |as |using |inside |within |into )?|(?:respond|answer|reply|write) (?:in|with) |use |follow |have |adopt )(?:a |an |the |one )?"
_HAS = r"(?:contain|include|have|use|be (?:provided|given|presented) (?:in|as|with)|provide|feature|be) (?:at least (?:one|a) |a |an |one |the )?"
_JSON = re.compile(
    rf"{_AS}(?:(?:single |proper |properly formatted |strictly )?(?:(?:syntactically )?valid |well-formed |correct )?json)(?P<what> (?:format|structure|document|string|output|response|data|form|code))?(?: (?P<shape>object|array|list)(?: format)?)?"
)
_SHAPES: dict[str | None, Literal["any", "object", "list"]] = {
    None: "any",
    "object": "object",
    "array": "list",
    "list": "list",
}
_JSON_NAMED = re.compile(
    r"(?:the )?(?:output |resulting |returned |generated |translated |final )?json(?: (?:format|object|output|response|structure|content))?"
)
_JSON_PART = re.compile(r"the json (?:portion|block|part)(?: (?:of|in) the (?:response|answer|output))?")
_KEYS = r"(?:(?:the |a |an |all |these |of |following |required |exactly )*(?:keys?|fields?|properties|attributes)(?: (?:named|called))? )"
_WITH_KEYS = re.compile(
    rf"(?:contain|include|have) (?:{_KEYS}(?P<after>{LITERAL}(?:(?:,| and|, and)? ?{LITERAL})*)|(?:the |a |an )?(?P<before>{LITERAL}(?:(?:,| and|, and)? ?{LITERAL})*) (?:keys?|fields?))"
)
_CSV = re.compile(rf"{_AS}(?:valid )?(?:csv|comma-separated values)(?: format| file| form)?(?P<more> format)?")
_COLUMNS = re.compile(
    r"have (?:exactly )?(?P<number>\d+|two|three|four|five|six|seven|eight|nine|ten) columns separated by commas"
)
_TABLE = re.compile(
    rf"(?:{_AS}|{_HAS})(?P<markdown>markdown(?:-formatted)? )?table(?: format| form)?(?: in markdown(?: format)?)?"
)
_GIVEN_TABLE = re.compile(r"be (?:provided|included|presented|given|used|created|present|inserted|output)")
_TABLE_NAMED = re.compile(r"(?:a|one) (?:single )?(?P<markdown>markdown(?:-formatted)? )table")
_CODE = re.compile(rf"(?:{_AS}|{_HAS})(?:single |fenced |markdown )?code block(?P<tail> with .+)?")
_BULLETS = re.compile(
    r"(?:contain|include|have|use|feature) (?:a )?(?:bullet[ -]?points?|bullets|bullet(?:ed|-point)?(?: point)? list|list of bullet points)"
)
_LISTED = re.compile(
    rf"be (?:(?:entirely|fully|only|completely) )?(?:(?:{_MADE}) )?(?:(?:entirely|fully|only) )?(?:in(?: the form of)?|as|using) (?:a |the )?"
    r"(?:(?P<bullet>bullet[ -]?points?|bullets|bullet(?:ed|-point)? list|list of bullet points)|(?P<number>numbered list)|(?:bulleted or numbered )?list)"
    r"(?P<form>[ -](?:format|form|style|notes))?(?P<how> using bullets, dashes,? etc)?"
)
_CASE = re.compile(
    r"(?:be (?:written |provided |given |presented |output )?|use |contain |have )(?:entirely |only |all |fully |completely |exclusively )*(?:in )?(?:the )?(?:all |only |entirely )?"
    r"(?P<form>lower[ -]?case|upper[ -]?case|capital|capitals|all caps|block capitals|small letters|title case)(?: (?P<script>english )?letters?| characters?| form)?"
)
_LETTERS = re.compile(
    r"(?:all|every|each)(?: of the)? (?:the )?(?:letters?|characters?|words?|text)(?: (?:in|of) (?:the|your) (?:response|answer|text|output|reply))?|(?:the )?(?:entire|whole) (?:response|text|answer|output)"
)
_SORTED = re.compile(
    r"(?:be |stand |appear |come )?(?:(?:sorted|listed|arranged|ordered|presented|given|organi[sz]ed|written|placed) )?(?:in |into )?(?:the |an |a )?"
    r"(?P<reverse>reverse )?(?P<by>alphabetical|alphabetic|ascending|descending|increasing|decreasing|numerical|lexicographic)(?:ly)?(?P<kind> alphabetical| numerical)?(?: \(a to z\))?(?: order)?|be (?:sorted|ordered|listed|arranged) (?P<adverb>alphabetically)"
)
_ITEMS = re.compile(
    r"(?:the |all )?(?:(?:list|bullet|bulleted) (?:items|points)|bullets|items(?: (?:in|of) the list)?|list|list entries|entries(?: (?:in|of) the list)?)"
)
_WHOLLY = (
    "be ",
    "use ",
    "follow ",
    "adopt ",
    "respond ",
    "answer ",
    "reply ",
    "write ",
)  # all of it: one table says too little
_FORMS = {
    "lower": "lower",
    "small": "lower",
    "upper": "upper",
    "capit": "upper",
    "all c": "upper",
    "block": "upper",
    "title": "title",
}


def read(clause: Clause, literals: tuple[Quoted, ...]) -> Reading | None:
    """The form that a clause asks for."""
    if clause.denied:
        return None
    if clause.of == "answer":
        return _json(clause.said, literals) or _grid(clause.said) or _marked(clause.said) or _case(clause.said)
    if clause.of == "line" and (match := _COLUMNS.fullmatch(clause.said)) is not None:
        columns = number(match["number"])
        return (Csv(min_columns=columns, max_columns=columns),), True
    return _of_other(clause, literals) if clause.of == "other" else None


def _of_other(clause: Clause, literals: tuple[Quoted, ...]) -> Reading | None:
    if _JSON_NAMED.fullmatch(clause.name):
        return _json(clause.said, literals)
    if _JSON_PART.fullmatch(clause.name):
        reading = _json(clause.said, literals)
        return None if reading is None else (reading[0], False)
    if _TABLE_NAMED.fullmatch(clause.name) and _GIVEN_TABLE.fullmatch(clause.said):
        return (Table(),), True
    if _LETTERS.fullmatch(clause.name):
        return _case(clause.said)
    if _ITEMS.fullmatch(clause.name):
        return _sorted(clause.said)
    return None


def _json(said: str, literals: tuple[Quoted, ...]) -> Reading | None:
    if (match := _JSON.fullmatch(said)) is not None:
        return (Json(shape=_SHAPES[match["shape"]]),), True
    if (match := _WITH_KEYS.fullmatch(said)) is not None:
        places = re.findall(r"\d+", match["after"] or match["before"])
        return (
            Json(keys=tuple(literals[int(place)].text for place in places)),
        ), False  # a key may stand there translated
    return None


def _grid(said: str) -> Reading | None:
    if _CSV.fullmatch(said):
        return (Csv(),), True
    if _TABLE.fullmatch(said):
        return (Table(),), "markdown" in said and not said.startswith(_WHOLLY)
    return None


def _marked(said: str) -> Reading | None:
    if (match := _CODE.fullmatch(said)) is not None:
        return (CodeBlock(),), match["tail"] is None and not said.startswith(_WHOLLY)
    if _BULLETS.fullmatch(said):
        return (Count(unit="list_items", min=2, mark="bullet"),), True
    if (match := _LISTED.fullmatch(said)) is not None:
        return (Listed(mark="bullet" if match["bullet"] else "number" if match["number"] else "any"),), True
    return None


def _case(said: str) -> Reading | None:
    match = _CASE.fullmatch(said)
    if match is None:
        return None
    form = _FORMS[match["form"][:5]]
    rule: Rule = Case(form=form)  # type: ignore[arg-type]
    return (rule,), match["script"] is None and said.startswith("be ")


def _sorted(said: str) -> Reading | None:
    match = _SORTED.fullmatch(said)
    if match is None:
        return None
    order = match["by"] or "alphabetical"
    alphabetical = order.startswith(("alpha", "lexic")) or (match["kind"] or "").endswith("alphabetical")
    reverse = bool(match["reverse"]) or order in ("descending", "decreasing")
    by = "alphabetical" if alphabetical else "numeric"
    return (Sorted(by=by, reverse=reverse),), alphabetical and order not in ("ascending", "descending")  # type: ignore[arg-type]
