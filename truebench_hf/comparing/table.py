"""Boards as tables: the columns that results bring along and how they read; order, ranks, CSV; and the scores
of runs as one table."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any

from truebench_hf.comparing.papers import PAPERS
from truebench_hf.comparing.runs import BoardEntry, BoardRun, below, read_board
from truebench_hf.errors import UserError, unknown
from truebench_hf.metrics.ranks import Results, rank_spans
from truebench_hf.report.sections import csv_text
from truebench_hf.report.table import Column, Table
from truebench_hf.study.ranking import COST, BoardColumn
from truebench_hf.types import Score

SOURCES = {"measured": "measured", "submitted": "submitted ‡", "paper": "paper †"}
UNKNOWN = "unknown"
MISPRINT = " (!)"
SIZE = "Size (B)"  # the one fact that is read as a number: a model's parameters in billions
_ENDS, _ABOUT = ("Low 95", "High 95"), ("Results", "n", "Unscored")  # of the main score
_OURS = frozenset(("Rank", "Last rank", "Model", *_ENDS, *_ABOUT))  # headers that no result can take


@dataclass(frozen=True)
class Kind:
    """All results of one kind: how the board is called, and the columns that its results have brought along."""

    name: str
    columns: tuple[BoardColumn, ...]  # the main one first
    facts: tuple[str, ...]
    title: str = ""  # what visitors read for it
    unit: str = ""  # what the figures are
    noun: str = ""  # what the main scores are counted in

    @cached_property
    def column(self) -> dict[str, BoardColumn]:
        """The columns by name."""
        return {column.name: column for column in self.columns}

    @cached_property
    def scores(self) -> dict[str, str]:
        """The name of the column by its header; no two headers read the same."""
        used = {*_OURS, *self.facts}
        by_header: dict[str, str] = {}
        for column in self.columns:
            header = column.title if column.title not in used else f"{column.title} ({column.group or 'score'})"
            by_header[header if header not in used else f"{header} {len(by_header)}"] = column.name
            used |= by_header.keys()
        return by_header

    @property
    def main(self) -> str:
        """The header of the main score."""
        return next(iter(self.scores))

    @property
    def factor(self) -> int:
        """What makes the main score what visitors read: 100 for shares."""
        return 100 if self.columns[0].percent else 1

    @cached_property
    def groups(self) -> dict[str, tuple[BoardColumn, ...]]:
        """The columns of the scores by group, without those of the overview."""
        groups = dict.fromkeys(column.group for column in self.columns[1:] if column.group)
        return {group: tuple(column for column in self.columns[1:] if column.group == group) for group in groups}


def merged(runs: Sequence[BoardRun]) -> tuple[tuple[Kind, ...], list[BoardEntry]]:
    """The kinds of boards among these, and all their lines; the first run of a kind says what it is ranked by."""
    of_kind: dict[str, list[BoardRun]] = {}
    for run in runs:
        of_kind.setdefault(run.kind, []).append(run)
    kinds = []
    for name, same in of_kind.items():
        columns: dict[str, BoardColumn] = {}
        for column in chain.from_iterable(run.board.columns for run in same):
            columns.setdefault(column.name, column)
        main = [column for column in columns.values() if column.name == same[0].board.main]
        facts = dict.fromkeys(
            fact for run in same for entry in run.entries for fact in entry.facts if fact not in _OURS
        )
        paper = PAPERS.get(name)
        title, unit, noun = (
            getattr(paper, part) if paper else next((text for run in same if (text := getattr(run.board, part))), usual)
            for part, usual in (("title", name), ("unit", main[0].title), ("noun", "result"))
        )
        rest = [column for column in columns.values() if column not in main]
        kinds.append(Kind(name, (*main, *rest), tuple(facts), title, unit, noun))
    entries = []
    for run in runs:
        first = of_kind[run.kind][0].board
        ascending = first.order == "ascending"
        entries += [
            replace(e, overall=e.scores.get(first.main, Score(None, 0)), ascending=ascending) for e in run.entries
        ]
    return tuple(kinds), entries


def by_rank(entries: Sequence[BoardEntry]) -> list[BoardEntry]:
    """The entries so that those that were ranked together stand together: measured groups first and the largest of them on
    top, submitted ones and those of others after, published ones last."""
    members, sources = Counter(entry.setting for entry in entries), list(SOURCES)

    def place(entry: BoardEntry) -> tuple[Any, ...]:
        value = entry.overall.value
        best = 0.0 if value is None else value if entry.ascending else -value
        ranked = (entry.rank is None, entry.rank or 0, entry.last or 0, best, entry.name)
        return (sources.index(entry.source), -members[entry.setting], entry.setting, *ranked)

    return sorted(entries, key=place)


def to_csv(kind: Kind, entries: Sequence[BoardEntry]) -> str:
    """Every column of the entries as CSV text, with the interval's ends in columns of their own."""
    headers = list(kind.scores)
    rows: list[Sequence[Any]] = [("Rank", "Last rank", "Model", kind.main, *_ENDS, *_ABOUT, *kind.facts, *headers[1:])]
    for entry in entries:
        overall = entry.overall
        shares = (overall.value, *(overall.ci95 or (None, None)))
        # A paper may tell no numbers.
        counts = (None, None) if overall.value is not None and not overall.n else (overall.n, overall.unscored)
        facts = (size(entry) if fact == SIZE else entry.facts.get(fact) for fact in kind.facts)
        scores = ((entry.scores.get(column.name), 100 if column.percent else 1) for column in kind.columns[1:])
        rows.append([
            entry.rank, entry.last, entry.name, *(None if share is None else kind.factor * share for share in shares),
            SOURCES[entry.source], *counts, *facts,
            *(None if score is None or score.value is None else round(factor * score.value, 1) for score, factor in scores),
        ])  # fmt: skip
    return csv_text(rows)


