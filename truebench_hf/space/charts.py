"""The charts beside the leaderboard's table: drawn when they are opened, and again when the filter changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.space import look
from truebench_hf.space.board import charts, table
from truebench_hf.space.board.runs import Entry
from truebench_hf.space.board.store import Board
from truebench_hf.space.board.table import Kind

Chosen = Callable[..., tuple[Kind, list[Entry]]]


@dataclass(frozen=True)
class Charts:
    """The plots that follow the filter, and how a change of the filter redraws the one that is open."""

    plots: list[Any]
    redrawn: Callable[..., tuple[Any, ...]]


def build(board: Board, inputs: list[Any], chosen: Chosen, view: Any, table_tab: Any, opened: Any) -> Charts:
    """Lay out the chart tabs inside the current Tabs; `inputs` are the filter's controls, `chosen` what passes it.

    Radar and heat map show the group of columns that `view` names. `opened` is a State for the name of the open chart.
    It must not stand among the tabs, which Gradio counts by place.
    """
    import gradio as gr

    _radar(board, inputs[0], view, opened)
    with gr.Tab("Heat map") as heat_tab:
        heat = gr.Plot(label="The first 30 lines of the table by its columns", elem_classes="tb-plotly tb-wide")
    with gr.Tab("Score and size") as size_tab:
        sized = gr.Plot(label="Main score against size, where known", elem_classes="tb-plotly")
    makers = {"heat": charts.heat_map, "size": charts.score_by_size}

    def redrawn(name: str, group: str, *values: Any) -> tuple[Any, ...]:
        return tuple(make(*chosen(*values), group) if name == own else gr.skip() for own, make in makers.items())

    def drawn(name: str) -> Callable[..., tuple[str, Any]]:
        return lambda group, *values: (name, makers[name](*chosen(*values), group))

    for tab, name, plot in ((heat_tab, "heat", heat), (size_tab, "size", sized)):
        tab.select(drawn(name), [view, *inputs], [opened, plot], **look.QUIET)
    table_tab.select(lambda: "", None, opened, **look.QUIET)
    return Charts([heat, sized], redrawn)


def _radar(board: Board, kind: Any, view: Any, opened: Any) -> None:
    import gradio as gr

    with gr.Tab("Radar") as tab:
        models = gr.Dropdown(
            [], value=[], multiselect=True, max_choices=charts.MOST, label=f"Models (up to {charts.MOST})",
            elem_id="radar-models",
        )  # fmt: skip
        plot = gr.Plot(label="Scores by a group of columns", elem_classes="tb-plotly")

    def entered(name: str, group: str, keys: Sequence[str]) -> tuple[str, Any, Any]:
        """Choices as of now: runs come in while the page is open."""
        now = board.snapshot
        shown = now.kind(name)
        entries = table.select(shown, now.of(shown), table.Filter())
        kept = [e.key for e in entries if e.key in keys] or [entry.key for entry in entries[:3]]
        judged = [
            f"{e.name} ({e.facts['Judge']})" if e.source != "paper" and "Judge" in e.facts else e.name for e in entries
        ]
        choices = [(f"{name}{charts.mark(e)}", e.key) for name, e in zip(judged, entries, strict=True)]
        return "", gr.update(choices=choices, value=kept), compared(name, group, kept)

    def compared(name: str, group: str, keys: Sequence[str]) -> Any:
        shown = board.snapshot.kind(name)
        return charts.radar(shown, [e for key in keys if (e := board.snapshot.entry(key)) is not None], group)

    tab.select(entered, [kind, view, models], [opened, models, plot], **look.QUIET)
    for part in (models.input, view.change):
        part(compared, [kind, view, models], plot, **look.QUIET)
