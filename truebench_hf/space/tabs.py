"""Tabs that the library draws as HTML: the leaderboard, how far judges can be trusted, conversations, and what this page is."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from truebench_hf.comparing import table
from truebench_hf.comparing.papers import PAPERS
from truebench_hf.comparing.runs import Source
from truebench_hf.comparing.table import UNKNOWN
from truebench_hf.errors import UserError
from truebench_hf.report.page import fragment
from truebench_hf.report.table import Column, Table
from truebench_hf.space.board import boards, judges, page, words
from truebench_hf.space.board.asked import Asked, AskedConversations, AskedJudges, text
from truebench_hf.space.board.explorer import Explorer
from truebench_hf.space.board.figures import FEW
from truebench_hf.space.board.items import RecentItems, Story, story
from truebench_hf.space.board.opened import opened
from truebench_hf.space.board.store import BoardStore, Recent, Snapshot
from truebench_hf.space.look import QUIET, filled, macro
from truebench_hf.version import __version__

_HERE = Path(__file__).parent
_KEPT = 40  # pages of one state of the results
STYLE = "".join((_HERE / name).read_text("utf-8") for name in ("board.css", "views.css"))
SCRIPT = "".join((_HERE / name).read_text("utf-8") for name in ("board.js", "views.js"))
_SUBMITTED = "Submitted by visitors: the scores follow from the judgments handed in; answers and judge are their word."


class LeaderboardTab:
    """What the page asks of the server; whatever it is asked, it answers with text. Holds no visitor's state."""

    def __init__(self, board: BoardStore, items: RecentItems | None = None) -> None:
        self.board, self.items = board, items or RecentItems()
        self._pages = Recent[str](_KEPT)

    def html(self, query: Asked) -> str:
        """The board that is asked for, as HTML."""
        snapshot = self.board.snapshot

        def draw() -> str:
            drawn = page.page(snapshot, query)
            kind, what = drawn.board.kind.name, drawn.group.what if drawn.group else ""
            notes = PAPERS[kind].notes if what == "paper" and kind in PAPERS else ()
            notes = (_SUBMITTED,) if what == "submitted" else notes
            return filled("board.html.jinja", page=drawn, heading=boards.heading, few=FEW, notes=notes)

        return self._pages.of((snapshot.version, query), draw)

    def model(self, query: Asked, key: str) -> str:
        """A model of the group that is asked for, opened; says so where it is there no longer."""
        _, board, group = page.found(self.board.snapshot, query)
        entry = next((e for e in (group.entries if group else ()) if e.key == key), None)
        if entry is None or group is None:
            return "<p>This result is not on the board, or no longer.</p>"
        known: Story | None = None
        try:
            known = story(self.items.of(entry))
        except UserError:
            known = None  # there are no conversations that can be read
        return filled("model.html.jinja", model=opened(board.kind, group, entry, known))

    def csv(self, query: Asked) -> str:
        """The group that is asked for with every column, as CSV."""
        _, board, group = page.found(self.board.snapshot, query)
        return table.to_csv(board.kind, group.entries if group else ())


def judges_html(board: BoardStore, query: AskedJudges) -> str:
    """The page of judges that is asked for, as HTML: measured here and as printed, each in charts of its own."""
    drawn = judges.page(board.snapshot, query)
    return filled("judges.html.jinja", page=drawn, model=words.model)


def explorer_html(board: BoardStore, explorer: Explorer, query: AskedConversations) -> str:
    """The page of conversations that is asked for, as HTML."""
    return filled("explorer.html.jinja", page=explorer.page(board.snapshot, query))


def leaderboard_tab(ours: LeaderboardTab) -> None:
    """Lay out the first tab inside the current Blocks."""

    def show_board(query: Any) -> str:
        return ours.html(Asked.of(query))

    def open_model(query: Any) -> str:
        return ours.model(Asked.of(query), text(query.get("model")) if isinstance(query, dict) else "")

    def table_csv(query: Any) -> str:
        return ours.csv(Asked.of(query))

    _page("leaderboard", "tbBoard.adopt(element, server)", show_board, open_model, table_csv)


