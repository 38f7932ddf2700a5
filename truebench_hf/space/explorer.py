"""Tab 3: look through instances, and through the conversations and verdicts of runs; two models side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.records import Judged
from truebench_hf.space import look
from truebench_hf.space.board import explorer, table
from truebench_hf.space.board.conversation import render
from truebench_hf.space.board.explorer import SAMPLE, RecentRuns, Wanted
from truebench_hf.space.board.store import Board

_ANY = "any"
_NONE = ("none", "")
_SAMPLE = ("Built-in sample: instances only, no model", SAMPLE)


class View:
    """What the tab asks for: conversations of runs by key, filters and pages. Holds no visitor's state."""

    def __init__(self, board: Board) -> None:
        self.board, self.recent = board, RecentRuns()

    def runs(self) -> list[tuple[str, str]]:
        """(label, key) of the runs that can be looked through, in the leaderboard's order."""
        now = self.board.snapshot
        there = [e for kind in now.models for e in table.by_rank(now.of(kind)) if e.folder]
        return [(f"{e.name}, judged by {e.facts['Judge']}" if "Judge" in e.facts else e.name, e.key) for e in there]

    def choices(self, key: str | None) -> list[tuple[str, str]]:
        """What the list of runs offers; a key that the board does not have is named as such, not replaced."""
        known = [*self.runs(), _SAMPLE]
        gone = [] if not key or any(key == other for _, other in known) else [(f"Not on this board: {key}", key)]
        return gone + known

    def others(self, key: str | None) -> Any:
        """The list of runs to compare with, as an update: `key` is kept where the board has such a run."""
        import gradio as gr

        runs = self.runs()
        return gr.update(choices=[_NONE, *runs], value=key if any(key == other for _, other in runs) else "")

    def conversations(self, key: str | None) -> dict[str, Judged]:
        """The conversations of a key; none where they cannot be read."""
        try:
            return self._conversations(key)
        except UserError:
            return {}

    def page(self, key: str | None, instance: str) -> str:
        """One conversation as HTML, or why there is none."""
        try:
            return render(self._conversations(key).get(instance), "This run has no such instance.")
        except UserError as error:
            return render(None, str(error))

    def _conversations(self, key: str | None) -> dict[str, Judged]:
        if key == SAMPLE:
            return self.recent.of(None)
        if (entry := self.board.snapshot.entry(key or "")) is None:
            raise UserError("This board has no such run, or has it no longer. Choose one from the list above.")
        return self.recent.of(entry)

    def found(
        self, key: str, languages: Sequence[str], categories: Sequence[str], how: str, failed: str
    ) -> list[Judged]:
        """Those of a run that pass the filter."""
        wanted = Wanted(
            tuple(languages or ()), tuple(categories or ()), "" if how == _ANY else how, (failed or "")[:200]
        )
        return explorer.select(self.conversations(key), wanted)


@dataclass(frozen=True)
class Explorer:
    """What a link sets: run, instance, and the run to compare with."""

    view: View
    run: Any
    instance: Any
    other: Any


def build(board: Board, tab: Any) -> Explorer:
    """Lay out the tab. It is filled when it is opened, so that the first page need not carry it."""
    import gradio as gr

    view = View(board)
    with gr.Row():
        run = gr.Dropdown([], value=None, label="Run", elem_id="run", scale=2)
        other = gr.Dropdown([_NONE], value="", label="Compare with", elem_id="other", scale=2)
    filters = _filters()
    grid = gr.Dataframe(
        value=_listing([]), interactive=False, max_height=300, label="Instances (choose a line)", datatype="str",
        column_widths=["80px", "105px", "170px", "100px", "785px"], elem_id="instances", buttons=[],
    )  # fmt: skip
    with gr.Row(elem_classes="tb-ends"):
        back = gr.Button("Previous", size="md", min_width=120, elem_id="back", scale=0)
        instance = gr.Textbox("", label="Instance", max_length=200, elem_id="instance", min_width=110)
        ahead = gr.Button("Next", size="md", min_width=120, elem_id="ahead", scale=0)
        address = gr.Textbox(label="Link to this view", interactive=False, buttons=["copy"], elem_id="link", scale=2)
    with gr.Row(elem_classes="tb-pair"):
        left = gr.HTML(elem_id="left", min_height=240)
        right = gr.HTML(elem_id="right", visible=False)
    parts = {"run": run, "other": other, "grid": grid, "instance": instance, "address": address}
    _wire(view, parts, filters, [left, right], (back, ahead), tab)
    return Explorer(view, run, instance, other)


def _filters() -> list[Any]:
    import gradio as gr

    with gr.Row():
        languages = gr.Dropdown([], multiselect=True, value=[], label="Language")
        categories = gr.Dropdown([], multiselect=True, value=[], label="Category")
        how = gr.Dropdown([_ANY, *explorer.OUTCOMES], value=_ANY, label="Outcome")
        failed = gr.Textbox(label="Text in a failed criterion", max_length=200, elem_id="failed")
    return [languages, categories, how, failed]


def _wire(
    view: View, parts: dict[str, Any], filters: list[Any], pages: list[Any], steps: tuple[Any, Any], tab: Any
) -> None:
    import gradio as gr

    run, other, instance, grid = parts["run"], parts["other"], parts["instance"], parts["grid"]

    def entered(key: str | None, against: str | None) -> tuple[Any, ...]:
        """The runs as of now: they come in while the page is open."""
        options = view.choices(key)
        return gr.update(choices=options, value=key or options[0][1]), view.others(against)

    def listed(key: str, *wanted: Any) -> Any:
        found = view.found(key, *wanted)
        label = "Instances (choose a line)" if found else "No instance passes this filter"
        return gr.update(value=_listing(found), label=label)

    def switched(key: str, current: str, *wanted: Any) -> tuple[Any, ...]:
        rows = view.conversations(key)
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

    tab.select(entered, [run, other], [run, other], **look.QUIET)
    tab.select(None, [run, instance, other], parts["address"], js=look.KEEP_VIEW)
    run.change(switched, [run, instance, *filters], [grid, instance, *filters[:2]], **look.QUIET)
    gr.on(
        [control.change for control in filters], listed, [run, *filters], grid, trigger_mode="always_last", **look.QUIET
    )
    grid.select(picked, None, instance, **look.QUIET)
    for button, step in zip(steps, (-1, 1), strict=True):
        button.click(moved(step), [run, instance, *filters], instance, **look.QUIET)
    asked = gr.on(
        [instance.change, run.change, other.change], shown, [run, instance, other], pages,
        trigger_mode="always_last", **look.QUIET,
    )  # fmt: skip
    asked.then(None, [run, instance, other], parts["address"], js=look.KEEP_VIEW)


def _listing(found: Sequence[Judged]) -> dict[str, Any]:
    headers, data = explorer.listing(found)
    return {"headers": headers, "data": data}
