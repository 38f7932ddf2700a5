"""Answers as Markdown that can do no harm: no HTML of theirs, no pictures, no addresses but those of the web."""

from __future__ import annotations

from functools import cache
from typing import Any

from markupsafe import Markup, escape

from truebench_hf.text.terminal import steerless

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
