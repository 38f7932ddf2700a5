"""Tab 2: how far judges can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from truebench_hf.report.board import judges, table
from truebench_hf.report.board.store import Board

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


def build(board: Board) -> tuple[Callable[[], list[Any]], list[Any]]:
    """Lay out the tab inside the current Blocks; returns what fills it anew, and the components that it fills."""
    import gradio as gr

    gr.HTML(
        "<p>A score is worth no more than its judge. Here judges are held against rubrics whose answers are known.</p>"
    )
    grids = []
    with gr.Tabs():
        for name, make in _TABLES.items():
            with gr.Tab(name):
                grid = gr.Dataframe(
                    value=_rows(board, make), interactive=False, max_height=560, label=_LABELS[name],
                    pinned_columns=1, show_search="search", buttons=["fullscreen"], datatype="auto",
                )  # fmt: skip
            grids.append(grid)
    gr.HTML("".join(f"<p>{note}</p>" for note in judges.notes()), elem_classes="tb-note-small")
    laid_out = board.snapshot.judges

    def fill() -> list[Any]:
        """What has come in since the page was laid out."""
        same = board.snapshot.judges == laid_out
        return [gr.skip() if same else _rows(board, make) for make in _TABLES.values()]

    return fill, grids


def _rows(board: Board, make: Callable[..., judges.Table]) -> dict[str, Any]:
    return table.framed(*make(board.snapshot.judges))
