"""Tab 1: models by category and language, with intervals, ties, filters, charts and CSV."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from truebench_hf.report.board import charts, reference, table
from truebench_hf.report.board.entries import Entry
from truebench_hf.report.board.store import Board
from truebench_hf.report.space import look

_SHOW = {"All": "", "Measured here": "measured", "Published in the paper": "paper"}


def build(board: Board) -> tuple[Callable[[], tuple[Any, ...]], list[Any]]:
    """Lay out the tab inside the current Blocks; returns what fills it anew, and the components that it fills."""
    import gradio as gr

    with gr.Row():
        show = gr.Radio(list(_SHOW), value="All", label="Results")
        view = gr.Radio(list(table.VIEWS), value="Categories", label="Columns")
    with gr.Accordion("Search, filter and choose columns", open=False):
        controls = _filters(board)
    inputs = [show, *controls]
    columns = controls[-1]
    rows = functools.partial(_rows, board)
    with gr.Tabs():
        with gr.Tab("Table"):
            grid = gr.Dataframe(
                value=_first(board), interactive=False, max_height=620, pinned_columns=2,
                column_widths=["64px", "210px"], label="Pass rate in %", elem_id="leaderboard", datatype="auto", buttons=["fullscreen"],
            )  # fmt: skip
            with gr.Row():
                csv = gr.Button("Download as CSV", size="md", elem_id="csv-button")
                renew = gr.Button("Look for new results", size="md", elem_id="renew-button")
            text = gr.Textbox(visible="hidden", elem_id="csv-text", label="CSV")
        _charts(board, inputs)
    notes = gr.HTML(_notes(board), elem_classes="tb-note-small", elem_id="leaderboard-notes")
    view.change(lambda name: list(table.VIEWS[name]), view, columns, api_visibility="private", show_progress="hidden")
    for control in inputs:
        control.change(rows, inputs, grid, api_visibility="private", show_progress="hidden", trigger_mode="always_last")
    renew.click(lambda *values: (rows(*values), _notes(board)), inputs, [grid, notes], api_visibility="private")
    asked = csv.click(functools.partial(_csv, board), inputs, text, api_visibility="private")
    asked.then(None, text, text, js=look.DOWNLOAD_CSV)
    laid_out = board.snapshot

    def fill() -> tuple[Any, Any]:
        """What has come in since the page was laid out."""
        same = board.snapshot is laid_out
        return (gr.skip(), gr.skip()) if same else (_first(board), _notes(board))

    return fill, [grid, notes]


def _filters(board: Board) -> list[Any]:
    import gradio as gr

    with gr.Row():
        search = gr.Textbox(label="Search", placeholder="part of a model's or judge's name", max_length=80)
        sizes = gr.Dropdown([*table.SIZES, table.UNKNOWN], multiselect=True, label="Size in parameters", value=[])
    with gr.Row():
        weights = gr.Dropdown(list(table.WEIGHTS), multiselect=True, label="Weights", value=[])
        licence = gr.Dropdown(table.licences(board.snapshot.entries), multiselect=True, label="Licence", value=[])
    columns = gr.Dropdown(
        list(table.COLUMNS), multiselect=True, value=list(table.VIEWS["Categories"]), label="Columns of the table"
    )
    return [search, sizes, weights, licence, columns]


def _charts(board: Board, inputs: list[Any]) -> None:
    import gradio as gr

    with gr.Tab("Radar") as radar_tab:
        top = [(e.model, e.key) for e in table.select(board.snapshot.entries, table.Filter())]
        chosen = gr.Dropdown(
            top, value=[key for _, key in top[:3]], multiselect=True, max_choices=charts.MOST,
            label=f"Models (up to {charts.MOST})", elem_id="radar-models",
        )  # fmt: skip
        radar = gr.Plot(label="Pass rate by category", elem_classes="tb-chart")
    with gr.Tab("Languages") as heat_tab:
        heat = gr.Plot(label="Pass rate by language, the filter's first 30 models", elem_classes="tb-chart")
    with gr.Tab("Score and size") as size_tab:
        sized = gr.Plot(label="Overall pass rate against size, where known", elem_classes="tb-chart")

    def drawn(*values: Any) -> tuple[Any, Any]:
        found = _chosen(board, *values)
        return charts.heat_map(found), charts.score_by_size(found)

    def compared(keys: Sequence[str]) -> Any:
        return charts.radar([e for key in keys if (e := board.snapshot.entry(key)) is not None])

    gr.on([radar_tab.select, chosen.change], compared, chosen, radar, api_visibility="private")
    gr.on([heat_tab.select, size_tab.select], drawn, inputs, [heat, sized], api_visibility="private")


def _chosen(
    board: Board, show: str, search: str, sizes: list[str], weights: list[str], licence: list[str], columns: list[str]
) -> list[Entry]:
    wanted = table.Filter(_SHOW.get(show, ""), tuple(sizes), tuple(weights), tuple(licence), (search or "")[:80])
    return table.select(board.snapshot.entries, wanted)


def _rows(board: Board, *values: Any) -> dict[str, Any]:
    return _framed(_chosen(board, *values), values[-1])


def _first(board: Board) -> dict[str, Any]:
    return _framed(table.select(board.snapshot.entries, table.Filter()), table.VIEWS["Categories"])


def _framed(entries: Sequence[Entry], columns: Sequence[str]) -> dict[str, Any]:
    return table.framed(*table.rows(entries, columns), ranks=[table.rank_text(entry) for entry in entries])


def _csv(board: Board, *values: Any) -> str:
    return table.to_csv(_chosen(board, *values))


def _notes(board: Board) -> str:
    snapshot = board.snapshot
    count = sum(entry.source == "measured" for entry in snapshot.entries)
    ties = (
        "Ranks with = cannot be told apart from the first of their group: for measured runs by a paired bootstrap over "
        "instances, for published ones by a test without pairing, since the paper gives totals only."
        if snapshot.ties_known
        else "Which measured models cannot be told apart is being worked out; look again in a moment."
    )
    table5, table6 = (reference.table(f"truebench_table{n}") for n in ("5_category", "6_language"))
    lines = [
        f"{count} measured here, {len(snapshot.entries) - count} published. An instance passes when the answer meets "
        "every criterion of every turn. Intervals: 95 %, Wilson.",
        ties + " Ranks count only among results with the same data and judge.",
        "† Published in the TRUEBench paper (Tables 5 and 6), on its data set of 1,329 instances: not measured here, "
        "and not comparable with measured results on other data or another judge.",
        "Known oddities of the published figures: " + " ".join([*table5["notes"], *table6["notes"]]),
    ]
    return "".join(f"<p>{line}</p>" for line in lines)
