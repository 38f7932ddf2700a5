"""The explorer's page: runs and filters to choose from, the list of what passes them, the conversation that is shown, and what
two runs held against each other come to: who is ahead and by how much, and where they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, repeat, zip_longest
from math import ceil
from pathlib import Path
from typing import Any

from markupsafe import Markup

from truebench_hf.comparing import runs
from truebench_hf.comparing.compare import ComparedMeans, Comparison, compare_runs
from truebench_hf.comparing.runs import KINDS, BoardEntry, read_all
from truebench_hf.data.records import of_entry
from truebench_hf.errors import UserError
from truebench_hf.report.page import fragment
from truebench_hf.report.sections import Exchange, Outcome, percent, points, points_between
from truebench_hf.report.table import Column, Table
from truebench_hf.results.finished import Finished
from truebench_hf.space.board import boards, words
from truebench_hf.space.board.items import ENDED, SAMPLE, UNJUDGED, ExplorerItem, Items, RecentItems, StudyRun, studies
from truebench_hf.space.board.store import Recent, Snapshot
from truebench_hf.space.pages import Query, address
from truebench_hf.text import anonymous
from truebench_hf.types import Message, Verdict

LISTED = 50  # conversations on a page of the list
_COMPARISONS = 8  # that are kept
_GONE = "This board has no such run, or has it no longer. Choose one from the list of runs."
_Options = tuple[tuple[str, str], ...]  # value, text
_Choices = tuple[tuple[str, _Options], ...]  # under their headings
_Messages = tuple[tuple[Message, int], ...]  # each with its number in a conversation (0: nothing refers to it)
# Criteria with the state and the reason in two answers.
_Pairs = tuple[tuple[str, tuple[tuple[Outcome, str], ...]], ...]

ONLY_FIRST, ONLY_SECOND, DIFFER = "only-first", "only-second", "differ"
_BOTH = {"failed": "both-failed", "unscored": "both-unscored", "passed": "both-passed", "not judged": "both-unscored"}
_ALONE = "alone"
# In the order of lists, the first of the two being looked at: what only the other passes comes first.
_ORDER = (ONLY_SECOND, ONLY_FIRST, DIFFER, *dict.fromkeys(_BOTH.values()), _ALONE)
_Compared = Comparison | str  # or why they cannot be compared


class Explorer:
    """Draws the pages that are asked for, and keeps what was read last."""

    def __init__(self, items: RecentItems | None = None, roots: Sequence[Path] = ()) -> None:
        self.items, self._roots = items or RecentItems(), roots
        self._comparisons = Recent[_Compared](_COMPARISONS)
        self._studies = Recent[dict[str, StudyRun]](1)  # of a snapshot, which is a new one after every look

    def page(self, snapshot: Snapshot, query: Query) -> dict[str, Any]:
        """Return what the template draws of the page that is asked for; what is not there is said under `problem`."""
        known = self._studies.of(snapshot, lambda: {study.key: study for study in studies(self._roots)})
        all_runs = tuple(_runs(snapshot, known.values()))
        run = query.run or all_runs[0][1][0][0]
        beside = query.beside if query.beside != run else ""
        items, problem = self._read(snapshot, known, run)
        others, without = self._read(snapshot, known, beside) if beside else ({}, "")
        entry, second = snapshot.entry(run), snapshot.entry(beside) if beside and not without else None
        passing = select(items, query, others if beside and not without else None)
        names = [item.name for item in passing]
        name, wrong = _current(query, items, names)
        place = names.index(name) if name in names else -1
        numbers = max(1, -(-len(passing) // LISTED))
        number = min(query.page or max(place, 0) // LISTED + 1, numbers)
        called = next(iter(items.values())).drawn.words if items else ("", "", "")
        states = dict(zip(("yes", "no", "open"), called, strict=True))
        two = (words.model(entry.name), words.model(second.name)) if entry and second else None

        def at(**change: str | int) -> str:
            """Return the address of this page with something changed."""
            values = {"run": run, "id": name, "beside": query.beside, **query.filters, "show": query.show}
            return address("explorer", **(values | change))

        order = "worst against the other first" if second else "failures first"
        missing = (without or "This run has no such conversation.") if beside else ""
        return {
            "query": query, "run": run, "runs": _with(all_runs, run), "at": at, "problem": problem or wrong, "words": states,
            "about": next((heading for heading, options in all_runs if run in dict(options)), ""),
            "others": _with(tuple(_comparable(snapshot, all_runs, run)), beside),
            "filters": tuple(_filters(items, query, states, two)),
            "counted": f"{len(passing):,} of {len(items):,}" if items else "",
            "more": order if any(item.ended != UNJUDGED for item in passing) else "",
            "number": number, "numbers": numbers,
            "lines": [(item, others.get(item.name)) for item in passing[(number - 1) * LISTED : number * LISTED]],
            "current": name, "before": names[place - 1] if place > 0 else "",
            "after": names[place + 1] if 0 <= place < len(names) - 1 else "",
            "conversation": shown(items[name], others.get(name, missing)) if name else None,
            "head": _comparison_head(entry, second, items, others, self._comparisons) if entry and second and items else None,
        }  # fmt: skip

    def _read(self, snapshot: Snapshot, known: Mapping[str, StudyRun], run: str) -> tuple[Items, str]:
        """Return the conversations of a run, or none and why."""
        entry = snapshot.entry(run) or known.get(run)
        if entry is None and run != SAMPLE:
            return {}, _GONE
        try:
            return self.items.of(entry), ""
        except UserError as error:
            reason = str(error)
            return {}, f"{reason[:1].upper()}{reason[1:]}."


def _current(query: Query, items: Items, names: list[str]) -> tuple[str, str]:
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
                yield boards.named(board, group), options
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
    items: Items, query: Query, called: Mapping[str, str], two: tuple[str, str] | None
) -> Iterator[tuple[str, str, _Options]]:
    """Yield name, label and options of each; one that is asked for and that nothing here has is named as such."""
    states = {item.drawn.outcome for item in items.values()}
    outcomes = {ended: called.get(state, ended.capitalize()) for state, ended in ENDED.items() if state in states}
    if two:
        outcomes |= {**_only_one(two), DIFFER: "The two differ"}
    languages = sorted((words.language(item.language), item.language) for item in items.values() if item.language)
    options = {
        "language": {value: text for text, value in languages},
        "category": {item.drawn.category: item.drawn.category for item in items.values() if item.drawn.category},
        "outcome": outcomes,
    }
    for name, known in options.items():
        current = query.filters[name]
        none_here = {current: f"{current} (none here)"} if current and current not in known else {}
        yield name, name.capitalize(), tuple((known | none_here).items())


def select(items: Items, query: Query, beside: Items | None = None) -> list[ExplorerItem]:
    """Return the conversations that pass a filter, failures first; beside another run what only that one passes first."""
    passing = [item for item in items.values() if _passes(item, query, beside)]
    if beside is None:
        return sorted(passing, key=lambda item: list(ENDED).index(item.drawn.outcome))
    return sorted(passing, key=lambda item: _ORDER.index(_related(item, beside.get(item.name))))


def _passes(item: ExplorerItem, query: Query, beside: Items | None) -> bool:
    language, category, ended, failed = query.filters.values()
    text, other = failed.casefold(), beside.get(item.name) if beside else None
    if language not in ("", item.language) or category not in ("", item.drawn.category):
        return False
    if ended == DIFFER:
        fits = other is not None and item.ended != other.ended
    else:
        fits = ended in ("", item.ended, _related(item, other) if beside else "")
    # The criteria that were not met; all of them where no model was asked.
    missed = (criterion for criterion, label, _ in item.verdicts() if label == "no" or item.ended == UNJUDGED)
    return fits and (not text or any(text in criterion.text.casefold() for criterion in missed))


@dataclass(frozen=True)
class ShownRound:
    """A turn: what all were asked, once; of each model what only it was asked, its answers, and its verdicts (as HTML); and
    the criteria where two models had the same. `title` says which of several answers to one prompt it is."""

    prompts: _Messages
    parts: tuple[tuple[_Messages, Markup], ...]
    both: _Pairs = ()
    title: str = ""

    @property
    def is_answer(self) -> bool:
        """Whether it is one of several answers to one prompt."""
        return bool(self.title and self.parts[0][0])


@dataclass(frozen=True)
class Shown:
    """What the template draws of a conversation: its turns, and the checks that two have in common.

    `other` is that of another model on the same instance, or why there is none ("": none was asked for).
    """

    item: ExplorerItem
    other: ExplorerItem | str
    rounds: tuple[ShownRound, ...]
    both: _Pairs


def shown(item: ExplorerItem, other: ExplorerItem | str = "") -> Shown:
    """Return a conversation, beside that of another model on the same instance."""
    items = [item] if isinstance(other, str) else [item, other]
    # Checks say in which message a judge saw it.
    numbers = count(1) if item.drawn.checks and len(items) == 1 else repeat(0)
    turns = zip_longest(*(each.drawn.exchanges for each in items), fillvalue=Exchange((), ()))
    rounds = tuple(_round(turn, numbers, item.drawn.words) for turn in turns)
    theirs = {} if isinstance(other, str) else {check.text: check for check in other.drawn.checks}
    pairs = ((check, theirs[check.text]) for check in item.drawn.checks if check.text in theirs)
    both = tuple((own.text, ((own.state, own.note), (their.state, their.note))) for own, their in pairs)
    return Shown(item, other, rounds, both)


def _round(turns: Sequence[Exchange], numbers: Iterator[int], called: tuple[str, str, str]) -> ShownRound:
    """Return a turn: what all were asked once, then each model's part; `called` is what its verdicts are."""
    prompts = [[message for message in turn.messages if message.role != "assistant"] for turn in turns]
    known = [messages for messages, turn in zip(prompts, turns, strict=True) if turn.messages]
    alike = bool(known) and all(messages == known[0] for messages in known)
    once = tuple((message, next(numbers)) for message in known[0]) if alike else ()
    both, parts = _side_by_side(turns), []
    for turn in turns:
        verdicts = replace(turn, messages=(), verdicts=() if both else turn.verdicts)
        own = [message for message in turn.messages if not alike or message.role == "assistant"]
        parts.append((tuple((message, next(numbers)) for message in own), Markup(fragment(verdicts, words=called))))
    return ShownRound(once, tuple(parts), both, turns[0].title)


