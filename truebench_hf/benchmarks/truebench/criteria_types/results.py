"""What comes of a comparison of criteria: scores, files and report, with what people say where they were asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.criteria_types import people as raters
from truebench_hf.benchmarks.truebench.criteria_types.people import People
from truebench_hf.benchmarks.truebench.criteria_types.scores import Row, score
from truebench_hf.benchmarks.truebench.criteria_types.sections import LEAD, TITLE, sections
from truebench_hf.benchmarks.truebench.criteria_types.skills import skills_by_category
from truebench_hf.data.records import RESPONSES, response_lines
from truebench_hf.report import labels
from truebench_hf.study.notes import cut_off, weak_judges
from truebench_hf.study.outcome import Outcome

SCORES, RATINGS = "scores.json", "ratings.jsonl"
FILES = (SCORES, RATINGS, RESPONSES)


def outcome(
    folder: Path, rows: Sequence[Row], models: Sequence[str], judge: str, usage: Mapping[str, Any], seed: int
) -> Outcome[dict[str, Any]]:
    """The outcome of these rows, with the labels of people that lie in the folder."""
    own = labels.read_rows(folder / labels.FILE, raters.OPTIONS)
    people = raters.read(own, [row.id for row in rows]) if own else None
    result = score(rows, models, people, usage, seed)
    files = {
        RATINGS: [line for row in rows for line in _lines(row, people)],
        RESPONSES: response_lines([(row.instance, row.response) for row in rows]),
        SCORES: result,
    }
    return Outcome(
        result, files, TITLE, sections(result), lead=f"{LEAD}, judged by {judge}",
        notes=_notes(folder, rows, people, judge), facts={"Judge": judge, "Models": ", ".join(models)},
        incomplete=result["incomplete"],
    )  # fmt: skip


def _notes(folder: Path, rows: Sequence[Row], people: People | None, judge: str) -> list[str]:
    notes = cut_off(sum(bool(row.response.truncated) for row in rows)) + weak_judges([judge])
    strange = [row for row in rows if "flask" in row.rated and row.instance.category not in skills_by_category()]
    if strange:
        notes.append(
            f"Responses in categories that the paper names no skills for, which flask leaves open: {len(strange)}; --type "
            f"names the types to compare, {', '.join(skills_by_category())} are the categories."
        )
    if people is None:
        return [
            *notes,
            f"Nobody has rated these responses yet: `truebench label out {folder}` writes sheets without criteria, and "
            f"`truebench label in {folder}` reads them and compares.",
        ]
    if people.asked < raters.RATERS:
        notes.append(f"Raters of a response: {people.asked}, of whom the paper has {raters.RATERS}.")
    if people.strangers:
        first = people.strangers[0]
        notes.append(f"Labels of other responses, left out: {len(people.strangers)} (the first: {first}).")
    return notes


def _lines(row: Row, people: People | None) -> list[dict[str, Any]]:
    """The lines of `ratings.jsonl` for a response: one a type."""
    facts: dict[str, Any] = {"id": row.instance.id, "model": row.response.model, "response_id": row.id}
    if people:
        facts |= {"people": people.passed[row.id], "people_open": people.open.get(row.id, "")}
    return [facts | {"type": name} | asdict(rated) for name, rated in row.rated.items()]
