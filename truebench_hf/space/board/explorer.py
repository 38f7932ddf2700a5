"""The Explorer's page: runs and filters to choose from, the list of what passes them, and the conversation of it that is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from truebench_hf.comparing.papers import JUDGES
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.errors import UserError
from truebench_hf.space.board import boards, words
from truebench_hf.space.board.asked import AskedConversations
from truebench_hf.space.board.comparison import (
    DIFFER,
    ONLY_FIRST,
    ONLY_SECOND,
    ORDER,
    ComparisonHead,
    Comparisons,
    related,
)
from truebench_hf.space.board.conversation import Shown, shown
from truebench_hf.space.board.items import OUTCOMES, SAMPLE, UNANSWERED, ExplorerItem, Items, RecentItems
from truebench_hf.space.board.store import Snapshot
from truebench_hf.text.terminal import shortened

LISTED = 50  # conversations on a page of the list
_GONE = "This board has no such run, or has it no longer. Choose one from the list of runs."
_Choices = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]  # heading, (value, text)


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
    """What the template draws. `told` says what is wrong with what was asked; `counted` is how many are shown of how many."""

    asked: AskedConversations
    run: str
    runs: _Choices
    others: _Choices
    filters: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...]  # name, label, (value, text)
    filtered: bool
    counted: str
    more: str
    number: int
    numbers: int
    lines: tuple[ListedConversation, ...]
    before: str
    after: str
    shown: Shown | None
    told: str
    said: str
    head: ComparisonHead | None  # of two runs
    words: Mapping[str, str]  # what the states of verdicts are called

    def at(self, name: str) -> str:
        """The address of a conversation of the list."""
        asked = self.asked
        filters = dict(zip(("language", "category", "outcome", "failed"), asked.filters, strict=True))
        more = {"beside": asked.beside, **filters, "show": asked.show}
        pairs = {"tab": "explorer", "run": self.run, "id": name, **more}
        return urlencode({key: value for key, value in pairs.items() if value})


_WORDS = {"yes": "Passed", "no": "Failed", "open": "Unscored"}
_WORDS_OF_JUDGES = {"yes": "Right", "no": "Wrong", "open": "Open"}


class Explorer:
    """Answers what is asked of the tab, and keeps what was read last."""

    def __init__(self, items: RecentItems | None = None) -> None:
        self.items = items or RecentItems()
        self.comparisons = Comparisons()

    def page(self, snapshot: Snapshot, asked: AskedConversations) -> ExplorerPage:
        """The page that is asked for; what is not there is said."""
        every = tuple(_runs(snapshot))
        run = asked.run or next(key for _, of in every for key, _ in of)
        found, told = _read_of(snapshot, self.items, run)
        other = asked.beside if asked.beside != run else ""
        beside, without = _read_of(snapshot, self.items, other) if other else ({}, "")
        chosen = select(found, asked, beside if other and not without else None)
        entry, second = snapshot.entry(run), snapshot.entry(other) if other and not without else None
        name, wrong = _chosen(asked, found, chosen)
        names = [item.name for item in chosen]
        place = names.index(name) if name in names else -1
        numbers = max(1, -(-len(chosen) // LISTED))
        number = min(asked.page or max(place, 0) // LISTED + 1, numbers)
        items: list[ExplorerItem | str] = [found[name]] if name else []
        if other and name:
            items.append(beside.get(name, without or "This run has no such conversation."))
        known = not told and (name or not wrong)  # what is not there stays in the address as it was asked for
        return ExplorerPage(
            asked, run, _with(every, run), _with(tuple(_comparable(snapshot, every, entry)), other),
            _filters(found, asked, entry, second), any(asked.filters), *_counted(chosen, found, bool(second)), number, numbers,
            tuple(_line(item, beside, item.name == name) for item in chosen[(number - 1) * LISTED : number * LISTED]),
            names[place - 1] if place > 0 else "", names[place + 1] if 0 <= place < len(names) - 1 else "",
            shown(items, asked.markdown) if items else None, told or wrong,
            urlencode({"run": run} | ({"id": name} if known else {})),
            self.comparisons.head(entry, second, found, beside) if entry and second and found else None,
            _WORDS_OF_JUDGES if entry and entry.kind == JUDGES else _WORDS,
        )  # fmt: skip


def _chosen(asked: AskedConversations, found: Items, chosen: Sequence[ExplorerItem]) -> tuple[str, str]:
    """The name of the conversation to show ("": none), and what is wrong with the one that was asked for."""
    if asked.id and asked.id not in found:
        return "", f"This run has no conversation “{asked.id}”. Choose one from the list." if found else ""
    names = [item.name for item in chosen]
    for name in (asked.id, asked.near):
        if name in names:
            return name, ""
    if asked.id and names:
        return names[0], f"Conversation “{asked.id}” does not pass this filter. Shown is the first that does."
    return (names[0] if names else ""), ""


def _read_of(snapshot: Snapshot, recent: RecentItems, run: str) -> tuple[Items, str]:
    """The conversations of a run, or none and why."""
    entry = snapshot.entry(run)
    if entry is None and run != SAMPLE:
        return {}, _GONE
    try:
        return recent.of(entry), ""
    except UserError as error:
        said = str(error)
        return {}, f"{said[:1].upper()}{said[1:]}."


def _runs(snapshot: Snapshot) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """The runs that can be looked through, in the order of the leaderboard, under the headings of their groups."""
    for board in boards.boards(snapshot):
        for group in board.groups:
            also = boards.differing(group)
            there = tuple(
                (e.key, " · ".join(filter(None, (words.model(e.name), also.get(e.key, "")))))
                for e in group.entries if e.folder and not boards.is_part(e, snapshot)
            )  # fmt: skip
            if there:
                yield f"{board.title} · {boards.heading(group)}", there
    yield "Without a model", ((SAMPLE, "Built-in sample"),)


def _comparable(
    snapshot: Snapshot, runs: _Choices, entry: BoardEntry | None
) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """The runs over what this one was asked."""
    data = {e.key: (e.kind, e.data or e.setting) for e in snapshot.entries}
    for heading, of in runs if entry else ():
        there = tuple(pair for pair in of if entry and pair[0] != entry.key and data.get(pair[0]) == data[entry.key])
        if there:
            yield heading, there


def _with(choices: _Choices, key: str) -> _Choices:
    """The choices, with one that the board does not have named as such, not replaced."""
    there = not key or any(key == known for _, of in choices for known, _ in of)
    return choices if there else (("Not to be chosen here", ((key, key),)), *choices)


def _filters(
    found: Items, asked: AskedConversations, entry: BoardEntry | None, second: BoardEntry | None
) -> tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...]:
    all_ended = {item.ended for item in found.values()}
    called = {"failed": "Decided wrongly", "passed": "All right"} if entry and entry.kind == JUDGES else {}
    ended = [(name, called.get(name, name.capitalize())) for name in (*OUTCOMES, UNANSWERED) if name in all_ended]
    if entry and second:
        names = {ONLY_SECOND: second, ONLY_FIRST: entry}
        ended += [(value, f"Only {words.model(of.name)} passes") for value, of in names.items()]
        ended += [(DIFFER, "The two differ")]
    languages = sorted((words.column(one), one) for one in choices(found, "language"))
    made: tuple[tuple[str, str, list[tuple[str, str]], str], ...] = (
        ("language", "Language", [(one, name) for name, one in languages], asked.language),
        ("category", "Category", [(one, one) for one in choices(found, "category")], asked.category),
        ("outcome", "Outcome", ended, asked.outcome),
    )
    return tuple(
        (name, label, (*known, *([(now, f"{now} (none here)")] if now and now not in dict(known) else [])))
        for name, label, known, now in made
    )  # fmt: skip


def _counted(chosen: Sequence[ExplorerItem], found: Items, comparing: bool) -> tuple[str, str]:
    """How many are shown, and what else is told of them."""
    if not found:
        return "", ""
    answered = any(item.ended != UNANSWERED for item in chosen)
    more = "worst against the other first" if comparing else "failures first"
    return f"{len(chosen):,} of {len(found):,}", more if answered else ""


def _line(item: ExplorerItem, beside: Items, current: bool) -> ListedConversation:
    instance = item.judged.instance
    about = " · ".join(filter(None, (words.column(instance.language), instance.category)))
    ended = "" if item.ended == UNANSWERED else item.ended
    also = beside[item.name].ended if item.name in beside else ""
    return ListedConversation(item.name, instance.language, about, ended, also, shortened(item.opening, 90), current)


_PLACES = {ended: place for place, ended in enumerate((*OUTCOMES, UNANSWERED))}


def select(found: Items, asked: AskedConversations, beside: Items | None = None) -> list[ExplorerItem]:
    """The conversations that pass a filter, failures first; beside those of another run what only that one passes."""
    chosen = [item for item in found.values() if _passes(item, asked, beside)]
    if beside is None:
        return sorted(chosen, key=lambda item: _PLACES[item.ended])
    return sorted(chosen, key=lambda item: ORDER.index(related(item, beside.get(item.name))))


def choices(found: Items, field: str) -> list[str]:
    """The values of a field in the order of their first conversation."""
    values = (getattr(item.judged.instance, field) for item in found.values())
    return list(dict.fromkeys(value for value in values if value))


def _passes(item: ExplorerItem, asked: AskedConversations, beside: Items | None) -> bool:
    language, category, ended, failed = asked.filters
    text, instance = failed.casefold(), item.judged.instance
    return (
        language in ("", instance.language)
        and category in ("", instance.category)
        and _ended(item, ended, beside)
        and (not text or any(text in criterion.casefold() for criterion in _missed(item)))
    )


def _ended(item: ExplorerItem, wanted: str, beside: Items | None) -> bool:
    if wanted not in (DIFFER, ONLY_FIRST, ONLY_SECOND):
        return wanted in ("", item.ended)
    other = beside.get(item.name) if beside else None
    return other is not None and (item.ended != other.ended if wanted == DIFFER else related(item, other) == wanted)


def _missed(item: ExplorerItem) -> list[str]:
    """The criteria that were not met; all of them where no model was asked."""
    return [criterion.text for criterion, label, _ in item.verdicts() if label == "no" or item.ended == UNANSWERED]
