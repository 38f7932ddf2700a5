"""What rules decided of real texts before they were rewritten (`decided_before.jsonl`), played against the code there is.

A row is a criterion, "1004.0.2" (index, turn and place in TRUEBench v0.6.1) or its own text, with the texts of which
the rules said "yes" and "no". A text is built from prompts of v0.6.1: "1004.0" is the first prompt of index 1004,
":w120" its first 120 words (between spaces), ":c" characters, ":s" sentences (up to a mark), ":l" lines with something
on them; ":b" makes bullets of its lines, ":n" numbers them, ":t" makes a table row of each, ":f" puts it in a code
fence, ":j" in a JSON object; "+" joins two texts as paragraphs. So the release itself is not part of the repository.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STORED = Path(__file__).parent / "decided_before.jsonl"
_UNITS = {
    "w": re.compile(r"\s*\S+"),
    "c": re.compile(r".", re.DOTALL),
    "s": re.compile(r"[^.!?。！？]*(?:[.!?。！？]+(?=\s|$)|[。！？]+|[.!?]+|$)"),
    "l": re.compile(r"\n*[^\n]*\S[^\n]*"),
}


def release(path: Path) -> dict[int, dict[str, Any]]:
    """Return the rows of the release by their index."""
    with path.open(encoding="utf-8") as lines:
        return {row["index"]: row for row in map(json.loads, lines)}


def criterion_text(name: str, rows: dict[int, dict[str, Any]]) -> str:
    """Return the criterion that a row is about: by its place in the release, else the text itself."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", name):
        return name
    index, turn, place = map(int, name.split("."))
    return str(rows[index]["criteria"][turn][place])


def build_text(recipe: str, rows: dict[int, dict[str, Any]]) -> str:
    """Return the text that a recipe names."""
    return "\n\n".join(_piece(part, rows) for part in recipe.split("+"))


def _piece(recipe: str, rows: dict[int, dict[str, Any]]) -> str:
    source, *steps = recipe.split(":")
    index, turn = map(int, source.split("."))
    text = str(rows[index]["input"][turn])
    for step in steps:
        text = _changed(text, step)
    return text


def _changed(text: str, step: str) -> str:
    if step[0] in _UNITS:
        return "".join(_UNITS[step[0]].findall(text)[: int(step[1:])]).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if step == "b":
        return "\n".join(f"- {line}" for line in lines)
    if step == "n":
        return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
    if step == "t":
        return "\n".join(
            ["| Nr. | Text |", "|---|---|", *(f"| {place} | {line} |" for place, line in enumerate(lines, 1))]
        )
    return f"```\n{text}\n```" if step == "f" else json.dumps({"text": text}, ensure_ascii=False)


def decide(criterion: str, text: str) -> str:
    """Return what the rules of today decide: "yes", "no", or "" where they leave it open."""
    from truebench_hf.data.judged import Case
    from truebench_hf.judging.rules.deciding import ruled
    from truebench_hf.types import Criterion

    verdict = ruled(Case("", text, (Criterion(criterion),)), "decide").verdicts.get(0)
    return verdict.label if verdict else ""


def replayed(rows: dict[int, dict[str, Any]], every: int = 1) -> Iterator[tuple[str, str, str, str]]:
    """Yield per stored decision the criterion, the recipe of the text, what was decided before, and what is today.

    With `every` of N only each N-th decision of all.
    """
    stored = [json.loads(line) for line in STORED.read_text(encoding="utf-8").splitlines()]
    cases = [(row["criterion"], recipe, label) for row in stored for label in ("yes", "no") for recipe in row[label]]
    for name, recipe, label in cases[::every]:
        criterion = criterion_text(name, rows)
        yield criterion, recipe, label, decide(criterion, build_text(recipe, rows))
