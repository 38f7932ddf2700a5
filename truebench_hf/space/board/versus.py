"""Two runs of the explorer held against each other: who is ahead and by how much, where they differ, and which conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil
from typing import Any

from truebench_hf.comparing import runs
from truebench_hf.comparing.compare import ComparedMeans, Comparison, compare_runs
from truebench_hf.comparing.runs import KINDS, BoardEntry, read_all
from truebench_hf.data.records import of_entry
from truebench_hf.errors import UserError
from truebench_hf.report.sections import percent, points, points_between
from truebench_hf.report.table import Column, Table
from truebench_hf.results.finished import Finished
from truebench_hf.space.board import words
from truebench_hf.space.board.items import ExplorerItem, Items
from truebench_hf.space.board.store import Recent
from truebench_hf.text import anonymous

ONLY_FIRST, ONLY_SECOND, DIFFER = "only-first", "only-second", "differ"
_BOTH = {"failed": "both-failed", "unscored": "both-unscored", "passed": "both-passed", "not judged": "both-unscored"}
_ALONE = "alone"
# In the order of lists, the first of the two being looked at: what only the other passes comes first.
ORDER = (ONLY_SECOND, ONLY_FIRST, DIFFER, *dict.fromkeys(_BOTH.values()), _ALONE)
Compared = Comparison | str  # or why they cannot be compared


def related(item: ExplorerItem, other: ExplorerItem | None) -> str:
    """Return how two conversations on one instance ended beside each other."""
    if other is None:
        return _ALONE
    ended = (item.ended, other.ended)
    known = {("passed", "failed"): ONLY_FIRST, ("failed", "passed"): ONLY_SECOND}
    return known.get(ended, DIFFER if item.ended != other.ended else _BOTH[item.ended])


def only_one(names: tuple[str, str]) -> dict[str, str]:
    """Return what each relation is called in which only one of two models passes."""
    return {ONLY_SECOND: f"Only {names[1]} passes", ONLY_FIRST: f"Only {names[0]} passes"}


def head(first: BoardEntry, second: BoardEntry, items: Items, others: Items, kept: Recent[Compared]) -> dict[str, Any]:
    """Return what the template says of two lines of a board and of the conversations of both; comparisons are `kept`.

    `counts` are choices of the list: its value, a text, a number.
    """
    names = words.model(first.name), words.model(second.name)
    relations = Counter(related(item, others[name]) for name, item in items.items() if name in others)
    counts = tuple((relation, text, relations[relation]) for relation, text in only_one(names).items())
    comparison: Compared = ""
    if first.kind in KINDS and first.folder and second.folder:
        key = (first.key, second.key, *runs.stamp(first.folder), *runs.stamp(second.folder))
        comparison = kept.of(key, lambda: _compared(first, second))
    if isinstance(comparison, str):
        both = f"both pass {relations[_BOTH['passed']]:,}, both fail {relations[_BOTH['failed']]:,}"
        detail = f"Of {relations.total():,} conversations {both}."
        return {"verdict": "", "detail": detail, "counts": counts, "warning": comparison, "tables": ()}
    verdict, detail = _verdict(comparison.overall, names)
    note = (
        f"Points by which {names[1]} is ahead of {names[0]}, behind where negative. Lines are 95 % intervals, there from ten "
        "instances on."
    )
    differs = f"Not judged alike: {anonymous.text('; '.join(comparison.differs))}." if comparison.differs else ""
    tables = tuple(_forest(comparison, names))
    return {"verdict": verdict, "detail": detail, "counts": counts, "warning": differs, "tables": tables, "note": note}


def _compared(first: BoardEntry, second: BoardEntry) -> Compared:
    """Return the comparison, or a line on why there is none."""
    try:
        return compare_runs(_run(first), _run(second))
    except (UserError, OSError, ValueError, KeyError, TypeError) as error:
        return f"The runs cannot be compared as a whole: {anonymous.text(str(error))}."


def _run(entry: BoardEntry) -> Finished:
    """Return the run of a line, whose folder may hold those of other models."""
    by_model = {run.model: run for run in read_all(str(entry.folder))}
    names = anonymous.names(by_model)
    run = of_entry({names[model]: run for model, run in by_model.items()}, entry.name)
    if run is None:
        raise UserError(f"{words.model(entry.name)} has no conversations in its folder")
    return run


def _verdict(line: ComparedMeans, names: tuple[str, str]) -> tuple[str, str]:
    """Return who is ahead, and the figures behind it; the difference is the second less the first."""
    gap = line.difference
    if gap.value is None or line.first is None or line.second is None:
        return "Nothing was decided in both runs.", ""
    if gap.ahead:
        low, high = sorted(abs(end) for end in gap.ci95) if gap.ci95 else (0.0, 0.0)
        sure = f" (95 %: {points(low).lstrip('+')} to {points(high).lstrip('+')})" if gap.ci95 else ""
        by = points(abs(gap.value)).lstrip("+")
        verdict = f"{names[gap.value > 0]} is {by} points ahead{sure}."
    else:
        sure = f" (95 %: {points_between(gap.ci95)})" if gap.ci95 else ""
        stands = f"{names[1]} stands at {points(gap.value)} points"
        verdict = f"{names[0]} and {names[1]} cannot be told apart: {stands}{sure}."
    scores = f"{names[0]} {percent(line.first)} %, {names[1]} {percent(line.second)} %"
    left = f", {gap.unscored:,} undecided in one of them" if gap.unscored else ""
    return verdict, f"{scores}, over {gap.n:,} instances that both decided{left}."


def _forest(comparison: Comparison, names: tuple[str, str]) -> Iterator[Table]:
    """Yield the difference by category and by language, as dots with intervals around zero, on one axis."""
    groups = {title: lines for title, lines in comparison.groups.items() if len(lines) > 1}
    gaps = [line.difference for lines in groups.values() for line in lines.values()]
    far = max((abs(end) for gap in gaps for end in (*(gap.ci95 or ()), gap.value or 0.0)), default=0.0)
    reach = min(1.0, max(0.1, ceil(10 * far) / 10))
    for title, lines in groups.items():
        columns = (
            Column("group", title),
            Column("gap", "Difference", "score", "Second less first", "points", 1, drawn=True, axis=(-reach, reach), mark=0),
            *(Column(str(place), name, "number", digits=0) for place, name in enumerate(names)),
            Column("n", "n", "count", "Instances that both decided"),
        )  # fmt: skip
        rows = [
            {"group": words.column(name), "gap": of.difference, "0": of.first, "1": of.second, "n": of.difference.n}
            for name, of in lines.items()
        ]
        yield Table(f"by_{title.lower()}", columns, rows)
