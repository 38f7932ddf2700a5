"""The page and its fragments: one file, nothing loaded from elsewhere, every text escaped, every section there."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from truebench_hf.data.judged import Mark
from truebench_hf.report.console import show
from truebench_hf.report.page import fragment, inert, page
from truebench_hf.report.sections import (
    Axis,
    Beside,
    Conversation,
    Conversations,
    Exchange,
    Highlighted,
    Matrix,
    Outcome,
    Plot,
    Section,
    Series,
    exchanges,
)
from truebench_hf.report.table import PUBLISHED, Column, Table, pairs, what_was_run
from truebench_hf.types import Criterion, Label, Message, Score, Verdict

EVIL = "</pre></style><script>alert('x')</script><img src=x onerror=alert(1)> {{ 7 * 7 }} ${y} & \" ' http://evil.example/a.js"
JUDGES = Table(
    "judges", (Column("judge", "Judge"), Column("n", "n", "count")),
    [{"judge": "ann", "n": 7}, {"judge": "bob\nby", "n": 8}, {"judge": "GPT-4.1", "n": 9, PUBLISHED: True}],
    "Table", "A note.",
)  # fmt: skip


def scores(title: str, by_name: dict[str, Score], **more: Any) -> Table:
    columns = (Column("name", "Score"), Column("score", "%", "score", parts=("value", "interval", "n"), drawn=True))
    return Table("scores", columns, [{"name": name, "score": score} for name, score in by_name.items()], title, **more)


SCORES = {"Pass rate": Score(0.5, 2, 1, (0.094, 0.905)), "Safety": Score(None, 0, 1)}
PIECES = (
    Mark("It opens in May. ", "yes", "supported", "Section 2.", ("“opens in May” (document)",)),
    Mark("It is free.", "no", "contradictory", "It costs 5.", ("“entry is 5 pounds” (document)",)),
    Mark(" "),
    Mark("Do come.", "none", "nothing to verify"),
    Mark("Bye."),
    Mark("Soon?", "open", "undecided"),
)
OTHERS: list[Section] = [
    JUDGES,
    scores("", SCORES, headline=True),
    scores("Category", SCORES),
    Matrix("Map", "%", ("DE", "KO"), (("Editing", (Score(0.25, 4), None)), ("Safety", (Score(None, 0, 2), None)))),
    Plot("Plane", (Series("group", ((0.5, 0.5, 0.25, "text"),)),)),
    Highlighted("Pieces", PIECES, "Held against the document."),
    Plot("Plot", (Series("curve", ((0.1, 0.2, 1.0, "dot"),), joined=True),), Axis("x", 0, 1), Axis("y", 0, 1), True),
]


def talk(number: int, label: Label | None, outcome: Outcome | None = None, said: str = "said") -> Conversation:
    """A conversation of one turn with one verdict."""
    turn = Exchange(
        (Message("user", f"ask {number}"), Message("assistant", said)),
        (Verdict(Criterion(f"criterion {number} holds"), label, "because"),),
        "hm",
    )
    state: Outcome = label if label in ("yes", "no") else "open"
    return Conversation(f"{number} · DE · Editing / Rewrite", (turn,), outcome or state, language="DE")


OTHERS.insert(-2, Beside("Beside", ((replace(talk(8, "no"), who="ann"), replace(talk(8, "yes"), who="bob")),)))
TALKS = Conversations("Instances", (talk(1, "yes"), talk(2, "no"), talk(3, None)))


class Page(HTMLParser):
    """Tags with attributes, and the text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (Axis("", 0, 235), [0, 50, 100, 150, 200]),
        (Axis("", 0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (Axis("", -12, 12), [-10, -5, 0, 5, 10]),
        (Axis("", 0, 0.00042), [0, 0.0001, 0.0002, 0.0003, 0.0004]),
        (Axis("", 2.5, 282, log=True), [5, 10, 20, 50, 100, 200]),
        (Axis("", 0.0003, 0.9, log=True), [0.001, 0.01, 0.1]),
    ],
)
def test_axes_are_marked_at_round_values(axis: Axis, ticks: list[float]) -> None:
    assert axis.ticks == pytest.approx(ticks)
    assert (axis.share(axis.low), axis.share(axis.high)) == (0, 1)


def made(*sections: Section, title: str = "A run", lead: str = "", note: str = "", fact: str = "") -> tuple[str, Page]:
    source = "".join(
        page(title, [*sections, *what_was_run({"Fact": fact, "None": None})], lead=lead, notes=(note,) * bool(note))
    )
    return source, Page(source)


def test_a_page_allows_its_own_script_alone_and_offers_to_filter_what_there_is() -> None:
    source, found = made(Conversations("Instances", (talk(1, "yes"),)))
    assert re.findall(r'option value="(\w*)"', source) == ["", "yes"]
    assert "<select" not in made(*OTHERS)[0], "nothing to search"
    (script,) = re.findall("<script>(.*?)</script>", source, re.DOTALL)
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = (attributes["content"] for _, attributes in found.tags if attributes.get("http-equiv"))
    assert policy.split("; ") == [
        "default-src 'none'", "style-src 'unsafe-inline'", f"script-src 'sha256-{hashed}'", "base-uri 'none'",
        "form-action 'none'",
    ]  # fmt: skip


