"""A judged conversation for a page, and those of two models beside each other: their words, and verdict beside verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, repeat, zip_longest

from markupsafe import Markup

from truebench_hf.report.page import fragment
from truebench_hf.report.sections import Exchange, Outcome
from truebench_hf.space.board.items import ExplorerItem
from truebench_hf.types import Message, Verdict

_Messages = tuple[tuple[Message, int], ...]  # each with its number in a conversation (0: nothing refers to it)
# Criteria with the state and the reason in two answers.
_Pairs = tuple[tuple[str, tuple[tuple[Outcome, str], ...]], ...]


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
