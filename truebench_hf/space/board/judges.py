"""How far judges can be trusted: what was measured, in charts of results that may be compared, by paradigm and by type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from truebench_hf.benchmarks.rubric_eval.scores import BALANCED, CALLS, MAIN, PARADIGMS, TOKENS, paradigm_words, titled
from truebench_hf.comparing.papers import JUDGES
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.data.rubrics import DIMENSIONS, RUBRIC_TYPES
from truebench_hf.hashing import digest
from truebench_hf.space.board import boards, words
from truebench_hf.space.board.asked import AskedJudges
from truebench_hf.space.board.boards import HEADINGS, What
from truebench_hf.space.board.figures import FEW, Bar, Cell, Chart, DrawnAxis, FigureRow, FigureRows, bar, decided
from truebench_hf.space.board.store import Snapshot
from truebench_hf.types import Score

POOLED = "pooled:balanced_accuracy"
_ALL = "all"
_AXIS = DrawnAxis(0.0, 100.0)
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
class Set:
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
        parts = [words.data(facts.get("Data", "")), words.counted(count, "rubric") if count else ""]
        return " · ".join(filter(None, (*parts, f"rules: {rules}" if rules else "")))

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of the judges."""
        return tuple(dict.fromkeys(line.name for line in self.lines))


@dataclass(frozen=True)
class JudgesPage:
    """What the template draws of measured judges; `shown` is None where none was measured."""

    shown: Set | None
    heading: str
    judge: str
    charts: tuple[Chart, ...]
    others: dict[str, list[Set]]
    published: tuple[tuple[str, str], ...]  # (address, title) of what papers print of judges, on the leaderboard


def page(snapshot: Snapshot, query: AskedJudges) -> JudgesPage:
    """The page that is asked for, or what comes nearest to it."""
    measured = sets(snapshot)
    published = tuple(
        (urlencode({"board": board.id, "group": group.id}), boards.heading(group))
        for board in boards.boards(snapshot) if board.kind.name == JUDGES
        for group in board.published
    )  # fmt: skip
    if not measured:
        return JudgesPage(None, "", "", (), {}, published)
    chosen = next((group for group in measured if group.id == query.set), measured[0])
    others: dict[str, list[Set]] = {}
    for group in measured:
        if group is not chosen:
            others.setdefault(HEADINGS[group.what], []).append(group)
    judge = query.judge if query.judge in chosen.judges else chosen.judges[0]
    drawn = by_paradigm(chosen), by_type(chosen, judge)
    return JudgesPage(chosen, HEADINGS[chosen.what], judge, drawn, others, published)


def sets(snapshot: Snapshot) -> tuple[Set, ...]:
    """All that was measured of judges, in the order of the page; not what papers print."""
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
    return tuple(Set(digest(f"{what} {key}")[:8], what, tuple(_best_first(of))) for (what, key), of in placed)


def _best_first(lines: Sequence[JudgeLine]) -> list[JudgeLine]:
    """Judges by their best result, and the ways of asking each in the paper's order."""
    measure, best = _measure(lines), dict[str, float]()
    for line in lines:
        best[line.name] = max(line.value(measure), best.get(line.name, -1.0))

    def place(line: JudgeLine) -> tuple[float, str, int, str, str]:
        paradigm = _ORDER.index(line.paradigm) if line.paradigm in _ORDER else len(_ORDER)
        return -best[line.name], line.name, paradigm, line.paradigm, line.on_all.key

    return sorted(lines, key=place)


def _measure(lines: Sequence[JudgeLine]) -> str:
    """The mean of categories, unless a category is missing where all of it could be told."""
    missing = any(line.value(MAIN.name) < 0 <= line.value(POOLED) for line in lines)
    return POOLED if missing else MAIN.name


def by_paradigm(chosen: Set) -> Chart:
    """Balanced accuracy of each judge by how it was asked, on all data and its parts, with what a verdict cost."""
    measure = _measure(chosen.lines)
    parts = tuple(dict.fromkeys(part for line in chosen.lines for part in line.parts))
    heads = [part.capitalize() for part in parts] if len(parts) > 1 else ["Balanced accuracy"]
    groups = []
    for name in chosen.judges:
        rows = []
        for label, line in _labelled([line for line in chosen.lines if line.name == name]):
            scores = [line.parts[part].scores.get(measure) if part in line.parts else None for part in parts]
            bars, overall = (_bar(score, "not told of this part") for score in scores), line.on_all.overall
            judged = overall.n + overall.unscored
            share = decided(overall) if judged else Cell("–", None, "nothing was judged")
            costs = (_cost(line.on_all.scores.get(CALLS), ".2f"), _cost(line.on_all.scores.get(TOKENS), ",.0f"))
            rows.append(FigureRow(label, (*bars, share, *costs)))
        groups.append(FigureRows(words.model(name), tuple(rows)))
    mean = "mean of the four instruction categories, as in the paper"
    pooled = "all rubrics pooled, since not every instruction category of the paper is there"
    return Chart(
        "Balanced accuracy by paradigm, and what a verdict costs",
        ("Judge and paradigm", *heads, "Decided", "Calls per verdict", "Tokens per verdict"), tuple(groups),
        f"In %, {mean if measure == MAIN.name else pooled}; the thin line is the 95 % interval, the mark at 50 is chance. Calls and "
        "tokens (read and written) are all that the run made for this judge and paradigm, repeats included, per rubric.",
    )  # fmt: skip


def by_type(chosen: Set, judge: str) -> Chart:
    """Balanced accuracy of one judge by type of rubric, a column for each way it was asked."""
    lines = list(_labelled([line for line in chosen.lines if line.name == judge]))
    groups = []
    for dimension in DIMENSIONS:
        rows = []
        for name in (kind.name for kind in RUBRIC_TYPES.values() if kind.dimension == dimension):
            scores = [line.on_all.scores.get(BALANCED + name) for _, line in lines]
            if any(score is not None for score in scores):
                rows.append(FigureRow(titled(name), tuple(_bar(score, "no such rubric") for score in scores)))
        if rows:
            groups.append(FigureRows(titled(dimension), tuple(rows)))
    pale = f"In %, all rubrics of a type pooled. Pale bars stand on fewer than {FEW} rubrics."
    return Chart(
        f"Balanced accuracy of {words.model(judge)} by type of rubric",
        ("Type", *(label.capitalize() for label, _ in lines)), tuple(groups),
        pale if groups else "These results do not tell balanced accuracy by type of rubric.",
    )  # fmt: skip


def _bar(score: Score | None, missing: str) -> Bar:
    return bar(score, _AXIS, "rubric", missing)


def _cost(score: Score | None, form: str) -> Cell:
    if score is None or score.value is None:
        return Cell("–", None, "not counted in this run")
    return Cell(f"{score.value:{form}}", score.value)


def _labelled(lines: Sequence[JudgeLine]) -> Iterator[tuple[str, JudgeLine]]:
    """Lines by how their judge was asked; further runs of the same are numbered."""
    seen: dict[str, int] = defaultdict(int)
    for line in lines:
        label = line.paradigm or "way of asking not told"
        seen[label] += 1
        yield label if seen[label] == 1 else f"{label}, run {seen[label]}", line
