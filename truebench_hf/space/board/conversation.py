"""A judged conversation for a page, and those of two models beside each other: their words, and verdict beside verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, repeat
from typing import Any

from markupsafe import Markup, escape

from truebench_hf.report.page import fragment
from truebench_hf.report.sections import Exchange, Outcome
from truebench_hf.space.board import words
from truebench_hf.space.board.items import Check, ExplorerItem
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import steerless
from truebench_hf.types import Message, Verdict

_Messages = tuple[tuple[Message, int], ...]  # each with its number in a conversation (0: nothing refers to it)
_Pairs = tuple[
    tuple[str, tuple[tuple[Outcome, str], ...]], ...
]  # criteria with the state and the reason in two answers


@dataclass(frozen=True)
class ShownRound:
    """A turn: what all were asked, once; of each model what only it was asked, its answers, and its verdicts (as HTML); and
    the criteria where two models had the same. `title` says which of several answers to one prompt it is."""

    prompts: _Messages
    parts: tuple[tuple[_Messages, Markup], ...]
    both: _Pairs = ()
    title: str = ""


@dataclass(frozen=True)
class Side:
    """One model's: its name, how it ended, what went wrong; `missing` says why there is none."""

    who: str
    outcome: Outcome
    error: str = ""
    missing: str = ""


@dataclass(frozen=True)
class Shown:
    """What the template draws: `checks` stand under `heads` beside a conversation; `both` are those of two. With `beside`
    rounds are answers to one prompt, beside each other."""

    name: str
    language: str
    document: str
    sides: tuple[Side, ...]
    rounds: tuple[ShownRound, ...] = ()
    heads: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    both: _Pairs = ()
    beside: bool = False

    @property
    def answers(self) -> int:
        """How many answers stand beside each other."""
        return sum(bool(round.title and round.parts[0][0]) for round in self.rounds) or 1


def shown(items: Sequence[ExplorerItem | str]) -> Shown:
    """Return a conversation, or those of two models on the same instance; a text says why one is missing."""
    conversations, sides = [], []
    present = [item for item in items if isinstance(item, ExplorerItem)]
    for item in items:
        if isinstance(item, str):
            sides.append(Side("", "", "", item))
        else:
            conversations.append(item.drawn)
            sides.append(Side(words.model(item.drawn.who), item.drawn.outcome, anonymous.text(item.drawn.error)))
    if not present:
        return Shown("", "", "", tuple(sides))
    item, two = present[0], len(present) == 2
    numbers = count(1) if item.checks and not two else repeat(0)
    rounds = []
    for number in range(max(len(each.exchanges) for each in conversations)):
        turns = [each.exchanges[number] if number < len(each.exchanges) else Exchange((), ()) for each in conversations]
        rounds.append(_round(turns, numbers, item.drawn.words))
    both: _Pairs = ()
    if two:  # the checks that both have, in the order of the first
        theirs = {check.text: check for check in present[1].checks}
        pairs = [(check, theirs[check.text]) for check in item.checks if check.text in theirs]
        both = tuple((own.text, ((own.state, own.note), (other.state, other.note))) for own, other in pairs)
    first = conversations[0]
    checks = () if both else item.checks
    return Shown(
        first.name, first.language, first.context, tuple(sides), tuple(rounds), item.heads, checks, both, first.beside
    )  # fmt: skip


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


_LONGEST = 60_000  # characters; what is longer is shown as it is
# The signs that templates of a page around it would read.
_SIGNS = str.maketrans({"`": "&#96;", "$": "&#36;", "{": "&#123;", "}": "&#125;"})


def rich(text: str) -> Markup | None:
    """A text that is Markdown as HTML; None where it is too long."""
    if len(text) > _LONGEST:
        return None
    html: str = _reader().render(steerless(text.replace("\r\n", "\n")))
    # All of it is escaped already, and attributes and texts alike are read with entities in them.
    return Markup(html.translate(_SIGNS))


@cache
def _reader() -> Any:
    from markdown_it import MarkdownIt

    def picture(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
        """What a picture is called: it would be asked for from elsewhere."""
        text = renderer.renderInlineAsText(tokens[place].children, options, env)
        return f"<em>[picture{': ' if text else ''}{escape(text)}]</em>"

    def link(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
        tokens[place].attrSet("rel", "noopener noreferrer nofollow ugc")
        tokens[place].attrSet("target", "_blank")
        return str(renderer.renderToken(tokens, place, options, env))

    def heading(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
        """Below the headings of the page: what was h1 is h4, and so on to h6."""
        tokens[place].tag = f"h{min(6, int(tokens[place].tag[1]) + 3)}"
        return str(renderer.renderToken(tokens, place, options, env))

    reader = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    reader.validateLink = lambda url: url.strip().lower().startswith(("https://", "http://"))  # type: ignore[method-assign]
    for rule, render in {
        "image": picture, "link_open": link, "heading_open": heading, "heading_close": heading,
    }.items():  # fmt: skip
        reader.add_render_rule(rule, render)
    return reader
