"""How far judges can be trusted: what was measured, in tables of results that may be compared, by paradigm and by type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from truebench_hf.benchmarks.rubric_eval.scores import BALANCED, CALLS, MAIN, PARADIGMS, TOKENS, paradigm_words, titled
from truebench_hf.comparing.papers import JUDGES
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.comparing.table import coverage
from truebench_hf.data.rubrics import RUBRIC_TYPES
from truebench_hf.hashing import digest
from truebench_hf.report.sections import percent
from truebench_hf.report.table import Column, Table
from truebench_hf.space.board import boards, words
from truebench_hf.space.board.boards import HEADINGS, What
from truebench_hf.space.board.queries import JudgesQuery
from truebench_hf.space.board.store import Snapshot
from truebench_hf.text.terminal import how_many
from truebench_hf.types import Score

POOLED = "pooled:balanced_accuracy"
_ALL = "all"
_CHANCE = 0.5
_ORDER = [paradigm_words(name) for name in PARADIGMS]


@dataclass(frozen=True)
class JudgeLine:
    """A judge asked in one way: its results by part of the data, those on `all` of it first."""

    name: str
    paradigm: str
    parts: dict[str, BoardEntry] = field(hash=False)

    @property
    def on_all(self) -> BoardEntry:
        """The result on all data."""
        return self.parts[_ALL]

    def value(self, measure: str) -> float:
        """The score of this name on all data, -1 where there is none."""
        score = self.on_all.scores.get(measure)
        return -1.0 if score is None or score.value is None else score.value


@dataclass(frozen=True)
class JudgeSet:
    """Judges on the same data with the same rules, the best first. `id` stands in links."""

    id: str
    what: What
    lines: tuple[JudgeLine, ...]

    @property
    def title(self) -> str:
        """Which data, how much of it, and the rules beside the judges."""
        facts = self.lines[0].on_all.facts
        count = max(line.on_all.overall.n + line.on_all.overall.unscored for line in self.lines)
        rules = facts.get("Rules", "")
        parts = [words.data(facts.get("Data", "")), how_many(count, "rubric") if count else ""]
        return " · ".join(filter(None, (*parts, f"rules: {rules}" if rules else "")))

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of the judges."""
        return tuple(dict.fromkeys(line.name for line in self.lines))


@dataclass(frozen=True)
class JudgesPage:
    """What the template draws of measured judges; `current` is None where none was measured."""

    current: JudgeSet | None
    heading: str
    judge: str
    tables: tuple[Table, ...]
    others: dict[str, list[JudgeSet]]


def page(snapshot: Snapshot, query: JudgesQuery) -> JudgesPage:
    """Return the page that is asked for, or what comes nearest to it."""
    measured = sets(snapshot)
    if not measured:
        return JudgesPage(None, "", "", (), {})
    current = next((group for group in measured if group.id == query.set), measured[0])
    others: dict[str, list[JudgeSet]] = {}
    for group in measured:
        if group is not current:
            others.setdefault(HEADINGS[group.what], []).append(group)
    judge = query.judge if query.judge in current.judges else current.judges[0]
    tables = by_paradigm(current), by_type(current, judge)
    return JudgesPage(current, HEADINGS[current.what], judge, tables, others)


def sets(snapshot: Snapshot) -> tuple[JudgeSet, ...]:
    """Return all that was measured of judges, in the order of the page; not what papers print."""
    by_way: dict[tuple[What, str, str, str], list[dict[str, BoardEntry]]] = defaultdict(list)
    ours = [group for board in boards.boards(snapshot) if board.kind.name == JUDGES for group in board.ours]
    for what, entry in ((group.what, entry) for group in ours for entry in group.entries):
        same = by_way[what, entry.content, entry.name, entry.facts.get("Paradigm", "")]
        data = entry.facts.get("Data", "")
        free = next((parts for parts in same if data not in parts), None)  # no line hides another
        if free is None:
            same.append(free := {})
        free[data] = entry
    together: dict[tuple[What, str], list[JudgeLine]] = defaultdict(list)
    for (what, _, name, paradigm), ways in by_way.items():
        for by_data in ways:
            on_all = min(by_data, key=len)  # parts of the data are named behind it
            parts = {
                data.removeprefix(on_all).lstrip(", "): by_data[data] for data in sorted(by_data) if data != on_all
            }
            line = JudgeLine(name, paradigm, {_ALL: by_data[on_all], **parts})
            together[what, line.on_all.setting].append(line)
    order = list(HEADINGS)
    placed = sorted(together.items(), key=lambda pair: (order.index(pair[0][0]), -len(pair[1]), pair[0][1]))
    return tuple(
        JudgeSet(digest(f"{what} {key}")[:8], what, tuple(_best_first(lines))) for (what, key), lines in placed
    )


