"""Statements of a label about a criterion in prose: "Criteria 1: FAIL", a table, a heading with its verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from truebench_hf.judging.keys import KEY, NAMES, named
from truebench_hf.judging.quotation import leads_to_quotation, quoting, says_fail
from truebench_hf.judging.words import Words

L = TypeVar("L")
ANY = -2  # the "criterion" of a label that stands somewhere: which one it is about cannot be told
ALL = -1  # the "criterion" of a statement about the answer as a whole


@dataclass(frozen=True, slots=True)
class Statement(Generic[L]):
    """A label about a criterion (from 1, or `ALL`), at a place of the text.

    `label` None: something stands there that is no label. `sure` is as in `Value`; `quoted`: how it is quoted, by its
    sentence (1), a fence (2), or a line before (4); 0 where it is not.
    `shown` is what was written.
    """

    criterion: int
    label: L | None
    sure: bool
    at: int = 0
    quoted: int = 0
    echo: bool = False
    shown: Any = None


# What may stand between a criterion's key and its label. All are searched for in the few letters before a label.
_MARKERS = r"[ \t>*_|#(\[`\"'“•+–—-]{0,20}"
_CLOSE = r"[ \t\"'“”’*_`)\]>条项號号번.]{0,8}"
_ORNATE = r"[ \t\"'“*_`(\[{]{0,8}"
_SEPARATOR = r"(?::|=+>?|-+>?|→|⇒|➜|—|–|\||=>|[,;~](?=[ \t\"'*_`]*(?-i:[A-Z])))"
_LINK = (
    r"(?:(?:is|was|are|verdict|result|judge?ment|decision|label|rating|status|score|final|should be|must be|gets?|remains|now|"
    r"therefore|thus|ist|muss|sollte|est|doit être|es|debe ser|è|deve essere|é|deve ser|jest|to|powinno być|là|phải là|должно быть|the|an?|"
    r"clearly|definitely|as)\b[ \t]*|(?:은|는|이|가|は|が|も|为|為|应该是|应为|应是|是|应)[ \t]*){0,4}"
)
_ASIDE = r"(?:\([^()\n]{0,160}\)[ \t*_]*)?"
_AND = r"(?:,|/|&|-|–|\band\b|\bto\b|\bund\b|\bet\b|\by\b|\be\b|и|と|和|과|và)"
_MORE = rf"(?P<more>(?:[ \t]?{_AND}[ \t]?(?:{NAMES}[\s_]?)?\d{{1,6}}(?![\d%])){{0,12}})"
_VERDICT = (
    r"(?P<whole>final|overall|all(?: criteria)?|both(?: criteria)?|total|gesamt\w*)?[ \t]*(?:my |the )?(?:verdicts?|results?|judge?ments?|"
    r"decision|label|rating|status|conclusion|assessment|outcome|answer|grade|overall|total|all(?: criteria)?|both(?: criteria)?|final|"
    r"urteil|ergebnis|bewertung|verdikt|résultat|jugement|veredicto|resultado|juicio|risultato|verdetto|giudizio|werdykt|wynik|"
    r"ocena|вердикт|результат|итог|оценка|判定|结果|結果|结论|結論|评价|評価|판정|결과|평가|kết quả|kết luận|đánh giá)"
)
_NOT = r"(?:(?:does not|doesn't|did not|not|isn't|never|nicht|non|não|nie|не)[ \t]+(?:an?[ \t]+)?)?"
_SEP = rf"(?P<sep>(?:{_SEPARATOR}[ \t]*)+)"
_NAMED = re.compile(rf"(?:{KEY}){_MORE}{_CLOSE}{_ASIDE}{_LINK}{_SEP}?{_ORNATE}{_LINK}{_NOT}\Z", re.IGNORECASE)
_NUMBER = re.compile(rf"\A{_MARKERS}(?P<n>\d{{1,6}})[ \t.):\]=|*_`\"'→—–>-]{{1,12}}{_ORNATE}{_NOT}\Z", re.IGNORECASE)
_LISTED = re.compile(
    rf"(?:\A|[,;(|:])[ \t\"'*_`(]*(?P<n>\d{{1,6}})[\"'”*`)]{{0,4}}[ \t]?(?:[:=→)–—,;~-]|->|=>){{1,3}}{_ORNATE}\Z"
)
_ENDING = re.compile(rf"(?:[:=|→⇒➜—–(\[.!?。]|->|=>|[ \t]-|\*\*)[ \t\"'“*_`(\[]{{0,8}}{_NOT}\Z", re.IGNORECASE)
_ITSELF = re.compile(rf"\A{_MARKERS}{_VERDICT}{_CLOSE}{_ASIDE}{_LINK}{_SEP}?{_ORNATE}{_NOT}\Z", re.IGNORECASE)
_ALONE = re.compile(rf"\A{_MARKERS}(?:[=→⇒➜>-]{{1,3}}[ \t]*)?{_ORNATE}{_NOT}\Z", re.IGNORECASE)
_TURNED = re.compile(rf"\W{{0,4}}(?:for|on|:|-|–|—|→)?[ \t]{{0,4}}(?:{KEY}){_MORE}", re.IGNORECASE)
_HEADING = re.compile(rf"{_MARKERS}(?:{KEY}|(?P<bare>\d{{1,6}})[ \t]?[.):\]*|])", re.IGNORECASE)
_BEHIND = re.compile(r"[ \t\"'”*_`)\]}|.!。,;]*\Z")
_LIST = " \t[](){}\"'“”,;/|*_`.>-"
_WINDOW = 260
# A label within a sentence has a word before it; one that says something stands behind a sign, a number or nothing.
_STANDS = re.compile(r"(?:\A|[^\w\s\"'“”‘’«»„「」*_`]|(?:\A|\W)\d{1,3}|(?:\A|\W)[A-Za-z]\d?)[\s\"'“*_`(\[{]*\Z")
_SO = re.compile(
    r"\b(?:so|therefore|thus|hence|both|all|clear|clearly|say|str|daher|also|donc|luego|portanto|quindi|więc|поэтому|vậy)\s*\Z",
    re.IGNORECASE,
)
_VERBS = ("fails", "passes", "failed", "passed", "pass", "fail")
# Of what else but criteria a judge may number: a label needs a separator there, and to be written as one.
_GENERIC = re.compile(
    r"\W*(?:items?|points?|checks?|conditions?|questions?|constraints?|пункт|项|項|第|条件|항목)", re.IGNORECASE
)


def in_prose(text: str, count: int, words: Words[L]) -> list[Statement[L]]:
    """The statements in a text, in order. What objects hold is to be blanked out before.

    A statement is a criterion's key or number, a separator, and a label as the whole value; PASS within a sentence is
    none. A line that has only a verdict is about the criterion whose number stands before it.
    """
    found: list[Statement[L]] = []
    current, place, fenced, led = ALL if count > 1 else 1, 0, False, False
    for line in text.split("\n"):
        fenced ^= line.lstrip()[:3] in ("```", "~~~")
        heading = _HEADING.match(line[:_WINDOW])
        number = None if heading is None else int(heading["bare"]) if heading["bare"] else named(heading)
        if (
            heading
            and number is not None
            and number <= count
            and (not heading["bare"] or number in (current, max(current, 0) + 1))
        ):
            current = number
        matches = list(words.anywhere.finditer(line))
        if len(matches) > 1 and not words.anywhere.sub("", line).replace("\\boxed", "").strip(_LIST):
            found += _listed(matches, place, count, words)
        else:
            for match in matches:
                made = _of_label(line, match, place, (current, number), count, words)
                found += [replace(one, quoted=one.quoted + 2 * fenced + 4 * led) for one in made]
        # What a line leads over to that speaks of the response are the response's words, up to the next blank line.
        led = bool(line.strip()) and (led or leads_to_quotation(line))
        place += len(line) + 1
    return found


def _listed(matches: list[re.Match[str]], place: int, count: int, words: Words[L]) -> Iterator[Statement[L]]:
    """A line of labels alone, one per criterion."""
    for number, match in enumerate(matches[:count], 1):
        if (value := words.value(match.group())) is not None:
            yield Statement(number if len(matches) == count else ALL, value.label, False, place + match.start())


def _of_label(
    line: str, match: re.Match[str], place: int, numbers: tuple[int, int | None], count: int, words: Words[L]
) -> Iterator[Statement[L]]:
    """The statements that one label in a line makes."""
    before, behind = line[max(0, match.start() - _WINDOW) : match.start()], line[match.end() : match.end() + _WINDOW]
    value = words.value(_negation(before) + _sentence(match.group() + behind))
    about = _criteria(before, behind, match, numbers, count, words)
    offered = match.group() in words.offered
    if value is None and about and _TURNED.match(behind):
        value = words.value(match.group())  # "Failed criteria: 2"
    if (
        value is None
        and about
        and offered
        and _NAMED.search(before)
        and not words.echoes(match.group() + _sentence(behind))
    ):
        yield from (Statement(one, None, False, place + match.start()) for one in about if one <= count)
    if value is None or (value.foreign and not _BEHIND.match(behind)) or (value.within and not _NAMED.search(before)):
        about = []
    stands = _STANDS.search(before) or (_SO.search(before) and re.match(r"\W*(?:\Z|[.;!])", behind))
    if not about and offered and stands and not words.echoes(_around(before, match.group(), behind)):
        yield Statement(ANY, words.offered[match.group()], False, place + match.start())
    if value is None:
        return
    said = int(quoting(before) or line.lstrip()[:1] == ">")
    for one in about:
        if one <= count:
            yield Statement(one, value.label, value.sure, place + match.start(), said)


def _around(before: str, label: str, behind: str) -> str:
    """The label with what hangs on it by a slash or an "or": the form asked for names both."""
    left = re.search(r"[\w/|\"'` ]{0,12}\Z", before)
    right = re.match(r"[\"'` ]{0,2}(?:/|\||or|and|,)[\"'` ]{0,2}\w{2,8}", behind)
    back = re.search(r"\w{2,8}[\"'` ]{0,2}(?:/|\||\bor\b|\band\b|,)[\"'` ]{0,2}\Z", left.group() if left else "")
    return (back.group() if back else "") + label + (right.group() if right else "")


def in_comment(said: str, number: int, words: Words[L]) -> Iterator[Statement[L]]:
    """What a comment in an object states: any label asked for, about the criterion whose key stands before it."""
    if says_fail(said) and (failed := words.value("no")) is not None:
        yield Statement(number, failed.label, True)
    for match in words.anywhere.finditer(said):
        if (
            value := words.value(_negation(said[max(0, match.start() - _WINDOW) : match.start()]) + match.group())
        ) is not None and not value.foreign:
            yield Statement(number, value.label, True)


def _negation(before: str) -> str:
    match = re.search(rf"(?<!\w){_NOT}\Z", before, re.IGNORECASE)
    return match.group() if match else ""


def _criteria(
    before: str, behind: str, match: re.Match[str], numbers: tuple[int, int | None], count: int, words: Words[L]
) -> list[int]:
    """Which criteria a label between these two texts is about; none where it is a word in a sentence."""
    current, heading = numbers
    whole, upper = match.start() <= _WINDOW, match.group().isupper()
    if (
        (key := _NAMED.search(before)) is not None
        and (number := named(key)) is not None
        and (key["sep"] or upper or match.group().casefold() in _VERBS)
        and (not _GENERIC.match(key.group()) or (key["sep"] and upper))
    ):
        return [number, *_others(key, number)]
    if whole and (key := _NUMBER.match(before)) is not None:
        return [int(key["n"])]
    if upper and (key := _LISTED.search(before)) is not None:
        return [int(key["n"])]
    turned = upper or match.group().casefold() in ("failed", "passed") or re.match(r"\W{0,3}(?:for|on)\b", behind)
    if turned and (key := _TURNED.match(behind)) is not None and (number := named(key)) is not None:
        return [number, *_others(key, number)]
    if heading is not None:
        return (
            [heading]
            if (upper or before.rstrip()[-1:] not in ".!?。")
            and _ENDING.search(before)
            and _BEHIND.match(behind)
            and 1 <= heading <= count
            else []
        )
    if whole and (key := _ITSELF.match(before)) is not None and (key["sep"] or upper):
        return [ALL if key["whole"] and count > 1 else current]
    return [current] if whole and _ALONE.match(before) and _BEHIND.match(behind) else []


def _others(match: re.Match[str], first: int) -> list[int]:
    """The further criteria that one statement names: "criteria 1 and 2", "criteria 1-3"."""
    more = match["more"] or ""
    numbers = [int(number) for number in re.findall(r"\d{1,6}", more)]
    if len(numbers) == 1 and re.match(r"\s*(?:-|–|to\b)", more):
        return list(range(first + 1, min(numbers[0], first + 50) + 1))
    return numbers


def _sentence(text: str) -> str:
    """The text to the end of its sentence: a stop with a blank behind it, or the end of the line."""
    match = re.search(r"[.!。！](?=\s|$|[A-Z\u3000-\uffff])|[;|]", text)
    return text[: match.start()] if match else text
