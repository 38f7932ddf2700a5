"""Cases that stand as text: `cases/NAME.yaml` has their inputs, file by file, and their steps.

`about` says what the cases are on. A case has a `name`, `files` and `steps`; `like: NAME` gives it the files of a case
above it. Files by suffix:

- `.jsonl`: rows. `{index: 1, asked: {PROMPT: [CRITERION]}}` is an official row, and `{labelled: NAME, labels: {RUBRIC:
  LABEL}, messages: [[ROLE, TEXT]]}` a row for each rubric of one response; both take more columns.
- `.json`: the rules of a scripted model. In place of a text `{said: [PASS, FAIL]}` is a judge's answer with these
  labels, and `{json: VALUE, before: TEXT}` a JSON value, fenced where something stands before it.
- all else: text.

A step is a command; or somebody at work on a sheet or a file (`STEPS`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.golden.case import Case, Step
from tests.golden.cases.inputs import edit, fill, labelled_rows, said
from tests.support.runs import row, script, write_jsonl


def read_cases(file: Path) -> tuple[Case, ...]:
    """The cases of a YAML file."""
    found: dict[str, Case] = {}
    files: dict[str, Mapping[str, Any]] = {}
    for case in yaml.safe_load(file.read_text(encoding="utf-8"))["cases"]:
        name = case["name"]
        files[name] = {**files.get(case.get("like"), {}), **case.get("files", {})}
        found[name] = Case(name, partial(write_files, files[name]), tuple(map(read_step, case["steps"])))
    return tuple(found.values())


def write_files(files: Mapping[str, Any]) -> None:
    for name, content in files.items():
        path = Path(name)
        if path.suffix == ".jsonl":
            write_jsonl(path, [row for entry in content for row in _rows(entry)])
        elif path.suffix == ".json":
            script(path, _spoken(content["rules"]), _spoken(content.get("default")))
        else:
            path.write_text(content, encoding="utf-8")


def _rows(entry: dict[str, Any]) -> list[dict[str, Any]]:
    entry = dict(entry)
    if "asked" in entry:
        return [row(entry.pop("index"), list(entry.pop("asked").items()), **entry)]
    if "labelled" in entry:
        return labelled_rows(entry.pop("labelled"), **entry)
    return [entry]


def _spoken(value: Any) -> Any:
    """Rules with texts in place of `said` and `json`."""
    if isinstance(value, list):
        return [_spoken(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "said" in value:
        return said(*value["said"], **{name: text for name, text in value.items() if name != "said"})
    if "json" in value:
        text = json.dumps(value["json"])
        return f"{value['before']}\n```json\n{text}\n```" if "before" in value else text
    return {key: _spoken(item) for key, item in value.items()}


def _decide(sheet: str, by: Mapping[str, Sequence[str]]) -> Callable[[], None]:
    """A step: somebody answers rows of a sheet by what they hold, with an answer and a note.

    `A & B` is about rows that hold both, `COLUMN=A` about those that hold it there.
    """

    def decided(cells: dict[str, str]) -> dict[str, str]:
        def holds(text: str) -> bool:
            column, _, word = text.partition("=")
            return word in cells[column] if column in cells else text in " ".join(cells.values())

        pairs = (pair for texts, pair in by.items() if all(map(holds, texts.split(" & "))))
        answer, note = next(pairs, ("", ""))
        return {"answer": answer, "note": note}

    return edit(sheet, decided)


def _edit(file: str, line: int, to: Mapping[str, Any]) -> Callable[[], None]:
    """A step: somebody changes fields of a row of a JSON Lines file, the first being 0."""

    def step() -> None:
        lines = [json.loads(text) for text in Path(file).read_text("utf-8").split("\n") if text]
        lines[line] |= to
        write_jsonl(Path(file), lines)

    return step


STEPS: dict[str, Callable[..., Callable[[], None]]] = {"fill": fill, "decide": _decide, "edit": _edit}


def read_step(step: str | dict[str, Any]) -> Step:
    if isinstance(step, str):
        return step
    kind, *_ = step
    return STEPS[kind](*step.values())
