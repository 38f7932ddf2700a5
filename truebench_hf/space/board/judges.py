"""How far judges can be trusted: what was measured, in tables of results that may be compared, by paradigm and by type."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from truebench_hf.benchmarks.rubric_eval.scores import BALANCED, CALLS, MAIN, PARADIGMS, TOKENS, paradigm_words, titled
from truebench_hf.comparing.papers import JUDGES
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.comparing.table import coverage
from truebench_hf.data.rubrics import RUBRIC_TYPES
from truebench_hf.report.sections import percent
from truebench_hf.report.table import Column, Table
from truebench_hf.space.board import boards, words
from truebench_hf.space.board.boards import HEADINGS, BoardGroup
from truebench_hf.space.board.store import Snapshot
from truebench_hf.space.pages import Query
from truebench_hf.types import Score

POOLED = "pooled:balanced_accuracy"
_CHANCE = 0.5
_ORDER = {paradigm_words(name): place for place, name in enumerate(PARADIGMS)}


def page(snapshot: Snapshot, query: Query) -> dict[str, Any] | None:
    """Return what the template draws of the page that is asked for, or of what comes nearest to it.

    `names` are those of its judges, of which `judge` is shown by type of rubric; `others` are further results by heading:
    id, title, lines. None where no judge was measured.
    """
    measured = [group for board in boards.boards(snapshot) if board.kind.name == JUDGES for group in board.ours]
    on_all = [group for group in measured if not any(boards.is_part(group, other) for other in measured)]
    if not on_all:
        return None
    current = next((group for group in on_all if group.id == query.set), on_all[0])
    others: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
    for group in on_all:
        if group is not current:
            others[HEADINGS[group.what]].append((group.id, _title(group), len(group.entries)))
    names = tuple(dict.fromkeys(entry.name for entry in _best_first(current.entries)))
    judge = query.judge if query.judge in names else names[0]
    parts = [group for group in measured if boards.is_part(group, current)]
    return {
        "current": current, "title": _title(current), "names": names, "judge": judge, "others": others,
        "tables": (by_paradigm(current, parts), by_type(current, judge)),
    }  # fmt: skip


def _title(group: BoardGroup) -> str:
    """Return which data, how much of it, and the rules beside the judges."""
    rules = group.entries[0].facts.get("Rules", "")
    return boards.heading(group) + (f" · rules: {rules}" if rules else "")


def _value(entry: BoardEntry, measure: str) -> float:
    """Return the score of this name, -1 where there is none."""
    score = entry.scores.get(measure)
    return -1.0 if score is None or score.value is None else score.value


def _best_first(entries: Sequence[BoardEntry]) -> list[BoardEntry]:
    """Return judges by their best result, and the ways of asking each in the paper's order."""
    measure = _measure(entries)

    def place(entry: BoardEntry) -> tuple[float, str, int, str, str]:
        best = max(_value(other, measure) for other in entries if other.name == entry.name)
        paradigm = entry.facts.get("Paradigm", "")
        return -best, entry.name, _ORDER.get(paradigm, len(_ORDER)), paradigm, entry.key

    return sorted(entries, key=place)


def _measure(entries: Sequence[BoardEntry]) -> str:
    """Return the mean of categories, unless a category is missing where all of it could be told."""
    missing = any(_value(entry, MAIN.name) < 0 <= _value(entry, POOLED) for entry in entries)
    return POOLED if missing else MAIN.name


def by_paradigm(group: BoardGroup, parts: Sequence[BoardGroup] = ()) -> Table:
    """Return balanced accuracy of each judge by how it was asked, on all data and its parts, with what a verdict cost."""

    def way(entry: BoardEntry) -> tuple[str, str, str | None]:
        return entry.content, entry.name, entry.facts.get("Paradigm")

    measure, of_all = _measure(group.entries), group.entries[0].facts.get("Data", "")
    of_parts = {
        part.entries[0].facts.get("Data", "").removeprefix(f"{of_all}, "): {way(entry): entry for entry in part.entries}
        for part in parts
    }
    rows = []
    for label, entry in _labelled(_best_first(group.entries)):
        overall = entry.overall
        share = f"{percent(coverage(overall), 0)} %" if overall.n + overall.unscored else None
        cells = {name: entry.scores.get(name) for name in (CALLS, TOKENS)} | {"all": entry.scores.get(measure)}
        for part, by_way in of_parts.items():
            cells[f"part:{part}"] = by_way[way(entry)].scores.get(measure) if way(entry) in by_way else None
        rows.append({"judge": words.model(entry.name), "paradigm": label, "decided": share, **cells})
    columns = [
        Column("judge", "Judge"), Column("paradigm", "Paradigm", "prose"),
        _accuracy("all", "All" if parts else "Balanced accuracy"),
        *(_accuracy(f"part:{part}", part.capitalize()) for part in sorted(of_parts)),
        Column("decided", "Decided", about="The share of rubrics that the judge decided"),
    ]  # fmt: skip
    costs = (
        Column(CALLS, "Calls per verdict", "score", "All calls of this judge and paradigm, repeats included", ""),
        Column(TOKENS, "Tokens per verdict", "score", "Tokens read and written, per rubric", "", 0),
    )
    columns += [column for column in costs if any(_value(entry, column.name) >= 0 for entry in group.entries)]
    mean = "mean of the four instruction categories, as in the paper"
    pooled = "all rubrics counted together, as some of the paper's instruction categories are missing here"
    note = (
        f"In %, {mean if measure == MAIN.name else pooled}; lines are 95 % intervals, and the mark at 50 is chance. Calls "
        "and tokens are all that the run made for this judge and paradigm, per rubric."
    )
    return Table("judges", columns, rows, "Balanced accuracy by paradigm, and what a verdict costs", note, 2)


def by_type(group: BoardGroup, judge: str) -> Table:
    """Return balanced accuracy of one judge by type of rubric, with a column for each way it was asked."""
    lines = list(_labelled([entry for entry in _best_first(group.entries) if entry.name == judge]))
    columns = [Column("dimension", "Dimension"), Column("type", "Type", "prose")]
    columns += [_accuracy(label, label.capitalize()) for label, _ in lines]
    rows = []
    for kind in RUBRIC_TYPES.values():
        scores: dict[str, Score | None] = {label: entry.scores.get(BALANCED + kind.name) for label, entry in lines}
        if any(scores.values()):
            rows.append({"dimension": titled(kind.dimension), "type": titled(kind.name), **scores})
    note = "In %, over all rubrics of a type." if rows else "These results do not tell it by type of rubric."
    return Table("types", columns, rows, f"Balanced accuracy of {words.model(judge)} by type of rubric", note, 2)


def _accuracy(name: str, title: str) -> Column:
    about = "The mean of the shares of met and of unmet rubrics that the judge recognises; 50 is chance"
    return Column(name, title, "score", about, digits=1, drawn=True, mark=_CHANCE)


def _labelled(entries: Sequence[BoardEntry]) -> Iterator[tuple[str, BoardEntry]]:
    """Yield results by how their judge was asked; further runs of the same are numbered."""
    seen = Counter[tuple[str, str]]()
    for entry in entries:
        label = entry.facts.get("Paradigm", "") or "way of asking not told"
        seen[entry.name, label] += 1
        number = seen[entry.name, label]
        yield label if number == 1 else f"{label}, run {number}", entry
