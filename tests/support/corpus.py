"""Tables of cases that stand as text beside their tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml


@cache
def table(test: str, name: str) -> Any:
    """What `NAME.yaml` beside a test (its `__file__`) holds."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(Path(test).with_name(f"{name}.yaml").read_text(encoding="utf-8"), Loader=loader)


@cache
def lines(test: str, name: str) -> list[dict[str, Any]]:
    """The rows of `NAME.jsonl` beside a test."""
    text = Path(test).with_name(f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def options_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a table has them, with tuples in place of lists."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def cases(test: str, name: str, part: str) -> list[Any]:
    """The rows of a part of `NAME.yaml`, each called after its `why`."""
    return [pytest.param(row, id=row.get("why", str(number))) for number, row in enumerate(table(test, name)[part])]


def each_row(test: str, name: str, part: str) -> pytest.MarkDecorator:
    """Run a test on every row of a part of `NAME.yaml`: its fields are the arguments, None where a row lacks one."""
    rows = [case.values[0] for case in cases(test, name, part)]
    fields = [field for field in dict.fromkeys(field for row in rows for field in row) if field != "why"]
    return pytest.mark.parametrize(
        fields, [pytest.param(*map(row.get, fields), id=row.get("why", str(n))) for n, row in enumerate(rows)]
    )
