"""Sections as one self-contained HTML page, or one by one as fragments: escaped, no network, readable on a phone."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from truebench_hf.report.sections import Axis, Conversation, Conversations, Exchange, Section
from truebench_hf.text.terminal import on_page
from truebench_hf.types import Usage, Verdict

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Told apart in light and dark, and by most colour-blind readers as far as 13 colours can be; names are always beside.
COLOURS = (
    "#4477aa", "#ee6677", "#228833", "#bfa02a", "#1f9fc4", "#aa3377", "#8a8a8a", "#e07b39", "#6a4fb3", "#5c8a00",
    "#d1478e", "#8c5a2b", "#00897b",
)  # fmt: skip
_SHORT = 40  # characters
_LONGEST = 60_000  # characters of Markdown; what is longer is shown as it is
# The signs that templates of a page around it would read.
_SIGNS = str.maketrans({"`": "&#96;", "$": "&#36;", "{": "&#123;", "}": "&#125;"})
_TAG = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")


def page(title: str, sections: Iterable[Section], *, lead: str = "", notes: Sequence[str] = ()) -> Iterator[str]:
    """The page in parts: notes, and sections in order, but conversations, which may be thousands, last.

    Every text is escaped.
    """
    order = sorted(sections, key=lambda section: isinstance(section, Conversations))
    stream = _TEMPLATES.get_template("page.html.jinja").stream(
        title=title, lead=lead, notes=notes, sections=[(_macro(section), section) for section in order]
    )
    stream.enable_buffering(200)
    yield from stream


def render(template: str, **values: Any) -> str:
    """A template of this folder, filled in; every text is escaped."""
    return _TEMPLATES.get_template(template).render(**values)


def fragment(part: Section | Conversation | Exchange, **more: Any) -> str:
    """One section, one conversation or one turn as HTML, for a page that has `style()`; `more` goes to its macro."""
    macro = getattr(_TEMPLATES.get_template("sections.html.jinja").module, _macro(part))
    return str(macro(part, **more))


def _macro(part: Section | Conversation | Exchange) -> str:
    """The macro in sections.html.jinja that draws it."""
    return type(part).__name__.lower()


def in_notebook(*parts: Section | Conversation) -> str:
    """Sections as a notebook shows them, in colours of its own."""
    colours = Path(__file__).with_name("colours.css").read_text(encoding="utf-8").replace(":root", ".tb-notebook")
    body = "".join(map(fragment, parts))
    return f'<style>{colours}{style()}</style><div class="tb-notebook">{body}</div>'


def style() -> str:
    """The style sheet of fragments; the page around them sets the colours that it names."""
    return Path(__file__).with_name("sections.css").read_text(encoding="utf-8")


def run_facts(provenance: Mapping[str, Any], usage: Mapping[str, Mapping[str, int]] | None = None) -> dict[str, str]:
    """What was run on, of a report's provenance, and what it took by role."""
    facts = {
        "Data": f"{provenance['data']} (SHA-256 {str(provenance.get('data_sha256', ''))[:12]})"
        if provenance.get("data")
        else "",
        "Versions": ", ".join(f"{name} {version}" for name, version in provenance.get("versions", {}).items()),
    }
    for role, used in (usage or {}).items():
        facts[f"Usage of the {role}"] = str(Usage(**used))
    return facts


def inert(text: object) -> Markup:
    """Text that stays text: escaped for HTML, controls and turns of direction shown as their escapes, and without the
    signs that templates of a page around it would read."""
    if isinstance(text, Markup):
        return text  # of a macro, whose texts have been here
    return _short(text) if type(text) is str and len(text) <= _SHORT else _inert(text)


def quoted(passage: str) -> tuple[str, str, str]:
    """A passage in three: what stands within “ ”, signs included, and what stands around it; all of it where nothing does."""
    before, opening, rest = passage.partition("“")
    quote, closing, after = rest.rpartition("”")
    return (before, f"“{quote}”", after) if opening and closing else (passage, "", "")


def spoken(language: str) -> Markup:
    """` lang="ja"` for the element of a text in a language, given by its code, so that browsers take its own signs and
    screen readers its own voice; nothing where it is not known."""
    known = language.lower()
    return Markup(f' lang="{known}"') if _TAG.fullmatch(known) else Markup()


def page_bytes(texts: Iterable[str]) -> int:
    """How many bytes these texts take on a page."""
    return sum(len(_inert(text).encode("utf-8", "replace")) for text in texts)


def _inert(text: object) -> Markup:
    return Markup(on_page(escape(text)).translate(_SIGNS))


_short = lru_cache(maxsize=4096)(_inert)  # labels, names and classes, a dozen times a conversation


def rich(text: str) -> Markup | None:
    """Return a text that is Markdown as HTML, which nothing in it can break out of; None where it is too long."""
    if len(text) > _LONGEST:
        return None
    html: str = _markdown().render(on_page(text))
    # All of it is escaped already, and attributes and texts alike are read with entities in them.
    return Markup(html.translate(_SIGNS))


@cache
def _markdown() -> MarkdownIt:
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


_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, finalize=inert,
    trim_blocks=True, lstrip_blocks=True,
)  # fmt: skip
_SCRIPT = Path(__file__).with_name("page.js").read_bytes().removesuffix(b"\n")  # as the template includes it
_TEMPLATES.globals |= {
    "script_hash": base64.b64encode(hashlib.sha256(_SCRIPT).digest()).decode(),  # the page runs no other
    "colours": COLOURS,
    "unit": Axis("", 0, 1),
    "spoken": spoken,
    "quoted": quoted,
}
_TEMPLATES.tests["verdict"] = lambda item: isinstance(item, Verdict)


def templates(folder: Path) -> Environment:
    """The templates of a folder, which can use the macros of sections; whatever they print is text, or markup of ours."""
    return _TEMPLATES.overlay(loader=ChoiceLoader([FileSystemLoader(folder), FileSystemLoader(Path(__file__).parent)]))
