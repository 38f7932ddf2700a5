"""From the words of a criterion to rules, by the phrases of twelve languages (`phrases/*.yaml`).

A text is rewritten word by word: quoted texts become {text}, names of languages {language}, numbers {n}, and so on, until
it reads as a phrase of the table, or not at all. Only a text that is phrases from its first word to its last is complete;
where some of its sentences are phrases, these are measured.

In the tables [x] may be left out, and (x|y) is x or y.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.judging.rules.phrase_tables import (
    UNSPACED,
    amounts_of,
    cores,
    phrases_of,
    rules_by_kind,
    splits_of,
    table_of,
    tokens_of,
)
from truebench_hf.rules import Rule, rule_of

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "pl", "vi")  # of Latin letters; the others are told by their script
_SCRIPTS = {"ko": "[가-힣]", "ja": "[ぁ-ヿ]", "zh": "[一-鿿]", "ru": "[а-яё]"}
_QUOTED = re.compile(
    r"“([^“”]+)”|\"([^\"]+)\"|«\s?([^«»]+?)\s?»|„([^„“”]+)[“”]|「([^「」]+)」|『([^『』]+)』|`([^`]+)`|(?<!\w)['‘’]([^'‘’]+(?:['’][^'‘’ ]+)*)['’](?![A-Za-z\u00c0-\u024f])"
)
# A bare number of these need not be an exact one: "contains 2 emoji", "has 10 words" that were asked for.
_AT_LEAST_PERHAPS = ("emoji", "hashtags", "words", "questions", "characters")
_TEXT_UNITS = ("words", "sentences", "hashtags", "characters", "lines")  # "the word": what a quoted text is called
_SLOT = re.compile(r"\{\w+\}")
_NEGATIONS = ("excludes", "none", "no_digits", "no_commas", "no_markdown", "no_punctuation", "no_sign")
_NONE = ("emoji", "hashtags", "questions", "list_items", "headings")  # of which an answer may have none


@lru_cache(maxsize=4096)
def read(text: str) -> tuple[tuple[Rule, ...], bool]:
    """Return the rules that a text states, and whether they are all that it says; none and False where it states none."""
    best: tuple[tuple[Rule, ...], bool] = ((), False)
    for code in _candidates(text):
        rules, complete = _read(text, code)
        if complete:
            return rules, True
        best = best if len(best[0]) >= len(rules) else (rules, False)
    return best


def _candidates(text: str) -> tuple[str, ...]:
    bare = _QUOTED.sub("", text).casefold()
    by_script = tuple(code for code, letters in _SCRIPTS.items() if re.search(letters, bare))
    english = re.search(r"\b(?:the|must|should|answer|write|response|with|is|has|contains)\b", bare)
    return by_script or (LANGUAGES[:1] if english else LANGUAGES)


def _read(text: str, code: str) -> tuple[tuple[Rule, ...], bool]:
    words, values = _rewritten(text, code)
    table, rules, complete, negated = phrases_of(code), list[Rule](), True, False
    queue = {slot: iter(held) for slot, held in values.items()}
    for fragment in re.split(splits_of(code), words):
        held = {slot: next(queue[slot]) for slot in _SLOT.findall(fragment) if slot in queue}
        key = fragment.strip(" ,;:")
        if any(fragment.count(slot) > 1 for slot in ("{text}", "{count}", "{unit}", "{sign}", "{language}")):
            complete = False
            continue
        kinds = (table[key],) if key in table else _core(key, code, held)
        made = next(filter(None, (_made(kind, key, held) for kind in kinds)), ([], False))
        kind = kinds[0] if kinds else ""
        if not made[0] or (negated and "{answer}" not in key) or (kind == "one_of" and key != words.strip(" ,;:")):
            complete = False
            continue
        rules += made[0]
        complete = complete and made[1]
        negated = negated or kind in _NEGATIONS
    unique = tuple(dict.fromkeys(rules))
    return unique, complete and bool(unique)


def _core(key: str, code: str, held: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a fragment may state whose every word is a token or filling, whatever their order; () otherwise."""
    pattern, names = tokens_of(code)
    tokens = [names[match.group()] for match in pattern.finditer(key)]
    rest = pattern.sub(" ", key)
    if re.search(r"[^\s,:;?!]", rest) or ("{n}" in tokens and held.get("{n}") != 1):
        return ()
    if tokens.count("{not}") > 1 or {"{answer}", "{work}"} <= set(tokens):
        return ()
    core = {token for token in tokens if token not in ("", "{n}", "{answer}", "{work}", "{must}", "{made}")}
    if {"{text}", "{unit}"} <= core and held["{unit}"] in _TEXT_UNITS:
        core = core - {"{unit}"} | {"{noun}"}
    if "{not}" in core:  # without one, "none of more than 20 words" would state the opposite
        core -= {"{any}"}
    return cores().get(frozenset(core), ())


