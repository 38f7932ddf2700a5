"""The Space put together: six tabs over one board and one engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from truebench_hf.confidential import learn_environment
from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.space import about, explorer, judges, leaderboard, look, playground, submit
from truebench_hf.space.assets import AssetCache
from truebench_hf.space.board.store import Board
from truebench_hf.space.engine import Engine
from truebench_hf.space.first_view import FirstView, render
from truebench_hf.space.options import SpaceOptions, check_address
from truebench_hf.terminal import say

_PATIENCE = 45.0  # seconds
_SEEN = 25  # lines of the table in the first view: more than a window shows
TITLE = "TRUEBench leaderboard and playground"
_HEAD = """<h1>TRUEBench: do models do office work as told?</h1>
<p>Real tasks in 12 languages and 10 categories, each with a checklist. An answer passes only when it meets
<b>every</b> criterion. Find a model, see why it failed, or try a prompt of your own.</p>"""


def build(options: SpaceOptions, board: Board) -> Any:
    """The Gradio app. Loads no model."""
    import gradio as gr

    engine = Engine(options)
    with gr.Blocks(title=TITLE, analytics_enabled=False, delete_cache=(3600, 3600)) as app:
        gr.HTML(_HEAD, elem_classes="tb-head")
        with gr.Tabs(elem_id="tabs") as tabs:
            with gr.Tab("Leaderboard", id="leaderboard"):
                first = leaderboard.build(board)
            with gr.Tab("Judges", id="judges") as judged:
                judges.build(board, judged)
            with gr.Tab("Explorer", id="explorer") as tab:
                explored = explorer.build(board, tab)
            with gr.Tab("Playground", id="playground"):
                playground.build(engine)
            with gr.Tab("Submit", id="submit"):
                submit.build(options)
            with gr.Tab("About", id="about") as told:
                about.build(board, told)
        for name, other in {t.id: t for t in tabs.children if t.id != "explorer"}.items():
            other.select(None, js=look.KEEP_TAB % name)
        first.opener.click(
            lambda key: (gr.update(selected="explorer"), gr.update(choices=explored.view.choices(key), value=key)),
            first.chosen, [tabs, explored.run], **look.QUIET,
        )  # fmt: skip
        _on_load(app, board, tabs, first, explored)
    return app.queue(max_size=options.max_queue, default_concurrency_limit=4, api_open=False)


def serve(options: SpaceOptions, *, block: bool = True) -> Any:
    """Build and serve the Space; returns the app. With `block` off it goes on in the background.

    Raises UserError where the address cannot be had.
    """
    need("space", "gradio", "plotly", what="the Space")
    from starlette.middleware import Middleware

    learn_environment()
    check_address(options.host, options.port)
    board = Board([Path(folder) for folder in options.runs], options.results or "")
    board.start(options.refresh)
    board.ready.wait(_PATIENCE)  # so that the page is laid out with what visitors are to see
    app = build(options, board)
    try:
        app.launch(
            server_name=options.host, server_port=options.port or None, prevent_thread_lock=True, quiet=True,
            show_error=False, share=False, ssr_mode=False, theme=look.theme(), css=look.css(), footer_links=[],
            max_file_size=options.max_upload_mb * 2**20, enable_monitoring=False, run_history=False, mcp_server=False,
            app_kwargs={"middleware": [Middleware(FirstView, html=_first_view(app, board))]},
        )  # fmt: skip
    except OSError as error:
        raise UserError(f"--port {options.port}: no such port is free; give another one, or 0 for any") from error
    # Outside of all that Gradio has put around the app, compression included; it is built with the first request.
    app.app.middleware_stack = AssetCache(app.app.middleware_stack or app.app.build_middleware_stack())
    if block:
        say(f"The Space is at {app.local_url} (Ctrl-C ends it)")
        try:
            threading.Event().wait()  # for ever, or until Ctrl-C
        finally:
            app.close(verbose=False)
    return app


def _first_view(app: Any, board: Board) -> Callable[[dict[str, str]], str]:
    """What stands in the page before Gradio has drawn it, for the address that was asked for."""
    tabs = next(block for block in app.blocks.values() if block.elem_id == "tabs").children

    def html(query: dict[str, str]) -> str:
        if query.get("tab", tabs[0].id) != tabs[0].id:
            return ""
        (shown, _), theme = leaderboard.first(board, _SEEN), query.get("__theme", "")
        return render(
            shown, head=_HEAD, tabs=[tab.label for tab in tabs], label=board.snapshot.models[0].unit, theme=theme,
            boards=[title for title, _ in leaderboard.kinds(board)],
        )  # fmt: skip

    return html


def _on_load(app: Any, board: Board, tabs: Any, first: leaderboard.Leaderboard, explored: explorer.Explorer) -> None:
    """One event when a page opens: what has come in since the page was laid out, and what the address asks for."""
    import gradio as gr

    names = {tab.id for tab in tabs.children}
    renewable = [first.grid, first.keys, first.notes, first.version]
    outputs = [*renewable, first.kind]

    def renewed(seen: str) -> list[Any]:
        now = leaderboard.version_of(board)
        if now == seen:
            return [*(gr.skip() for _ in renewable), leaderboard.kind_choices(board)]
        values = [*leaderboard.first(board), leaderboard.notes_on(board), now]
        if now != first.version.value:
            _lay_out_anew(app, dict(zip(renewable, values, strict=True)))
        return [*values, leaderboard.kind_choices(board)]

    def opened(seen: str, request: Any) -> tuple[Any, ...]:
        query = {name: str(value)[:300] for name, value in request.query_params.items()}
        tab = gr.update(selected=query["tab"]) if query.get("tab") in names else gr.skip()
        if query.get("tab") != "explorer":
            return *renewed(seen), tab, gr.skip(), gr.skip(), gr.skip()
        view = explored.view
        choices = view.choices(query.get("run"))
        run = query.get("run") or choices[0][1]
        return (
            *renewed(seen),
            tab,
            gr.update(choices=choices, value=run),
            query.get("id", ""),  # without one the change of the run brings its first
            view.others(query.get("with")),
        )

    # Gradio reads the type to know what to pass, and cannot look up a name that only this function has imported.
    opened.__annotations__ = {"request": gr.Request}
    filled = [*outputs, tabs, explored.run, explored.instance, explored.other]
    app.load(opened, first.version, filled, **look.QUIET).then(None, js=look.FOLLOWED)


def _lay_out_anew(app: Any, values: Mapping[Any, Any]) -> None:
    """Give the values to all who open the page from now on, without another round trip."""
    for component, value in values.items():
        kept = component.postprocess(value)
        component.value = kept.model_dump() if hasattr(kept, "model_dump") else kept
    app.config = app.get_config_file()
