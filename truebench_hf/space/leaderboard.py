"""Tab 1: who leads by how much, and why a model fails. One table from one template, in the page before the app is there."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from truebench_hf.comparing import table
from truebench_hf.comparing.papers import PAPERS
from truebench_hf.space.board import boards, drawn, page
from truebench_hf.space.board.asked import Asked, text
from truebench_hf.space.board.boards import Group
from truebench_hf.space.board.store import Board
from truebench_hf.space.board.told import told
from truebench_hf.space.templates import filled

_HERE = Path(__file__).parent
_KEPT = 40  # pages of one state of the results
STYLE = "".join((_HERE / name).read_text("utf-8") for name in ("board.css", "views.css"))
SCRIPT = "".join((_HERE / name).read_text("utf-8") for name in ("board.js", "views.js"))
_ADOPT = "window.tbBoard.adopt(element, server);"


class Leaderboard:
    """What the page asks of the server; whatever it is asked, it answers with text. Holds no visitor's state."""

    def __init__(self, board: Board) -> None:
        self.board = board
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
        found = told(board.kind, group, entry, self.board.stories.of(entry))
        return filled("model.html.jinja", told=found)

    def csv(self, asked: Asked) -> str:
        """The group that is asked for with every column, as CSV."""
        _, board, group = page.found(self.board.snapshot, asked)
        return table.to_csv(board.kind, group.entries if group else ())

    def _drawn(self, asked: Asked) -> str:
        shown = page.page(self.board.snapshot, asked)
        charts = ""
        if shown.view == page.CHART and shown.group:
            views = [view for view in shown.views if view not in (page.CHART, page.ABOUT)]
            figures = drawn.figures(shown.board.kind, shown.group.entries, views)
            charts = filled("charts.html.jinja", figures=figures, width=round(drawn.WIDTH))
        return filled(
            "board.html.jinja", page=shown, charts=charts, heading=boards.heading, few=page.FEW,
            notes=_notes(shown.board.kind.name, shown.group) if shown.group else (),
        )  # fmt: skip


def build(leaderboard: Leaderboard) -> None:
    """Lay out the tab inside the current Blocks."""
    import gradio as gr

    # Gradio makes these public: anybody may send them anything.
    def show_board(given: Any) -> str:
        return leaderboard.html(Asked.of(given))

    def open_model(given: Any) -> str:
        return leaderboard.model(Asked.of(given), text(given.get("model")) if isinstance(given, dict) else "")

    def table_csv(given: Any) -> str:
        return leaderboard.csv(Asked.of(given))

    functions: list[Callable[[Any], str]] = [show_board, open_model, table_csv]
    gr.HTML(
        "", js_on_load=_ADOPT, server_functions=functions, apply_default_css=False, elem_id="leaderboard", padding=False
    )


def _notes(kind: str, group: Group) -> tuple[str, ...]:
    """What a reader of a group has to know beside how ranks are made."""
    paper = PAPERS[kind].notes if kind in PAPERS and group.what == "paper" else ()
    told = {
        "submitted": "Submitted by visitors: the scores follow from the judgments handed in; answers and judge are their word.",
    }
    return (*paper, *([told[group.what]] if group.what in told else []))