def _side_by_side(turns: Sequence[Exchange]) -> _Pairs:
    """The verdicts of two answers; () where there are no two, or they were held against other criteria."""
    if len(turns) != 2:
        return ()
    first, second = ([verdict for verdict in turn.verdicts if isinstance(verdict, Verdict)] for turn in turns)
    if not first or [v.criterion.text for v in first] != [v.criterion.text for v in second]:
        return ()
    states: dict[str | None, Outcome] = {"yes": "yes", "no": "no"}
    return tuple(
        (own.criterion.text, tuple((states.get(v.label, "open"), v.reason) for v in (own, other)))
        for own, other in zip(first, second, strict=True)
    )


def _related(item: ExplorerItem, other: ExplorerItem | None) -> str:
    """Return how two conversations on one instance ended beside each other."""
    if other is None:
        return _ALONE
    ended = (item.ended, other.ended)
    known = {("passed", "failed"): ONLY_FIRST, ("failed", "passed"): ONLY_SECOND}
    return known.get(ended, DIFFER if item.ended != other.ended else _BOTH[item.ended])


def _only_one(names: tuple[str, str]) -> dict[str, str]:
    """Return what each relation is called in which only one of two models passes."""
    return {ONLY_SECOND: f"Only {names[1]} passes", ONLY_FIRST: f"Only {names[0]} passes"}