def _best_first(lines: Sequence[JudgeLine]) -> list[JudgeLine]:
    """Return judges by their best result, and the ways of asking each in the paper's order."""
    measure, best = _measure(lines), dict[str, float]()
    for line in lines:
        best[line.name] = max(line.value(measure), best.get(line.name, -1.0))

    def place(line: JudgeLine) -> tuple[float, str, int, str, str]:
        paradigm = _ORDER.index(line.paradigm) if line.paradigm in _ORDER else len(_ORDER)
        return -best[line.name], line.name, paradigm, line.paradigm, line.on_all.key

    return sorted(lines, key=place)


def _measure(lines: Sequence[JudgeLine]) -> str:
    """Return the mean of categories, unless a category is missing where all of it could be told."""
    missing = any(line.value(MAIN.name) < 0 <= line.value(POOLED) for line in lines)
    return POOLED if missing else MAIN.name


def by_paradigm(chosen: JudgeSet) -> Table:
    """Return balanced accuracy of each judge by how it was asked, on all data and its parts, with what a verdict cost."""
    measure = _measure(chosen.lines)
    parts = tuple(dict.fromkeys(part for line in chosen.lines for part in line.parts))
    titles = [part.capitalize() for part in parts] if len(parts) > 1 else ["Balanced accuracy"]
    rows = []
    for judge in chosen.judges:
        for label, line in _labelled([line for line in chosen.lines if line.name == judge]):
            overall = line.on_all.overall
            share = f"{percent(coverage(overall), 0)} %" if overall.n + overall.unscored else None
            costs = {name: line.on_all.scores.get(name) for name in (CALLS, TOKENS)}
            cells = {f"part:{part}": entry.scores.get(measure) for part, entry in line.parts.items()}
            rows.append({"judge": words.model(judge), "paradigm": label, "decided": share, **cells, **costs})
    columns = [
        Column("judge", "Judge"), Column("paradigm", "Paradigm", "prose"),
        *(_accuracy(f"part:{part}", title) for part, title in zip(parts, titles, strict=True)),
        Column("decided", "Decided", about="The share of rubrics that the judge decided"),
        Column(CALLS, "Calls per verdict", "score", "All calls of this judge and paradigm, repeats included", ""),
        Column(TOKENS, "Tokens per verdict", "score", "Tokens read and written, per rubric", "", 0),
    ]  # fmt: skip
    mean = "mean of the four instruction categories, as in the paper"
    pooled = "all rubrics pooled, since not every instruction category of the paper is there"
    note = (
        f"In %, {mean if measure == MAIN.name else pooled}; lines are 95 % intervals, and the mark at 50 is chance. Calls "
        "and tokens are all that the run made for this judge and paradigm, per rubric."
    )
    return Table("judges", columns, rows, "Balanced accuracy by paradigm, and what a verdict costs", note, 2)


def by_type(chosen: JudgeSet, judge: str) -> Table:
    """Return balanced accuracy of one judge by type of rubric, with a column for each way it was asked."""
    lines = list(_labelled([line for line in chosen.lines if line.name == judge]))
    columns = [Column("dimension", "Dimension"), Column("type", "Type")]
    columns += [_accuracy(label, label.capitalize()) for label, _ in lines]
    rows = []
    for kind in RUBRIC_TYPES.values():
        scores: dict[str, Score | None] = {label: line.on_all.scores.get(BALANCED + kind.name) for label, line in lines}
        if any(scores.values()):
            rows.append({"dimension": titled(kind.dimension), "type": titled(kind.name), **scores})
    note = "In %, all rubrics of a type pooled." if rows else "These results do not tell it by type of rubric."
    return Table("types", columns, rows, f"Balanced accuracy of {words.model(judge)} by type of rubric", note, 2)


def _accuracy(name: str, title: str) -> Column:
    about = "The mean of the shares of met and of unmet rubrics that the judge recognises; 50 is chance"
    return Column(name, title, "score", about, digits=1, drawn=True, mark=_CHANCE)


def _labelled(lines: Sequence[JudgeLine]) -> Iterator[tuple[str, JudgeLine]]:
    """Yield lines by how their judge was asked; further runs of the same are numbered."""
    seen: dict[str, int] = defaultdict(int)
    for line in lines:
        label = line.paradigm or "way of asking not told"
        seen[label] += 1
        yield label if seen[label] == 1 else f"{label}, run {seen[label]}", line