def judges_tab(board: BoardStore) -> None:
    """Lay out the tab of judges inside the current Blocks."""

    def show_judges(query: Any) -> str:
        return judges_html(board, AskedJudges.of(query))

    _page("judges-page", "tbViews.adopt('judges', element, server.show_judges)", show_judges)


def explorer_tab(ours: LeaderboardTab) -> None:
    """Lay out the tab of conversations inside the current Blocks."""
    explorer = Explorer(ours.items)

    def show_conversations(query: Any) -> str:
        return explorer_html(ours.board, explorer, AskedConversations.of(query))

    _page("explorer-page", "tbViews.adopt('explorer', element, server.show_conversations)", show_conversations)


def _page(name: str, adopt: str, *draw: Callable[[Any], str]) -> None:
    """A page that these functions draw. Gradio makes them public: anybody may send them anything as what the address says."""
    import gradio as gr

    js = f"window.{adopt};"
    gr.HTML("", js_on_load=js, server_functions=[*draw], apply_default_css=False, elem_id=name, padding=False)


_SOURCES: dict[Source, str] = {"paper": "Published", "measured": "Measured", "submitted": "Submitted"}
_MOST_DATA = 8  # names of data sets; submissions may name any number of them
_CITATIONS = Path(__file__).parents[1] / "citations.txt"


def about_tab(board: BoardStore, tab: Any, results: str = "") -> None:
    """Lay out the tab. What the board holds is told anew whenever the tab is opened."""
    import gradio as gr
    from markdown_it import MarkdownIt

    facts = gr.HTML(held(board.snapshot), elem_id="about-board")
    gr.HTML(links(results, os.environ.get("SPACE_ID", "")), elem_classes="tb-about")
    # The Hub shows a Space in a frame, in which other sites refuse to stand.
    text = MarkdownIt().render(Path(__file__).with_name("about.md").read_text("utf-8"))
    gr.HTML(text.replace('href="https:', 'target="_blank" rel="noopener" href="https:'), elem_classes="tb-about")
    gr.Textbox(
        _CITATIONS.read_text("utf-8").replace("VERSION", __version__).strip(), label="Citations (BibTeX)",
        interactive=False, lines=12, max_lines=12, buttons=["copy"], elem_classes="tb-mono", elem_id="bibtex",
    )  # fmt: skip
    tab.select(lambda: held(board.snapshot), None, facts, **QUIET)


def links(results: str, space: str) -> str:
    """Where the results and the code are; `results` is ORG/NAME[@REVISION], `space` the id of the Space on the Hub, if any."""
    name, _, revision = results.partition("@")
    return macro("about.html.jinja", "links", __version__, space, name, f"/tree/{revision}" if revision else "")


def held(snapshot: Snapshot) -> str:
    """What a board holds, as HTML: how many results of which kind, over which data, and when it was last read."""
    rows: list[dict[str, Any]] = []
    for kind in snapshot.kinds:
        count = Counter(entry.source for entry in snapshot.of(kind))
        rows.append({"kind": kind.title, **{source: count[source] for source in _SOURCES}})
    data = Counter(
        words.data(entry.facts.get("Data", UNKNOWN)) for entry in snapshot.entries if entry.source != "paper"
    )
    named = ", ".join(f"{name} ({words.counted(lines, 'result')})" for name, lines in data.most_common(_MOST_DATA))
    more = f", and {len(data) - _MOST_DATA} more" if len(data) > _MOST_DATA else ""
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(snapshot.read_at)) if snapshot.read_at else "not yet"
    text = f"Data of the runs: {named}{more}." if data else "No run has been measured here yet."
    columns = (Column("kind", "Results"), *(Column(source, title, "count") for source, title in _SOURCES.items()))
    table = Table("held", columns, rows, "What this board holds")
    return fragment(table) + macro("about.html.jinja", "read", text, when, snapshot.stale)
