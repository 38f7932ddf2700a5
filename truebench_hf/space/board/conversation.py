"""A judged conversation for a page, and those of two models beside each other: their words, and verdict beside verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from markupsafe import Markup, escape

from truebench_hf.report.conversation import conversation
from truebench_hf.report.page import fragment
from truebench_hf.report.sections import Conversation, Exchange, Outcome, exchanges
from truebench_hf.space.board import words
from truebench_hf.space.board.items import UNANSWERED, Check, ExplorerItem
from truebench_hf.text.differences import Pieces, differing
from truebench_hf.text.terminal import steerless
from truebench_hf.types import Message, Verdict

_OUTCOMES: dict[str, Outcome] = {"failed": "no", "unscored": "open", "passed": "yes"}
_ALIKE = 0.25  # of the words; below, nearly all would be marked


@dataclass(frozen=True, slots=True)
class Said:
    """A message: who speaks, its text in pieces with whether the other model's lacks them, or as Markdown, and its
    number among all of a conversation (0: nothing refers to it)."""

    role: str
    text: str
    pieces: Pieces
    rich: Markup | None = None
    number: int = 0


@dataclass(frozen=True)
class Part:
    """What one model did in a turn: what only it was asked, its answers, thinking and verdicts (as HTML)."""

    said: tuple[Said, ...]
    verdicts: Markup


@dataclass(frozen=True, slots=True)
class Both:
    """A criterion with what became of it in two answers: the state and the reason of each."""

    text: str
    cells: tuple[tuple[Outcome, str], ...]


@dataclass(frozen=True)
class ShownRound:
    """A turn: what all were asked, once, a part for each model, and the criteria where two models had the same."""

    asked: tuple[Said, ...]
    parts: tuple[Part, ...]
    both: tuple[Both, ...] = ()


@dataclass(frozen=True)
class Side:
    """One model's: its name, how it ended, what went wrong; `missing` says why there is none."""

    who: str
    outcome: Outcome
    error: str = ""
    missing: str = ""


@dataclass(frozen=True)
class Shown:
    """What the template draws. `told` says how the answers of two models were held against each other.

    `checks` stand under `heads` beside a conversation; `both` are those of two.
    """

    name: str
    language: str
    document: str
    sides: tuple[Side, ...]
    rounds: tuple[ShownRound, ...]
    told: str = ""
    heads: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    both: tuple[Both, ...] = ()


def shown(items: Sequence[ExplorerItem | str], markdown: bool = False) -> Shown:
    """A conversation, or those of two models on the same instance; a text says why one is missing."""
    there = {place: _conversation(item) for place, item in enumerate(items) if isinstance(item, ExplorerItem)}
    sides = tuple(
        Side(words.model(one.who), one.outcome, one.error) if (one := there.get(place)) else Side("", "", "", str(item))
        for place, item in enumerate(items)
    )
    if not there:
        return Shown("", "", "", sides, ())
    first, item = next(iter(there.values())), next(item for item in items if isinstance(item, ExplorerItem))
    instance = item.judged.instance
    kind = " / ".join(filter(None, (instance.category, instance.task)))
    name = " · ".join(filter(None, (item.name, words.column(instance.language), kind)))
    rounds, shares, checks = [], [], [item.checks for item in items if isinstance(item, ExplorerItem)]
    numbers = iter(range(1, 10**6)) if len(there) == 1 and item.checks else iter(int, 1)
    for number in range(max(len(one.exchanges) for one in there.values())):
        turns = [one.exchanges[number] if number < len(one.exchanges) else Exchange((), ()) for one in there.values()]
        made, share = _round(turns, markdown, numbers)
        rounds.append(made)
        shares += [share] if share is not None else []
    told = _told(shares, markdown) if len(there) > 1 else ""
    both = tuple(_beside(*checks)) if len(checks) == 2 else ()
    return Shown(
        name, first.language, first.context, sides, tuple(rounds), told, item.heads, () if both else item.checks, both
    )


def _conversation(item: ExplorerItem) -> Conversation:
    """With bare criteria where no model had it."""
    judged = item.judged
    made = replace(conversation(judged, None), who=judged.response.model, outcome=_OUTCOMES.get(item.ended, ""))
    if item.ended != UNANSWERED:
        return made
    bare = [[verdict.criterion for verdict in turn] for turn in judged.verdicts]
    return replace(made, exchanges=exchanges(judged.response.messages, bare), outcome="", error="")


def _beside(first: Sequence[Check], second: Sequence[Check]) -> Iterator[Both]:
    """The checks that both have, in the order of the first."""
    theirs = {check.text: check for check in second}
    for check in first:
        if other := theirs.get(check.text):
            yield Both(check.text, ((check.state, check.note), (other.state, other.note)))


