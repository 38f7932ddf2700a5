"""A rule held against a response: what was measured, and whether the rule is met where no reading leaves a doubt.

A rule decides only where every reading of the answer and every way to count agrees; else the figures stand for a judge.
An outcome is True (met), False (not met) or None (open).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

import regex

from truebench_hf import rules as kinds
from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.judging.rules import counting, languages
from truebench_hf.judging.rules.readings import HEADING, ITEM, Answer, answer, plain, speaks, table, tidy, words
from truebench_hf.normal_form import normal_form

_LONGEST = 100_000  # characters of a response that are read
_UNMARKED = "without marks of Markdown"  # a reading that hides what these units are told by
_OF_MARKS = ("sentences", "lines", "paragraphs", "list_items")
_SECONDS = 1.0  # that a user's regular expression may take
_EAST = r"[\p{Hangul}\p{Han}\p{Hiragana}\p{Katakana}]"
_CODE = r"(?ms)^[ \t]*(?P<f>`{3,}|~{3,}).*?(?:^[ \t]*(?P=f)[`~]*[ \t]*$|\Z)"
_ADDRESS = r"(?:https?://|www\.)\S*|(?<!\S)[^\s@]{1,100}@[^\s@]+"

Outcome = tuple[str, bool | None]


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


def all_of(outcomes: Iterable[bool | None]) -> bool | None:
    """Return whether all hold: one that does not settles it, one that is open leaves it open."""
    every = list(outcomes)
    return False if False in every else None if None in every else True


def any_of(outcomes: Iterable[bool | None]) -> bool | None:
    """Return whether one holds; that none does is settled only where none is open."""
    every = list(outcomes)
    return True if True in every else None if None in every else False


def _agreed(outcomes: Iterable[bool | None]) -> bool | None:
    every = set(outcomes)
    return every.pop() if len(every) == 1 else None


def _within(numbers: Iterable[int], low: int | None, high: int | None) -> bool | None:
    """Return whether all of these numbers, or none that lies between them, keep to the bounds."""
    every = list(numbers)
    least, most = low or 0, float("inf") if high is None else high
    if least <= min(every) and max(every) <= most:
        return True
    return False if max(every) < least or min(every) > most else None


def _counts(counter: Callable[[str], Mapping[str, int]], given: Answer) -> dict[str, int]:
    """Return the numbers of all readings, by how the text was read and how it was counted."""
    every = dict[str, int]()
    for reading, text in given.texts.items():
        every |= {", ".join(filter(None, (reading, way))): number for way, number in counter(text).items()}
    return every


def _figures(counts: Mapping[str, int], unit: str) -> str:
    """Return the usual number, and the least and the most that others would count: "43 words; 38 without the code block"."""
    usual = counts[""]
    ends = dict.fromkeys((min(counts.values()), max(counts.values())))
    others = [f"; {end} {next(way for way in counts if counts[way] == end)}" for end in ends if end != usual]
    return f"{usual} {_unit(unit, usual)}{''.join(others)}"


def _unit(unit: str, number: int) -> str:
    name = regex.sub("_(no|with)_", lambda match: {"no": " without ", "with": " with "}[match[1]], unit).replace(
        "_", " "
    )
    return str(regex.sub(r"^(\w+?)s\b|(?<=^list item)s", r"\1", name)) if number == 1 else name


def _listed(values: Sequence[object], most: int = 8) -> str:
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(map(str, values[:most])) + more


def _count(rule: kinds.Count, given: Answer) -> Outcome:
    if rule.per != "whole":
        return _count_parts(rule, given)
    counts = _counts(lambda text: counting.count(rule, text), given)
    if rule.unit in _OF_MARKS:
        counts = {way: number for way, number in counts.items() if _UNMARKED not in way}
    met = _within(counts.values(), rule.min, rule.max)
    if met is False and rule.unit != "list_items":  # unless only a part was asked for
        alone = (_within(counting.count(rule, part).values(), rule.min, rule.max) for part in given.alone)
        met = None if any(alone) else False
    return _figures(counts, rule.unit), met


def _count_parts(rule: kinds.Count, given: Answer) -> Outcome:
    """Every part of every reading must do; to fail, each way to cut the answer must have one that fails."""
    outcomes, facts = list[bool | None](), ""
    for text in given.texts.values():
        for parts in counting.parts(rule.per, text):
            numbers = [counting.count(rule, part) for part in parts]
            every = all_of(_within(counts.values(), rule.min, rule.max) for counts in numbers)
            outcomes.append(every if parts else None)
            shown = _listed([counts[""] for counts in numbers])
            facts = facts or (f"{_unit(rule.unit, 2)} per {rule.per}: {shown}" if parts else "")
    return facts or f"no {rule.per} that can be told apart", _agreed(outcomes)


def _contains(rule: kinds.Contains, given: Answer) -> Outcome:
    numbers = [_occurrences(value, rule, given) for value in rule.values]
    outcomes = [_within(counts, rule.min, rule.max) for counts in numbers]
    return _times(rule.values, numbers), (any_of if rule.any else all_of)(outcomes)


def _excludes(rule: kinds.Excludes, given: Answer) -> Outcome:
    numbers = [_occurrences(value, rule, given) for value in rule.values]
    met = all_of(_within(counts, 0, 0) for counts in numbers)
    title = rf"(?im)^[^\p{{L}}\p{{N}}\n]*(?:{words('originals')})[^\n.!?]{{0,40}}(?:[:：][^\n]*|[*_]{{2}}[ \t]*)$"
    return _times(rule.values, numbers), None if met is False and regex.search(title, given.whole) else met


def _times(values: Sequence[str], numbers: Sequence[Sequence[int]]) -> str:
    facts = []
    for value, counts in zip(values, numbers, strict=True):
        others = f" ({max(counts)} with others like it)" if max(counts) > counts[0] else ""
        facts.append(f"{_quoted(value)} {'once' if counts[0] == 1 else f'{counts[0]} times'}{others}")
    return _listed(facts)


def _quoted(value: str) -> str:
    return repr(value if len(value) <= 40 else f"{value[:39]}…")


def _occurrences(value: str, rule: kinds.Contains | kinds.Excludes, given: Answer) -> list[int]:
    """Return how often a value surely stands in the readings, and at most: in other cases, inflected, in other words.

    A value with digits is never found absent where it is asked for: 42 may be "forty-two".
    """
    value, numbers = tidy(value), list[int]()
    exact = rule.case is not None and rule.whole_words is not None
    for text in given.texts.values():
        prose = plain(text) if regex.search(_ADDRESS, value) else regex.sub(_ADDRESS, " ", plain(text))
        sure = len(regex.findall(_exactly(value, rule), prose))
        loose = 0 if exact else len(regex.findall(_loosely(value, rule), text if rule.case else _folded(text)))
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
    open_before, open_behind = (
        not side.isalnum() or regex.match(counting.UNSPACED, side) for side in (value[0], value[-1])
    )
    behind = "" if open_behind or regex.match(_EAST, value[-1]) else rf"(?!{other})(?![-‐‑][\p{{L}}\p{{N}}])"
    return "" if open_before else before, behind


def _spaced(value: str) -> str:
    return r"\s+".join(regex.escape(word) for word in regex.split(r"\s+", value))


def _loosely(value: str, rule: kinds.Contains | kinds.Excludes) -> str:
    """Return a pattern of all that may be meant by the value."""
    wanted = value if rule.case else _folded(value)
    stems = regex.findall(r"[\p{L}\p{N}]+", wanted)
    if rule.whole_words is not None or not stems:
        before, behind = _edges(wanted) if rule.whole_words else ("", "")
        return f"{before}{_spaced(wanted)}{behind}"
    unspaced = regex.search(rf"{_EAST}|\p{{Thai}}", wanted)
    least, cut = (2, 2) if unspaced else (3, 3)
    forms = [regex.escape(stem[: max(least, len(stem) - cut)]) for stem in stems]
    between = r"[^\p{L}\p{N}]*" if unspaced else r"[\p{L}\p{N}]*[^\p{L}\p{N}]+(?:[\p{L}\p{N}]+[^\p{L}\p{N}]+)?"
    begin = "" if unspaced else r"(?<![\p{L}\p{N}])"
    hyphens = "[-'\\s]?".join(map(regex.escape, "".join(stems)))  # e-mail and email, check-in and check in
    return f"{begin}{between.join(forms)}|{_spaced(wanted)}|{hyphens}"


def _folded(text: str) -> str:
    """Return a text as a lenient reader compares it: without Markdown, accents, case and kinds of quotation marks."""
    same = str.maketrans(table("same"))
    text = normal_form("NFKD", plain(tidy(text)).translate(same)).casefold().translate(same)
    return "\n".join(" ".join(line.split()) for line in regex.sub(r"\p{M}+", "", text).split("\n")).strip()


def _bare(text: str) -> str:
    return str(regex.sub(r"[^\p{L}\p{N}]+", "", text)) or text


def _pieces(given: Answer) -> list[str]:
    """Return all that the answer may be, or begin or end with: its readings and each of its lines, folded."""
    return [*map(_folded, given.texts.values()), *_folded(given.whole).split("\n")]


def _starts_with(rule: kinds.StartsWith, given: Answer) -> Outcome:
    value = tidy(rule.value)
    behind = given.whole[len(value) :]
    if given.whole.startswith(value) and not _goes_on(value[-1:], behind[:1]):
        first, *rest = behind.split("\n", 1)  # "Hello! Here is the letter:"
        leads = rest and first.rstrip(" *_").endswith((":", "：")) and regex.search(rf"(?i){words('leads')}", first)
        return f"begins with {_quoted(value)}", None if leads else True
    maybe = any(_bare(text).startswith(_bare(_folded(value))) for text in _pieces(given))
    return f"does not begin with {_quoted(value)}", None if maybe else False


def _ends_with(rule: kinds.EndsWith, given: Answer) -> Outcome:
    value, whole = tidy(rule.value), given.whole
    said, wanted = any(map(str.isalnum, value)), _folded(value)
    alike = whole.endswith(value) or (not said and _folded(whole).endswith(wanted))
    if alike and not _goes_on(whole[-len(value) - 1 : -len(value)], value[:1]):
        remark = not said and "\n\n" in whole and speaks(whole.split("\n\n")[-1], "notes")
        dots = value == "." and whole.endswith(("..", "…"))
        return f"ends with {_quoted(value)}", None if remark or dots or given.blocks else True
    if said:
        maybe = any(_bare(text).endswith(_bare(wanted)) for text in _pieces(given))
    else:  # a mark: closing quotation marks, brackets, stars and emoji may stand behind it
        maybe = any(wanted in regex.search(r"[^\p{L}\p{N}]*\Z", text)[0] for text in _pieces(given))
    return f"does not end with {_quoted(value)}", None if maybe else False


def _goes_on(left: str, right: str) -> bool:
    """Return whether a word goes on between two characters."""
    return left.isalnum() and right.isalnum() and not regex.search(rf"{_EAST}|\p{{Thai}}", left + right)


def _one_of(rule: kinds.OneOf, given: Answer) -> Outcome:
    if given.whole in map(tidy, rule.values):
        return f"is {_quoted(given.whole)}", True
    inside = any(_bare(_folded(value)) in _bare(_folded(given.whole)) for value in rule.values)
    return "is none of the texts as they stand", None if inside else False


def _pattern(rule: kinds.Pattern, given: Answer) -> Outcome:
    match = regex.fullmatch if rule.match == "full" else regex.search
    try:
        met = _agreed(match(rule.regex, text, timeout=_SECONDS) is not None for text in given.texts.values())
    except TimeoutError:
        return f"the regular expression took more than {_SECONDS:.0f} s", None
    said = "matches in some readings" if met is None else "matches" if met else "does not match"
    return f"the regular expression {said}", met


def _case(rule: kinds.Case, given: Answer) -> Outcome:
    if rule.form != "title":
        wrong = "lowercase" if rule.form == "upper" else "uppercase"
        counts = _counts(lambda text: _class(wrong, text), given)
        cased = regex.search(r"[\p{Lu}\p{Ll}]", given.core)
        return _figures(counts, f"{wrong} letters"), _within(counts.values(), 0, 0) if cased else None
    every = regex.findall(r"(?<![\p{L}\p{M}'’])[\p{Lu}\p{Lt}\p{Ll}][\p{L}\p{M}'’]*", given.whole)
    small = [word for word in every if word[0].islower()]
    # Small words may be small in a title, and some hold that they must be, so that only long ones can fail it.
    long = [word[0].islower() for word in regex.findall(r"[\p{L}\p{M}'’]{5,}", plain(given.core))]
    doubtful = all(map(str.isupper, every)) or any(regex.fullmatch(words("small"), word.lower()) for word in every[1:])
    met = None if doubtful else True
    facts = f"{len(small)} of {len(every)} words begin with a small letter"
    return facts, met if not small else False if sum(long) > len(long) / 2 else None


def _forbidden(rule: kinds.Forbidden, given: Answer) -> Outcome:
    counts = {name.replace("_", " "): _counts(partial(_class, name), given) for name in rule.classes}
    if "markdown" in counts:
        counts["markdown"] = {way: number for way, number in counts["markdown"].items() if _UNMARKED not in way}
    for sign in dict.fromkeys(sign for sign in rule.characters if not sign.isspace()):
        counts[f"of {sign!r}"] = _counts(partial(_sign, sign), given)
    facts = [_figures(numbers, name) for name, numbers in counts.items()]
    return _listed(facts), all_of(_within(numbers.values(), 0, 0) for numbers in counts.values())


def _class(name: str, text: str) -> dict[str, int]:
    """Return how many of a class a page shows in prose, and how many there are with all marks, links and code."""
    if name == "emoji":
        return counting.emoji(text)
    sure, loose = table("classes")[name]
    shown = len(regex.findall(sure, text if name == "markdown" else _shown(text), regex.M))
    return {"": shown, "with marks and code": max(shown, len(regex.findall(loose, text, regex.M)))}


def _sign(sign: str, text: str) -> dict[str, int]:
    alike = normal_form("NFKD" if sign.isalpha() else "NFKC", text).casefold()  # is "é" an "e"?
    pictures = sum(map(text.count, table("pictures").get(sign, "")))
    loose = max(text.count(sign), alike.count(normal_form("NFKC", sign).casefold()))
    return {"": _shown(text).count(sign), "with others like it": loose + pictures}


def _shown(text: str) -> str:
    """Return the text without what only looks like prose: code, addresses and the marks of lists."""
    text = regex.sub(r"(?m)^[ \t]*\(?(?:\d{1,3}|[A-Za-z])[.)][ \t]", "", plain(regex.sub(_CODE, "", text)))
    return str(regex.sub(rf"{_ADDRESS}|`[^`\n]*`", " ", text))


def _json(rule: kinds.Json, given: Answer) -> Outcome:
    value, fault = _read_json(given.data)
    if fault:
        return f"no valid JSON: {fault}", None if _some_json(given) else False
    if not isinstance(value, dict | list):
        return "JSON, but no object or list", None
    facts = (
        f"valid JSON, an object with {len(value)} keys"
        if isinstance(value, dict)
        else f"valid JSON, a list of {len(value)}"
    )
    if rule.shape == ("list" if isinstance(value, dict) else "object"):  # "a JSON object" may be said of any JSON
        return facts, None
    objects, names = [value] if isinstance(value, dict) else value, {_bare(name).casefold() for name in _names(value)}
    missing = [key for key in rule.keys if not objects or not all(isinstance(x, dict) and key in x for x in objects)]
    met = True if not missing else None if any(_bare(key).casefold() in names for key in missing) else False
    return facts + (f", without the keys {_listed(missing)}" if missing else ""), met


def _read_json(text: str) -> tuple[Any, str]:
    """Return (value, "") or (None, what is wrong). NaN and Infinity, which Python reads, are no JSON."""
    if found := regex.search(r"(?<![\w\"])(?:NaN|-?Infinity)(?![\w\"])", text):
        return None, f"{found[0]} is no JSON"
    try:
        return json.loads(text, parse_int=str, parse_float=str), ""
    except json.JSONDecodeError as error:
        return None, f"{error.msg} in line {error.lineno}, column {error.colno}" if text else "it is empty"
    except RecursionError:
        return None, "it is nested too deep"


def _some_json(given: Answer) -> bool:
    """Return whether part of the answer is JSON, or would be to a lenient reader."""
    relaxed = regex.sub(r"\b(?:NaN|-?Infinity)\b", "null", given.whole)
    for start in [match.start() for match in regex.finditer(r"(?m)^[ \t]*(?=[\[{])", relaxed)][:20]:
        try:
            json.JSONDecoder(parse_int=str, parse_float=str).raw_decode(relaxed[start:].lstrip())
            return True
        except (ValueError, RecursionError):
            continue
    return len(given.blocks) > 1


def _names(value: Any) -> list[str]:
    """Return the keys of all objects within a value."""
    names, waiting = list[str](), [value]
    while waiting:
        part = waiting.pop()
        names += list(part) if isinstance(part, dict) else []
        waiting += list(part.values()) if isinstance(part, dict) else part if isinstance(part, list) else []
    return names


def _csv(rule: kinds.Csv, given: Answer) -> Outcome:
    grids = [grid for text in dict.fromkeys((given.data, *given.texts.values())) if (grid := _rows(text))]
    widths = sorted({len(row) for row in grids[0]}) if grids else []
    if not grids:
        return "no rows", False
    if widths == [1]:
        other = any(sign in given.whole for sign in (";", "\t", "|", "，")) or rule.max_columns == 1
        return "no commas that set columns apart", None if other else False
    lines = given.whole.split("\n")
    ended = sum(bool(regex.search(r"\p{L}[.!?][\"”]?\s*$", line)) for line in lines)
    blanks = sum(bool(regex.search(r"\w, \w", line)) for line in lines)
    wordy = 2 * blanks > len(lines) and '"' not in given.whole and len(grids[0][0]) < 3
    prose = len(grids[0]) < 2 or any(len(cell.split()) > 8 for cell in grids[0][0]) or 2 * ended > len(lines) or wordy
    met = _agreed(_fits(rule, grid) if len(set(map(len, grid))) == 1 else False for grid in grids)
    return f"{len(grids[0])} lines, {_listed(widths, 3)} columns", None if met and prose else met


def _rows(text: str) -> list[list[str]]:
    """Return the rows of a text as CSV; those of a quoting that does not close are split at every comma."""
    try:
        rows = list(csv.reader(io.StringIO(text), skipinitialspace=True, strict=True))
    except csv.Error:
        rows = [line.split(",") for line in text.split("\n")]
    return [row for row in rows if any(cell.strip() for cell in row)]


def _fits(rule: kinds.Csv | kinds.Table, rows: Sequence[Sequence[str]]) -> bool | None:
    """Return whether rows, with or without the header, and columns lie within the bounds, and columns have the names."""
    number = _within((len(rows) - 1, len(rows)), rule.min_rows, rule.max_rows)
    width = _within([len(rows[0])], rule.min_columns, rule.max_columns)
    cells, folded = {cell.strip() for cell in rows[0]}, {_bare(cell).casefold() for cell in rows[0]}
    named = [name in cells or (None if _bare(name).casefold() in folded else False) for name in rule.header]
    return all_of((number, width, *named))


@cache
def _markdown() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").disable("inline")


def _table(rule: kinds.Table, given: Answer) -> Outcome:
    tables: list[list[list[str]]] = []
    for token in _markdown().parse(given.whole) if "|" in given.whole else ():
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and tables and token.level >= 3 and token.map:
            tables[-1][-1].append(token.content.strip(" *_`"))
    if not tables:
        return "no Markdown table", None if regex.search(r"(?im)^[^\n|]*\|[^\n]*\||<table|\t", given.whole) else False
    facts = [f"a table of {len(rows) - 1} rows below the header and {len(rows[0])} columns" for rows in tables]
    return _listed(facts, 3), _agreed(_fits(rule, rows) for rows in tables)


def _code_block(rule: kinds.CodeBlock, given: Answer) -> Outcome:
    tokens = [token for token in _markdown().parse(given.whole) if token.type == "fence"]
    marks = [(token.info.split() or [""])[0].strip("{}.").casefold() for token in tokens]
    if not marks:
        return "no code block", None if regex.search(r"(?im)`|~~~|^(?: {4}|\t)|<(?:code|pre)\b", given.whole) else False
    # A mark is the response's own: nothing of it but a plain name is passed on to judges.
    shown = [mark if regex.fullmatch(r"[a-z][a-z0-9+#]{0,11}", mark) else "of no plain name" for mark in marks]
    wanted = (rule.language or "").casefold()
    names = next((names.split() for names in table("code") if wanted in names.split()), [wanted])
    closed = True if given.whole.count("```") % 2 == 0 else None
    met = closed if not wanted or set(marks) & set(names) else None if "" in marks else False
    return f"code blocks: {_listed(shown)}", met


def _headings(rule: kinds.Headings, given: Answer) -> Outcome:
    text = regex.sub(_CODE, "", given.whole)
    levels = [len(match["level"] or "") for match in regex.finditer(rf"(?m)^(?:{HEADING})$", text)]
    real = [level for level in levels if level and level == (rule.level or level)]
    titled = len(real) > 1 and real.count(real[0]) == 1 and not rule.level  # a title above the sections
    bold = levels.count(0)  # lines in bold letters, which some take for headings
    numbers = {len(real), len(real) - titled, len(real) + bold}
    low = 1 if rule.min is None and rule.max is None else rule.min
    return f"{len(real)} headings" + (f"; {len(real) + bold} with lines in bold letters" if bold else ""), _within(
        numbers, low, rule.max
    )


def _is_list(rule: kinds.Listed, given: Answer) -> Outcome:
    text = given.core if counting.items(given.core) else given.whole
    marked, lines = counting.items(text), [line for line in text.split("\n") if line.strip()]
    facts = f"{len(marked)} of {len(lines)} lines marked as list items"
    marks = {"number" if mark == "1" else "bullet" for _, mark, _ in marked}
    if len(marked) > 1 and len(marked) == len(lines) and (rule.mark == "any" or marks == {rule.mark}):
        around = [
            line for line in given.whole.split("\n") if any(map(str.isalnum, line)) and not regex.match(ITEM, line)
        ]
        spoken = (regex.fullmatch(HEADING, line) or speaks(line, "leads") or speaks(line, "notes") for line in around)
        return facts, True if all(spoken) else None
    signs = r"(?i)\s*(?:[^\p{L}\p{N}\s\"'“”‘’«»„(\[*_#]|step \d|[①-⑳]|\(?\w{1,3}[.)])"
    maybe = marked or any(regex.match(signs, line) for line in lines) or sum(len(line) < 100 for line in lines) > 2
    inline = rule.mark == "any" and len(text) < 200 and len(regex.findall(r"[,;、，；]", text)) > 1
    return facts, None if maybe or inline or given.blocks else False


def _order(rule: kinds.Order, given: Answer) -> Outcome:
    outcomes, number = list[bool | None](), 0
    for text in given.texts.values():
        listed = [plain(item) for _, _, item in counting.top_level(counting.items(text))]
        texts = [part for part in listed or plain(text).split("\n") if part.strip()]
        number = number or len(texts)
        sure, others = _keys(texts, rule) if len(texts) > 1 else ([], [])
        met = _agreed(_rising(keys, rule.reverse) for keys in sure)
        met = None if met is False and any(_rising(keys, rule.reverse) for keys in others) else met
        outcomes.append(None if met is False and (len(counting.lists(text)) > 1 or "|" in text) else met)
    met = _agreed(outcomes)
    return f"{number} items {'whose order is not clear' if met is None else 'in order' if met else 'not in order'}", met


def _keys(texts: Sequence[str], rule: kinds.Order) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return the ways to compare texts, all of which must agree, and others by which a few order them; none by itself."""
    if rule.by == "numeric":
        numbers = [regex.findall(r"[-−]?\d+(?:[.,]\d+)*", text) for text in texts]
        ends = [[row[at].replace("−", "-") for row in numbers] for at in (0, -1)] if all(numbers) else []
        return [[_number(value, sign) for value in row] for row in ends for sign in ",."], []
    if any(regex.match(r"[^\p{L}\p{N}]*\p{Han}", text) for text in texts):  # by sound, by strokes, by radicals
        return [], []
    small, bare = [text.casefold() for text in texts], [_bare(text).casefold() for text in texts]
    folded = [regex.sub(r"\p{M}+", "", normal_form("NFKD", text)) for text in bare]
    article = r"^(?:the|an?|der|die|das|le|la|les|l['’]|el|los|las|il|lo|gli|i|o|os|as)\s+"
    without = [_bare(regex.sub(article, "", text)) for text in small]
    parts = [regex.findall(r"\d+|\D+", text) for text in bare]
    natural = [[(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in every] for every in parts]
    names = (
        [_bare(text.split()[-1]).casefold() for text in texts] if all(len(text.split()) < 5 for text in texts) else []
    )
    foreign = any(regex.search(r"[^\Wa-z0-9а-я가-힣]", text) for text in bare)  # each language has an order of its own
    return [small, bare, folded, without, natural], [
        list(texts),
        *([names] if names else []),
        *([[]] if foreign else []),
    ]


def _number(value: str, thousands: str) -> float:
    number = value.replace(thousands, "").replace(",", ".")
    return float(number) if number.count(".") < 2 else float("nan")


def _rising(keys: Sequence[Any], reverse: bool) -> bool:
    return all(left >= right if reverse else left <= right for left, right in pairwise(keys))


_MEASURES: dict[str, Callable[[Any, Answer], Outcome]] = {
    "count": _count, "language": languages.language, "contains": _contains, "excludes": _excludes, "csv": _csv,
    "starts_with": _starts_with, "ends_with": _ends_with, "one_of": _one_of, "pattern": _pattern, "case": _case,
    "forbidden": _forbidden, "json": _json, "table": _table, "code_block": _code_block, "headings": _headings,
    "listed": _is_list, "order": _order,
}  # fmt: skip
