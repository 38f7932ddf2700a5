"""Rows against strict features: what does not fit is an error with file, line and field."""

from __future__ import annotations

import re
from typing import Any

import datasets

from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError

_KINDS = {
    "string": (str, "a text"), "bool": (bool, "true or false"), "int64": (int, "a whole number"),
    "int32": (int, "a whole number"),
}  # fmt: skip


def fitted(record: Record, features: datasets.Features, *, nullable: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The row of a record that holds exactly the columns of `features`, each value of its type.

    Fields named in `nullable` may be null, and entries of a list named in it as `field[]`. Raises UserError naming where
    the row stands and the field that is wrong.
    """
    _check(record.row, features, record.where, "", nullable)
    return {name: record.row[name] for name in features}


def _check(value: Any, feature: Any, where: str, name: str, nullable: frozenset[str]) -> None:
    if value is None and re.sub(r"\[\d+\]$", "[]", name.rpartition(".")[2]) in nullable:
        return
    if isinstance(feature, dict):
        _check_fields(value, feature, where, name, nullable)
    elif isinstance(feature, datasets.List):
        if not isinstance(value, list):
            raise _wrong(where, name, "must be a list")
        for number, item in enumerate(value):
            _check(item, feature.feature, where, f"{name}[{number}]", nullable)
    elif isinstance(feature, datasets.ClassLabel):
        if value not in feature.names:
            raise _wrong(where, name, f"is {value!r}, which is none of {', '.join(feature.names)}")
    else:
        kind, shown = _KINDS[feature.dtype]
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            raise _wrong(where, name, f"must be {shown}")


def _check_fields(value: Any, features: dict[str, Any], where: str, name: str, nullable: frozenset[str]) -> None:
    if not isinstance(value, dict):
        raise _wrong(where, name, "must be an object")
    prefix, kind = (f"{name}.", "object") if name else ("", "file")
    for field in features:
        if field not in value:
            raise UserError(f"{where}: missing field {prefix + field!r}; {Record(where, value, kind=kind).there}")
    for field in value:
        if field not in features:
            raise _wrong(where, prefix + field, f"is no column of this set, which are {', '.join(features)}")
    for field, feature in features.items():
        _check(value[field], feature, where, prefix + field, nullable)


def _wrong(where: str, name: str, what: str) -> UserError:
    return UserError(f"{where}: field {name!r} {what}")