def _made(kind: str, key: str, held: Mapping[str, Any]) -> tuple[list[Rule], bool]:
    """Return the rules of one phrase, and whether they are all that it says."""
    rule = dict(rules_by_kind()[kind])
    unit_named = rule.pop("of", None)
    if unit_named and held.get("{unit}", unit_named) != unit_named:
        return [], False
    if "{count}" in held:
        return _counted(rule, key, held)
    if kind == "none":
        unit, _, mark = held["{unit}"].partition("/")
        if unit not in _NONE:
            return [], False
        return _valid({"kind": "headings", "max": 0} if unit == "headings" else rule | {"unit": unit}), not mark
    if "{language}" in held:
        field = "language" if rule["kind"] == "code_block" else "codes"
        rule[field] = held["{language}"]
    if "{text}" in held:
        texts, either = held["{text}"]
        if rule["kind"] in ("starts_with", "ends_with", "code_block"):
            if len(texts) > 1:
                return [], False
            rule["language" if rule["kind"] == "code_block" else "value"] = texts[0]
        elif key.endswith("{text}"):  # “SDBot.” at the end: the period is the criterion's
            texts = tuple(text.rstrip(".,。，") or text for text in texts)
        if rule["kind"] in ("starts_with", "ends_with", "code_block"):
            pass
        elif rule["kind"] in ("json", "csv", "table"):
            rule["keys" if rule["kind"] == "json" else "header"] = texts
        else:
            rule["values"] = texts
            if rule["kind"] == "contains" and either:
                rule["any"] = True
        if rule.pop("fact", False):  # which other words may state as well
            return _valid(rule), False
        if "{times}" in held:
            rule["min"], rule["max"] = held["{times}"]
        if any("..." in text or "…" in text for text in texts):
            return _valid(rule), False
    if "{sign}" in held:
        rule["value" if rule["kind"] == "ends_with" else "characters"] = (
            held["{sign}"][0] if rule["kind"] == "ends_with" else held["{sign}"]
        )
    return _valid(rule), True


def _counted(rule: dict[str, Any], key: str, held: Mapping[str, Any]) -> tuple[list[Rule], bool]:
    """Return the rule of a phrase that counts, and whether it is all that the phrase says."""
    low, high, unit, bound = _asked(held["{count}"], rule)
    if bound == "none":
        return [], False
    plain = bound == "plain"
    name, _, mark = unit.partition("/")
    if rule["kind"] in ("csv", "table", "headings"):
        field = {"rows": "_rows", "columns": "_columns", "headings": ""}.get(name)
        if field is None:
            return [], False
        rule |= {f"min{field}": low, f"max{field}": high}
    elif name in ("rows", "columns", "headings"):
        if name != "headings":
            return [], False
        rule = {"kind": "headings", "min": low, "max": high}
    else:
        rule |= {"unit": name, "min": low, "max": high} | ({"mark": mark} if mark else {})
        per = held.get("{part}")
        rule |= {"per": per} if per else {}
    holds = rule.pop("holds", False) or name in ("emoji", "hashtags", "questions")
    loose = plain and name in _AT_LEAST_PERHAPS and holds
    summary_lines = name == "lines" and "{work}" in key
    return _valid(rule), not loose and not summary_lines


def _asked(
    count: tuple[int | None, int | None, str, str], rule: dict[str, Any]
) -> tuple[int | None, int | None, str, str]:
    """Return a count as a phrase asks for it: denied ("not more than"), allowed ("may have up to"), not to be exceeded."""
    low, high, unit, bound = count
    if rule.pop("denied", False):
        if bound == "above":
            return None, (low or 1) - 1, unit, "at_most"
        return ((high or 0) + 1, None, unit, "at_least") if bound == "below" else (None, None, unit, "none")
    if rule.pop("allowed", False) and bound in ("plain", "exactly"):
        return None, None, unit, "none"
    if rule.pop("exceeded", False):
        return (None, high, unit, "at_most") if bound == "plain" else (None, None, unit, "none")
    return count


