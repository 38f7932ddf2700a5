"""How far judges can be trusted: what was measured, in charts of results that may be compared, by paradigm and by type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import urlencode

from truebench_hf.benchmarks.facts import paper as facts_paper
from truebench_hf.benchmarks.rubric_eval.metaeval.board import BALANCED, CALLS, MAIN, TOKENS, paradigm_words, titled
from truebench_hf.benchmarks.rubric_eval.metaeval.scores import PARADIGMS
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
_ORDER = [paradigm_words(name) for name in PARADIGMS]


@dataclass(frozen=True)
class JudgeLine:
    """A judge asked in one way: its results by part of the data, the whole first."""

    name: str
    paradigm: str
    parts: dict[str, BoardEntry] = field(hash=False)

    @property
    def whole(self) -> BoardEntry:
        """The result on all data."""
        return next(iter(self.parts.values()))


@dataclass(frozen=True)
class Set:
    """Judges on the same data with the same rules, the best first. `id` stands in links."""

    id: str
    what: What
    lines: tuple[JudgeLine, ...]

    @property
    def title(self) -> str:
        """Which data, how much of it, and the rules beside the judges."""
        first = self.lines[0].whole
        count = max(line.whole.overall.n + line.whole.overall.unscored for line in self.lines)
        rules = first.facts.get("Rules", "")
        parts = [words.data(first.facts.get("Data", "")), words.counted(count, "rubric") if count else ""]
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


def page(snapshot: Snapshot, asked: AskedJudges) -> JudgesPage:
    """The page that is asked for, or what comes nearest to it."""
    every = sets(snapshot)
    shown = next((one for one in every if one.id == asked.set), every[0] if every else None)
    others: dict[str, list[Set]] = defaultdict(list)
    for one in every:
        if one is not shown:
            others[HEADINGS[one.what]].append(one)
    if shown is None:
        return JudgesPage(None, "", "", (), {}, _published(snapshot))
    judge = asked.judge if asked.judge in shown.judges else shown.judges[0]
    return JudgesPage(
        shown,
        HEADINGS[shown.what],
        judge,
        (by_paradigm(shown), by_type(shown, judge)),
        dict(others),
        _published(snapshot),
    )


def _published(snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    return tuple(
        (urlencode({"board": board.id, "group": group.id}), boards.heading(group))
        for board in boards.boards(snapshot) if board.kind.name == JUDGES
        for group in board.published
    )  # fmt: skip


def sets(snapshot: Snapshot) -> tuple[Set, ...]:
    """All that was measured of judges, in the order of the page; not what papers print."""
    found: dict[tuple[What, str, str, str], list[dict[str, BoardEntry]]] = defaultdict(list)
    for board in boards.boards(snapshot):
        for group in board.groups if board.kind.name == JUDGES else ():
            for entry in group.entries if group.what != "paper" else ():
                same = found[group.what, entry.content, entry.name, entry.facts.get("Paradigm", "")]
                data = entry.facts.get("Data", "")
                free = next((parts for parts in same if data not in parts), None)  # no line hides another
                if free is None:
                    same.append(free := {})
                free[data] = entry
    together: dict[tuple[What, str], list[JudgeLine]] = defaultdict(list)
    for (what, _, name, paradigm), by_data in ((key, one) for key, same in found.items() for one in same):
        whole = min(by_data, key=len)
        parts = {data.removeprefix(whole).lstrip(", ") or _ALL: by_data[data] for data in sorted(by_data)}
        line = JudgeLine(name, paradigm, {_ALL: parts.pop(_ALL), **parts})
        together[what, line.whole.setting].append(line)
    order = list(HEADINGS)
    placed = sorted(together.items(), key=lambda one: (order.index(one[0][0]), -len(one[1]), one[0][1]))
    return tuple(Set(digest(f"{what} {key}")[:8], what, tuple(_best_first(of))) for (what, key), of in placed)


def by_paradigm(shown: Set) -> Chart:
    """Balanced accuracy of each judge by how it was asked, on all data and its parts, with what a verdict cost."""
    measure = _measure(shown.lines)
    parts = tuple(dict.fromkeys(part for line in shown.lines for part in line.parts))
    heads = [part.capitalize() for part in parts] if len(parts) > 1 else ["Balanced accuracy"]
    several = {name: [line for line in shown.lines if line.name == name] for name in shown.judges}
    groups = tuple(
        FigureRows(words.model(name), tuple(FigureRow(label, (
            *(_bar(_score(line.parts.get(part), measure), "not told of this part") for part in parts), _decided(line.whole),
            *(_cost(line.whole, what) for what in (CALLS, TOKENS)),
        )) for label, line in _labelled(lines)))
        for name, lines in several.items()
    )  # fmt: skip
    mean = "mean of the four instruction categories, as in the paper"
    pooled = "all rubrics pooled, since not every instruction category of the paper is there"
    return Chart(
        "Balanced accuracy by paradigm, and what a verdict costs",
        ("Judge and paradigm", *heads, "Decided", "Calls per verdict", "Tokens per verdict"), groups,
        f"In %, {mean if measure == MAIN.name else pooled}; the thin line is the 95 % interval, the mark at 50 is chance. Calls and "
        "tokens (read and written) are all that the run made for this judge and paradigm, repeats included, per rubric.",
    )  # fmt: skip


def by_type(shown: Set, judge: str) -> Chart:
    """Balanced accuracy of one judge by type of rubric, a column for each way it was asked."""
    lines = list(_labelled([line for line in shown.lines if line.name == judge]))
    there = {name for _, line in lines for name in line.whole.scores}
    types = {name: [t.name for t in RUBRIC_TYPES.values() if t.dimension == name] for name in DIMENSIONS}
    groups = tuple(
        FigureRows(titled(dimension), tuple(
            FigureRow(titled(name), tuple(_bar(line.whole.scores.get(BALANCED + name), "no such rubric") for _, line in lines))
            for name in names if BALANCED + name in there
        ))
        for dimension, names in types.items() if any(BALANCED + name in there for name in names)
    )  # fmt: skip
    pale = f"In %, all rubrics of a type pooled. Pale bars stand on fewer than {FEW} rubrics."
    return Chart(
        f"Balanced accuracy of {words.model(judge)} by type of rubric",
        ("Type", *(label.capitalize() for label, _ in lines)), groups,
        pale if groups else "These results do not tell balanced accuracy by type of rubric.",
    )  # fmt: skip


_AXIS = DrawnAxis(0.0, 100.0)


def _bar(score: Score | None, missing: str) -> Bar:
    return bar(score, _AXIS, "rubric", missing)


def _best_first(lines: Sequence[JudgeLine]) -> list[JudgeLine]:
    """Judges by their best result, and the ways of asking each in the paper's order."""
    measure, best = _measure(lines), dict[str, float]()
    for line in lines:
        score = _score(line.whole, measure)
        value = score.value if score and score.value is not None else -1.0
        best[line.name] = max(value, best.get(line.name, -1.0))
    asked = {name: place for place, name in enumerate(_ORDER)}
    return sorted(
        lines, key=lambda line: (-best[line.name], line.name, asked.get(line.paradigm, len(asked)), line.paradigm, line.whole.key)
    )  # fmt: skip


