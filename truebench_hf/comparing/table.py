"""Boards as tables: the columns that results bring along, what stands in them and how it reads; order, CSV."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from truebench_hf.comparing.papers import PAPERS
from truebench_hf.comparing.runs import Entry, Run
from truebench_hf.report.csv_table import csv_text
from truebench_hf.study.board import Column
from truebench_hf.types import Score

Cell = str | float | int | None
SOURCES = {"measured": "measured", "submitted": "submitted ‡", "paper": "paper †"}
UNKNOWN = "unknown"
MISPRINT = " (!)"
SIZE = "Size (B)"  # the one fact that is read as a number: a model's parameters in billions
_INTERVAL, _RESULTS = "95 % interval", "Results"
_ABOUT = (_INTERVAL, _RESULTS, "n", "Unscored")  # the main score
_OURS = frozenset(("Rank", "Last rank", "Model", *_ABOUT))  # headers that no result can take


@dataclass(frozen=True)
class Kind:
    """All results of one kind: how the board is called, and the columns that its results have brought along."""

    name: str
    columns: tuple[Column, ...]  # the main one first
    facts: tuple[str, ...]
    called: str = ""
    figures: str = ""

    @property
    def title(self) -> str:
        """What visitors read for the kind."""
        return PAPERS[self.name].title if self.name in PAPERS else self.called or self.name

    @property
    def unit(self) -> str:
        """What the figures are."""
        return PAPERS[self.name].unit if self.name in PAPERS else self.figures or self.columns[0].title

    @cached_property
    def scores(self) -> dict[str, str]:
        """The name of the column by its header; no two headers read the same."""
        used = {*_OURS, *self.facts}
        found: dict[str, str] = {}
        for column in self.columns:
            header = column.title if column.title not in used else f"{column.title} ({column.group or 'score'})"
            found[header if header not in used else f"{header} {len(found)}"] = column.name
            used |= found.keys()
        return found

    @property
    def main(self) -> str:
        """The header of the main score."""
        return next(iter(self.scores))

    @property
    def headers(self) -> tuple[str, ...]:
        """All columns that can be chosen."""
        return (*_ABOUT, *self.facts, *list(self.scores)[1:])

    @cached_property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The headers of the scores by group, without those of the overview."""
        named = {column.name: column.group for column in self.columns}
        members: dict[str, list[str]] = {}
        for header, name in list(self.scores.items())[1:]:
            members.setdefault(named[name], []).append(header)
        return {group: tuple(found) for group, found in members.items() if group}

    def cell(self, entry: Entry, header: str) -> Cell:
        """What stands in a column: a score as it is shown, a number, a text, or None where there is nothing."""
        if header in self.scores:
            score = entry.scores.get(self.scores[header])
            return None if score is None or score.value is None else round(self.factor(header) * score.value, 1)
        if header in self.facts:
            said = entry.facts.get(header)
            return size(entry) if header == SIZE else said
        interval, printed = entry.overall.ci95, entry.overall.value is not None and not entry.overall.n
        known: dict[str, Cell] = {
            "Rank": entry.rank,
            "Model": entry.name,
            _INTERVAL: ""
            if interval is None
            else " to ".join(f"{self.factor(self.main) * end:.1f}" for end in interval),
            _RESULTS: SOURCES[entry.source],
            "n": None if printed else entry.overall.n,  # a paper may tell no numbers
            "Unscored": None if printed else entry.overall.unscored,
        }
        return known[header]

    def factor(self, header: str) -> int:
        """What makes the scores of a column what visitors read: 100 for shares."""
        return 100 if next(c.percent for c in self.columns if c.name == self.scores[header]) else 1

    def text(self, entry: Entry, header: str) -> str:
        """The same as it reads: one decimal for scores, `3-5` for a rank that spans places, a mark on misprinted figures."""
        value = self.cell(entry, header)
        if value is None:
            return ""
        if header == "Rank":
            return str(value) if entry.last in (None, entry.rank) else f"{value}-{entry.last}"
        if header == SIZE:
            return f"{value:g}"
        shown = f"{value:.1f}" if isinstance(value, float) else str(value)
        return shown + MISPRINT if self.scores.get(header) in entry.misprints else shown


def merged(runs: Sequence[Run]) -> tuple[tuple[Kind, ...], list[Entry]]:
    """The kinds of boards among these, and all their lines; the first run of a kind says what it is ranked by."""
    kinds: dict[str, Kind] = {}
    main: dict[str, tuple[str, bool]] = {}
    entries: list[Entry] = []
    for run in runs:
        name, ascending = main.setdefault(run.kind, (run.main, run.ascending))
        old = kinds.get(run.kind, Kind(run.kind, (), ()))
        columns = {column.name: column for column in (*old.columns, *run.columns)} | {c.name: c for c in old.columns}
        first = [column for column in columns.values() if column.name == name]
        rest = [column for column in columns.values() if column.name != name]
        said = (fact for entry in run.entries for fact in entry.facts if fact not in _OURS)
        facts = dict.fromkeys((*old.facts, *said))
        kinds[run.kind] = Kind(
            run.kind, (*first, *rest), tuple(facts), old.called or run.title, old.figures or run.unit
        )
        entries += [
            replace(entry, overall=entry.scores.get(name, Score(None, 0)), ascending=ascending) for entry in run.entries
        ]
    return tuple(kinds.values()), entries


def by_rank(entries: Sequence[Entry]) -> list[Entry]:
    """The entries so that those that were ranked together stand together: measured groups first and the largest of them on
    top, submitted ones and those of others after, published ones last."""
    members, sources = Counter(entry.setting for entry in entries), list(SOURCES)

    def place(entry: Entry) -> tuple[Any, ...]:
        value = entry.overall.value
        best = 0.0 if value is None else value if entry.ascending else -value
        ranked = (entry.rank is None, entry.rank or 0, entry.last or 0, best, entry.name)
        return (sources.index(entry.source), -members[entry.setting], entry.setting, *ranked)

    return sorted(entries, key=place)


def to_csv(kind: Kind, entries: Sequence[Entry]) -> str:
    """Every column of the entries as CSV text, with the interval's ends in columns of their own."""
    plain = [name for name in kind.headers if name != _INTERVAL]
    rows: list[Sequence[Cell]] = [("Rank", "Last rank", "Model", kind.main, "Low 95", "High 95", *plain)]
    for entry in entries:
        shares = (entry.overall.value, *(entry.overall.ci95 or (None, None)))
        shown = [None if share is None else kind.factor(kind.main) * share for share in shares]
        rows.append([entry.rank, entry.last, entry.name, *shown, *(kind.cell(entry, name) for name in plain)])
    return csv_text(rows)


def size(entry: Entry) -> float | None:
    """A model's size in billions of parameters, where known."""
    said = entry.facts.get(SIZE, "")
    return float(said) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", said) else None
