"""A rule held against a response: what was measured, and whether the rule is met where no reading leaves a doubt.

Most kinds count something, and all that counts must lie on one side of the bounds: every reading of the answer, and every
way in which people count. What has a form is in `forms`. An outcome is True (met), False (not met) or None (open).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import regex

from truebench_hf import rules as kinds
from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.judging.rules import counting, forms, languages
from truebench_hf.judging.rules.counting import Counts
from truebench_hf.judging.rules.forms import Outcome, agreed, all_of, any_of, listed_texts, within
from truebench_hf.judging.rules.readings import (
    CODE,
    Answer,
    answer,
    folded,
    plain,
    speaks,
    table,
    tidy,
    without_signs,
    words,
)

_LONGEST = 100_000  # characters of a response that are read
_UNMARKED = "without marks of Markdown"  # a reading that hides what these units are told by
_OF_MARKS = ("sentences", "lines", "paragraphs", "list_items", "markdown")
_SECONDS = 1.0  # that a user's regular expression may take
_EAST = r"[\p{Hangul}\p{Han}\p{Hiragana}\p{Katakana}]"
_ADDRESS = r"(?:https?://|www\.)\S*|(?<!\S)[^\s@]{1,100}@[^\s@]+"


@dataclass(frozen=True, slots=True)
class Measured:
    """`facts` are what is stated to people and judges. `met` is None where reasonable readings of the response differ.

    `problem` says why nothing could be measured here, with the remedy; "" where it could.
    """

    facts: str
    met: bool | None
    problem: str = ""


def measure(rule: kinds.Rule, response: str) -> Measured:
    """Return what a response measures by a rule. Never raises, whatever the text; what is far too long is not read."""
    if len(response) > _LONGEST:
        return Measured(f"more than {_LONGEST:,} characters, which are not measured", None)
    if isinstance(rule, kinds.All | kinds.AnyOf):
        every = [measure(part, response) for part in rule.rules]
        met = (all_of if isinstance(rule, kinds.All) else any_of)(part.met for part in every)
        problem = next((part.problem for part in every if part.problem), "")
        return Measured("; ".join(part.facts for part in every if part.facts), met, problem)
    if isinstance(rule, kinds.Language):
        try:
            need("", "lingua")
        except UserError:
            remedy = "pip install lingua-language-detector"
            return Measured("", None, f"the language was not measured, which needs lingua: {remedy}")
    return Measured(*_MEASURES[rule.kind](rule, answer(response)))


def _counts(counter: Callable[[str], Counts], given: Answer, unit: str = "") -> Counts:
    """Return the numbers of all readings, by how the text was read and how it was counted."""
    every = Counts()
    for reading, text in given.texts.items():
        if unit not in _OF_MARKS or reading != _UNMARKED:
            every |= {", ".join(filter(None, (reading, way))): number for way, number in counter(text).items()}
    return every


def _figures(counts: Mapping[str, int], unit: str) -> str:
    """Return the usual number, and the least and the most that others would count: "43 words; 38 in the code block"."""
    usual = counts[""]
    ends = dict.fromkeys((min(counts.values()), max(counts.values())))
    others = [f"; {end} {next(way for way in counts if counts[way] == end)}" for end in ends if end != usual]
    return f"{usual} {_unit(unit, usual)}{''.join(others)}"


def _unit(unit: str, number: int) -> str:
    name = unit.replace("_no_", " without ").replace("_with_", " with ").replace("_", " ")
    return str(regex.sub(r"^(\w+?)s\b|(?<=^list item)s", r"\1", name)) if number == 1 else name


def _none_of(counters: Mapping[str, Callable[[str], Counts]], given: Answer) -> Outcome:
    """Return how many there are of each that must not be there, and whether there are none."""
    every = {name: _counts(counter, given, name) for name, counter in counters.items()}
    facts = [_figures(counts, name.replace("_", " ")) for name, counts in every.items()]
    return listed_texts(facts), all_of(within(counts.values(), 0, 0) for counts in every.values())


def _count(rule: kinds.Count, given: Answer) -> Outcome:
    if rule.per != "whole":
        return _count_parts(rule, given)
    counts = _counts(lambda text: counting.count(rule, text), given, rule.unit)
    met = within(counts.values(), rule.min, rule.max)
    if met is False and rule.unit != "list_items":  # unless only a part was asked for
        alone = (within(counting.count(rule, part).values(), rule.min, rule.max) for part in given.alone)
        met = None if any(alone) else False
    return _figures(counts, rule.unit), met


def _count_parts(rule: kinds.Count, given: Answer) -> Outcome:
    """Every part of every reading must do; to fail, each way to cut the answer must have one that fails."""
    outcomes, facts = list[bool | None](), ""
    for text in given.texts.values():
        for parts in counting.parts(rule.per, text):
            numbers = [counting.count(rule, part) for part in parts]
            every = all_of(within(counts.values(), rule.min, rule.max) for counts in numbers)
            outcomes.append(every if parts else None)
            shown = listed_texts([counts[""] for counts in numbers])
            facts = facts or (f"{_unit(rule.unit, 2)} per {rule.per}: {shown}" if parts else "")
    return facts or f"no {rule.per} that can be told apart", agreed(outcomes)


def _headings(rule: kinds.Headings, given: Answer) -> Outcome:
    counts, low = counting.headings(given.whole, rule.level), 1 if (rule.min, rule.max) == (None, None) else rule.min
    return _figures(counts, "headings"), within(counts.values(), low, rule.max)


def _case(rule: kinds.Case, given: Answer) -> Outcome:
    if rule.form != "title":
        wrong = "lowercase" if rule.form == "upper" else "uppercase"
        facts, met = _none_of({f"{wrong}_letters": lambda text: _class(wrong, text)}, given)
        return facts, met if regex.search(r"[\p{Lu}\p{Ll}]", given.core) else None
    every = regex.findall(r"(?<![\p{L}\p{M}'’])[\p{Lu}\p{Lt}\p{Ll}][\p{L}\p{M}'’]*", given.whole)
    small = [word for word in every if word[0].islower()]
    # Small words may be small in a title, and some hold that they must be, so that only long ones can fail it.
    long = [word[0].islower() for word in regex.findall(r"[\p{L}\p{M}'’]{5,}", plain(given.core))]
    doubtful = all(map(str.isupper, every)) or any(regex.fullmatch(words("small"), word.lower()) for word in every[1:])
    met = None if doubtful else True
    facts = f"{len(small)} of {len(every)} words begin with a small letter"
    return facts, met if not small else False if sum(long) > len(long) / 2 else None


def _forbidden(rule: kinds.Forbidden, given: Answer) -> Outcome:
    signs = dict.fromkeys(sign for sign in rule.characters if not sign.isspace())
    counters: dict[str, Callable[[str], Counts]] = {name: lambda text, n=name: _class(n, text) for name in rule.classes}  # type: ignore[misc]
    return _none_of(counters | {f"of {sign!r}": lambda text, s=sign: _sign(s, text) for sign in signs}, given)


def _class(name: str, text: str) -> Counts:
    """Return how many of a class a page shows in prose, and how many there are with all marks, links and code."""
    if name == "emoji":
        return counting.emoji(text)
    sure, loose = table("classes")[name]
    shown = len(regex.findall(sure, text if name == "markdown" else _shown(text), regex.M))
    return {"": shown, "with marks and code": max(shown, len(regex.findall(loose, text, regex.M)))}


def _sign(sign: str, text: str) -> Counts:
    alike = unicodedata.normalize("NFKD" if sign.isalpha() else "NFKC", text).casefold()  # is "é" an "e"?
    pictures = sum(map(text.count, table("pictures").get(sign, "")))
    loose = max(text.count(sign), alike.count(unicodedata.normalize("NFKC", sign).casefold()))
    return {"": _shown(text).count(sign), "with others like it": loose + pictures}


def _shown(text: str) -> str:
    """Return the text without what only looks like prose: code, addresses and the marks of lists."""
    text = regex.sub(r"(?m)^[ \t]*\(?(?:\d{1,3}|[A-Za-z])[.)][ \t]", "", plain(regex.sub(CODE, "", text)))
    return str(regex.sub(rf"{_ADDRESS}|`[^`\n]*`", " ", text))


def _contains(rule: kinds.Contains | kinds.Excludes, given: Answer) -> Outcome:
    numbers = [_occurrences(value, rule, given) for value in rule.values]
    facts = listed_texts([_times(value, counts) for value, counts in zip(rule.values, numbers, strict=True)])
    if isinstance(rule, kinds.Contains):
        return facts, (any_of if rule.any else all_of)(within(counts, rule.min, rule.max) for counts in numbers)
    title = rf"(?im)^[^\p{{L}}\p{{N}}\n]*(?:{words('originals')})[^\n.!?]{{0,40}}(?:[:：][^\n]*|[*_]{{2}}[ \t]*)$"
    met = all_of(within(counts, 0, 0) for counts in numbers)
    return facts, None if met is False and regex.search(title, given.whole) else met


def _times(value: str, counts: Sequence[int]) -> str:
    others = f" ({max(counts)} with others like it)" if max(counts) > counts[0] else ""
    return f"{forms.quoted(value)} {'once' if counts[0] == 1 else f'{counts[0]} times'}{others}"


def _occurrences(value: str, rule: kinds.Contains | kinds.Excludes, given: Answer) -> list[int]:
    """Return how often a value surely stands in the readings, and at most: in other cases, inflected, in other words.

    A value with digits is never found absent where it is asked for: 42 may be "forty-two".
    """
    value, numbers = tidy(value), list[int]()
    exact = rule.case is not None and rule.whole_words is not None
    for text in given.texts.values():
        prose = plain(text) if regex.search(_ADDRESS, value) else regex.sub(_ADDRESS, " ", plain(text))
        sure = len(regex.findall(_exactly(value, rule), prose))
        loose = 0 if exact else len(regex.findall(_loosely(value, rule), text if rule.case else folded(text)))
        spelled = isinstance(rule, kinds.Contains) and not loose and not exact and any(map(str.isnumeric, value))
        numbers += [sure, max(sure, loose, int(spelled))]
    return numbers


def _exactly(value: str, rule: kinds.Contains | kinds.Excludes) -> str:
    """Return a pattern of the value as it stands, where words begin and end; capital where a sentence may begin."""
    before, behind = ("", "") if rule.whole_words is False else _edges(value)
    first, rest, capital = regex.escape(value[0]), _spaced(value[1:]), value[0].upper()
    if rule.case is None and len(capital) == 1 and capital != value[0]:
        begin = r"(?<=(?:\A|[\n.!?:…。\"“”„«»'‘’(\[—–-])\s*)"
        first = f"(?:{first}|{begin}{capital})"
    return f"{'(?i)' if rule.case is False else ''}{before}{first}{rest}{behind}"


def _edges(value: str) -> tuple[str, str]:
    """Return what must stand before and behind a value for it to be words of its own."""
    if regex.fullmatch(r"\p{Han}{1,2}", value):  # two characters between others may belong to two words
        return r"(?:(?<!\p{Han})|(?=\p{Han}{2}(?!\p{Han})))", ""
    other = rf"(?!{_EAST})[\p{{L}}\p{{N}}_]"
    before = r"(?<!\p{Hangul})" if regex.match(r"\p{Hangul}", value) else rf"(?<!{other})(?<![\p{{L}}\p{{N}}][-‐‑])"
    open_before, open_behind = (not x.isalnum() or regex.match(counting.UNSPACED, x) for x in (value[0], value[-1]))
    behind = "" if open_behind or regex.match(_EAST, value[-1]) else rf"(?!{other})(?![-‐‑][\p{{L}}\p{{N}}])"
    return "" if open_before else before, behind


def _spaced(value: str) -> str:
    return r"\s+".join(regex.escape(word) for word in regex.split(r"\s+", value))


def _loosely(value: str, rule: kinds.Contains | kinds.Excludes) -> str:
    """Return a pattern of all that may be meant by the value."""
    wanted = value if rule.case else folded(value)
    stems = regex.findall(r"[\p{L}\p{N}]+", wanted)
    if rule.whole_words is not None or not stems:
        before, behind = _edges(wanted) if rule.whole_words else ("", "")
        return f"{before}{_spaced(wanted)}{behind}"
    unspaced = regex.search(rf"{_EAST}|\p{{Thai}}", wanted)
    least, cut = (2, 2) if unspaced else (3, 3)
    whole, stems = stems, [regex.escape(stem[: max(least, len(stem) - cut)]) for stem in stems]
    begin = "" if unspaced else r"(?<![\p{L}\p{N}])"
    between = r"[^\p{L}\p{N}]*" if unspaced else r"[\p{L}\p{N}]*[^\p{L}\p{N}]+(?:[\p{L}\p{N}]+[^\p{L}\p{N}]+)?"
    hyphens = "[-'\\s]?".join(map(regex.escape, "".join(whole)))  # e-mail and email, check-in and check in
    return f"{begin}{between.join(stems)}|{_spaced(wanted)}|{hyphens}"


def _pieces(given: Answer) -> list[str]:
    """Return all that the answer may be, or begin or end with: its readings and each of its lines, folded."""
    return [*map(folded, given.texts.values()), *folded(given.whole).split("\n")]


def _starts_with(rule: kinds.StartsWith, given: Answer) -> Outcome:
    value = tidy(rule.value)
    behind = given.whole[len(value) :]
    if given.whole.startswith(value) and not _goes_on(value[-1:], behind[:1]):
        first, *rest = behind.split("\n", 1)  # "Hello! Here is the letter:"
        leads = rest and first.rstrip(" *_").endswith((":", "：")) and regex.search(rf"(?i){words('leads')}", first)
        return f"begins with {forms.quoted(value)}", None if leads else True
    maybe = any(without_signs(text).startswith(without_signs(folded(value))) for text in _pieces(given))
    return f"does not begin with {forms.quoted(value)}", None if maybe else False


def _ends_with(rule: kinds.EndsWith, given: Answer) -> Outcome:
    value, whole = tidy(rule.value), given.whole
    lettered, wanted = any(map(str.isalnum, value)), folded(value)
    alike = whole.endswith(value) or (not lettered and folded(whole).endswith(wanted))
    if alike and not _goes_on(whole[-len(value) - 1 : -len(value)], value[:1]):
        remark = not lettered and "\n\n" in whole and speaks(whole.split("\n\n")[-1], "notes")
        dots = value == "." and whole.endswith(("..", "…"))
        return f"ends with {forms.quoted(value)}", None if remark or dots or given.blocks else True
    if lettered:
        maybe = any(without_signs(text).endswith(without_signs(wanted)) for text in _pieces(given))
    else:  # a mark: closing quotation marks, brackets, stars and emoji may stand behind it
        maybe = any(wanted in regex.search(r"[^\p{L}\p{N}]*\Z", text)[0] for text in _pieces(given))
    return f"does not end with {forms.quoted(value)}", None if maybe else False


def _goes_on(left: str, right: str) -> bool:
    """Return whether a word goes on between two characters."""
    return left.isalnum() and right.isalnum() and not regex.search(rf"{_EAST}|\p{{Thai}}", left + right)


def _one_of(rule: kinds.OneOf, given: Answer) -> Outcome:
    if given.whole in map(tidy, rule.values):
        return f"is {forms.quoted(given.whole)}", True
    inside = any(without_signs(folded(value)) in without_signs(folded(given.whole)) for value in rule.values)
    return "is none of the texts as they stand", None if inside else False


def _pattern(rule: kinds.Pattern, given: Answer) -> Outcome:
    match = regex.fullmatch if rule.match == "full" else regex.search
    try:
        met = agreed(match(rule.regex, text, timeout=_SECONDS) is not None for text in given.texts.values())
    except TimeoutError:
        return f"the regular expression took more than {_SECONDS:.0f} s", None
    match_stated = "matches in some readings" if met is None else "matches" if met else "does not match"
    return f"the regular expression {match_stated}", met


_MEASURES: dict[str, Callable[[Any, Answer], Outcome]] = {
    "count": _count, "language": languages.language, "contains": _contains, "excludes": _contains, "csv": forms.csv_form,
    "starts_with": _starts_with, "ends_with": _ends_with, "one_of": _one_of, "pattern": _pattern, "case": _case,
    "forbidden": _forbidden, "json": forms.json_form, "table": forms.table_form, "code_block": forms.code_block,
    "headings": _headings, "listed": forms.is_list, "order": forms.order,
}  # fmt: skip