def _measure(lines: Sequence[JudgeLine]) -> str:
    """The mean of categories, unless a category is missing where the whole could be told."""
    told = [(_score(line.whole, MAIN.name), _score(line.whole, POOLED)) for line in lines]
    missing = any((not mean or mean.value is None) and pooled and pooled.value is not None for mean, pooled in told)
    return POOLED if missing else MAIN.name


def _score(entry: BoardEntry | None, name: str) -> Score | None:
    return entry.scores.get(name) if entry else None


def _labelled(lines: Sequence[JudgeLine]) -> Iterator[tuple[str, JudgeLine]]:
    """Lines by how their judge was asked; further runs of the same are numbered."""
    seen: dict[str, int] = defaultdict(int)
    for line in lines:
        said = line.paradigm or "way of asking not told"
        seen[said] += 1
        yield said if seen[said] == 1 else f"{said}, run {seen[said]}", line


def _decided(entry: BoardEntry) -> Cell:
    score = entry.overall
    return decided(score) if score.n + score.unscored else Cell("–", None, "nothing was judged")


def _cost(entry: BoardEntry, what: str) -> Cell:
    score = entry.scores.get(what)
    if score is None or score.value is None:
        return Cell("–", None, "not counted in this run")
    return Cell(f"{score.value:,.0f}" if what == TOKENS else f"{score.value:.2f}", score.value)


@cache
def facts() -> tuple[Chart, ...]:
    """FACTS Grounding's Tables 2 and 4: prompt templates of three judges against human labels."""
    return (
        _templates(
            2, "Is the answer grounded? Seven templates for each judge (Table 2)",
            "Macro-F1 and shares in %, against human labels. The printed shares fit 344 positive and 62 negative answers "
            "exactly, and not the 402 of the caption.",
        ),
        _templates(
            4, "Does the answer do what was asked? Two templates for each judge (Table 4)",
            "Macro-F1 and shares in %, against human labels of 450 answers.",
        ),
    )  # fmt: skip


def _templates(number: int, title: str, note: str) -> Chart:
    groups: dict[str, list[FigureRow]] = {}
    for row in facts_paper.paper_rows(number):
        figures = (Cell(f"{row[name]:.1f}", row[name]) for name in ("Acc.", "FPR", "FNR"))
        made = FigureRow(row["Prompt Template"], (_bar(Score(row["Macro-F1"] / 100, 0), ""), *figures), row["Chosen"])
        groups.setdefault(row["Judge Model"], []).append(made)
    heads = ("Judge and template", "Macro-F1", "Accuracy", "False positives", "False negatives")
    return Chart(
        title, heads, tuple(FigureRows(name, tuple(rows)) for name, rows in groups.items()), note, chance=False
    )
