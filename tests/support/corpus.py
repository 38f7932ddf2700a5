"""Tables of cases that stand as text beside their tests."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml


@cache
def table(test: str, name: str) -> Any:
    """What `NAME.yaml` beside a test (its `__file__`) holds, or the rows of `NAME.jsonl`."""
    file = Path(test).with_name(name)
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(file.with_name(f"{name}.yaml").read_text(encoding="utf-8"), Loader=loader)


def cases(test: str, name: str, part: str) -> list[Any]:
    """The rows of a part of `NAME.yaml`, each called after its `why`."""
    return [pytest.param(row, id=row.get("why", str(number))) for number, row in enumerate(table(test, name)[part])]
