"""The form of a line of `judgments.jsonl` that a stranger wrote."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench.records import Judged, to_row
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Instance, Label, Response, Role, Verdict

_LABELS = (*get_args(Label), None)


@cache
def _fields() -> tuple[frozenset[str], frozenset[str]]:
    """The fields of a line and of a verdict, taken from the code that writes them, so that they cannot drift apart."""
    empty = Judged(Instance("", "", "", "", ()), Response("", "", ()), ((Verdict(Criterion(""), None),),))
    row = to_row(empty, "")
    return frozenset(row), frozenset(row["verdicts"][0][0])


def check_row(row: Mapping[str, Any], where: str) -> None:
    """The fields and their types; what they say is checked elsewhere. Raises UserError with `where` and the field."""
    for field in sorted(_fields()[0] ^ set(row)):
        raise UserError(f"{where}: field {str(field)[:60]!r} is {'unknown' if field in row else 'absent'}")
    for field in ("id", "language", "category", "task", "model", "judge"):
        _need(isinstance(row[field], str) and bool(row[field].strip()) and len(row[field]) <= 500, where, field, "text")
        # A page cannot carry it, and neither can the name of a file on the Hub.
        _need(data.HALF.search(row[field]) is None, where, field, "text without half a character (a lone surrogate)")
    _need(isinstance(row["passed"], bool | None), where, "passed", "true, false or null")
    _need(isinstance(row["error"], str | None), where, "error", "text or null")
    _need(_all(row["truncated"], lambda n: type(n) is int), where, "truncated", "list of numbers")
    _need(_all(row["reasoning"], lambda text: isinstance(text, str)), where, "reasoning", "list of texts")
    _need(_all(row["messages"], _is_message), where, "messages", "list of role and content")
    _need(_all(row["verdicts"], lambda turn: _all(turn, _is_verdict)), where, "verdicts", "list of lists of verdicts")
    counts = row["usage"].values() if isinstance(row["usage"], dict) else [None]
    _need(all(_is_usage(count) for count in counts), where, "usage", "object of token counts")


def _need(holds: bool, where: str, field: str, what: str) -> None:
    if not holds:
        raise UserError(f"{where}: field {field!r} must be a {what}")


def _all(values: Any, holds: Any) -> bool:
    return isinstance(values, list) and all(map(holds, values))


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"role", "content"}
        and value["role"] in get_args(Role)
        and isinstance(value["content"], str)
    )


def _is_verdict(value: Any) -> bool:
    if not isinstance(value, dict) or set(value) - {"vote_share"} != _fields()[1]:  # there where there are votes
        return False
    probability, share = value["probability"], value.get("vote_share")
    return (
        isinstance(value["criterion"], str)
        and bool(value["criterion"].strip())
        and _label(value["label"])
        and isinstance(value["reason"], str)
        and all(part is None or (type(part) in (int, float) and 0 <= part <= 1) for part in (probability, share))
        and _all(value["votes"], _label)
    )


def _label(value: Any) -> bool:
    return isinstance(value, str | None) and value in _LABELS


def _is_usage(value: Any) -> bool:
    names = {"input_tokens", "output_tokens", "reasoning_tokens", "calls"}
    return isinstance(value, dict) and set(value) <= names and all(type(n) is int and n >= 0 for n in value.values())
