"""Tab 2: how far judges can be trusted, as the board of meta-evaluations."""

from __future__ import annotations

from typing import Any

from markupsafe import escape

from truebench_hf.space import look
from truebench_hf.space.board import table
from truebench_hf.space.board.papers import JUDGES, PAPERS
from truebench_hf.space.board.store import Board


def build(board: Board, tab: Any) -> None:
    """Lay out the tab, a table per view. They are filled whenever it is opened: the first page need not carry them."""
    import gradio as gr

    gr.HTML(
        "<p>A score is worth no more than its judge. Here judges are held against rubrics whose answers are known.</p>"
    )
    grids = []
    views = list(board.snapshot.kind(JUDGES).views)
    with gr.Tabs():
        for name in views:
            with gr.Tab(name):
                grid = gr.Dataframe(
                    interactive=False, max_height=560, label=PAPERS[JUDGES].unit, show_search="search",
                    buttons=["fullscreen"], datatype="auto", elem_classes="tb-table",
                )  # fmt: skip
            grids.append(grid)
    notes = "".join(f"<p>{escape(note)}</p>" for note in PAPERS[JUDGES].notes)
    gr.HTML(notes, elem_classes="tb-note-small")

    def filled() -> list[dict[str, Any]]:
        kind = board.snapshot.kind(JUDGES)
        lines = table.by_rank(board.snapshot.of(kind))
        return [table.framed(kind, lines, kind.views.get(name, ())) for name in views]

    tab.select(filled, None, grids, **look.QUIET)