def _verdicts(turns: Sequence[Exchange]) -> tuple[Both, ...]:
    """The verdicts of two answers side by side; () where there are no two, or they were held against other criteria."""
    if len(turns) != 2:
        return ()
    first, second = ([verdict for verdict in turn.verdicts if isinstance(verdict, Verdict)] for turn in turns)
    if not first or [v.criterion.text for v in first] != [v.criterion.text for v in second]:
        return ()
    return tuple(
        Both(one.criterion.text, tuple((_state(verdict), verdict.reason) for verdict in (one, other)))
        for one, other in zip(first, second, strict=True)
    )


def _state(verdict: Verdict) -> Outcome:
    return "yes" if verdict.label == "yes" else "no" if verdict.label == "no" else "open"


def _round(turns: Sequence[Exchange], markdown: bool, numbers: Iterator[int]) -> tuple[ShownRound, float | None]:
    """A turn, and the share of words that two answers have in common (None: they were not compared)."""
    asked = [[one for one in turn.messages if one.role != "assistant"] for turn in turns]
    answers = [[one for one in turn.messages if one.role == "assistant"] for turn in turns]
    known = [one for one, turn in zip(asked, turns, strict=True) if turn.messages]
    once = known[0] if known and all(one == known[0] for one in known) else []
    own = [[] if once else one for one in asked]
    pieces, share = _apart(answers)
    both = _verdicts(turns)
    asked_once = tuple(_said(one, number=next(numbers)) for one in once)
    parts = tuple(
        Part(
            (*(_said(one, number=next(numbers)) for one in alone),
             *(_said(one, marked, markdown, next(numbers)) for one, marked in zip(said, cut, strict=True))),
            Markup(fragment(replace(turn, messages=(), verdicts=() if both else turn.verdicts))),
        )
        for turn, alone, said, cut in zip(turns, own, answers, pieces, strict=True)
    )  # fmt: skip
    return ShownRound(asked_once, parts, both), share


def _apart(answers: Sequence[Sequence[Message]]) -> tuple[list[list[Pieces]], float | None]:
    """Every answer in pieces: cut where two differ, if each model gave one and they are alike enough."""
    plain: list[list[Pieces]] = [[((one.content, False),) for one in said] for said in answers]
    if len(answers) != 2 or any(len(said) != 1 for said in answers):
        return plain, None
    left, right, share = differing(answers[0][0].content, answers[1][0].content)
    return (plain if share is None or share < _ALIKE else [[left], [right]]), share


def _said(message: Message, pieces: Pieces | None = None, markdown: bool = False, number: int = 0) -> Said:
    text = message.content
    made = rich(text) if markdown else None
    return Said(message.role, text, pieces or ((text, False),), made, number)


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


_LONGEST = 60_000  # characters; what is longer is shown as it is
# The signs that templates of a page around it would read.
_SIGNS = {"`": "&#96;", "$": "&#36;", "{": "&#123;", "}": "&#125;"}


def rich(text: str) -> Markup | None:
    """A text that is Markdown as HTML; None where it is too long."""
    if len(text) > _LONGEST:
        return None
    html: str = _reader().render(steerless(text.replace("\r\n", "\n")))
    # All of it is escaped already, and attributes and texts alike are read with entities in them.
    for sign, entity in _SIGNS.items():
        html = html.replace(sign, entity)
    return Markup(html)


@cache
def _reader() -> Any:
    from markdown_it import MarkdownIt

    class OfTheWeb(MarkdownIt):
        def validateLink(self, url: str) -> bool:
            return url.strip().lower().startswith(("https://", "http://"))

    reader = OfTheWeb("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    reader.add_render_rule("image", _picture)
    reader.add_render_rule("link_open", _link)
    for level in ("heading_open", "heading_close"):
        reader.add_render_rule(level, _heading)
    return reader


def _picture(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    """What a picture is called: it would be asked for from elsewhere."""
    said = renderer.renderInlineAsText(tokens[place].children, options, env)
    return f"<em>[picture{': ' if said else ''}{escape(said)}]</em>"


def _link(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    tokens[place].attrSet("rel", "noopener noreferrer nofollow ugc")
    tokens[place].attrSet("target", "_blank")
    made: str = renderer.renderToken(tokens, place, options, env)
    return made


def _heading(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    """Below the headings of the page: what was h1 is h4, and so on to h6."""
    tokens[place].tag = f"h{min(6, int(tokens[place].tag[1]) + 3)}"
    made: str = renderer.renderToken(tokens, place, options, env)
    return made
