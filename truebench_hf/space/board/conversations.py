"""The Explorer's page: runs and filters to choose from, the list of what passes them, and the conversation of it that is shown."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

from truebench_hf.benchmarks.truebench import data
from truebench_hf.comparing import runs
from truebench_hf.comparing.papers import JUDGES
from truebench_hf.comparing.runs import Entry
from truebench_hf.data import jsonl
from truebench_hf.data.heads import of_entry
from truebench_hf.data.judged import Judged, unanswered
from truebench_hf.data.records import Reader
from truebench_hf.errors import UserError
from truebench_hf.space.board import boards, words
from truebench_hf.space.board.asked import AskedConversations
from truebench_hf.space.board.conversation import Shown, shown
from truebench_hf.space.board.store import Snapshot
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Message, Response

LISTED = 50  # conversations on a page of the list
_GONE = "This board has no such run, or has it no longer. Choose one from the list of runs."
_Choices = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]  # heading, (value, text)


@dataclass(frozen=True, slots=True)
class Line:
    """A conversation in the list; `also` is how it ended beside."""

    name: str
    language: str
    about: str
    ended: str
    also: str
    words: str
    current: bool


@dataclass(frozen=True)
class Page:
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
    lines: tuple[Line, ...]
    before: str
    after: str
    shown: Shown | None
    told: str
    said: str

    def at(self, name: str) -> str:
        """The address of a conversation of the list."""
        asked = self.asked
        filters = dict(zip(("language", "category", "outcome", "failed"), asked.filters, strict=True))
        more = {"with": asked.beside, **filters, "show": "markdown" if asked.markdown else ""}
        pairs = {"tab": "explorer", "run": self.run, "id": name, **more}
        return urlencode({key: value for key, value in pairs.items() if value})


def page(snapshot: Snapshot, recent: RecentRuns, asked: AskedConversations) -> Page:
    """The page that is asked for; what is not there is said."""
    every = tuple(_runs(snapshot))
    run = asked.run or next(key for _, of in every for key, _ in of)
    found, told = _read_of(snapshot, recent, run)
    other = asked.beside if asked.beside != run else ""
    beside, without = _read_of(snapshot, recent, other) if other else (_NONE, "")
    chosen = select(found, asked, beside if other else None)
    name, wrong = _chosen(asked, found, chosen)
    names = [item.name for item in chosen]
    place = names.index(name) if name in names else -1
    numbers = max(1, -(-len(chosen) // LISTED))
    number = min(asked.page or max(place, 0) // LISTED + 1, numbers)
    items: list[Judged | str] = [found.items[name]] if name else []
    if other and name:
        items.append(beside.items.get(name, without or "This run has no such conversation."))
    known = not told and (name or not wrong)  # what is not there stays in the address as it was asked for
    return Page(
        asked, run, _with(every, run), _with(tuple(_comparable(snapshot, every, snapshot.entry(run))), other),
        _filters(found, asked, bool(other)), any(asked.filters), *_counted(chosen, found, beside if other and not without else None),
        number, numbers,
        tuple(_line(item, found, beside, item.name == name) for item in chosen[(number - 1) * LISTED : number * LISTED]),
        names[place - 1] if place > 0 else "", names[place + 1] if 0 <= place < len(names) - 1 else "",
        shown(items, asked.markdown) if items else None, told or wrong,
        urlencode({"run": run} | ({"id": name} if known else {})),
    )  # fmt: skip


def _chosen(asked: AskedConversations, found: Conversations, chosen: Sequence[Judged]) -> tuple[str, str]:
    """The name of the conversation to show ("": none), and what is wrong with the one that was asked for."""
    if asked.id and asked.id not in found.items:
        return "", f"This run has no conversation “{asked.id}”. Choose one from the list." if found.items else ""
    names = [item.name for item in chosen]
    for name in (asked.id, asked.near):
        if name in names:
            return name, ""
    if asked.id and names:
        return names[0], f"Conversation “{asked.id}” does not pass this filter. Shown is the first that does."
    return (names[0] if names else ""), ""


def _read_of(snapshot: Snapshot, recent: RecentRuns, run: str) -> tuple[Conversations, str]:
    """The conversations of a run, or none and why."""
    entry = snapshot.entry(run)
    if entry is None and run != SAMPLE:
        return _NONE, _GONE
    try:
        return recent.of(entry), ""
    except UserError as error:
        said = str(error)
        return _NONE, f"{said[:1].upper()}{said[1:]}."


def _runs(snapshot: Snapshot) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """The runs that can be looked through, in the order of the leaderboard, under the headings of their groups."""
    for board in boards.boards(snapshot):
        for group in board.groups if board.kind.name != JUDGES else ():
            also = boards.differing(group)
            there = tuple(
                (e.key, " · ".join(filter(None, (words.model(e.name), also.get(e.key, ""))))) for e in group.entries if e.folder
            )  # fmt: skip
            if there:
                yield f"{board.title} · {boards.heading(group)}", there
    yield "Without a model", ((SAMPLE, "Built-in sample"),)


def _comparable(
    snapshot: Snapshot, runs: _Choices, entry: Entry | None
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
    found: Conversations, asked: AskedConversations, comparing: bool
) -> tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...]:
    there = [name for name in (*OUTCOMES, UNANSWERED) if name in found.ended.values()]
    ended = [(name, name.capitalize()) for name in there]
    ended += [(DIFFER, "The two differ")] if comparing else []
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


def _counted(chosen: Sequence[Judged], found: Conversations, beside: Conversations | None) -> tuple[str, str]:
    """How many are shown, and what else is told of them."""
    if not found.items:
        return "", ""
    more = ["failures first"] if any(found.ended[item.name] != UNANSWERED for item in chosen) else []
    if beside is not None:
        apart = sum(differ(item.name, found, beside) for item in chosen)
        more += [f"{apart:,} {'ends' if apart == 1 else 'end'} differently"]
    return f"{len(chosen):,} of {len(found.items):,}", ", ".join(more)


def _line(item: Judged, found: Conversations, beside: Conversations, current: bool) -> Line:
    first, instance = first_words(item), item.instance
    about = " · ".join(filter(None, (words.column(instance.language), instance.category)))
    ended = found.ended[item.name]
    return Line(
        item.name, instance.language, about, "" if ended == UNANSWERED else ended,
        beside.ended.get(item.name, ""), first, current,
    )  # fmt: skip


SAMPLE = "sample"  # the key of the built-in instances, which no model has answered
OUTCOMES = {"failed": False, "unscored": None, "passed": True}  # in the order of lists: what went wrong comes first
UNANSWERED, DIFFER = "not answered", "differ"
_ORDER = {name: place for place, name in enumerate((*OUTCOMES, UNANSWERED))}
_KEPT = 4


@dataclass(frozen=True)
class Conversations:
    """Those of a run by name (the instance's id, behind it which sample), in file order; `ended` says how each ended:
    `passed`, `failed`, `unscored`, or `not answered` for instances without a model."""

    items: Mapping[str, Judged]
    ended: Mapping[str, str]

    @classmethod
    def of(cls, items: Mapping[str, Judged]) -> Conversations:
        """Those that are given."""
        return cls(items, {name: _ended(item) for name, item in items.items()})


_NONE = Conversations({}, {})


class RecentRuns:
    """The conversations of the runs looked at last, so that a click does not read a file again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[tuple[int, ...], Conversations]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, entry: Entry | None) -> Conversations:
        """Those of a run; without one the built-in sample. Raises UserError."""
        if entry is None:
            return sample()
        if entry.folder is None:
            raise UserError("this entry has no conversations to show")
        mark = runs.stamp(entry.folder)
        with self._lock:
            kept = self._kept.get(entry.key)
            if kept is None or kept[0] != mark:
                kept = mark, Conversations.of(_read(entry.folder / "judgments.jsonl", entry.name))
                self._kept[entry.key] = kept
            self._kept.move_to_end(entry.key)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return kept[1]