def size(entry: BoardEntry) -> float | None:
    """A model's size in billions of parameters, where known."""
    text = entry.facts.get(SIZE, "")
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) else None


# Below this share of decided instances a score says more of what was left open than of the model: it takes no place.
COVERED = 0.9


def by_score(entries: Sequence[BoardEntry]) -> tuple[BoardEntry, ...]:
    """The entries, best first, ranked within each setting by their scores' intervals alone, as if nothing were paired."""
    return tuple(row for group in _settings(entries) for row in _ranked(sorted(group, key=_best_first), {}))


def paired(entries: Sequence[BoardEntry], outcomes: Mapping[str, Results]) -> tuple[BoardEntry, ...]:
    """The entries ranked by comparing instances in pairs (`metrics.rank_span`).

    `outcomes` holds per entry key what `records.read_outcomes` gave. An entry without any, and one whose score is another
    share than that of what passed (a mean over judges, say), is compared by the interval of its score.
    """
    ranked = {entry.key: entry for group in _settings(entries) for entry in _ranked(group, outcomes)}
    return tuple(ranked[entry.key] for entry in entries)


def coverage(score: Score) -> float:
    """The share of its units that a score could be made of; 1 where there are none to count."""
    return score.n / (score.n + score.unscored) if score.n + score.unscored else 1.0


def is_the_share(entry: BoardEntry, outcomes: Results) -> bool:
    """Whether an entry's score is the mean of these outcomes, and of all that it is of: a file may be cut short."""
    decided = [passed for passed in outcomes.values() if passed is not None]
    value, all_there = entry.overall.value, len(decided) == entry.overall.n
    return bool(decided) and value is not None and all_there and abs(sum(decided) / len(decided) - value) < 1e-8


def _best_first(entry: BoardEntry) -> tuple[bool, float, str, str]:
    # The key comes last, so that the order does not depend on where folders lie.
    value = entry.overall.value or 0
    return entry.overall.value is None, value if entry.ascending else -value, entry.name, entry.key


def _settings(entries: Sequence[BoardEntry]) -> list[list[BoardEntry]]:
    groups: dict[tuple[str, str], list[BoardEntry]] = defaultdict(list)
    for entry in entries:
        groups[entry.kind, entry.setting].append(entry)
    return list(groups.values())


