"""The vocabulary of rules as issue 32 fixes it, for data that must not depend on the code that reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

UNITS = (
    "words", "characters", "characters_no_spaces", "characters_with_spaces", "sentences", "questions", "lines", "paragraphs",
    "list_items", "emoji", "hashtags",
)  # fmt: skip
CLASSES = (
    "digits", "letters", "latin_letters", "uppercase", "lowercase", "emoji", "punctuation", "commas", "markdown",
)  # fmt: skip
PARTS = ("whole", "paragraph", "line", "item", "sentence")
MARKS = ("any", "bullet", "number")
GRID = {"min_rows": int, "max_rows": int, "min_columns": int, "max_columns": int, "header": list}
BOUNDS = {"min": int, "max": int}
TEXTS = {"values": list, "whole_words": bool, "case": bool}
# Per kind its fields: a type, or the values that are allowed.
FIELDS: dict[str, dict[str, Any]] = {
    "count": {"unit": UNITS, **BOUNDS, "per": PARTS, "mark": MARKS},
    "language": {"codes": list},
    "contains": {**TEXTS, **BOUNDS, "any": bool},
    "excludes": TEXTS,
    "starts_with": {"value": str},
    "ends_with": {"value": str},
    "case": {"form": ("upper", "lower", "title")},
    "pattern": {"regex": str, "match": ("search", "full")},
    "json": {"shape": ("any", "object", "list"), "keys": list},
    "csv": GRID,
    "table": GRID,
    "code_block": {"language": str},
    "listed": {"mark": MARKS},
    "headings": {**BOUNDS, "level": int},
    "order": {"by": ("alphabetical", "numeric"), "reverse": bool},
    "one_of": {"values": list},
    "forbidden": {"characters": str, "classes": list},
    "all": {"rules": list},
    "any": {"rules": list},
}
REQUIRED = {
    "count": ("unit",), "language": ("codes",), "contains": ("values",), "excludes": ("values",), "starts_with": ("value",),
    "ends_with": ("value",), "case": ("form",), "pattern": ("regex",), "order": ("by",), "one_of": ("values",),
    "all": ("rules",), "any": ("rules",),
}  # fmt: skip


def faults(rule: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a rule."""
    kind = rule.get("kind", "")
    if kind not in FIELDS:
        yield f"unknown kind {kind!r}"
        return
    yield from (f"{kind} without {name}" for name in REQUIRED.get(kind, ()) if not rule.get(name))
    for name, value in rule.items():
        if name == "kind":
            continue
        allowed = FIELDS[kind].get(name)
        if allowed is None or (value not in allowed if isinstance(allowed, tuple) else type(value) is not allowed):
            yield f"{kind}: {name} = {value!r}"
    if kind in ("count", "headings") and not {"min", "max"} & set(rule):
        yield f"{kind} without bounds"
    if rule.get("min", 0) > rule.get("max", rule.get("min", 0)):
        yield f"{kind}: min above max"
    if kind == "pattern":
        re.compile(rule["regex"])
    if not set(rule.get("classes", ())) <= set(CLASSES):
        yield f"{kind}: classes {rule['classes']}"
    for part in rule.get("rules", ()):
        yield from faults(part)
