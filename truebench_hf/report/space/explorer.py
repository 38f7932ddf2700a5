"""Tab 3: look through instances, and through the conversations and verdicts of runs; two models side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.report.board import explorer, table
from truebench_hf.report.board.conversation import render
from truebench_hf.report.board.explorer import SAMPLE, Row, Shelf, Wanted
from truebench_hf.report.board.store import Board
from truebench_hf.report.space import look

_ANY = "any"


class View:
    """What the tab asks for: rows of runs by key, filters and pages. Holds no visitor's state."""

    def __init__(self, board: Board) -> None:
        self.board, self.shelf = board, Shelf()

    def runs(self) -> list[tuple[str, str]]:
        """(label, key) of everything that can be looked through."""
        measured = [e for e in table.select(self.board.snapshot.entries, table.Filter(source="measured")) if e.folder]
        return [(f"{e.model}, judged by {e.judge}", e.key) for e in measured] + [
            ("Built-in sample: instances only, no model", SAMPLE)
        ]

    def rows(self, key: str | None) -> dict[str, Row]:
        """The rows of a key, of the sample for an unknown one; none where they cannot be read."""
        try:
            return self._rows(key)
        except UserError:
            return {}

    def page(self, key: str | None, instance: str) -> str:
        """One conversation as HTML, or why there is none."""
        try:
            return render(self._rows(key).get(instance), "This run has no such instance.")
        except UserError as error:
            return render(None, str(error))

    def _rows(self, key: str | None) -> dict[str, Row]:
        return self.shelf.rows(self.board.snapshot.entry(key) if key and key != SAMPLE else None)

    def found(self, key: str, languages: Sequence[str], categories: Sequence[str], how: str, failed: str) -> list[Row]:
        """The rows of a run that pass the filter."""
        wanted = Wanted(
            tuple(languages or ()), tuple(categories or ()), "" if how == _ANY else how, (failed or "")[:200]
        )
        return explorer.select(self.rows(key), wanted)


def build(board: Board, tab: Any) -> tuple[View, list[Any]]:
    """Lay out the tab; returns its view and the components that a link sets: run, instance, other run, list."""
    import gradio as gr

    view = View(board)
    runs = view.runs()
    with gr.Row():
        run = gr.Dropdown(runs, value=runs[0][1], label="Run", elem_id="run", scale=2)
        other = gr.Dropdown([("none", ""), *runs[:-1]], value="", label="Compare with", elem_id="other", scale=2)
    filters = _filters(view, runs[0][1])
    grid = gr.Dataframe(
        value=_listing([]), interactive=False, max_height=300, label="Instances (choose a line)", datatype="str",
        column_widths=["80px", "105px", "170px", "100px", "785px"], elem_id="instances", buttons=[],
    )  # fmt: skip
    first = next(iter(view.rows(runs[0][1])), "")
    with gr.Row(elem_classes="tb-ends"):
        back = gr.Button("Previous", size="md", min_width=120, elem_id="back", scale=0)
        instance = gr.Textbox(first, label="Instance", max_length=200, elem_id="instance", min_width=110)
        ahead = gr.Button("Next", size="md", min_width=120, elem_id="ahead", scale=0)
        address = gr.Textbox(label="Link to this view", interactive=False, buttons=["copy"], elem_id="link", scale=2)
    with gr.Row(elem_classes="tb-pair"):
        left = gr.HTML(view.page(runs[0][1], first), elem_id="left", min_height=240)
        right = gr.HTML(elem_id="right", visible=False)
    parts = {"run": run, "other": other, "grid": grid, "instance": instance, "address": address}
    _wire(view, parts, filters, [left, right], (back, ahead), tab)
    return view, [run, instance, other]


def _filters(view: View, key: str) -> list[Any]:
    import gradio as gr

    rows = view.rows(key)
    with gr.Row():
        languages = gr.Dropdown(explorer.choices(rows, "language"), multiselect=True, value=[], label="Language")
        categories = gr.Dropdown(explorer.choices(rows, "category"), multiselect=True, value=[], label="Category")
        how = gr.Dropdown([_ANY, *explorer.OUTCOMES], value=_ANY, label="Outcome")
        failed = gr.Textbox(label="Text in a failed criterion", max_length=200, elem_id="failed")
    return [languages, categories, how, failed]


def _wire(
    view: View, parts: dict[str, Any], filters: list[Any], pages: list[Any], steps: tuple[Any, Any], tab: Any
) -> None:
    import gradio as gr

    run, other, instance, grid = parts["run"], parts["other"], parts["instance"], parts["grid"]

    def listed(key: str, *wanted: Any) -> Any:
        return _listing(view.found(key, *wanted))

    def switched(key: str, current: str, *wanted: Any) -> tuple[Any, ...]:
        rows = view.rows(key)
        chosen = current if current in rows else next(iter(rows), "")
        options = [gr.update(choices=explorer.choices(rows, name)) for name in ("language", "category")]
        return (listed(key, *wanted), chosen, *options)

    def shown(key: str, current: str, against: str | None) -> tuple[Any, ...]:
        second = gr.update(value=view.page(against, current) if against else "", visible=bool(against))
        return view.page(key, current), second

    def moved(step: int) -> Any:
        return lambda key, current, *wanted: explorer.neighbour(view.found(key, *wanted), current, step)

    def picked(event: Any) -> str:
        return str(event.row_value[0])

    # Gradio reads the type to know what to pass, and cannot look up a name that only this function has imported.
    picked.__annotations__ = {"event": gr.SelectData}

    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    # The list is long, so it is sent to those who open the tab only.
    tab.select(listed, [run, *filters], grid, **quiet)
    tab.select(None, [run, instance, other], parts["address"], js=look.KEEP_VIEW)
    run.change(switched, [run, instance, *filters], [grid, instance, *filters[:2]], **quiet)
    gr.on([control.change for control in filters], listed, [run, *filters], grid, trigger_mode="always_last", **quiet)
    grid.select(picked, None, instance, **quiet)
    for button, step in zip(steps, (-1, 1), strict=True):
        button.click(moved(step), [run, instance, *filters], instance, **quiet)
    asked = gr.on(
        [instance.change, run.change, other.change], shown, [run, instance, other], pages,
        trigger_mode="always_last", **quiet,
    )  # fmt: skip
    asked.then(None, [run, instance, other], parts["address"], js=look.KEEP_VIEW)


def _listing(found: Sequence[Row]) -> dict[str, Any]:
    headers, data = explorer.listing(found)
    return {"headers": headers, "data": data}