@cache
def sample() -> Conversations:
    """The built-in instances as conversations that no model has had: theirs has no name."""
    found = {}
    for instance in data.load("mini"):
        asked = Response(instance.id, "", tuple(Message("user", turn.prompt) for turn in instance.turns))
        found[instance.id] = Judged(instance, asked, tuple(unanswered(instance, asked)))
    return Conversations.of(found)


def select(found: Conversations, asked: AskedConversations, beside: Conversations | None = None) -> list[Judged]:
    """The conversations that pass a filter, failures first; `beside` are those of a run that outcomes may `differ` from."""
    chosen = [item for name, item in found.items.items() if _passes(name, item, found, asked, beside)]
    return sorted(chosen, key=lambda item: _ORDER[found.ended[item.name]])


def differ(name: str, one: Conversations, other: Conversations | None) -> bool:
    """Whether a conversation ended in another way in two runs that both have it."""
    return other is not None and name in other.ended and one.ended[name] != other.ended[name]


def choices(found: Conversations, field: str) -> list[str]:
    """The values of a field in the order of their first conversation."""
    return list(dict.fromkeys(value for item in found.items.values() if (value := getattr(item.instance, field))))


def first_words(item: Judged) -> str:
    """What was asked first, cut."""
    text = next((message.content for message in item.response.messages if message.role == "user"), "")
    return shortened(text, 90)


def _ended(item: Judged) -> str:
    if not item.response.model:
        return UNANSWERED
    passed = item.passed
    return next(name for name, state in OUTCOMES.items() if passed is state)


def _passes(
    name: str, item: Judged, found: Conversations, asked: AskedConversations, beside: Conversations | None
) -> bool:
    language, category, ended, failed = asked.filters
    text = failed.casefold()
    return (
        language in ("", item.instance.language)
        and category in ("", item.instance.category)
        and (differ(name, found, beside) if ended == DIFFER else ended in ("", found.ended[name]))
        and (not text or any(text in criterion.casefold() for criterion in _failed(item)))
    )


def _failed(item: Judged) -> list[str]:
    """The criteria that were not met; all of them where no model was asked."""
    verdicts = [verdict for turn in item.verdicts for verdict in turn]
    labels = [label for turn in item.outcomes for label in turn]
    told = zip(verdicts, labels, strict=True)
    return [verdict.criterion.text for verdict, label in told if label == "no" or not item.response.model]


def _read(file: Path, name: str) -> dict[str, Judged]:
    """The conversations of the model of the line of this name, whose file may hold those of others."""
    reader, found = Reader(), dict[str, dict[str, Judged]]()
    try:
        with file.open("rb") as content:
            for where, line in jsonl.lines(content, file.name):
                item, _ = reader.judged(runs.loads(line.decode("utf-8")), where)
                found.setdefault(item.response.model, {})[item.name] = item
    except (OSError, ValueError, RecursionError, UserError) as error:
        raise UserError("the judgments of this run cannot be read") from error
    shown = anonymous.names(found)
    return (of_entry({shown[model]: items for model, items in found.items()}, name) if found else None) or {}
