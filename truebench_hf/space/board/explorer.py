"""The Explorer's page: runs and filters to choose from, the list of what passes them, and the conversation of it that is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from urllib.parse import urlencode

from truebench_hf.comparing import runs
from truebench_hf.comparing.compare import ComparedMeans, Comparison, compare_runs
from truebench_hf.comparing.papers import JUDGES
from truebench_hf.comparing.runs import KINDS, BoardEntry, read_all
from truebench_hf.data.records import of_entry
from truebench_hf.errors import UserError
from truebench_hf.report.sections import percent, points, points_between
from truebench_hf.results.finished import Finished
from truebench_hf.space.board import boards, words
from truebench_hf.space.board.asked import AskedConversations
from truebench_hf.space.board.conversation import Shown, shown
from truebench_hf.space.board.figures import FEW, Bar, Cell, Chart, FigureRow, FigureRows
from truebench_hf.space.board.items import OUTCOMES, SAMPLE, UNANSWERED, ExplorerItem, Items, RecentItems
from truebench_hf.space.board.store import Recent, Snapshot
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import shortened

LISTED = 50  # conversations on a page of the list
_GONE = "This board has no such run, or has it no longer. Choose one from the list of runs."
_Options = tuple[tuple[str, str], ...]  # value, text
_Choices = tuple[tuple[str, _Options], ...]  # under their headings


@dataclass(frozen=True, slots=True)
class ListedConversation:
    """A conversation in the list; `also` is how it ended beside."""

    name: str
    language: str
    about: str
    ended: str
    also: str
    words: str
    current: bool


@dataclass(frozen=True)
class ExplorerPage:
    """What the template draws. `problem` says what is wrong with what was asked; `counted` is how many are shown of how many."""

    query: AskedConversations
    run: str
    runs: _Choices
    others: _Choices
    filters: tuple[tuple[str, str, _Options], ...]  # name, label
    filtered: bool
    counted: str
    more: str
    number: int
    numbers: int
    lines: tuple[ListedConversation, ...]
    before: str
    after: str
    shown: Shown | None
    problem: str
    address: str  # of what is shown
    head: ComparisonHead | None  # of two runs
    words: Mapping[str, str]  # what the states of verdicts are called

    def at(self, name: str) -> str:
        """The address of a conversation of the list."""
        filters = dict(zip(("language", "category", "outcome", "failed"), self.query.filters, strict=True))
        pairs = {"tab": "explorer", "run": self.run, "id": name, "beside": self.query.beside, **filters}
        return urlencode({key: value for key, value in (pairs | {"show": self.query.show}).items() if value})


_WORDS = {"yes": "Passed", "no": "Failed", "open": "Unscored"}
_WORDS_OF_JUDGES = {"yes": "Right", "no": "Wrong", "open": "Open"}


class Explorer:
    """Answers what is asked of the tab, and keeps what was read last."""

    def __init__(self, items: RecentItems | None = None) -> None:
        self.items = items or RecentItems()
        self.comparisons = Comparisons()

    def page(self, snapshot: Snapshot, query: AskedConversations) -> ExplorerPage:
        """The page that is asked for; what is not there is said."""
        all_runs = tuple(_runs(snapshot))
        run = query.run or all_runs[0][1][0][0]
        items, problem = self._read(snapshot, run)
        other = query.beside if query.beside != run else ""
        beside, without = self._read(snapshot, other) if other else ({}, "")
        entry, second = snapshot.entry(run), snapshot.entry(other) if other and not without else None
        chosen = select(items, query, beside if other and not without else None)
        names = [item.name for item in chosen]
        name, wrong = _chosen(query, items, names)
        place = names.index(name) if name in names else -1
        numbers = max(1, -(-len(chosen) // LISTED))
        number = min(query.page or max(place, 0) // LISTED + 1, numbers)
        sides: list[ExplorerItem | str] = [items[name]] if name else []
        if other and name:
            sides.append(beside.get(name, without or "This run has no such conversation."))
        more = "worst against the other first" if second else "failures first"
        data = {e.key: (e.kind, e.data or e.setting) for e in snapshot.entries}
        comparable = [
            (heading, tuple(pair for pair in options if pair[0] != run and data.get(pair[0]) == data[entry.key]))
            for heading, options in all_runs if entry
        ]  # fmt: skip
        known = not problem and (name or not wrong)  # what is not there stays in the address as it was asked for
        return ExplorerPage(
            query, run, _with(all_runs, run), _with(tuple(pair for pair in comparable if pair[1]), other),
            tuple(_filters(items, query, entry, second)), any(query.filters),
            f"{len(chosen):,} of {len(items):,}" if items else "",
            more if any(item.ended != UNANSWERED for item in chosen) else "", number, numbers,
            tuple(_line(item, beside, item.name == name) for item in chosen[(number - 1) * LISTED : number * LISTED]),
            names[place - 1] if place > 0 else "", names[place + 1] if 0 <= place < len(names) - 1 else "",
            shown(sides, query.markdown) if sides else None, problem or wrong,
            urlencode({"run": run} | ({"id": name} if known else {})),
            self.comparisons.head(entry, second, items, beside) if entry and second and items else None,
            _WORDS_OF_JUDGES if entry and entry.kind == JUDGES else _WORDS,
        )  # fmt: skip

    def _read(self, snapshot: Snapshot, run: str) -> tuple[Items, str]:
        """The conversations of a run, or none and why."""
        entry = snapshot.entry(run)
        if entry is None and run != SAMPLE:
            return {}, _GONE
        try:
            return self.items.of(entry), ""
        except UserError as error:
            reason = str(error)
            return {}, f"{reason[:1].upper()}{reason[1:]}."


def _chosen(query: AskedConversations, items: Items, names: list[str]) -> tuple[str, str]:
    """The name of the conversation to show ("": none), and what is wrong with the one that was asked for."""
    if query.id and query.id not in items:
        return "", f"This run has no conversation “{query.id}”. Choose one from the list." if items else ""
    for name in (query.id, query.near):
        if name in names:
            return name, ""
    if query.id and names:
        return names[0], f"Conversation “{query.id}” does not pass this filter. Shown is the first that does."
    return (names[0] if names else ""), ""


def _runs(snapshot: Snapshot) -> Iterator[tuple[str, _Options]]:
    """The runs that can be looked through, in the order of the leaderboard, under the headings of their groups."""
    of_judges = [entry for entry in snapshot.entries if entry.kind == JUDGES]

    def is_part(entry: BoardEntry) -> bool:
        """Whether a line of a judge is about a part of what another line of the same study is about."""
        return entry.kind == JUDGES and any(
            (other.folder, other.name, other.facts.get("Paradigm")) == (entry.folder, entry.name, entry.facts.get("Paradigm"))
            and other.overall.n > entry.overall.n
            for other in of_judges
        )  # fmt: skip

    for board in boards.boards(snapshot):
        for group in board.groups:
            also = boards.differing(group)
            options = tuple(
                (e.key, " · ".join(filter(None, (words.model(e.name), also.get(e.key, "")))))
                for e in group.entries if e.folder and not is_part(e)
            )  # fmt: skip
            if options:
                yield f"{board.title} · {boards.heading(group)}", options
    yield "Without a model", ((SAMPLE, "Built-in sample"),)


def _with(choices: _Choices, key: str) -> _Choices:
    """The choices, with one that the board does not have named as such, not replaced."""
    listed = not key or any(key == value for _, options in choices for value, _ in options)
    return choices if listed else (("Not to be chosen here", ((key, key),)), *choices)


def _filters(
    items: Items, query: AskedConversations, entry: BoardEntry | None, second: BoardEntry | None
) -> Iterator[tuple[str, str, _Options]]:
    """Name, label and options of each; one that is asked for and that nothing here has is named as such."""
    all_ended = {item.ended for item in items.values()}
    called = {"failed": "Decided wrongly", "passed": "All right"} if entry and entry.kind == JUDGES else {}
    outcomes = {name: called.get(name, name.capitalize()) for name in (*OUTCOMES, UNANSWERED) if name in all_ended}
    if entry and second:
        outcomes[ONLY_SECOND] = f"Only {words.model(second.name)} passes"
        outcomes[ONLY_FIRST] = f"Only {words.model(entry.name)} passes"
        outcomes[DIFFER] = "The two differ"
    instances = [item.judged.instance for item in items.values()]
    languages = sorted((words.column(i.language), i.language) for i in instances if i.language)
    for name, label, options, current in (
        ("language", "Language", {value: text for text, value in languages}, query.language),
        ("category", "Category", {i.category: i.category for i in instances if i.category}, query.category),
        ("outcome", "Outcome", outcomes, query.outcome),
    ):
        none_here = {current: f"{current} (none here)"} if current and current not in options else {}
        yield name, label, tuple((options | none_here).items())


def _line(item: ExplorerItem, beside: Items, current: bool) -> ListedConversation:
    instance = item.judged.instance
    about = " · ".join(filter(None, (words.column(instance.language), instance.category)))
    ended = "" if item.ended == UNANSWERED else item.ended
    also = beside[item.name].ended if item.name in beside else ""
    return ListedConversation(item.name, instance.language, about, ended, also, shortened(item.opening, 90), current)


def select(items: Items, query: AskedConversations, beside: Items | None = None) -> list[ExplorerItem]:
    """The conversations that pass a filter, failures first; beside those of another run what only that one passes."""
    chosen = [item for item in items.values() if _passes(item, query, beside)]
    if beside is None:
        return sorted(chosen, key=lambda item: (*OUTCOMES, UNANSWERED).index(item.ended))
    return sorted(chosen, key=lambda item: ORDER.index(related(item, beside.get(item.name))))


def _passes(item: ExplorerItem, query: AskedConversations, beside: Items | None) -> bool:
    language, category, ended, failed = query.filters
    instance, text, other = item.judged.instance, failed.casefold(), beside.get(item.name) if beside else None
    if language not in ("", instance.language) or category not in ("", instance.category):
        return False
    if ended == DIFFER:
        fits = other is not None and item.ended != other.ended
    elif ended in (ONLY_FIRST, ONLY_SECOND):
        fits = related(item, other) == ended
    else:
        fits = ended in ("", item.ended)
    # The criteria that were not met; all of them where no model was asked.
    missed = (criterion for criterion, label, _ in item.verdicts() if label == "no" or item.ended == UNANSWERED)
    return fits and (not text or any(text in criterion.text.casefold() for criterion in missed))


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


def _forest(comparison: Comparison, names: tuple[str, str]) -> tuple[tuple[Chart, ...], str]:
    """The difference by category and by language, as dots with intervals around zero, and a line on how to read them."""
    groups = {title: lines for title, lines in comparison.groups.items() if len(lines) > 1}
    gaps = [line.difference for lines in groups.values() for line in lines.values()]
    ends = [abs(end) for gap in gaps for end in (*(gap.ci95 or ()), gap.value or 0.0)]
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
    if gap.value is None:
        none = Cell("–", None, "nothing decided in both")
        return FigureRow(name, (Bar("–", None, why="nothing decided in both"), none, none, Cell("0", 0)))

    def place(value: float) -> float:
        return round(50 + 50 * max(-1.0, min(1.0, 100 * value / reach)), 1)

    low, high = map(place, gap.ci95) if gap.ci95 else (None, None)
    why = f"95 %: {points_between(gap.ci95)}" if gap.ci95 else "too few instances for an interval"
    dot = Bar(points(gap.value), gap.value, place(gap.value), low, high, why, gap.n < FEW, dot=True)
    shares = (Cell(percent(share, 0), share) for share in (line.first, line.second) if share is not None)
    return FigureRow(name, (dot, *shares, Cell(f"{gap.n:,}", gap.n)))
