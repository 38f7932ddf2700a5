"""Finished runs with outcomes of one's choice, made by scripted models through the real run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.runs import row, script, write_jsonl
from tests.support.stages import run
from truebench_hf.benchmarks.truebench.data import RunOptions

Passed = Mapping[str, bool | None]


def finished(folder: Path, model: str, passed: Passed, *, judge: str = "judge", data: str = "data", **more: Any) -> str:
    """A run of a model over an instance per id, each passed or not (None: the judge is down); returns its folder.

    `languages` and `categories` by id, `asks` another prompt by id; the rest are options of the run.
    """
    languages, categories, asks = (more.pop(name, {}) for name in ("languages", "categories", "asks"))
    rows = [
        row(name, [(f"Ask <{name}>. {asks.get(name, '')}", ["is right"])], language=languages.get(name, "EN"),
            category=categories.get(name, "Editing"))
        for name in passed
    ]  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    words = {True: "right", False: "wrong", None: "broken"}
    replies = [{"contains": f"<{name}>", "reply": f"{model} is {words[ok]} on {name}"} for name, ok in passed.items()]
    judging: list[dict[str, Any]] = [
        {"contains": f"is {words[None]} on", "error": "judge out of order"},
        {"contains": f"is {words[False]} on", "verdicts": {"is right": "FAIL"}},
        {"contains": "<criteria", "verdicts": {}},
    ]
    run(
        RunOptions(
            data=write_jsonl(folder / f"{data}.jsonl", rows), model=script(folder / f"{model}.json", replies),
            judge=(script(folder / f"{judge}.json", judging),), out=str(folder / "runs" / model), **more,
        )
    )  # fmt: skip
    return str(folder / "runs" / model)


def numbered(outcomes: Sequence[bool | None]) -> dict[str, bool | None]:
    """An instance for every outcome: q0, q1 ..."""
    return {f"q{number}": outcome for number, outcome in enumerate(outcomes)}


def table(path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    """A JSON table; returns the path as text."""
    path.write_text(json.dumps(list(rows)), encoding="utf-8")
    return str(path)


def golden(case: str, folder: Path, name: str = "out") -> str:
    """A run folder as tests/golden holds it, with a line per object again."""
    held = Path(__file__).parents[1] / "golden" / "expected" / case / name
    folder.mkdir()
    for file in filter(Path.is_file, held.iterdir()):
        decoder, text, rows = json.JSONDecoder(), file.read_text().lstrip(), []
        while file.suffix == ".jsonl" and text:
            found, end = decoder.raw_decode(text)
            rows.append(json.dumps(found) + "\n")
            text = text[end:].lstrip()
        (folder / file.name).write_text("".join(rows) or text)
    return str(folder)
