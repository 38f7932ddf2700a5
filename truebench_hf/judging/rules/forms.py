"""What has a form: JSON, CSV, tables, code, headings, lists and their order; and how readings come to one outcome."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import regex

from truebench_hf import rules as kinds
from truebench_hf.judging.rules import counting
from truebench_hf.judging.rules.readings import HEADING, ITEM, Answer, plain, speaks, table, without_signs

Outcome = tuple[str, bool | None]


def all_of(outcomes: Iterable[bool | None]) -> bool | None:
    """Return whether all hold: one that does not settles it, one that is open leaves it open."""
    every = list(outcomes)
    return False if False in every else None if None in every else True


def any_of(outcomes: Iterable[bool | None]) -> bool | None:
    """Return whether one holds; that none does is settled only where none is open."""
    every = list(outcomes)
    return True if True in every else None if None in every else False


def agreed(outcomes: Iterable[bool | None]) -> bool | None:
    every = set(outcomes)
    return every.pop() if len(every) == 1 else None


def within(numbers: Iterable[int], low: int | None, high: int | None) -> bool | None:
    """Return whether all of these numbers, or none that lies between them, keep to the bounds."""
    every = list(numbers)
    least, most = low or 0, float("inf") if high is None else high
    if least <= min(every) and max(every) <= most:
        return True
    return False if max(every) < least or min(every) > most else None


def listed_texts(values: Sequence[object], most: int = 8) -> str:
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(map(str, values[:most])) + more


def quoted(value: str) -> str:
    return repr(value if len(value) <= 40 else f"{value[:39]}…")


def json_form(rule: kinds.Json, given: Answer) -> Outcome:
    value, fault = _read_json(given.data)
    if fault:
        return f"no valid JSON: {fault}", None if _some_json(given) else False
    if not isinstance(value, dict | list):
        return "JSON, but no object or list", None
    single = isinstance(value, dict)
    facts = f"valid JSON, {f'an object with {len(value)} keys' if single else f'a list of {len(value)}'}"
    if rule.shape == ("list" if single else "object"):  # "a JSON object" may be said of any JSON
        return facts, None
    objects = [value] if single else value
    missing = [key for key in rule.keys if not objects or not all(isinstance(x, dict) and key in x for x in objects)]
    names = {without_signs(name).casefold() for name in _names(value)}
    alike = any(without_signs(key).casefold() in names for key in missing)
    return facts + (f", without the keys {listed_texts(missing)}" if missing else ""), None if alike else not missing


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


def csv_form(rule: kinds.Csv, given: Answer) -> Outcome:
    grids = [grid for text in dict.fromkeys((given.data, *given.texts.values())) if (grid := _rows(text))]
    if not grids:
        return "no rows", False
    rows, lines, whole = grids[0], given.whole.split("\n"), given.whole
    widths = sorted(set(map(len, rows)))
    if widths == [1]:
        other = any(sign in whole for sign in (";", "\t", "|", "，")) or rule.max_columns == 1
        return "no commas that set columns apart", None if other else False
    ended = sum(bool(regex.search(r"\p{L}[.!?][\"”]?\s*$", line)) for line in lines)
    spaced = sum(bool(regex.search(r"\w, \w", line)) for line in lines)
    wordy = 2 * spaced > len(lines) and '"' not in whole and len(rows[0]) < 3
    prose = wordy or len(rows) < 2 or any(len(cell.split()) > 8 for cell in rows[0]) or 2 * ended > len(lines)
    met = agreed(_fits(rule, grid) if len(set(map(len, grid))) == 1 else False for grid in grids)
    return f"{len(rows)} lines, {listed_texts(widths, 3)} columns", None if met and prose else met


def _rows(text: str) -> list[list[str]]:
    """Return the rows of a text as CSV; those of a quoting that does not close are split at every comma."""
    try:
        rows = list(csv.reader(io.StringIO(text), skipinitialspace=True, strict=True))
    except csv.Error:
        rows = [line.split(",") for line in text.split("\n")]
    return [row for row in rows if any(cell.strip() for cell in row)]


def _fits(rule: kinds.Csv | kinds.Table, rows: Sequence[Sequence[str]]) -> bool | None:
    """Return whether rows, with or without the header, and columns lie within the bounds, and columns have the names."""
    number = within((len(rows) - 1, len(rows)), rule.min_rows, rule.max_rows)
    width = within([len(rows[0])], rule.min_columns, rule.max_columns)
    cells, folded = {cell.strip() for cell in rows[0]}, {without_signs(cell).casefold() for cell in rows[0]}
    named = [name in cells or (None if without_signs(name).casefold() in folded else False) for name in rule.header]
    return all_of((number, width, *named))


@cache
def _markdown() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").disable("inline")


def table_form(rule: kinds.Table, given: Answer) -> Outcome:
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
    return listed_texts(facts, 3), agreed(_fits(rule, rows) for rows in tables)


def code_block(rule: kinds.CodeBlock, given: Answer) -> Outcome:
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
    return f"code blocks: {listed_texts(shown)}", met


def is_list(rule: kinds.Listed, given: Answer) -> Outcome:
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


def order(rule: kinds.Order, given: Answer) -> Outcome:
    """Hold the items of a list in order; several lists, or a table, leave open what is not."""
    outcomes, number = list[bool | None](), 0
    for text in given.texts.values():
        listed = [plain(item) for _, _, item in counting.top_level(counting.items(text))]
        texts = [part for part in listed or plain(text).split("\n") if part.strip()]
        number = number or len(texts)
        sure, others = (_numeric_keys if rule.by == "numeric" else _letter_keys)(texts) if len(texts) > 1 else ([], [])
        met = agreed(_rising(keys, rule.reverse) for keys in sure)
        doubtful = any(_rising(keys, rule.reverse) for keys in others) or len(counting.lists(text)) > 1 or "|" in text
        outcomes.append(None if met is False and doubtful else met)
    met = agreed(outcomes)
    return f"{number} items {'whose order is not clear' if met is None else 'in order' if met else 'not in order'}", met


Keys = tuple[list[list[Any]], list[list[Any]]]
"""The ways to compare texts, all of which must agree, and others by which a few order them; none by itself."""


def _numeric_keys(texts: Sequence[str]) -> Keys:
    numbers = [regex.findall(r"[-−]?\d+(?:[.,]\d+)*", text.replace("−", "-")) for text in texts]
    ends = [[row[at] for row in numbers] for at in (0, -1)] if all(numbers) else []
    return [[_number(value, sign) for value in row] for row in ends for sign in ",."], []


def _letter_keys(texts: Sequence[str]) -> Keys:
    if any(regex.match(r"[^\p{L}\p{N}]*\p{Han}", text) for text in texts):  # by sound, by strokes, by radicals
        return [], []
    small, bare = [text.casefold() for text in texts], [without_signs(text).casefold() for text in texts]
    article = r"^(?:the|an?|der|die|das|le|la|les|l['’]|el|los|las|il|lo|gli|i|o|os|as)\s+"
    without = [without_signs(regex.sub(article, "", text)) for text in small]
    accents = [regex.sub(r"\p{M}+", "", unicodedata.normalize("NFKD", text)) for text in bare]
    parts = [regex.findall(r"\d+|\D+", text) for text in bare]
    natural = [[(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in every] for every in parts]
    names = [without_signs(text.split()[-1]).casefold() for text in texts if len(text.split()) < 5]
    foreign = any(regex.search(r"[^\Wa-z0-9а-я가-힣]", text) for text in bare)  # each language has an order of its own
    others = [list(texts), *([names] if len(names) == len(texts) else []), *([[]] if foreign else [])]
    return [small, bare, accents, without, natural], others


def _number(value: str, thousands: str) -> float:
    number = value.replace(thousands, "").replace(",", ".")
    return float(number) if number.count(".") < 2 else float("nan")


def _rising(keys: Sequence[Any], reverse: bool) -> bool:
    return all(left >= right if reverse else left <= right for left, right in pairwise(keys))
