"""Tab 1: models by the scores that their results bring along, with search, order, filters, ties, charts and CSV."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import escape

from truebench_hf.space import charts, look
from truebench_hf.space.board import table
from truebench_hf.space.board.papers import PAPERS
from truebench_hf.space.board.runs import Entry
from truebench_hf.space.board.store import Board
from truebench_hf.space.board.table import OVERVIEW, Kind

_SHOW = {"All": "", "Measured": "measured", "Submitted": "submitted", "Published": "paper"}
_COUNTED = {"measured": "measured here", "submitted": "submitted", "paper": "published"}
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
    kind: Any
    opener: Any
    chosen: Any


def build(board: Board) -> Leaderboard:
    """Lay out the tab inside the current Blocks."""
    import gradio as gr

    first_kind = board.snapshot.models[0]
    with gr.Column(elem_id="board-controls"):
        kind = gr.Radio(
            kinds(board), value=first_kind.name, label="Board", visible=len(kinds(board)) > 1, elem_id="kind"
        )  # fmt: skip
        with gr.Row(elem_classes="tb-controls"):
            search = gr.Textbox(label="Search", placeholder="model or judge", max_length=80, min_width=200)
            show = gr.Radio(list(_SHOW), value="All", label="Results", min_width=474, scale=0, elem_id="show")
            view = gr.Radio(
                list(first_kind.views), value=OVERVIEW, label="Columns", min_width=494, scale=0, elem_id="view"
            )  # fmt: skip
        order, facts, names = _filters(board, first_kind, kind)
    inputs = [kind, show, search, order, facts, names]
    opened, chosen = gr.State(""), gr.State("")
    opening, lines = first(board)
    keys = gr.Textbox(lines, visible="hidden", label="Runs in the table", elem_id="leaderboard-keys")
    version = gr.Textbox(version_of(board), visible="hidden", label="Version of the results")
    with gr.Tabs(elem_id="board-tabs"):
        with gr.Tab("Table") as table_tab:
            grid = gr.Dataframe(
                value=opening, interactive=False, max_height=620, label=first_kind.unit, elem_id="leaderboard",
                datatype="auto", buttons=["fullscreen"], column_widths=_widths(first_kind, first_kind.views[OVERVIEW]),
            )  # fmt: skip
            with gr.Row():
                opener = gr.Button(_CHOOSE, interactive=False, size="md", elem_id="open-button", scale=2)
                csv = gr.Button("Download as CSV", size="md", elem_id="csv-button")
                renew = gr.Button("Look for new results", size="md", elem_id="renew-button")
            text = gr.Textbox(visible="hidden", elem_id="csv-text", label="CSV")
        drawn = charts.build(board, inputs, functools.partial(_chosen, board), view, table_tab, opened)
    notes = gr.HTML(notes_on(board), elem_classes="tb-note-small", elem_id="leaderboard-notes")
    rows, shown = functools.partial(_rows, board), [grid, keys, opener, chosen]
    view.change(lambda which, name: list(_kind(board, which).views.get(name, ())), [kind, view], names, **look.QUIET)
    kind.change(functools.partial(_switched, board), kind, [view, order, facts, names, notes], **look.QUIET)
    for control in inputs:
        control.change(
            lambda name, group, *values: (*rows(*values), *drawn.redrawn(name, group, *values)),
            [opened, view, *inputs], [*shown, *drawn.plots], trigger_mode="always_last", **look.QUIET,
        )  # fmt: skip
    renew.click(
        lambda *values: (*rows(*values), notes_on(board, values[0]), kind_choices(board)),
        inputs, [*shown, notes, kind], **look.QUIET,
    )  # fmt: skip
    asked = csv.click(functools.partial(_csv, board), inputs, text, api_visibility="private", queue=False)
    asked.then(None, text, text, js=look.DOWNLOAD_CSV)
    _pick(board, grid, keys, opener, chosen)
    return Leaderboard(grid, keys, notes, version, kind, opener, chosen)


def kinds(board: Board) -> list[tuple[str, str]]:
    """(title, name) of the boards of models."""
    return [(kind.title, kind.name) for kind in board.snapshot.models]


def kind_choices(board: Board) -> Any:
    """The boards to choose from, as an update; where there is one there is no choice."""
    import gradio as gr

    return gr.update(choices=kinds(board), visible=len(kinds(board)) > 1)


def first(board: Board, lines: int | None = None) -> tuple[dict[str, Any], str]:
    """The table as a visitor meets it, all of it or so many lines, and their keys."""
    now = board.snapshot
    kind = now.models[0]
    found = table.select(kind, now.of(kind), table.Filter())[:lines]
    return table.framed(kind, found, kind.views[OVERVIEW]), _keys(found)


def version_of(board: Board) -> str:
    """Which state of the results the table shows."""
    return str(board.snapshot.version)


def notes_on(board: Board, kind: str = "") -> str:
    """What a reader of the table has to know, as HTML."""
    snapshot = board.snapshot
    shown = _kind(board, kind)
    sources: list[str] = [entry.source for entry in snapshot.of(shown)]
    ties = (
        "A rank spans the places that cannot be told apart: it begins below the models that are surely better and ends "
        "above those that are surely worse. Measured runs are compared in pairs over the same instances, published ones "
        "without pairing, since the paper gives totals only. Each comparison is made at 95 %: among many equal models "
        "some two may be ranked apart by chance."
        if snapshot.ties_known
        else "Measured models are still ranked without pairing their instances; look again in a moment."
    )
    lines = [
        ", ".join(f"{sources.count(source)} {what}" for source, what in _COUNTED.items()) + ".",
        "A rank counts only among results with the same data, judge and way of judging; these stand together. " + ties,
        "‡ Submitted by a visitor: the scores follow from the judgments handed in; answers and judge are the "
        "submitter's word.",
        *(PAPERS[shown.name].notes if shown.name in PAPERS else ()),
    ]
    stale = [snapshot.stale] if snapshot.stale else []
    return "".join(f"<p>{escape(line)}</p>" for line in (*stale, *lines))


def _kind(board: Board, name: str) -> Kind:
    return next((kind for kind in board.snapshot.models if kind.name == name), board.snapshot.models[0])


def _filters(board: Board, first_kind: Kind, kind: Any) -> list[Any]:
    import gradio as gr

    with gr.Accordion("Sort, filter and choose columns", open=False) as accordion:
        with gr.Row():
            order = gr.Dropdown(list(first_kind.orders), value=table.BY_RANK, label="Sort by", elem_id="order")
            facts = gr.Dropdown([], multiselect=True, value=[], label="Only with these facts", elem_id="facts", scale=3)
        names = gr.Dropdown(
            list(first_kind.headers), multiselect=True, value=list(first_kind.views[OVERVIEW]),
            label="Columns of the table",
        )  # fmt: skip

    def offered(name: str) -> Any:
        return gr.update(choices=table.fact_choices(_kind(board, name), board.snapshot.of(_kind(board, name))))

    accordion.expand(offered, kind, facts, **look.QUIET)
    return [order, facts, names]


def _switched(board: Board, name: str) -> tuple[Any, ...]:
    """The controls and notes of another board, as updates."""
    import gradio as gr

    kind = _kind(board, name)
    return (
        gr.update(choices=list(kind.views), value=OVERVIEW),
        gr.update(choices=list(kind.orders), value=table.BY_RANK),
        gr.update(choices=table.fact_choices(kind, board.snapshot.of(kind)), value=[]),
        gr.update(choices=list(kind.headers), value=list(kind.views[OVERVIEW])),
        notes_on(board, name),
    )


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
            why = "is published: no" if found.source == "paper" else "has no"
            return gr.update(value=f"{found.name} {why} conversations to show", interactive=False), ""
        return gr.update(value=f"See the conversations of {found.name}", interactive=True), found.key

    # Gradio reads the type to know what to pass, and cannot look up a name that only this function has imported.
    picked.__annotations__ = {"event": gr.SelectData}
    grid.select(picked, keys, [opener, chosen], **look.QUIET)


def _keys(entries: Sequence[Entry]) -> str:
    return "\n".join(entry.key for entry in entries)


def _chosen(
    board: Board, name: str, show: str, search: str, order: str, facts: list[str], names: list[str]
) -> tuple[Kind, list[Entry]]:
    kind = _kind(board, name)
    wanted = table.Filter(_SHOW.get(show, ""), tuple(facts or ()), (search or "")[:80])
    return kind, table.select(kind, board.snapshot.of(kind), wanted, order)


def _rows(board: Board, *values: Any) -> tuple[Any, str, Any, str]:
    """The table and its keys anew, with no line chosen: that of before may be shown no longer."""
    import gradio as gr

    (kind, found), names = _chosen(board, *values), values[-1]
    label = kind.unit if found else "No result passes this filter: take some of it away"
    grid = gr.update(value=table.framed(kind, found, names), label=label, column_widths=_widths(kind, names))
    return grid, _keys(found), gr.update(value=_CHOOSE, interactive=False), ""


def _widths(kind: Kind, names: Sequence[str]) -> list[str]:
    return [table.width(name) for name in kind.ordered(names)]


def _csv(board: Board, *values: Any) -> str:
    return table.to_csv(*_chosen(board, *values))