def _valid(rule: Mapping[str, Any]) -> list[Rule]:
    try:
        return [rule_of({name: value for name, value in rule.items() if value is not None})]
    except UserError:
        return []


def _rewritten(text: str, code: str) -> tuple[str, dict[str, list[Any]]]:
    """Return a text in which slots stand for what they hold, and these values in their order."""
    values: dict[str, list[Any]] = {}
    table = table_of(code)

    def quoted(match: re.Match[str]) -> str:
        found = next(group for group in match.groups() if group).strip()
        values.setdefault("{text}", []).append(((found,), False))
        return " {text} " if code not in UNSPACED else "{text}"

    text = _QUOTED.sub(quoted, unicodedata.normalize("NFC", text))
    text = " ".join(text.casefold().replace("’", "'").replace("–", "-").replace("—", "-").split())
    text = re.sub(r"(?<=\w)[.。!]+\s*$|\s*[.。!]+\s*$", "", text)
    text = re.sub(r"\{text\} ([,.;:])", r"{text}\1", text)
    if code in UNSPACED:
        text = text.replace(" ", "")
    text = re.sub(r"(?<=\d)[,.\u00a0 ](?=\d{3}(?!\d))", "", text)
    for slot, pattern, held in table["steps"]:
        found: list[Any] = []
        text = pattern.sub(lambda m, slot=slot, held=held, found=found: _held(m, slot, held, found), text)
        if found and found[0] is not None:
            values[slot] = found
    text = _lists(text, values, table)
    return _counts(text, values, code), values


def _held(match: re.Match[str], slot: str, held: Mapping[str, Any], found: list[Any]) -> str:
    word = match.group()
    value = held[word] if word in held else int(word) if word.isdigit() else None
    found.append(value)
    return slot


def _lists(text: str, values: dict[str, list[Any]], table: Mapping[str, Any]) -> str:
    """Join what is listed: "{text}, {text} or {text}" is one slot that holds all."""
    for slot in ("{text}", "{language}"):
        joints = "|".join(map(re.escape, table["joints"]))
        pattern = re.compile(rf"{re.escape(slot)}(?:\s*(?:,\s*)?(?:{joints}|[,、，/])\s*{re.escape(slot)})+")
        for match in reversed(list(pattern.finditer(text))):
            first, number = text[: match.start()].count(slot), match.group().count(slot)
            held = values[slot][first : first + number]
            either = any(word in match.group() for word in table["either"])
            if slot == "{text}":
                values[slot][first : first + number] = [(tuple(one for texts, _ in held for one in texts), either)]
            elif either:
                values[slot][first : first + number] = [[code for codes in held for code in codes]]
            else:
                continue
            text = text[: match.start()] + slot + text[match.end() :]
    return text


def _counts(text: str, values: dict[str, list[Any]], code: str) -> str:
    """Replace amounts with their units by {count}, which holds (least, most, unit, how the number is bound)."""
    pattern, bounds = amounts_of(code)
    numbers, units = values.get("{n}", []), values.get("{unit}", [])
    found, times, out, at = [], [], [], 0
    taken: dict[str, set[int]] = {"{n}": set(), "{unit}": set()}
    for match in pattern.finditer(text):
        before = text[: match.start()]
        n, u = before.count("{n}"), before.count("{unit}")
        kind = bounds[match.group()]
        here = numbers[n : n + match.group().count("{n}")]
        taken["{n}"] |= set(range(n, n + match.group().count("{n}")))
        taken["{unit}"] |= set(range(u, u + match.group().count("{unit}")))
        low, high = _bounds(kind, here)
        out.append(text[at : match.start()])
        if "{unit}" in match.group():
            found.append((low, high, units[u], kind))
            out.append("{count}")
        else:
            times.append((max(low or 1, 1), high))
            out.append("{times}")
        at = match.end()
    values["{count}"], values["{times}"] = found, times
    for slot, places in taken.items():
        values[slot] = [value for place, value in enumerate(values.get(slot, [])) if place not in places]
    return "".join([*out, text[at:]])


def _bounds(kind: str, numbers: list[int]) -> tuple[int | None, int | None]:
    first = numbers[0] if numbers else 1
    if kind == "range":
        return min(numbers), max(numbers)
    return {
        "at_most": (None, first), "below": (None, first - 1), "at_least": (first, None), "above": (first + 1, None),
    }.get(kind, (first, first))  # fmt: skip
