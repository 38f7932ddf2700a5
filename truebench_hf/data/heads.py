"""The heads of judged lines: where each belongs and whether it passed, read without the rest of the line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from truebench_hf.data import jsonl
from truebench_hf.data.records import JUDGMENTS
from truebench_hf.errors import UserError
from truebench_hf.metrics.repeated import mean
from truebench_hf.text import anonymous

T = TypeVar("T")


class Head(NamedTuple):
    """What stands in the head of a line of `judgments.jsonl`: where an instance belongs, and the share of its scored
    samples that passed (of one sample 0 or 1; None: not scored)."""

    language: str
    category: str
    passed: float | None


def read_outcomes(file: Path) -> dict[str, dict[str, float | None]]:
    """By model, instance id -> the share of its scored samples that passed. Raises as `read_heads`."""
    return {model: {name: head.passed for name, head in heads.items()} for model, heads in read_heads(file).items()}


def read_heads(file: Path) -> dict[str, dict[str, Head]]:
    """By model (as strangers may see its name), instance id -> head from a `judgments.jsonl`.

    Only the head of each line is read, since files are large. Raises OSError, and UserError on lines of another form.
    """
    groups: dict[tuple[str, str], tuple[str, str]] = {}
    passed: dict[tuple[str, str], list[bool | None]] = {}
    with file.open("rb") as content:
        for where, line in jsonl.lines(content, file.name):
            text = line.decode("utf-8", "replace")
            if (head := _HEAD.match(text)) is not None:
                name, language, category, model, outcome = *head.groups()[:4], _PASSED[head[5]]
            else:
                row = jsonl.parsed(text, where)
                if not isinstance(row, dict) or not isinstance(row.get("passed", ""), bool | None) or "id" not in row:
                    raise UserError(f"{where}: not a line of {JUDGMENTS}")
                name, outcome = str(row["id"]), row["passed"]
                language, category, model = (str(row.get(field) or "") for field in ("language", "category", "model"))
            groups[model, name] = language, category
            passed.setdefault((model, name), []).append(outcome)
    public, heads = anonymous.names(model for model, _ in passed), dict[str, dict[str, Head]]()
    for (model, name), values in passed.items():
        heads.setdefault(public[model], {})[name] = Head(*groups[model, name], mean(values))
    return heads


def of_entry(by_model: Mapping[str, T], name: str) -> T | None:
    """What of a file is about the model of a board's line; what is of one model alone is, whatever the line is called."""
    return next(iter(by_model.values())) if len(by_model) == 1 else by_model.get(name)


# Texts with an escape in them are left to the JSON reader.
_HEAD = re.compile(
    r'\{"id": "([^"\\]*)", "language": "([^"\\]*)", "category": "([^"\\]*)", "task": "[^"\\]*", "model": "([^"\\]*)", '
    r'(?:"sample": \d+, )?"judge": .*?(?<!\\)"passed": (true|false|null),'
)
_PASSED = {"true": True, "false": False, "null": None}
