"""What leaderboards show of a run: the final score, the unadjusted one, and both by judge, split, domain and task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from truebench_hf.benchmarks.facts.scores import Cell, GroundingScores
from truebench_hf.hashing import canonical, digest
from truebench_hf.study.board import LONGEST, Board, Column, Row
from truebench_hf.study.notes import rules_fact
from truebench_hf.study.options import numbered
from truebench_hf.text import anonymous
from truebench_hf.types import Score

KIND = "facts"
MAIN = Column("final", "Final")
UNADJUSTED = Column("unadjusted", "Unadjusted")
_GROUPS = {"domain": "Domains", "task": "Tasks", "length": "Document length", "language": "Languages"}
_MOST_GROUPS = 50  # of a kind: a leaderboard of more columns nobody reads


def board(scores: GroundingScores, made: Mapping[str, Any]) -> Board:
    """The one row of a run. Runs over the same documents are ranked together when judges and baseline are the same."""
    found = dict(_cells(scores))
    setting = digest(
        canonical(
            [
                made["documents_sha256"],
                anonymous.settings(made["judges"]),
                made["baseline"].get("sha256"),
                made.get("rules", "off"),
            ]
        )
    )
    judges = " + ".join(f"{anonymous.name(name)} ({one['template']})" for name, one in made["judges"].items())
    data = anonymous.name(str(made["data"])) + (f", sample of {made['limit']}" if made.get("limit") else "")
    judges += "".join(f" (rules {mode})" for mode in rules_fact(made).values())
    facts = {"Judge": judges, "Data": data, "Baseline": anonymous.name(str(made["baseline"]["name"]))}
    if (samples := made.get("samples", 1)) > 1:
        facts["Samples"] = str(samples)
    row = Row(
        anonymous.name(made["model"]), setting, {column.name: score for column, score in found.items()},
        {name: text[:LONGEST] for name, text in facts.items()},
    )  # fmt: skip
    return Board(MAIN.name, tuple(found), (row,))


def _cells(scores: GroundingScores) -> Iterator[tuple[Column, Score]]:
    yield MAIN, scores.all.mean.final
    yield UNADJUSTED, scores.all.mean.unadjusted
    names = numbered([anonymous.name(name)[: LONGEST // 2] for name in scores.all.judges])
    for shown, both in zip(names, scores.all.judges.values(), strict=True):
        yield Column(f"judge:{shown}", shown, "Judges, final"), both.final
        yield Column(f"unadjusted:{shown}", shown, "Judges, unadjusted"), both.unadjusted
    for name, cell in scores.splits.items():
        yield Column(f"split:{name}", name, "Splits"), cell.mean.final
    for column, cells in scores.by.items():
        base, mark, more = column.partition(" (")  # domain (classified): a model's word, not the data's
        yield from _group(column, _GROUPS.get(base, base) + mark + more, cells)


def _group(column: str, title: str, cells: Mapping[str, Cell]) -> Iterator[tuple[Column, Score]]:
    if len(cells) <= _MOST_GROUPS and all(len(name) <= LONGEST // 2 for name in cells):
        for name, cell in cells.items():
            yield Column(f"{column}:{name}", name, title), cell.mean.final
