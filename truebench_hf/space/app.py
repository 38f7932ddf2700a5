"""The Space put together: six tabs over one board and one engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from truebench_hf.confidential import learn_environment
from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.space import about, explorer, judges, leaderboard, look, picture, playground, submit
from truebench_hf.space.assets import AssetCache
from truebench_hf.space.board.asked import Asked, text
from truebench_hf.space.board.store import Board
from truebench_hf.space.compressed import Compressed
from truebench_hf.space.engine import Engine
from truebench_hf.space.first_view import FirstView, preview, render
from truebench_hf.space.leaderboard import Leaderboard
from truebench_hf.space.options import SpaceOptions, check_address
from truebench_hf.terminal import say

_PATIENCE = 45.0  # seconds
TITLE = "TRUEBench leaderboard and playground"
_ABOUT = "Real office tasks in 12 languages, each with a checklist: who leads by how much, and why a model fails."
_NAME = "TRUEBench: do models do office work as told?"
_HEAD = f"""<h1>{_NAME}</h1>
<p>Real tasks, each with a checklist. An answer passes only when it meets <b>every</b> criterion.</p>"""


def build(options: SpaceOptions, board: Board, ours: Leaderboard) -> Any:
    """The Gradio app. Loads no model."""
    import gradio as gr

    engine = Engine(options)
    with gr.Blocks(title=TITLE, analytics_enabled=False, delete_cache=(3600, 3600)) as app:
        gr.HTML(_HEAD, elem_classes="tb-head")
        with gr.Tabs(elem_id="tabs") as tabs:
            with gr.Tab("Leaderboard", id="leaderboard"):
                table = leaderboard.build(ours)
            with gr.Tab("Judges", id="judges") as judged:
                judges.build(board, judged)
            with gr.Tab("Explorer", id="explorer") as tab:
                explored = explorer.build(board, tab)
            with gr.Tab("Playground", id="playground"):
                playground.build(engine)
            with gr.Tab("Submit", id="submit") as handed:
                submit.build(options, handed)
            with gr.Tab("About", id="about") as told:
                about.build(board, told, options.results or "")
        for name, other in {t.id: t for t in tabs.children if t.id != "explorer"}.items():
            other.select(None, js=look.KEEP_TAB % (name, name))
        seen = [tabs, explored.run, explored.instance, explored.other]
        table.select(_seeing(explored), None, seen, **look.QUIET)
        _on_load(app, tabs, explored)
    return app.queue(max_size=options.max_queue, default_concurrency_limit=4, api_open=False)


def serve(options: SpaceOptions, *, block: bool = True) -> Any:
    """Build and serve the Space; returns the app. With `block` off it goes on in the background.

    Raises UserError where the address cannot be had.
    """
    need("space", "gradio", what="the Space")
    from starlette.middleware import Middleware

    learn_environment()
    check_address(options.host, options.port)
    board = Board([Path(folder) for folder in options.runs], options.results or "")
    board.start(options.refresh)
    board.ready.wait(_PATIENCE)  # so that the page is laid out with what visitors are to see
    ours = Leaderboard(board)
    app = build(options, board, ours)
    view = Middleware(FirstView, html=_first_view(app, ours), head=_preview)
    drawn = Middleware(picture.Picture, board=board, title=_NAME)
    try:
        app.launch(
            server_name=options.host, server_port=options.port or None, prevent_thread_lock=True, quiet=True,
            show_error=False, share=False, ssr_mode=False, theme=look.theme(), css=look.css(), footer_links=[],
            max_file_size=options.max_upload_mb * 2**20, enable_monitoring=False, run_history=False, mcp_server=False,
            app_kwargs={"middleware": [Middleware(Compressed), view, drawn]},
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


def _preview(address: str) -> str:
    return preview(TITLE, _ABOUT, address + picture.PLACE, picture.SIZE)


def _first_view(app: Any, ours: Leaderboard) -> Callable[[dict[str, str]], str]:
    """What stands in the page before Gradio has drawn it, for the address that was asked for."""
    parts = {block.elem_id: block for block in app.blocks.values()}
    tabs = parts["tabs"].children

    def html(query: dict[str, str]) -> str:
        first = query.get("tab", tabs[0].id) == tabs[0].id
        return render(
            ours.html(Asked.of(query)) if first else "", part=parts["leaderboard"]._id, head=_HEAD, tabs=[tab.label for tab in tabs],
            style=leaderboard.STYLE, script=leaderboard.SCRIPT, fonts=look.font_list(), theme=query.get("__theme", ""),
        )  # fmt: skip

    return html


def _seeing(explored: explorer.Explorer) -> Callable[..., tuple[Any, ...]]:
    """The Explorer opened at conversations that a visitor chose in the leaderboard."""
    import gradio as gr

    def see(event: Any) -> tuple[Any, ...]:
        told = event._data.get("value") if isinstance(event._data, dict) else None
        asked = {name: text(told.get(name)) for name in ("run", "id", "with")} if isinstance(told, dict) else {}
        return gr.update(selected="explorer"), *_at(explored, asked)

    # Gradio reads the type to know what to pass, and cannot look up a name that only this function has imported.
    see.__annotations__ = {"event": gr.EventData}
    return see


def _at(explored: explorer.Explorer, asked: Mapping[str, str]) -> tuple[Any, ...]:
    """Updates of the Explorer for what an address or a visitor asks for: run, instance, and the run to compare with."""
    import gradio as gr

    choices = explored.view.choices(asked.get("run"))
    run = asked.get("run") or choices[0][1]
    # The first where none is asked for: a run that stays the same brings none by itself.
    instance = asked.get("id") or next(iter(explored.view.conversations(run)), "")
    return gr.update(choices=choices, value=run), instance, explored.view.others(asked.get("with"))


def _on_load(app: Any, tabs: Any, explored: explorer.Explorer) -> None:
    """One event when a page opens: what the address asks for."""
    import gradio as gr

    names = {tab.id for tab in tabs.children}

    def opened(request: Any) -> tuple[Any, ...]:
        query = {name: text(value) for name, value in request.query_params.items()}
        tab = gr.update(selected=query["tab"]) if query.get("tab") in names else gr.skip()
        if query.get("tab") != "explorer":
            return tab, gr.skip(), gr.skip(), gr.skip()
        return tab, *_at(explored, query)

    # Gradio reads the type to know what to pass, and cannot look up a name that only this function has imported.
    opened.__annotations__ = {"request": gr.Request}
    filled = [tabs, explored.run, explored.instance, explored.other]
    app.load(opened, None, filled, **look.QUIET).then(None, js=look.FOLLOWED)
