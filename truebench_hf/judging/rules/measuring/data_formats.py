"""JSON and CSV: an answer that is nothing else, bare or in one code block. With text around it nobody can tell."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import regex

from truebench_hf.judging.rules.measuring.answers import Answer
from truebench_hf.judging.rules.measuring.outcomes import agreed, all_of
from truebench_hf.judging.rules.measuring.ranges import CountRange, enumerated
from truebench_hf.rules import Csv, Json, Table

_AT_MARGIN = regex.compile(r"^[\[{]", regex.MULTILINE)
_PROSE = 8  # words of a cell that is no datum but part of a sentence
_CONSTANT = regex.compile(r"[\[{]")


def of_json(rule: Json, answer: Answer) -> tuple[str, bool | None]:
    """(what it is, whether it is JSON with these keys)."""
    value, fault = _read(_bare(answer))
    if fault:
        return f"no valid JSON: {fault}", None if _some_json(answer) else False
    if not isinstance(value, dict | list):
        return "JSON, but no object or list", None
    if rule.shape == ("list" if isinstance(value, dict) else "object"):  # "a JSON object" may be said of any JSON
        return f"valid JSON, {'an object' if isinstance(value, dict) else 'a list'}", None
    missing = [key for key in rule.keys if not _has(value, key)]
    what = f"an object with {len(value)} keys" if isinstance(value, dict) else f"a list of {len(value)}"
    facts = f"valid JSON, {what}" + (f", without the keys {enumerated(missing)}" if missing else "")
    return facts, True if not missing else None if any(_somewhere(value, key) for key in missing) else False


def _bare(answer: Answer) -> str:
    """The content of a code block that is all there is, else the whole."""
    return answer.fenced if answer.fenced is not None and answer.core == answer.fenced else answer.whole


def _read(text: str) -> tuple[Any, str]:
    """(value, "") or (None, what is wrong). NaN and Infinity, which Python reads, are no JSON."""
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=_constant), ""
    except json.JSONDecodeError as error:
        return None, f"{error.msg} in line {error.lineno}, column {error.colno}" if text else "it is empty"
    except (ValueError, RecursionError) as error:
        return None, str(error) if isinstance(error, ValueError) else "it is nested too deep"


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _some_json(answer: Answer) -> bool:
    """Whether part of the answer is, or some lenient reader would take it for, JSON."""
    candidates = [answer.fenced or "", answer.core]
    for text in (answer.whole, answer.core):
        start, end = _CONSTANT.search(text), max(text.rfind("}"), text.rfind("]"))
        candidates += [text[start.start() : end + 1]] if start and end > start.start() else []
    lines = [line for line in answer.whole.split("\n") if line.strip()]
    if lines and all(not _read(line)[1] for line in lines[:200]):
        return True
    if any(_begins_json(answer.whole[place.start() :]) for place in islice(_AT_MARGIN.finditer(answer.whole), 20)):
        return True
    relaxed = [regex.sub(r"\b(?:NaN|-?Infinity)\b", "null", text) for text in candidates]
    return any(text and not _read(text)[1] for text in [*candidates, *relaxed]) or answer.whole.count("```") > 2


def _begins_json(text: str) -> bool:
    """Whether valid JSON stands at the beginning of a text."""
    with suppress(ValueError, RecursionError):
        return isinstance(json.JSONDecoder().raw_decode(text)[0], dict | list)
    return False


def _has(value: Any, key: str) -> bool:
    if isinstance(value, dict):
        return key in value
    return bool(value) and all(isinstance(one, dict) and key in one for one in value)


def _somewhere(value: Any, key: str) -> bool:
    """Whether a key stands anywhere, in any case and with blanks or hyphens for underscores."""
    wanted, waiting = _folded(key), [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            if any(_folded(name) == wanted for name in one):
                return True
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return False


def _folded(key: str) -> str:
    return str(regex.sub(r"[\W_]+", "", key)).casefold()


def of_csv(rule: Csv, answer: Answer) -> tuple[str, bool | None]:
    """(rows and columns, whether it is CSV within the bounds)."""
    found = [_grid(text) for text in dict.fromkeys((_bare(answer), *answer.readings)) if text]
    if not found or not found[0]:
        return "no rows", False if not answer.whole else None
    grid = found[0]
    widths = sorted({len(row) for row in grid})
    if widths == [1]:
        other = any(sign in answer.whole for sign in (";", "\t", "|", "，"))
        return "no commas that set columns apart", None if other or rule.max_columns == 1 else False
    facts = f"{len(grid)} lines, {' or '.join(map(str, widths)) if len(widths) < 4 else f'{widths[0]} to {widths[-1]}'} columns"
    met = agreed(_fits(rule, grid) for grid in found if grid)
    return facts, None if met and _is_prose(answer.whole, grid) else met


def _is_prose(text: str, grid: Sequence[Sequence[str]]) -> bool:
    """Whether rows may be lines of sentences, with their commas."""
    ended = sum(1 for line in text.split("\n") if regex.search(r"\p{L}[.!?][\"”]?\s*$", line))
    wordy = any(len(cell.split()) > _PROSE for cell in grid[0])
    blanks = sum(1 for line in text.split("\n") if regex.search(r"\w, \w", line))
    return (
        len(grid) < 2
        or wordy
        or 2 * ended > len(grid)
        or (2 * blanks > len(grid) and '"' not in text and len(grid[0]) < 3)
    )


def _grid(text: str) -> list[list[str]]:
    """The rows of a text as CSV; those of a quoting that does not close are split at every comma."""
    try:
        rows = list(csv.reader(io.StringIO(text), skipinitialspace=True, strict=True))
    except csv.Error:
        rows = [line.split(",") for line in text.split("\n")]
    return [row for row in rows if any(cell.strip() for cell in row)]


def _fits(rule: Csv, grid: Sequence[Sequence[str]]) -> bool | None:
    if len({len(row) for row in grid}) > 1:
        return False
    return within(rule, len(grid) - 1, len(grid), len(grid[0]), grid[0])


def within(rule: Csv | Table, rows: int, all_rows: int, columns: int, header: Sequence[str]) -> bool | None:
    """Whether so many rows, with or without the header, and columns lie within the bounds, and columns have the names."""
    number = CountRange.of(rows, rows, all_rows).within(rule.min_rows, rule.max_rows)
    width = CountRange.of(columns, columns, columns).within(rule.min_columns, rule.max_columns)
    there = {_folded(cell) for cell in header}
    exact = {cell.strip() for cell in header}
    named = (
        True if set(rule.header) <= exact else None if all(_folded(name) in there for name in rule.header) else False
    )
    return all_of((number, width, named))
