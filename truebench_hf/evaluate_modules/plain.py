"""Values and columns of other libraries as Python's own: numpy, torch, pandas, polars, Arrow, datasets, generators.

Nothing of these libraries is imported; what a value is, it says itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from truebench_hf.errors import UserError

# How each library spells "as plain Python": Arrow; pandas, polars, datasets; numpy, torch, jax; Arrow's scalars; TensorFlow.
_WAYS = ("to_pylist", "to_list", "tolist", "as_py", "numpy")


def plain(value: Any) -> Any:
    """A value of Python's own: None, bool, int, float, str, list or dict of them. What is missing (NaN, NA) is None.

    Texts stay as they are, whatever they look like. Raises UserError for what is neither.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    if isinstance(value, Mapping):
        return {str(key): plain(of) for key, of in value.items()}
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas; NaT says of itself that it is a date
        return None
    for way in _WAYS:
        if callable(made := getattr(value, way, None)):
            return plain(made())
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray | set | frozenset):  # a set has no order
        return [plain(one) for one in value]
    raise UserError(
        f"{value!r:.80} is a {type(value).__name__}: give texts, numbers, True, False, None, or lists of them"
    )


def rows(name: str, column: Any) -> list[Any]:
    """The rows of a column (or of a table, each a dict) as plain values, with the names of its `ClassLabel`s for ints.

    Raises UserError where it is one value and no column.
    """
    found = _table(column)
    listed = plain(column if found is None else found)
    if not isinstance(listed, list):
        raise UserError(f"{name}: give a list, one entry a row, not {column!r:.80}")
    feature = getattr(column, "features", None)
    return [named(row, feature) for row in listed]


def single(value: Any) -> bool:
    """Whether it is one row, and no column of rows."""
    return value is None or isinstance(value, str | bool | int | float | Mapping)


def named(value: Any, feature: Any) -> Any:
    """A plain value with the names of the classes in place of their numbers, wherever `feature` holds a `ClassLabel`.

    -1 is how `datasets` spells a label that is missing.
    """
    if value is None or feature is None:
        return value
    if isinstance(feature, Mapping) and isinstance(value, Mapping):
        return {key: named(of, feature.get(key)) for key, of in value.items()}
    if isinstance(value, list):
        inner = feature[0] if isinstance(feature, list) and feature else getattr(feature, "feature", None)
        return [named(one, inner) for one in value]
    return classed(value, feature.names) if hasattr(feature, "names") else value


def classed(value: Any, names: list[str]) -> Any:
    """The name of a class for its number, deep in lists; None for -1. What is no number stays. Raises UserError."""
    if isinstance(value, list):
        return [classed(one, names) for one in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if value == -1:
        return None
    if value not in range(len(names)):
        raise UserError(
            f"label {value!r} is not one of the classes: {', '.join(f'{n} {c}' for n, c in enumerate(names))}"
        )
    return names[int(value)]


def class_names(column: Any) -> list[str] | None:
    """The names of the classes where a column is one of `ClassLabel`s, or of lists of them; else None."""
    feature = getattr(column, "features", None)
    while feature is not None and not isinstance(feature, Mapping):
        if hasattr(feature, "names"):
            return list(feature.names)
        feature = feature[0] if isinstance(feature, list) and feature else getattr(feature, "feature", None)
    return None


def _table(column: Any) -> Any:
    """The rows of a table of polars, Arrow or pandas; None where it is none."""
    if not hasattr(column, "columns"):
        return None
    made = getattr(column, "to_dicts", None) or getattr(column, "to_pylist", None)
    return made() if made else column.to_dict("records")
