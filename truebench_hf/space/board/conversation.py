"""A judged conversation for a page, and those of two models beside each other, without what would name the machine behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from truebench_hf.data.judged import Judged, public
from truebench_hf.report.conversation import conversation
from truebench_hf.report.page import fragment
from truebench_hf.report.sections import Conversation, Exchange, Outcome, exchanges
from truebench_hf.space.board import words
from truebench_hf.space.board.rich_text import rich
from truebench_hf.space.board.words_apart import Pieces, differing
from truebench_hf.types import Message

_ALIKE = 0.25  # of the words; below, nearly all would be marked


@dataclass(frozen=True, slots=True)
class Said:
    """A message: who speaks, its text in pieces with whether the other model's lacks them, or as Markdown."""

    role: str
    text: str
    pieces: Pieces
    rich: Markup | None = None


@dataclass(frozen=True)
class Part:
    """What one model did in a turn: what only it was asked, its answers, thinking and verdicts (as HTML)."""

    said: tuple[Said, ...]
    verdicts: Markup


@dataclass(frozen=True)
class Round:
    """A turn: what all were asked, once, and a part for each model."""

    asked: tuple[Said, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Side:
    """One model's: its name, how it ended, what went wrong; `missing` says why there is none."""

    who: str
    outcome: Outcome
    error: str = ""
    missing: str = ""


@dataclass(frozen=True)
class Shown:
    """What the template draws. `told` says how the answers of two models were held against each other."""

    name: str
    language: str
    document: str
    sides: tuple[Side, ...]
    rounds: tuple[Round, ...]
    told: str = ""


def shown(items: Sequence[Judged | str], markdown: bool = False) -> Shown:
    """A conversation, or those of two models on the same instance; a text says why one is missing."""
    there = {place: _public(item) for place, item in enumerate(items) if isinstance(item, Judged)}
    sides = tuple(
        Side(words.model(one.who), one.outcome, one.error) if (one := there.get(place)) else Side("", "", "", str(item))
        for place, item in enumerate(items)
    )
    if not there:
        return Shown("", "", "", sides, ())
    first, item = next(iter(there.values())), next(item for item in items if isinstance(item, Judged))
    instance = item.instance
    kind = " / ".join(filter(None, (instance.category, instance.task)))
    name = " · ".join(filter(None, (item.name, words.column(instance.language), kind)))
    rounds, shares = [], []
    for number in range(max(len(one.exchanges) for one in there.values())):
        turns = [one.exchanges[number] if number < len(one.exchanges) else Exchange((), ()) for one in there.values()]
        made, share = _round(turns, markdown)
        rounds.append(made)
        shares += [share] if share is not None else []
    told = _told(shares, markdown) if len(there) > 1 else ""
    return Shown(name, first.language, first.context, sides, tuple(rounds), told)


def _public(item: Judged) -> Conversation:
    """As strangers may see it, with bare criteria where no model had it."""
    made = replace(conversation(public(item), item.passed), who=public(item).response.model)
    if item.response.model:
        return made
    bare = [[verdict.criterion for verdict in turn] for turn in item.verdicts]
    return replace(made, exchanges=exchanges(item.response.messages, bare), outcome="", error="")


def _round(turns: Sequence[Exchange], markdown: bool) -> tuple[Round, float | None]:
    """A turn, and the share of words that two answers have in common (None: they were not compared)."""
    asked = [[one for one in turn.messages if one.role != "assistant"] for turn in turns]
    answers = [[one for one in turn.messages if one.role == "assistant"] for turn in turns]
    known = [one for one, turn in zip(asked, turns, strict=True) if turn.messages]
    once = known[0] if known and all(one == known[0] for one in known) else []
    own = [[] if once else one for one in asked]
    pieces, share = _apart(answers)
    parts = tuple(
        Part(
            (*(_said(one) for one in alone),
             *(_said(one, marked, markdown) for one, marked in zip(said, cut, strict=True))),
            Markup(fragment(replace(turn, messages=()))),
        )
        for turn, alone, said, cut in zip(turns, own, answers, pieces, strict=True)
    )  # fmt: skip
    return Round(tuple(_said(one) for one in once), parts), share


def _apart(answers: Sequence[Sequence[Message]]) -> tuple[list[list[Pieces]], float | None]:
    """Every answer in pieces: cut where two differ, if each model gave one and they are alike enough."""
    plain: list[list[Pieces]] = [[((one.content, False),) for one in said] for said in answers]
    if len(answers) != 2 or any(len(said) != 1 for said in answers):
        return plain, None
    left, right, share = differing(answers[0][0].content, answers[1][0].content)
    return (plain if share is None or share < _ALIKE else [[left], [right]]), share


def _said(message: Message, pieces: Pieces | None = None, markdown: bool = False) -> Said:
    text = message.content
    made = rich(text) if markdown else None
    return Said(message.role, text, pieces or ((text, False),), made)


def _told(shares: Sequence[float], markdown: bool) -> str:
    if not shares:
        return ""
    share = sum(shares) / len(shares)
    if share == 1:
        return "The answers have the same words."
    alike = f"The answers share {100 * share:.0f} % of their words"
    if min(shares) < _ALIKE:
        return f"{alike}: where they share less than a quarter, differences are not marked."
    return f"{alike}; what only one has is marked{' in the plain view' if markdown else ''}."
