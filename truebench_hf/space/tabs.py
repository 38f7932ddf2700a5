"""Tabs 1 to 3, pages that the library draws as HTML: the leaderboard, how far judges can be trusted, conversations."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from truebench_hf.comparing import table
from truebench_hf.comparing.papers import PAPERS
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.errors import UserError
from truebench_hf.space.board import boards, drawn, judges, page, words
from truebench_hf.space.board.asked import Asked, AskedConversations, AskedJudges, text
from truebench_hf.space.board.boards import BoardGroup
from truebench_hf.space.board.explorer import Explorer
from truebench_hf.space.board.figures import FEW, Chart
from truebench_hf.space.board.items import RecentItems, Story, story
from truebench_hf.space.board.opened import told
from truebench_hf.space.board.store import BoardStore
from truebench_hf.space.look import filled

_HERE = Path(__file__).parent
_KEPT = 40  # pages of one state of the results
STYLE = "".join((_HERE / name).read_text("utf-8") for name in ("board.css", "views.css"))
SCRIPT = "".join((_HERE / name).read_text("utf-8") for name in ("board.js", "views.js"))


class LeaderboardTab:
    """What the page asks of the server; whatever it is asked, it answers with text. Holds no visitor's state."""

    def __init__(self, board: BoardStore, items: RecentItems | None = None) -> None:
        self.board, self.items = board, items or RecentItems()
        self._pages: OrderedDict[tuple[int, Asked], str] = OrderedDict()

    def html(self, asked: Asked) -> str:
        """The board that is asked for, as HTML."""
        now = self.board.snapshot
        key = (now.version, asked)
        if (kept := self._pages.get(key)) is None:
            kept = self._pages[key] = self._drawn(asked)
            while len(self._pages) > _KEPT:
                self._pages.popitem(last=False)
        return kept

    def model(self, asked: Asked, key: str) -> str:
        """A model of the group that is asked for, opened; says so where it is there no longer."""
        _, board, group = page.found(self.board.snapshot, asked)
        entry = next((e for e in (group.entries if group else ()) if e.key == key), None)
        if entry is None or group is None:
            return "<p>This result is not on the board, or no longer.</p>"
        return filled("model.html.jinja", told=told(board.kind, group, entry, self._story(entry)))

    def _story(self, entry: BoardEntry) -> Story | None:
        """What its conversations tell; None where there are none that can be read."""
        try:
            return story(self.items.of(entry))
        except UserError:
            return None

    def csv(self, asked: Asked) -> str:
        """The group that is asked for with every column, as CSV."""
        _, board, group = page.found(self.board.snapshot, asked)
        return table.to_csv(board.kind, group.entries if group else ())

    def _drawn(self, asked: Asked) -> str:
        shown = page.page(self.board.snapshot, asked)
        charts: list[Chart] = []
        if shown.view == page.CHART and shown.group:
            views = [view for view in shown.views if view not in (page.CHART, page.ABOUT)]
            charts = drawn.charts(shown.board.kind, shown.group.entries, views)
        return filled(
            "board.html.jinja", page=shown, charts=charts, heading=boards.heading, few=FEW,
            notes=_notes(shown.board.kind.name, shown.group) if shown.group else (),
        )  # fmt: skip


def judges_html(board: BoardStore, asked: AskedJudges) -> str:
    """The page of judges that is asked for, as HTML: measured here and as printed, each in charts of its own."""
    shown = judges.page(board.snapshot, asked)
    return filled("judges.html.jinja", page=shown, templates=judges.facts(), model=words.model)


def explorer_html(board: BoardStore, explorer: Explorer, asked: AskedConversations) -> str:
    """The page of conversations that is asked for, as HTML."""
    return filled("explorer.html.jinja", page=explorer.page(board.snapshot, asked))


# Gradio makes the functions of these tabs public: anybody may send them anything.


def leaderboard_tab(ours: LeaderboardTab) -> None:
    """Lay out the first tab inside the current Blocks."""

    def show_board(given: Any) -> str:
        return ours.html(Asked.of(given))

    def open_model(given: Any) -> str:
        return ours.model(Asked.of(given), text(given.get("model")) if isinstance(given, dict) else "")

    def table_csv(given: Any) -> str:
        return ours.csv(Asked.of(given))

    _drawn_by("leaderboard", "window.tbBoard.adopt(element, server);", show_board, open_model, table_csv)


def judges_tab(board: BoardStore) -> None:
    """Lay out the tab of judges inside the current Blocks."""

    def show_judges(given: Any) -> str:
        return judges_html(board, AskedJudges.of(given))

    _drawn_by("judges-page", "window.tbViews.adopt('judges', element, server.show_judges);", show_judges)


def explorer_tab(ours: LeaderboardTab) -> None:
    """Lay out the tab of conversations inside the current Blocks."""
    explorer = Explorer(ours.items)

    def show_conversations(given: Any) -> str:
        return explorer_html(ours.board, explorer, AskedConversations.of(given))

    _drawn_by(
        "explorer-page", "window.tbViews.adopt('explorer', element, server.show_conversations);", show_conversations
    )


def _drawn_by(name: str, adopt: str, *draw: Callable[[Any], str]) -> None:
    """A page that these functions draw: each gets what the address says, as anybody may send it."""
    import gradio as gr

    gr.HTML("", js_on_load=adopt, server_functions=[*draw], apply_default_css=False, elem_id=name, padding=False)


def _notes(kind: str, group: BoardGroup) -> tuple[str, ...]:
    """What a reader of a group has to know beside how ranks are made."""
    paper = PAPERS[kind].notes if kind in PAPERS and group.what == "paper" else ()
    submitted = (
        "Submitted by visitors: the scores follow from the judgments handed in; answers and judge are their word."
    )
    return (*paper, *([submitted] if group.what == "submitted" else []))
