"""The explorer's page: runs and filters to choose from, the list of what passes them, and the conversation that is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from truebench_hf.errors import UserError
from truebench_hf.space.board import boards, words
from truebench_hf.space.board.conversation import Shown, shown
from truebench_hf.space.board.items import ENDED, SAMPLE, UNJUDGED, ExplorerItem, Items, RecentItems, StudyRun, studies
from truebench_hf.space.board.queries import ExplorerQuery, address
from truebench_hf.space.board.store import Snapshot
from truebench_hf.space.board.versus import (
    DIFFER,
    ONLY_FIRST,
    ONLY_SECOND,
    ORDER,
    ComparisonHead,
    RecentComparisons,
    related,
)
from truebench_hf.text.terminal import shortened

LISTED = 50  # conversations on a page of the list
_GONE = "This board has no such run, or has it no longer. Choose one from the list of runs."
_Options = tuple[tuple[str, str], ...]  # value, text
_Choices = tuple[tuple[str, _Options], ...]  # under their headings


@dataclass(frozen=True, slots=True)
class ListedConversation:
    """A conversation in the list: how it ended, `also` beside, and what was asked first."""

    name: str
    language: str
    about: str
    ended: str
    also: str
    words: str


@dataclass(frozen=True)
class ExplorerPage:
    """What the template draws. `problem` says what is wrong with the query; `counted` is how many are shown of how many."""

    query: ExplorerQuery
    run: str
    about: str  # what it is about: the heading of its group
    runs: _Choices
    others: _Choices
    filters: tuple[tuple[str, str, _Options], ...]  # name, label
    counted: str
    more: str
    number: int
    numbers: int
    lines: tuple[ListedConversation, ...]
    current: str
    before: str
    after: str
    conversation: Shown | None
    problem: str
    head: ComparisonHead | None  # of two runs
    words: Mapping[str, str]  # what the states of verdicts are called

    def at(self, **change: str | int) -> str:
        """Return the address of this page with something changed."""
        language, category, outcome, failed = self.query.filters
        values: dict[str, str | int] = {
            "run": self.run,
            "id": self.current,
            "beside": self.query.beside,
            "language": language,
        }
        values |= {"category": category, "outcome": outcome, "failed": failed, "show": self.query.show}
        return address("explorer", **(values | change))


class Explorer:
    """Draws the pages that are asked for, and keeps what was read last."""

    def __init__(self, items: RecentItems | None = None, roots: Sequence[Path] = ()) -> None:
        self.items, self._roots = items or RecentItems(), roots
        self._comparisons = RecentComparisons()
        self._studies: tuple[Snapshot | None, dict[str, StudyRun]] = None, {}

    def page(self, snapshot: Snapshot, query: ExplorerQuery) -> ExplorerPage:
        """Return the page that is asked for; what is not there is said."""
        if self._studies[0] is not snapshot:  # which is a new one after every look at the sources
            self._studies = snapshot, {study.key: study for study in studies(self._roots)}
        known = self._studies[1]
        all_runs = tuple(_runs(snapshot, known.values()))
        run = query.run or all_runs[0][1][0][0]
        items, problem = self._read(snapshot, run)
        other = query.beside if query.beside != run else ""
        beside, without = self._read(snapshot, other) if other else ({}, "")
        entry, second = snapshot.entry(run), snapshot.entry(other) if other and not without else None
        passing = select(items, query, beside if other and not without else None)
        names = [item.name for item in passing]
        name, wrong = _current(query, items, names)
        place = names.index(name) if name in names else -1
        numbers = max(1, -(-len(passing) // LISTED))
        number = min(query.page or max(place, 0) // LISTED + 1, numbers)
        sides: list[ExplorerItem | str] = [items[name]] if name else []
        if other and name:
            sides.append(beside.get(name, without or "This run has no such conversation."))
        first = next(iter(items.values())).drawn.words if items else ("", "", "")
        outcome_words = dict(zip(("yes", "no", "open"), first, strict=True))
        two = (words.model(entry.name), words.model(second.name)) if entry and second else None
        about = next((heading for heading, options in all_runs if run in dict(options)), "")
        more = "worst against the other first" if second else "failures first"
        return ExplorerPage(
            query, run, about, _with(all_runs, run), _with(tuple(_comparable(snapshot, all_runs, run)), other),
            tuple(_filters(items, query, outcome_words, two)), f"{len(passing):,} of {len(items):,}" if items else "",
            more if any(item.ended != UNJUDGED for item in passing) else "", number, numbers,
            tuple(_line(item, beside) for item in passing[(number - 1) * LISTED : number * LISTED]), name,
            names[place - 1] if place > 0 else "", names[place + 1] if 0 <= place < len(names) - 1 else "",
            shown(sides) if sides else None, problem or wrong,
            self._comparisons.head(entry, second, items, beside) if entry and second and items else None,
            outcome_words,
        )  # fmt: skip

    def _read(self, snapshot: Snapshot, run: str) -> tuple[Items, str]:
        """Return the conversations of a run, or none and why."""
        entry = snapshot.entry(run) or self._studies[1].get(run)
        if entry is None and run != SAMPLE:
            return {}, _GONE
        try:
            return self.items.of(entry), ""
        except UserError as error:
            reason = str(error)
            return {}, f"{reason[:1].upper()}{reason[1:]}."


def _current(query: ExplorerQuery, items: Items, names: list[str]) -> tuple[str, str]:
    """Return the name of the conversation to show ("": none), and what is wrong with the one that was asked for."""
    if query.id and query.id not in items:
        return "", f"This run has no conversation “{query.id}”. Choose one from the list." if items else ""
    for name in (query.id, query.near):
        if name in names:
            return name, ""
    if query.id and names:
        return names[0], f"Conversation “{query.id}” does not pass this filter. Shown is the first that does."
    return (names[0] if names else ""), ""


def _runs(snapshot: Snapshot, others: Iterable[StudyRun]) -> Iterator[tuple[str, _Options]]:
    """Yield the runs that can be looked through, in the order of the leaderboard, under the headings of their groups; behind
    them the others under what they hold."""
    for board in boards.boards(snapshot):
        for group in board.groups:
            if any(boards.is_part(group, other) for other in board.groups):  # its conversations are those of the other
                continue
            also = boards.differing(group)
            options = tuple(
                (e.key, " · ".join(filter(None, (words.model(e.name), also.get(e.key, "")))))
                for e in group.entries if e.folder
            )  # fmt: skip
            if options:
                yield f"{board.title} · {boards.heading(group)}", options
    by_title: dict[str, list[tuple[str, str]]] = {}
    for study in others:
        by_title.setdefault(study.title, []).append((study.key, f"{study.name} · {study.folder.name}"))
    yield from ((title, tuple(options)) for title, options in by_title.items())
    yield "Without a model", ((SAMPLE, "Built-in sample"),)


def _comparable(snapshot: Snapshot, all_runs: _Choices, run: str) -> Iterator[tuple[str, _Options]]:
    """Yield the other runs that were asked the same, under their headings."""
    data = {e.key: (e.kind, e.data or e.setting) for e in snapshot.entries}
    for heading, options in all_runs:
        same = tuple(pair for pair in options if run in data and pair[0] != run and data.get(pair[0]) == data[run])
        if same:
            yield heading, same


def _with(choices: _Choices, key: str) -> _Choices:
    """Return the choices, with one that the board does not have named as such, not replaced."""
    listed = not key or any(key == value for _, options in choices for value, _ in options)
    return choices if listed else (("Not to be chosen here", ((key, key),)), *choices)


def _filters(
    items: Items, query: ExplorerQuery, called: Mapping[str, str], two: tuple[str, str] | None
) -> Iterator[tuple[str, str, _Options]]:
    """Yield name, label and options of each; one that is asked for and that nothing here has is named as such."""
    states = {item.drawn.outcome for item in items.values()}
    outcomes = {ended: called.get(state, ended.capitalize()) for state, ended in ENDED.items() if state in states}
    if two:
        outcomes |= {
            ONLY_SECOND: f"Only {two[1]} passes",
            ONLY_FIRST: f"Only {two[0]} passes",
            DIFFER: "The two differ",
        }
    languages = sorted((words.language(item.language), item.language) for item in items.values() if item.language)
    categories = {item.category: item.category for item in items.values() if item.category}
    for name, label, options, current in (
        ("language", "Language", {value: text for text, value in languages}, query.language),
        ("category", "Category", categories, query.category),
        ("outcome", "Outcome", outcomes, query.outcome),
    ):
        none_here = {current: f"{current} (none here)"} if current and current not in options else {}
        yield name, label, tuple((options | none_here).items())


def _line(item: ExplorerItem, beside: Items) -> ListedConversation:
    about = " · ".join(filter(None, (words.column(item.language), item.category)))
    ended = "" if item.ended == UNJUDGED else item.ended
    also = beside[item.name].ended if item.name in beside else ""
    return ListedConversation(item.name, item.language, about, ended, also, shortened(item.opening, 90))


def select(items: Items, query: ExplorerQuery, beside: Items | None = None) -> list[ExplorerItem]:
    """Return the conversations that pass a filter, failures first; beside another run what only that one passes first."""
    passing = [item for item in items.values() if _passes(item, query, beside)]
    if beside is None:
        return sorted(passing, key=lambda item: list(ENDED).index(item.drawn.outcome))
    return sorted(passing, key=lambda item: ORDER.index(related(item, beside.get(item.name))))


def _passes(item: ExplorerItem, query: ExplorerQuery, beside: Items | None) -> bool:
    language, category, ended, failed = query.filters
    text, other = failed.casefold(), beside.get(item.name) if beside else None
    if language not in ("", item.language) or category not in ("", item.category):
        return False
    if ended == DIFFER:
        fits = other is not None and item.ended != other.ended
    elif ended in (ONLY_FIRST, ONLY_SECOND):
        fits = related(item, other) == ended
    else:
        fits = ended in ("", item.ended)
    # The criteria that were not met; all of them where no model was asked.
    missed = (criterion for criterion, label, _ in item.verdicts() if label == "no" or item.ended == UNJUDGED)
    return fits and (not text or any(text in criterion.text.casefold() for criterion in missed))
