"""A rule held against a response: what was measured, and whether the rule is met where no reading leaves a doubt.

Most kinds count something, and all that counts must lie on one side of the bounds: every reading of the answer, and every
way in which people count. An outcome is True (met), False (not met) or None (open).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import regex

from truebench_hf.data import rules as kinds
from truebench_hf.judging.rules import counting
from truebench_hf.judging.rules.counting import Answer, Counts, answer, folded, plain, speaks, tidy, without_signs
from truebench_hf.judging.rules.languages import language

_LONGEST = 100_000  # characters of a response that are read
_UNMARKED = "without marks of Markdown"  # a reading that hides what these units are told by
_OF_MARKS = ("sentences", "lines", "paragraphs", "list_items", "markdown")
_SECONDS = 1.0  # that a user's regular expression may take
_EAST = r"[\p{Hangul}\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]"  # words that blanks do not part, or that have particles


class Measured(NamedTuple):
    """`facts` are what is stated to people and judges. `met` is None where reasonable readings of the response differ."""

    facts: str
    met: bool | None


def measure(rule: kinds.Rule, response: str) -> Measured:
    """Return what a response measures by a rule. Never raises, whatever the text; what is far too long is not read."""
    if len(response) > _LONGEST:
        return Measured(f"more than {_LONGEST:,} characters, which are not measured", None)
    if isinstance(rule, kinds.All | kinds.AnyOf):
        parts = [measure(part, response) for part in rule.rules]
        met = (all_of if isinstance(rule, kinds.All) else any_of)(part.met for part in parts)
        return Measured("; ".join(part.facts for part in parts if part.facts), met)
    return Measured(*_MEASURES[rule.kind](rule, answer(response)))


def all_of(outcomes: Iterable[bool | None]) -> bool | None:
    """Return whether all hold: one that does not settles it, one that is open leaves it open."""
    known = list(outcomes)
    return False if False in known else None if None in known else True


def any_of(outcomes: Iterable[bool | None]) -> bool | None:
    """Return whether one holds; that none does is settled only where none is open."""
    known = list(outcomes)
    return True if True in known else None if None in known else False


def _agreed(outcomes: Iterable[bool | None]) -> bool | None:
    distinct = set(outcomes)
    return distinct.pop() if len(distinct) == 1 else None


def _within(numbers: Iterable[int], low: int | None, high: int | None) -> bool | None:
    """Return whether all of these numbers, or none that lies between them, keep to the bounds."""
    counts = list(numbers)
    least, most = low or 0, float("inf") if high is None else high
    if least <= min(counts) and max(counts) <= most:
        return True
    return False if max(counts) < least or min(counts) > most else None


def _listed_texts(values: Sequence[object], most: int = 8) -> str:
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(map(str, values[:most])) + more


def _quoted(value: str) -> str:
    return repr(value if len(value) <= 40 else f"{value[:39]}…")


def _counts(counter: Callable[[str], Counts], answer: Answer, unit: str = "") -> Counts:
    """Return the numbers of all readings, by how the text was read and how it was counted."""
    return {
        ", ".join(filter(None, (reading, way))): number
        for reading, text in answer.texts.items()
        if unit not in _OF_MARKS or reading != _UNMARKED
        for way, number in counter(text).items()
    }


def _figures(counts: Mapping[str, int], unit: str) -> str:
    """Return the usual number, and the least and the most that others would count: "43 words; 38 in the code block"."""
    usual = counts[""]
    ends = dict.fromkeys((min(counts.values()), max(counts.values())))
    others = [f"; {end} {next(way for way in counts if counts[way] == end)}" for end in ends if end != usual]
    return f"{usual} {_unit(unit, usual)}{''.join(others)}"


def _unit(unit: str, number: int) -> str:
    name = unit.replace("_no_", " without ").replace("_with_", " with ").replace("_", " ")
    return str(regex.sub(r"(?<=\w\w)s\b", "", name, count=1)) if number == 1 else name


def _count(rule: kinds.CountRule, answer: Answer) -> tuple[str, bool | None]:
    if rule.per != "whole":
        return _count_parts(rule, answer)
    counts = _counts(lambda text: counting.count(rule, text), answer, rule.unit)
    met = _within(counts.values(), rule.min, rule.max)
    if met is False and rule.unit != "list_items":  # unless only a title was asked for, or several proposals in a list
        (first, *rest), lines = counting.paragraphs(answer.full_text) or [""], answer.core.split("\n")
        alone = [first] * (bool(rest) and counting.is_title(first) and not speaks(first, "leads"))
        alone += lines if all(regex.match(counting.ITEM, line) for line in lines) else []
        met = None if any(_within(counting.count(rule, part).values(), rule.min, rule.max) for part in alone) else False
    return _figures(counts, rule.unit), met


def _count_parts(rule: kinds.CountRule, answer: Answer) -> tuple[str, bool | None]:
    """Every part of every reading must do; to fail, each reading must have one that fails."""
    outcomes, facts = list[bool | None](), ""
    for text in answer.texts.values():
        numbers = [counting.count(rule, part) for part in counting.parts(rule.per, text)]
        met = all_of(_within(counts.values(), rule.min, rule.max) for counts in numbers)
        outcomes.append(met if numbers else None)
        listed = _listed_texts([counts[""] for counts in numbers])
        facts = facts or (f"{_unit(rule.unit, 2)} per {rule.per}: {listed}" if numbers else "")
    return facts or f"no {rule.per} that can be told apart", _agreed(outcomes)


def _headings(rule: kinds.Headings, answer: Answer) -> tuple[str, bool | None]:
    counts, low = (
        counting.headings(answer.full_text, rule.level),
        1 if (rule.min, rule.max) == (None, None) else rule.min,
    )
    return _figures(counts, "headings"), _within(counts.values(), low, rule.max)


def _none_of(counters: Mapping[str, Callable[[str], Counts]], answer: Answer) -> tuple[str, bool | None]:
    """Return how many there are of each that must not be there, and whether there are none."""
    by_name = {name: _counts(counter, answer, name) for name, counter in counters.items()}
    facts = [_figures(counts, name.replace("_", " ")) for name, counts in by_name.items()]
    return _listed_texts(facts), all_of(_within(counts.values(), 0, 0) for counts in by_name.values())


def _forbidden(rule: kinds.Forbidden, answer: Answer) -> tuple[str, bool | None]:
    counters = {name: partial(counting.matches, name) for name in rule.classes}
    signs = dict.fromkeys(sign for sign in rule.characters if not sign.isspace())
    return _none_of(counters | {f"of {sign!r}": partial(counting.sign, sign) for sign in signs}, answer)


def _case(rule: kinds.CaseRule, answer: Answer) -> tuple[str, bool | None]:
    wrong = "lowercase" if rule.form == "upper" else "uppercase"
    facts, met = _none_of({f"{wrong}_letters": partial(counting.matches, wrong)}, answer)
    return facts, met if regex.search(r"[\p{Lu}\p{Ll}]", answer.core) else None


def _contains(rule: kinds.Contains | kinds.Excludes, answer: Answer) -> tuple[str, bool | None]:
    by_value = {value: _counts(partial(_occurrences, tidy(value), rule), answer) for value in rule.values}
    facts = _listed_texts([f"{_quoted(value)} {_figures(counts, 'times')}" for value, counts in by_value.items()])
    low, high = (rule.min, rule.max) if isinstance(rule, kinds.Contains) else (0, 0)
    either = isinstance(rule, kinds.Contains) and rule.any
    met = (any_of if either else all_of)(_within(counts.values(), low, high) for counts in by_value.values())
    title = rf"(?im)^[^\p{{L}}\p{{N}}\n]*(?:{counting.words('originals')})[^\n.!?]{{0,40}}(?:[:：].*|[*_]{{2}}[ \t]*)$"
    # The text as it was may stand beside the new one.
    original = isinstance(rule, kinds.Excludes) and regex.search(title, answer.full_text)
    return facts, None if met is False and original else met


def _occurrences(value: str, rule: kinds.Contains | kinds.Excludes, text: str) -> Counts:
    """Return how often a value surely stands in a text, and at most: in other cases, inflected, its words apart.

    A value with digits is never found absent where it is asked for: 42 may be "forty-two".
    """
    prose = plain(text) if regex.search(counting.ADDRESS, value) else regex.sub(counting.ADDRESS, " ", plain(text))
    exactly = _edged(value) if rule.whole_words is not False else regex.escape(value)
    sure = len(regex.findall(exactly, prose, regex.I if rule.case is False else 0))
    if rule.case is not None and rule.whole_words is not None:
        return {"": sure}
    wanted, alike = (value, text) if rule.case else (folded(value), folded(text))
    if rule.whole_words is not None:
        most = len(regex.findall(_edged(wanted) if rule.whole_words else regex.escape(wanted), alike))
    else:
        stems = [stem[: max(2, len(stem) - 3)] for stem in regex.findall(r"[\p{L}\p{N}]+", wanted)] or [wanted]
        begins = [r"(?<![^\W_])" if stem.isascii() and stem.isalnum() else "" for stem in stems]
        apart = (regex.findall(start + regex.escape(stem), alike) for start, stem in zip(begins, stems, strict=True))
        joined = regex.sub(r"[-'’ ]", "", alike).count(without_signs(wanted))  # e-mail and email, check-in and check in
        most = max(joined, min(map(len, apart)))
    spelled = isinstance(rule, kinds.Contains) and any(map(str.isnumeric, value))
    return {"": sure, "with others like it": max(sure, most, int(spelled))}


def _edged(value: str) -> str:
    """Return a pattern of a value as words of its own: particles may follow it, and no letter where blanks part words."""
    before, behind = "", ""
    if regex.fullmatch(r"\p{Han}{1,2}", value):  # two characters between others may belong to two words
        before, behind = r"(?<!\p{Han})", r"(?!\p{Han})"
    elif value[0].isalnum() and not regex.match(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]", value):
        before = r"(?<![^\W_]|[^\W_][-‐‑])" if not regex.match(_EAST, value) else r"(?<!\p{Hangul})"
    if value[-1].isalnum() and not regex.match(_EAST, value[-1]):
        behind = rf"(?!(?!{_EAST})[^\W_])(?![-‐‑][^\W_])"
    return before + r"\s+".join(map(regex.escape, value.split())) + behind


def _begins_or_ends(rule: kinds.StartsWith | kinds.EndsWith, answer: Answer) -> tuple[str, bool | None]:
    value, at_end, full_text = tidy(rule.value), isinstance(rule, kinds.EndsWith), answer.full_text
    lettered = any(map(str.isalnum, value))
    exactly = rf"{_edged(value)}\Z" if at_end else rf"\A{_edged(value)}"
    alike = at_end and not lettered and folded(full_text).endswith(folded(value))  # "？" is a question mark
    met: bool | None = alike or regex.search(exactly, full_text) is not None
    stated = ("ends" if at_end else "begins") if met else f"does not {'end' if at_end else 'begin'}"
    wanted = without_signs(folded(value))
    for piece in map(folded, (*answer.texts.values(), *full_text.split("\n"))) if not met else ():
        if not lettered and at_end:  # closing quotation marks, brackets, stars and emoji may stand behind a mark
            met = None if wanted in regex.search(r"[^\p{L}\p{N}]*\Z", piece)[0] else met
        else:
            met = None if (str.endswith if at_end else str.startswith)(without_signs(piece), wanted) else met
    if met and at_end and not lettered:
        remark = "\n\n" in full_text and speaks(full_text.split("\n\n")[-1], "notes")
        met = None if remark or full_text.endswith(("..", "…")) else met
    first, *more = full_text.split("\n")
    # A first line such as "Hello! Here is the letter:" may be none of the letter, unless it is what was asked for.
    leading = more and not at_end and folded(first) != folded(value) and speaks(first, "leads")
    return f"{stated} with {_quoted(value)}", None if met and (leading or answer.blocks) else met


def _one_of(rule: kinds.OneOf, answer: Answer) -> tuple[str, bool | None]:
    if answer.full_text in map(tidy, rule.values):
        return f"is {_quoted(answer.full_text)}", True
    inside = any(without_signs(folded(value)) in without_signs(folded(answer.full_text)) for value in rule.values)
    return "is none of the texts as they stand", None if inside else False


def _pattern(rule: kinds.Pattern, answer: Answer) -> tuple[str, bool | None]:
    match = regex.fullmatch if rule.match == "full" else regex.search
    try:
        met = _agreed(match(rule.regex, text, timeout=_SECONDS) is not None for text in answer.texts.values())
    except TimeoutError:
        return f"the regular expression took more than {_SECONDS:.0f} s", None
    stated = "matches in some readings" if met is None else "matches" if met else "does not match"
    return f"the regular expression {stated}", met


def _json(rule: kinds.Json, answer: Answer) -> tuple[str, bool | None]:
    try:
        value = json.loads(answer.data, parse_int=str, parse_float=str, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        inside = answer.data[:1] not in ("[", "{") and regex.search(r"(?m)^[ \t]*[\[{]", answer.full_text)
        unsure = inside or len(answer.blocks) > 1 or "Extra data" in str(error) or "is no JSON" in str(error)
        return f"no valid JSON: {error}", None if unsure else False
    if not isinstance(value, dict | list):
        return "JSON, but no object or list", None
    single = isinstance(value, dict)
    facts = f"valid JSON, {f'an object with {len(value)} keys' if single else f'a list of {len(value)}'}"
    if rule.shape == ("list" if single else "object"):  # "a JSON object" may be said of any JSON
        return facts, None
    objects = [value] if single else value
    missing = [key for key in rule.keys if not objects or not all(isinstance(x, dict) and key in x for x in objects)]
    alike = any(without_signs(folded(key)) in without_signs(folded(answer.data)) for key in missing)
    return facts + (f", without the keys {_listed_texts(missing)}" if missing else ""), None if alike else not missing


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")  # NaN and Infinity, which Python reads


def _table(rule: kinds.TableRule, answer: Answer) -> tuple[str, bool | None]:
    from markdown_it import MarkdownIt

    tables: list[list[list[str]]] = []
    for token in MarkdownIt("commonmark").enable("table").disable("inline").parse(answer.full_text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and tables and token.level >= 3 and token.map:
            tables[-1][-1].append(token.content.strip(" *_`"))
    if not tables:
        return "no Markdown table", None if regex.search(
            r"(?im)^[^\n|]*\|[^\n]*\||<table|\t", answer.full_text
        ) else False
    facts = [f"a table of {len(rows) - 1} rows below the header and {len(rows[0])} columns" for rows in tables]
    outcomes = []
    for rows in tables:  # with or without the header
        alike = {without_signs(folded(cell)) for cell in rows[0]}
        named = [name in rows[0] or (None if without_signs(folded(name)) in alike else False) for name in rule.header]
        bounds = _within((len(rows) - 1, len(rows)), rule.min_rows, rule.max_rows)
        outcomes.append(all_of([bounds, _within([len(rows[0])], rule.min_columns, rule.max_columns), *named]))
    return _listed_texts(facts, 3), _agreed(outcomes)


def _listed(rule: kinds.ListedRule, answer: Answer) -> tuple[str, bool | None]:
    text = answer.core if counting.items(answer.core) else answer.full_text
    marked, lines = counting.items(text), [line for line in text.split("\n") if line.strip()]
    facts = f"{len(marked)} of {len(lines)} lines marked as list items"
    marks = {"number" if mark == "1" else "bullet" for _, mark, _ in marked}
    if len(marked) > 1 and len(marked) == len(lines) and (rule.mark == "any" or marks == {rule.mark}):
        around = [line for line in answer.full_text.split("\n") if any(map(str.isalnum, line)) and line not in lines]
        framing = (regex.fullmatch(counting.HEADING, x) or speaks(x, "leads") or speaks(x, "notes") for x in around)
        return facts, True if all(framing) else None
    signs = r"(?i)\s*(?:[^\p{L}\p{N}\s\"'“”‘’«»„(\[*_#]|step \d|[①-⑳]|\(?\w{1,3}[.)])"
    maybe = marked or any(regex.match(signs, line) for line in lines) or sum(len(line) < 100 for line in lines) > 2
    inline = len(text) < 200 and len(regex.findall(r"[,;、，；]", text)) > 1
    return facts, None if maybe or inline or answer.blocks else False


def _order(rule: kinds.Order, answer: Answer) -> tuple[str, bool | None]:
    """Hold the items of a list in order, by several ways to compare them, all of which must agree."""
    listed = [plain(item) for _, _, item in counting.top_level(counting.items(answer.full_text))]
    texts = [text for text in listed or plain(answer.full_text).split("\n") if text.strip()]
    if rule.by == "numeric":
        numbers = [regex.findall(r"-?\d+(?:[.,]\d+)*", text.replace("−", "-")) for text in texts]
        plain_ones = all(row and row[0].lstrip("-").isdigit() and row[-1].lstrip("-").isdigit() for row in numbers)
        ways: list[list[Any]] = [[float(row[at]) for row in numbers] for at in (0, -1)] if plain_ones else []
    else:
        article = r"^(?:the|an?|der|die|das|le|la|les|l['’]|el|los|las|il|lo|gli|i|o|os|as)\s+"
        plainest = [folded(text) for text in texts]
        ways = [[text.casefold() for text in texts], plainest, [without_signs(text) for text in plainest]]
        ways += [[regex.sub(article, "", text) for text in ways[1]], [text.split()[-1:] for text in ways[1]], texts]
    rising = [all(x >= y if rule.reverse else x <= y for x, y in pairwise(way)) for way in ways]
    # By sound or by strokes, with accents, numbers, or in several lists: no order is sure.
    unsure = any(regex.search(r"\p{Han}|[^\Wa-zа-я가-힣]", text) for text in map(str.casefold, texts))
    many_lists = (
        len(counting.lists(answer.full_text)) > 1 or "|" in answer.full_text or (rule.by == "alphabetical" and unsure)
    )
    met = None if len(texts) < 2 or many_lists or not ways else _agreed(rising if rule.by == "numeric" else rising[:4])
    met = None if met is False and any(rising) else met
    stated = "whose order is not clear" if met is None else "in order" if met else "not in order"
    return f"{len(texts)} items {stated}", met


_MEASURES: dict[str, Callable[[Any, Answer], tuple[str, bool | None]]] = {
    "count": _count, "language": language, "contains": _contains, "excludes": _contains, "starts_with": _begins_or_ends,
    "ends_with": _begins_or_ends, "one_of": _one_of, "pattern": _pattern, "case": _case, "forbidden": _forbidden,
    "json": _json, "table": _table, "headings": _headings, "listed": _listed, "order": _order,
}  # fmt: skip
