"""Small pieces of inputs: labelled rows, a judge's answers, and sheets filled in by annotators."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.runs import script, write_jsonl


def scripts(rules: Mapping[str, Sequence[Mapping[str, Any]]], default: Mapping[str, Any] | None = None) -> None:
    """Write one rules file a model into the current folder: `scripted:NAME.json`."""
    for name, found in rules.items():
        script(Path(f"{name}.json"), found, default)


def rows(name: str, found: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as `NAME.jsonl` into the current folder."""
    write_jsonl(Path(f"{name}.jsonl"), found)


def said(*labels: str, before: str = "As I see it.") -> str:
    """An answer of a judge with these labels."""
    labelled = {"id": "{id}"} | {f"criteria_{number}": label for number, label in enumerate(labels, 1)}
    return f"1. {before}\n```json\n{json.dumps(labelled)}\n```"


def labelled_rows(
    name: str, labels: Mapping[str, str | None], messages: Sequence[tuple[str, str]], **more: Any
) -> list[dict[str, Any]]:
    """Rows of one response, a row per rubric."""
    shared = {
        "instruction_id": name, "response_id": f"{name}-r0", "response_model": "m", "instruction_category": "constrained",
        "source_benchmark": "hand-made", "language": "EN", "response": f"Answer {name}.", "checklist": list(labels),
        "messages": [{"role": role, "content": content} for role, content in messages],
    } | more  # fmt: skip
    return [
        shared | {"id": f"{name}-c{index}", "rubric_index": index, "rubric": rubric, "label": label}
        for index, (rubric, label) in enumerate(labels.items())
    ]


def edit(table: str, change: Callable[[dict[str, str]], Mapping[str, str]]) -> Callable[[], None]:
    """A step: somebody changes cells of every row of a CSV file."""

    def step() -> None:
        with Path(table).open(encoding="utf-8-sig", newline="") as file:
            found = list(csv.DictReader(file))
        with Path(table).open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, list(found[0]))
            writer.writeheader()
            writer.writerows(row | dict(change(row)) for row in found)

    return step


def fill(sheet: str, no: Sequence[str], blank: Sequence[str] = ()) -> Callable[[], None]:
    """A step: an annotator answers yes (pass) to all, but no (fail) to what holds one of these texts; some stay blank."""

    def answered(row: dict[str, str]) -> dict[str, str]:
        everything = " ".join(row.values())
        answer = row["options"].split("|")[any(text in everything for text in no)]
        return {"answer": "" if any(text in everything for text in blank) else answer}

    return edit(sheet, answered)
