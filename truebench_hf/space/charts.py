"""The charts beside the leaderboard's table: drawn when they are opened, and again when the filter changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.space import look
from truebench_hf.space.board import charts, table
from truebench_hf.space.board.entries import Entry
from truebench_hf.space.board.store import Board

Chosen = Callable[..., list[Entry]]


@dataclass(frozen=True)
class Charts:
    """The plots that follow the filter, and how a change of the filter redraws the one that is open."""

    plots: list[Any]
    redrawn: Callable[..., tuple[Any, ...]]


def build(board: Board, inputs: list[Any], chosen: Chosen, table_tab: Any, opened: Any) -> Charts:
    """Lay out the chart tabs inside the current Tabs; `inputs` are the filter's controls, `chosen` what passes it.

    `opened` is a State for the name of the open chart. It must not stand among the tabs, which Gradio counts by place.
    """
    import gradio as gr

    _radar(board, opened)
    with gr.Tab("Languages") as heat_tab:
        heat = gr.Plot(label="Pass rate by language, the first 30 lines of the table", elem_classes="tb-chart tb-wide")
    with gr.Tab("Score and size") as size_tab:
        sized = gr.Plot(label="Overall pass rate against size, where known", elem_classes="tb-chart")
    makers = {"heat": charts.heat_map, "size": charts.score_by_size}

    def redrawn(name: str, *values: Any) -> tuple[Any, ...]:
        return tuple(make(chosen(*values)) if name == own else gr.skip() for own, make in makers.items())

    for tab, name, plot in ((heat_tab, "heat", heat), (size_tab, "size", sized)):
        tab.select(_drawn(name, makers[name], chosen), inputs, [opened, plot], **look.QUIET)
    table_tab.select(lambda: "", None, opened, **look.QUIET)
    return Charts([heat, sized], redrawn)


def _drawn(name: str, make: Callable[[Sequence[Entry]], Any], chosen: Chosen) -> Callable[..., tuple[str, Any]]:
    return lambda *values: (name, make(chosen(*values)))


def _radar(board: Board, opened: Any) -> None:
    import gradio as gr

    with gr.Tab("Radar") as tab:
        models = gr.Dropdown(
            [], value=[], multiselect=True, max_choices=charts.MOST, label=f"Models (up to {charts.MOST})",
            elem_id="radar-models",
        )  # fmt: skip
        plot = gr.Plot(label="Pass rate by category", elem_classes="tb-chart")

    def entered(keys: Sequence[str]) -> tuple[str, Any, Any]:
        """Choices as of now: runs come in while the page is open."""
        entries = table.select(board.snapshot.entries, table.Filter())
        kept = [key for key in keys if board.snapshot.entry(key)] or [entry.key for entry in entries[:3]]
        judged = [e.model if e.source == "paper" else f"{e.model} ({e.judge})" for e in entries]
        choices = [(f"{name}{charts.mark(e)}", e.key) for name, e in zip(judged, entries, strict=True)]
        return "", gr.update(choices=choices, value=kept), compared(kept)

    def compared(keys: Sequence[str]) -> Any:
        return charts.radar([e for key in keys if (e := board.snapshot.entry(key)) is not None])

    tab.select(entered, models, [opened, models, plot], **look.QUIET)
    models.input(compared, models, plot, **look.QUIET)
