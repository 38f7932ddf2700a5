"""Tab 1: models by category and language, with search, order, filters, intervals, ties, charts and CSV."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import escape

from truebench_hf.space import charts, look
from truebench_hf.space.board import columns, reference, table
from truebench_hf.space.board.entries import Entry
from truebench_hf.space.board.store import Board

_SHOW = {"All": "", "Measured": "measured", "Submitted": "submitted", "Published": "paper"}
_FIRST = "Overview"
LABEL = "Pass rate in %"
_CHOOSE = "Choose a model's line to see why it failed"


@dataclass(frozen=True)
class Leaderboard:
    """What other parts need of the tab: the table, its notes, and the way from a model to its conversations.

    `keys` are those of the table's lines. `version` is that of the results a page was laid out with, which each page
    thus knows of itself.
    """

    grid: Any
    keys: Any
    notes: Any
    version: Any
    opener: Any
    chosen: Any


def build(board: Board) -> Leaderboard:
    """Lay out the tab inside the current Blocks."""
    import gradio as gr

    with gr.Column(elem_id="board-controls"):
        with gr.Row(elem_classes="tb-controls"):
            search = gr.Textbox(label="Search", placeholder="model or judge", max_length=80, min_width=200)
            show = gr.Radio(list(_SHOW), value="All", label="Results", min_width=474, scale=0, elem_id="show")
            view = gr.Radio(list(columns.VIEWS), value=_FIRST, label="Columns", min_width=494, scale=0, elem_id="view")
        order, *more = _filters(board)
    inputs = [show, search, order, *more]
    opened, chosen = gr.State(""), gr.State("")
    opening, lines = first(board)
    keys = gr.Textbox(lines, visible="hidden", label="Runs in the table", elem_id="leaderboard-keys")
    version = gr.Textbox(version_of(board), visible="hidden", label="Version of the results")
    with gr.Tabs(elem_id="board-tabs"):
        with gr.Tab("Table") as table_tab:
            grid = gr.Dataframe(
                value=opening, interactive=False, max_height=620, label=LABEL, elem_id="leaderboard",
                datatype="auto", buttons=["fullscreen"], column_widths=_widths(columns.VIEWS[_FIRST]),
            )  # fmt: skip
            with gr.Row():
                opener = gr.Button(_CHOOSE, interactive=False, size="md", elem_id="open-button", scale=2)
                csv = gr.Button("Download as CSV", size="md", elem_id="csv-button")
                renew = gr.Button("Look for new results", size="md", elem_id="renew-button")
            text = gr.Textbox(visible="hidden", elem_id="csv-text", label="CSV")
        drawn = charts.build(board, inputs, functools.partial(_chosen, board), table_tab, opened)
    notes = gr.HTML(notes_on(board), elem_classes="tb-note-small", elem_id="leaderboard-notes")
    rows, shown = functools.partial(_rows, board), [grid, keys, opener, chosen]
    view.change(lambda name: list(columns.VIEWS[name]), view, more[-1], **look.QUIET)
    for control in inputs:
        control.change(
            lambda name, *values: (*rows(*values), *drawn.redrawn(name, *values)),
            [opened, *inputs], [*shown, *drawn.plots], trigger_mode="always_last", **look.QUIET,
        )  # fmt: skip
    renew.click(lambda *values: (*rows(*values), notes_on(board)), inputs, [*shown, notes], **look.QUIET)
    asked = csv.click(functools.partial(_csv, board), inputs, text, api_visibility="private", queue=False)
    asked.then(None, text, text, js=look.DOWNLOAD_CSV)
    _pick(board, grid, keys, opener, chosen)
    return Leaderboard(grid, keys, notes, version, opener, chosen)


def first(board: Board, lines: int | None = None) -> tuple[dict[str, Any], str]:
    """The table as a visitor meets it, all of it or so many lines, and their keys."""
    found = table.select(board.snapshot.entries, table.Filter())[:lines]
    return table.framed(found, columns.VIEWS[_FIRST]), _keys(found)


def version_of(board: Board) -> str:
    """Which state of the results the table shows."""
    return str(board.snapshot.version)


def notes_on(board: Board) -> str:
    """What a reader of the table has to know, as HTML."""
    snapshot = board.snapshot
    count = {source: sum(entry.source == source for entry in snapshot.entries) for source in columns.SOURCES}
    ties = (
        "A rank spans the places that cannot be told apart: it begins below the models that are surely better and ends "
        "above those that are surely worse. Measured runs are compared in pairs over the same instances, published ones "
        "without pairing, since the paper gives totals only. Each comparison is made at 95 %: among many equal models "
        "some two may be ranked apart by chance."
        if snapshot.ties_known
        else "Measured models are still ranked without pairing their instances; look again in a moment."
    )
    table5, table6 = (reference.table(f"truebench_table{n}") for n in ("5_category", "6_language"))
    lines = [
        f"{count['measured']} measured here, {count['submitted']} submitted, {count['paper']} published. An instance "
        "passes when the answer meets every criterion of every turn. Intervals: 95 %, Wilson.",
        "A rank counts only among results with the same data, judge and way of judging; these stand together. " + ties,
        "† Published in the TRUEBench paper (Tables 5 and 6), on its data set of 1,329 instances: not measured here, "
        "and not comparable with measured results on other data or another judge.",
        "‡ Submitted by a visitor: the scores follow from the judgments handed in; answers and judge are the "
        "submitter's word.",
        f"{columns.MISPRINT.strip()} Known oddities of the published figures: "
        + " ".join([*table5["notes"], *table6["notes"]]),
    ]
    stale = [snapshot.stale] if snapshot.stale else []
    return "".join(f"<p>{escape(line)}</p>" for line in (*stale, *lines))


def _filters(board: Board) -> list[Any]:
    import gradio as gr

    with gr.Accordion("Sort, filter and choose columns", open=False) as accordion:
        with gr.Row():
            order = gr.Dropdown(list(table.ORDERS), value=table.BY_RANK, label="Sort by", elem_id="order")
            sizes = gr.Dropdown([*table.SIZES, columns.UNKNOWN], multiselect=True, label="Size in parameters", value=[])
            weights = gr.Dropdown(list(columns.WEIGHTS), multiselect=True, label="Weights", value=[])
            licence = gr.Dropdown([], multiselect=True, label="Licence", value=[], elem_id="licence")
        names = gr.Dropdown(
            list(columns.COLUMNS), multiselect=True, value=list(columns.VIEWS[_FIRST]), label="Columns of the table"
        )
    accordion.expand(lambda: gr.update(choices=table.licences(board.snapshot.entries)), None, licence, **look.QUIET)
    return [order, sizes, weights, licence, names]


def _pick(board: Board, grid: Any, keys: Any, opener: Any, chosen: Any) -> None:
    """A chosen line names the run that the button opens in the Explorer."""
    import gradio as gr

    def picked(event: Any, lines: str) -> tuple[Any, str]:
        # Neither the cells, which runs may share, nor the board, which goes on, tell the run; the place does: it is that
        # in the table as it was sent, however the page has sorted it since.
        found = board.snapshot.entry(dict(enumerate(lines.split())).get(event.index[0], ""))
        if found is None:
            return gr.update(value="This result is gone: look for new results", interactive=False), ""
        if found.folder is None:
            return gr.update(value=f"{found.model} is published: no conversations to show", interactive=False), ""
        return gr.update(value=f"See the conversations of {found.model}", interactive=True), found.key

    # Gradio reads the type to know what to pass, and cannot look up a name that only this function has imported.
    picked.__annotations__ = {"event": gr.SelectData}
    grid.select(picked, keys, [opener, chosen], **look.QUIET)


def _keys(entries: Sequence[Entry]) -> str:
    return "\n".join(entry.key for entry in entries)


def _chosen(
    board: Board, show: str, search: str, order: str, sizes: list[str], weights: list[str], licence: list[str],
    names: list[str],
) -> list[Entry]:  # fmt: skip
    wanted = table.Filter(_SHOW.get(show, ""), tuple(sizes), tuple(weights), tuple(licence), (search or "")[:80])
    return table.select(board.snapshot.entries, wanted, order)


def _rows(board: Board, *values: Any) -> tuple[Any, str, Any, str]:
    """The table and its keys anew, with no line chosen: that of before may be shown no longer."""
    import gradio as gr

    found, names = _chosen(board, *values), values[-1]
    label = LABEL if found else "No result passes this filter: take some of it away"
    grid = gr.update(value=table.framed(found, names), label=label, column_widths=_widths(names))
    return grid, _keys(found), gr.update(value=_CHOOSE, interactive=False), ""


def _widths(names: Any) -> list[str]:
    return [columns.width(name) for name in columns.ordered(names)]


def _csv(board: Board, *values: Any) -> str:
    return table.to_csv(_chosen(board, *values))