def test_nothing_is_loaded_from_elsewhere_and_phones_can_read_it() -> None:
    source, found = made(*OTHERS, Conversations("Instances", (talk(1, "yes", said=EVIL),)))
    for tag, attributes in found.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base", "form", "img"), tag
        assert not {"src", "href", "srcset", "action", "background"} & set(attributes), tag
    assert not re.search("https?:", source.replace("http://evil.example", "")), (
        "a text may hold a URL, the page may not"
    )
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|WebSocket|\bimport\b", source)
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in found.tags


EVERYWHERE = [
    Table("t", (Column("a", EVIL, about=EVIL),), [{"a": EVIL}, {"a": EVIL, PUBLISHED: True}], EVIL, EVIL),
    scores(EVIL, {EVIL: Score(0.01, 1)}, headline=True, note=EVIL),
    pairs(EVIL, [(EVIL, EVIL)]),
    Matrix(EVIL, EVIL, (EVIL,), ((EVIL, (None,)),), EVIL),
    Highlighted(EVIL, (Mark(EVIL, "no", EVIL, EVIL, (EVIL,)), Mark(EVIL)), EVIL),
    Plot(EVIL, (Series(EVIL, ((0.1, 0.1, 0.1, EVIL),), True),), Axis(EVIL, 0, 1), Axis(EVIL, 0, 1), note=EVIL),
    Conversation(
        EVIL, exchanges([Message("user", EVIL)], [[Verdict(Criterion(EVIL), "no", EVIL), Criterion(EVIL)]], [EVIL]),
        "no", EVIL, EVIL, EVIL,
    ),
]  # fmt: skip


@pytest.mark.parametrize("part", EVERYWHERE, ids=lambda part: type(part).__name__)
def test_every_text_is_escaped(part: Section | Conversation) -> None:
    section = Conversations(EVIL, (part,)) if isinstance(part, Conversation) else part
    source, found = made(section, title=EVIL, lead=EVIL, note=EVIL, fact=EVIL)
    alone = Page(fragment(part))
    assert [tag for tag, _ in found.tags].count("script") == 1, "the page's own script alone"
    for seen in (found, alone):
        assert "img" not in [tag for tag, _ in seen.tags]
        assert "onerror" not in {name for _, attributes in seen.tags for name in attributes}
        assert EVIL in seen.text, "it is shown as it is"
    assert "<script>alert" not in source
    # Gradio reads {{ }} and ${ } in HTML that it is given.
    assert not re.search(r"[{}$`]", fragment(part)), "a text is never read as a template"


def test_turns_that_failed_or_were_never_reached() -> None:
    messages = [Message("system", "be kind"), Message("user", "one"), Message("assistant", "1"), Message("user", "two")]
    verdicts = [[Verdict(Criterion("c"), label)] for label in ("yes", None, None)]
    first, second, third = exchanges(messages, verdicts, ["hm"])
    assert [message.content for message in first.messages] == ["be kind", "one", "1"], "with the system message"
    assert (first.reasoning, second.reasoning) == ("hm", "")
    assert [message.content for message in second.messages] == ["two"], "no answer"
    assert (third.messages, third.verdicts) == ((), tuple(verdicts[2])), "never asked"


def test_the_terminal_shows_tables_and_brackets_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    hidden = [scores("Silent", SCORES, printed=False)]
    names = pairs("[/title]", [("[bold]j", "x")])
    show([*OTHERS, TALKS, *hidden, names], lead="[/lead]", notes=("[/note]",))
    told = capsys.readouterr().out
    assert told.startswith("[/lead]\n")
    texts = ("[/title]", "[bold]j", "paper: GPT-4.1", "A note.", "50.00", "9.4 to 90.5", "Safety", "Note: [/note]")
    assert [text for text in texts if text not in told] == []
    assert [text for text in ("Silent", "Instances", "Map", "Pieces") if text in told] == [], "for the page alone"


def test_what_would_steer_a_reader_is_shown_as_its_escape() -> None:
    assert str(inert("a\u202eb\x1b[2J\x00\ud83d")) == "a\\u202eb\\x1b[2J\\x00\\ud83d"
    assert str(inert("a\r\nb\tc 👩‍💻 עברית")) == "a\nb\tc 👩‍💻 עברית", "lines, tabs and joined signs stay"


@pytest.mark.parametrize(
    ("text", "shown", "why"),
    [
        (1, "1", "a number"),
        (True, "True", "which equals it"),
        (1.0, "1.0", "and so does this one"),
        ("1", "1", "a short text"),
        ("<b>`${x}` \u202e\r\n", "&lt;b&gt;&#96;&#36;&#123;x&#125;&#96; \\u202e\n", "a short hostile one"),
        ("<b>" * 20, "&lt;b&gt;" * 20, "a long one"),
    ],
)
def test_texts_are_inert_also_when_they_come_again(text: object, shown: str, why: str) -> None:
    for _ in range(2):
        assert inert(text) == shown, why
        assert inert(inert(text)) == shown, "what is inert is let through"
