"""Tab 2: how far judges can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from truebench_hf.space import look
from truebench_hf.space.board import judges, table
from truebench_hf.space.board.store import Board

_TABLES: dict[str, Callable[..., judges.Table]] = {
    "Judges": judges.overview,
    "Ways of asking": judges.paradigms,
    "Rubric types": judges.rubric_types,
}
_LABELS = {
    "Judges": "Balanced accuracy in %",
    "Ways of asking": "Balanced accuracy in %",
    "Rubric types": "Accuracy in %",
}


def build(board: Board, tab: Any) -> None:
    """Lay out the tab. Its tables are filled whenever it is opened, so that the first page need not carry them."""
    import gradio as gr

    gr.HTML(
        "<p>A score is worth no more than its judge. Here judges are held against rubrics whose answers are known.</p>"
    )
    grids = []
    with gr.Tabs():
        for name in _TABLES:
            with gr.Tab(name):
                grid = gr.Dataframe(
                    interactive=False, max_height=560, label=_LABELS[name], show_search="search",
                    buttons=["fullscreen"], datatype="auto", elem_classes="tb-table",
                )  # fmt: skip
            grids.append(grid)
    gr.HTML("".join(f"<p>{note}</p>" for note in judges.notes()), elem_classes="tb-note-small")
    tab.select(lambda: [_rows(board, make) for make in _TABLES.values()], None, grids, **look.QUIET)


def _rows(board: Board, make: Callable[..., judges.Table]) -> dict[str, Any]:
    return table.framed_rows(*make(board.snapshot.judges))
