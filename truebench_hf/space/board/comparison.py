"""Two runs over the same instances: who is ahead and by how much, who passes what alone, and where the difference lies."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import ceil

from truebench_hf.comparing import runs
from truebench_hf.comparing.compare import ComparedMeans, Comparison, compare_runs
from truebench_hf.comparing.runs import KINDS, BoardEntry, read_all
from truebench_hf.data.records import of_entry
from truebench_hf.errors import UserError
from truebench_hf.report.sections import percent, points, points_between
from truebench_hf.results.finished import Finished
from truebench_hf.space.board import words
from truebench_hf.space.board.figures import FEW, Bar, Cell, Chart, FigureRow, FigureRows
from truebench_hf.space.board.items import ExplorerItem, Items
from truebench_hf.space.board.store import Recent
from truebench_hf.text import anonymous

ONLY_FIRST, ONLY_SECOND, DIFFER = "only-first", "only-second", "differ"
BOTH = {"failed": "both-failed", "unscored": "both-unscored", "passed": "both-passed", "not answered": "both-unscored"}
ALONE, _KEPT = "alone", 8
# In the order of lists, the first of the two being looked at: what only the other passes comes first.
ORDER = (ONLY_SECOND, ONLY_FIRST, DIFFER, *dict.fromkeys(BOTH.values()), ALONE)


def related(item: ExplorerItem, other: ExplorerItem | None) -> str:
    """Return how two conversations on one instance ended beside each other."""
    if other is None:
        return ALONE
    ended = (item.ended, other.ended)
    known = {("passed", "failed"): ONLY_FIRST, ("failed", "passed"): ONLY_SECOND}
    return known.get(ended, DIFFER if item.ended != other.ended else BOTH[item.ended])


@dataclass(frozen=True)
class ComparisonHead:
    """What stands above the conversations of two runs. `counts` are choices of the list: its value, a text, a number."""

    verdict: str
    detail: str
    counts: tuple[tuple[str, str, int], ...]
    warning: str
    charts: tuple[Chart, ...] = ()
    note: str = ""


class Comparisons:
    """The comparisons looked at last."""

    def __init__(self) -> None:
        self._recent = Recent[Comparison | str](_KEPT)

    def head(self, first: BoardEntry, second: BoardEntry, items: Items, others: Items) -> ComparisonHead:
        """What there is to say of two lines of a board and of the conversations of both."""
        names = words.model(first.name), words.model(second.name)
        relations = Counter(related(item, others[name]) for name, item in items.items() if name in others)
        counts = (
            (ONLY_SECOND, f"Only {names[1]} passes", relations[ONLY_SECOND]),
            (ONLY_FIRST, f"Only {names[0]} passes", relations[ONLY_FIRST]),
        )
        comparison: Comparison | str = ""
        if first.kind in KINDS and first.folder and second.folder:
            key = (first.key, second.key, *runs.stamp(first.folder), *runs.stamp(second.folder))
            comparison = self._recent.of(key, lambda: _compared(first, second))
        if isinstance(comparison, str):
            both = f"both pass {relations[BOTH['passed']]:,}, both fail {relations[BOTH['failed']]:,}"
            return ComparisonHead("", f"Of {relations.total():,} conversations {both}.", counts, comparison)
        differs = f"Not judged alike: {anonymous.text('; '.join(comparison.differs))}." if comparison.differs else ""
        return ComparisonHead(*_verdict(comparison.overall, names), counts, differs, *_forest(comparison, names))


def _compared(first: BoardEntry, second: BoardEntry) -> Comparison | str:
    """The comparison, or a line on why there is none."""
    try:
        return compare_runs(_run(first), _run(second))
    except (UserError, OSError, ValueError, KeyError, TypeError) as error:
        return f"The runs cannot be compared as a whole: {anonymous.text(str(error))}."


def _run(entry: BoardEntry) -> Finished:
    """The run of a line, whose folder may hold those of other models."""
    by_model = {run.model: run for run in read_all(str(entry.folder))}
    names = anonymous.names(by_model)
    run = of_entry({names[model]: run for model, run in by_model.items()}, entry.name)
    if run is None:
        raise UserError(f"{words.model(entry.name)} has no conversations in its folder")
    return run


def _verdict(line: ComparedMeans, names: tuple[str, str]) -> tuple[str, str]:
    """Who is ahead, and the figures behind it; the difference is the second less the first."""
    gap = line.difference
    if gap.difference is None or line.first is None or line.second is None:
        return "Nothing was decided in both runs.", ""
    if gap.ahead:
        low, high = sorted(abs(end) for end in gap.interval) if gap.interval else (0.0, 0.0)
        sure = f" (95 %: {points(low).lstrip('+')} to {points(high).lstrip('+')})" if gap.interval else ""
        by = points(abs(gap.difference)).lstrip("+")
        verdict = f"{names[gap.difference > 0]} is {by} points ahead{sure}."
    else:
        sure = f" (95 %: {points_between(gap.interval)})" if gap.interval else ""
        stands = f"{names[1]} stands at {points(gap.difference)} points"
        verdict = f"{names[0]} and {names[1]} cannot be told apart: {stands}{sure}."
    scores = f"{names[0]} {percent(line.first)} %, {names[1]} {percent(line.second)} %"
    left = f", {line.undecided:,} undecided in one of them" if line.undecided else ""
    return verdict, f"{scores}, over {gap.n:,} instances that both decided{left}."


def _forest(comparison: Comparison, names: tuple[str, str]) -> tuple[tuple[Chart, ...], str]:
    """The difference by category and by language, as dots with intervals around zero, and a line on how to read them."""
    groups = {title: lines for title, lines in comparison.groups.items() if len(lines) > 1}
    gaps = [line.difference for lines in groups.values() for line in lines.values()]
    ends = [abs(end) for gap in gaps for end in (*(gap.interval or ()), gap.difference or 0.0)]
    reach = max(10, 10 * ceil(10 * min(1.0, max(ends, default=0.0))))
    charts = []
    for title, lines in groups.items():
        rows = tuple(_row(words.column(name), line, reach) for name, line in lines.items())
        heads = (title, "Difference", *names, "Instances")
        charts.append(Chart(f"By {title.lower()}", heads, (FigureRows("", rows),)))
    note = (
        f"{names[1]} less {names[0]}, in points, on an axis from {-reach} to {reach}: right of the middle {names[1]} is "
        "ahead. Lines are 95 % intervals, there from ten instances on."
    )
    return tuple(charts), note


def _row(name: str, line: ComparedMeans, reach: int) -> FigureRow:
    gap = line.difference
    if gap.difference is None:
        none = Cell("–", None, "nothing decided in both")
        return FigureRow(name, (Bar("–", None, why="nothing decided in both"), none, none, Cell("0", 0)))

    def place(value: float) -> float:
        return round(50 + 50 * max(-1.0, min(1.0, 100 * value / reach)), 1)

    low, high = map(place, gap.interval) if gap.interval else (None, None)
    why = f"95 %: {points_between(gap.interval)}" if gap.interval else "too few instances for an interval"
    dot = Bar(points(gap.difference), gap.difference, place(gap.difference), low, high, why, gap.n < FEW, dot=True)
    shares = (Cell(percent(share, 0), share) for share in (line.first, line.second) if share is not None)
    return FigureRow(name, (dot, *shares, Cell(f"{gap.n:,}", gap.n)))