def _ranked(group: Sequence[BoardEntry], outcomes: Mapping[str, Results]) -> list[BoardEntry]:
    """Entries of one setting with their ranks; those without a score or its interval, and those of
    which more than a tenth was left open, have none."""
    scored = [
        e
        for e in group
        if e.overall.value is not None and e.overall.ci95 is not None and coverage(e.overall) >= COVERED
    ]
    known = {e.key: outcomes[e.key] for e in scored if e.key in outcomes and is_the_share(e, outcomes[e.key])}
    spans = rank_spans({e.key: e.overall for e in scored}, known, ascending=bool(group) and group[0].ascending)
    return [
        replace(entry, rank=span.first, last=span.last, approximate=span.approximate) if span else entry
        for entry in group
        for span in [spans.get(entry.key)]
    ]


OVERVIEW = "overview"


def score_table(folders: Sequence[str], by: str = OVERVIEW) -> Table:
    """A row per model (or judge) of the finished runs at or below these folders; `truebench table` as a Python call.

    Columns are the main score with its interval and n, and those of a group that the boards of the runs have: by
    default those of their overview, where the main score is, else `categories`, `languages` ... What tells rows of one
    name apart (the paradigm of a judge) stands beside the name. Raises UserError where there is no finished run, where
    runs are of several kinds, and naming the groups that there are.
    """
    run_folders = [folder for root in folders for folder in below(root)]
    boards = [board for folder in run_folders if (board := read_board(folder)) is not None]
    if not boards:
        why = "no finished run with scores there; give the --out of finished runs"
        if tables := [str(folder / "tables") for folder in run_folders if (folder / "tables").is_dir()]:
            why = f"no scores of models or judges there; what was found lies in {', '.join(tables[:3])}"
        raise UserError(f"{', '.join(folders)}: {why}")
    kinds, entries = merged(boards)
    if len(kinds) > 1:
        raise UserError(f"these runs are of kind {' and '.join(sorted(k.name for k in kinds))}; give runs of one kind")
    main, *others = kinds[0].columns
    first = main.group.casefold()  # the group of the main score is the overview, whatever it is called
    groups = {column.name: column.group.casefold() for column in others if column.group != COST}
    groups = {name: OVERVIEW if group in ("", first) else group for name, group in groups.items()}
    chosen = OVERVIEW if by == first else by
    if chosen not in (choices := sorted({OVERVIEW, *groups.values()})):
        raise unknown("group of scores", by, choices)
    beside = [column for column in others if groups.get(column.name) == chosen]
    has_settings = len({entry.setting for entry in entries}) > 1
    telling = {
        f"fact:{fact}" if fact.casefold() in kinds[0].column else fact.casefold(): fact
        for fact in telling_apart(entries, always=["Judge"] if has_settings else [])
    }
    columns = [
        Column("name", "Model"),
        *(Column(name, fact) for name, fact in telling.items()),
        Column(main.name, main.title, "score", main.about or boards[0].board.unit, "%" if main.percent else "", parts=("value", "interval", "n"), drawn=main.percent),
        *(Column(c.name, c.title, "score", unit="%" if c.percent else "", digits=1, minor=1) for c in beside),
    ]  # fmt: skip
    rows = [
        {"name": entry.name, **{name: entry.facts.get(fact) for name, fact in telling.items()}, **entry.scores}
        for entry in entries
    ]
    note = f"{boards[0].board.unit or 'Shares in %'}; intervals of 95 %."
    note += f" {main.title}: {main.about}" if main.about else ""
    if has_settings:
        note += " Data, judge or way of judging differ between these runs: `truebench leaderboard` says how."
    return Table("scores", columns, rows, boards[0].board.title, note)


def telling_apart(
    entries: Sequence[BoardEntry], key: Callable[[BoardEntry], Any] = attrgetter("name"), always: Sequence[str] = ()
) -> list[str]:
    """Return the facts that stand beside names: those of `always` that are known, and what tells entries of one key apart."""
    chosen = [fact for fact in always if any(fact in entry.facts for entry in entries)]

    def count(facts: Sequence[str]) -> int:
        return len({(key(entry), *(entry.facts.get(fact) for fact in facts)) for entry in entries})

    for fact in dict.fromkeys(fact for entry in entries for fact in entry.facts):
        if fact not in chosen and count([*chosen, fact]) > count(chosen):
            chosen.append(fact)
    return chosen