def _comparison_head(
    first: BoardEntry, second: BoardEntry, items: Items, others: Items, kept: Recent[_Compared]
) -> dict[str, Any]:
    """Return what the template says of two lines of a board and of the conversations of both; comparisons are `kept`.

    `counts` are choices of the list: its value, a text, a number.
    """
    names = words.model(first.name), words.model(second.name)
    relations = Counter(_related(item, others[name]) for name, item in items.items() if name in others)
    counts = tuple((relation, text, relations[relation]) for relation, text in _only_one(names).items())
    comparison: _Compared = ""
    if first.kind in KINDS and first.folder and second.folder:
        key = (first.key, second.key, *runs.stamp(first.folder), *runs.stamp(second.folder))
        comparison = kept.of(key, lambda: _compared(first, second))
    if isinstance(comparison, str):
        both = f"both pass {relations[_BOTH['passed']]:,}, both fail {relations[_BOTH['failed']]:,}"
        detail = f"Of {relations.total():,} conversations {both}."
        return {"verdict": "", "detail": detail, "counts": counts, "warning": comparison, "tables": ()}
    verdict, detail = _who_is_ahead(comparison.overall, names)
    note = (
        f"Points by which {names[1]} is ahead of {names[0]}, behind where negative. Lines are 95 % intervals, there from ten "
        "instances on."
    )
    differs = f"Not judged alike: {anonymous.text('; '.join(comparison.differs))}." if comparison.differs else ""
    tables = tuple(_forest(comparison, names))
    return {"verdict": verdict, "detail": detail, "counts": counts, "warning": differs, "tables": tables, "note": note}


def _compared(first: BoardEntry, second: BoardEntry) -> _Compared:
    """Return the comparison, or a line on why there is none."""
    try:
        return compare_runs(_run(first), _run(second))
    except (UserError, OSError, ValueError, KeyError, TypeError) as error:
        reason = str(error)
        for entry in (first, second):
            reason = reason.replace(str(entry.folder), words.model(entry.name))
        return f"The runs cannot be compared as a whole: {anonymous.text(reason)}."


def _run(entry: BoardEntry) -> Finished:
    """Return the run of a line, whose folder may hold those of other models."""
    by_model = {run.model: run for run in read_all(str(entry.folder))}
    names = anonymous.names(by_model)
    run = of_entry({names[model]: run for model, run in by_model.items()}, entry.name)
    if run is None:
        raise UserError(f"{words.model(entry.name)} has no conversations in its folder")
    return run


def _who_is_ahead(line: ComparedMeans, names: tuple[str, str]) -> tuple[str, str]:
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
