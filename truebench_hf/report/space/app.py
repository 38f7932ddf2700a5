"""The Space put together: six tabs over one board and one engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from truebench_hf.report.board.store import Board
from truebench_hf.report.space import about, explorer, judges, leaderboard, look, playground, submit
from truebench_hf.report.space.engine import Engine
from truebench_hf.report.space.options import SpaceOptions

_PATIENCE = 45.0  # seconds
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
                fill_board, on_board = leaderboard.build(board)
            with gr.Tab("Judges", id="judges"):
                fill_judges, on_judges = judges.build(board)
            with gr.Tab("Explorer", id="explorer") as tab:
                view, linked = explorer.build(board, tab)
            with gr.Tab("Playground", id="playground"):
                playground.build(engine)
            with gr.Tab("Submit", id="submit"):
                submit.build(options)
            with gr.Tab("About", id="about"):
                about.build()
        for name, other in {t.id: t for t in tabs.children if t.id != "explorer"}.items():
            other.select(None, js=look.KEEP_TAB % name)
        _follow_link(app, view, tabs, linked)
        quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        app.load(fill_board, None, on_board, **quiet)
        app.load(fill_judges, None, on_judges, **quiet)
    return app.queue(max_size=options.max_queue, default_concurrency_limit=4, api_open=False)


def serve(options: SpaceOptions, *, block: bool = True) -> Any:
    """Build and serve the Space; returns the app. With `block` off it goes on in the background."""
    board = Board([Path(folder) for folder in options.runs], options.results or "")
    board.start(options.refresh)
    board.ready.wait(_PATIENCE)  # so that the page is laid out with what visitors are to see
    app = build(options, board)
    app.launch(
        server_name=options.host, server_port=options.port or None, prevent_thread_lock=not block, quiet=not block,
        show_error=False, share=False, ssr_mode=False, theme=look.theme(), css=look.css(), footer_links=[],
        max_file_size=options.max_upload_mb * 2**20, enable_monitoring=False, run_history=False, mcp_server=False,
    )  # fmt: skip
    return app


def _follow_link(app: Any, view: explorer.View, tabs: Any, linked: list[Any]) -> None:
    import gradio as gr

    names = {"leaderboard", "judges", "explorer", "playground", "submit", "about"}

    def opened(request: Any) -> tuple[Any, ...]:
        query = {name: str(value)[:300] for name, value in request.query_params.items()}
        keys = {key for _, key in view.runs()}
        tab = gr.update(selected=query["tab"]) if query.get("tab") in names else gr.skip()
        if query.get("tab") != "explorer":
            return tab, gr.skip(), gr.skip(), gr.skip()
        run = query.get("run", "")
        chosen = run if run in keys else view.runs()[0][1]
        other = query.get("with", "")
        runs = view.runs()
        return (
            tab,
            gr.update(choices=runs, value=chosen),
            query.get("id") or next(iter(view.rows(chosen)), ""),
            gr.update(choices=[("none", ""), *runs[:-1]], value=other if other in keys else ""),
        )

    # Gradio reads the type to know what to pass, and cannot look up a name that only this function has imported.
    opened.__annotations__ = {"request": gr.Request}
    followed = app.load(opened, None, [tabs, *linked], api_visibility="private", show_progress="hidden")
    followed.then(None, js=look.FOLLOWED)
