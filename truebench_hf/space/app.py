"""The Space put together: six tabs over one board and one engine."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.results import KIND as TRUEBENCH
from truebench_hf.errors import UserError, need
from truebench_hf.space import look, playground, submit, tabs, visitors
from truebench_hf.space.board import boards
from truebench_hf.space.board.asked import Asked, text
from truebench_hf.space.board.store import BoardStore
from truebench_hf.space.engine import Engine
from truebench_hf.space.options import SpaceOptions
from truebench_hf.space.serving import (
    AssetCache,
    Compressed,
    FirstView,
    SafeHeaders,
    board_json,
    json_route,
    preview,
    render,
)
from truebench_hf.space.tabs import LeaderboardTab
from truebench_hf.text.redaction import learn_environment
from truebench_hf.text.terminal import say

_PATIENCE = 45.0  # seconds
TITLE = "TRUEBench leaderboard and playground"
_ABOUT = "Real office tasks in 12 languages, each with a checklist: who leads by how much, and why a model fails."
_NAME = "TRUEBench: do models do office work as told?"
_ALL_CRITERIA = "Real tasks, each with a checklist. An answer passes only when it meets every criterion."


def build(options: SpaceOptions, board: BoardStore, ours: LeaderboardTab, engine: Engine) -> Any:
    """The Gradio app. Loads no model."""
    import gradio as gr

    with gr.Blocks(title=TITLE, analytics_enabled=False, delete_cache=(3600, 3600)) as app:
        gr.HTML(_head(board), elem_classes="tb-head")
        with gr.Tabs(elem_id="tabs") as row:
            with gr.Tab("Leaderboard", id="leaderboard"):
                tabs.leaderboard_tab(ours)
            with gr.Tab("Trust in judges", id="judges"):
                tabs.judges_tab(board)
            with gr.Tab("Explorer", id="explorer"):
                tabs.explorer_tab(ours)
            with gr.Tab("Playground", id="playground"):
                playground.build_tab(engine, app)
            with gr.Tab("Submit", id="submit") as submit_tab:
                submit.build(options, submit_tab)
            with gr.Tab("About", id="about") as about_tab:
                tabs.about_tab(board, about_tab, options.results or "")
        for tab in row.children:
            tab.select(None, js=look.CHOSEN % tab.id)
        _read_only_tools(board, engine)

        def open_tab(request: Any) -> Any:
            wanted = text(request.query_params.get("tab"))
            return gr.update(selected=wanted) if wanted in {tab.id for tab in row.children} else gr.skip()

        # Gradio reads the type to know what to pass, and cannot look up a name that only this function has imported.
        open_tab.__annotations__ = {"request": gr.Request}
        # When a page opens: the tab that the address asks for. What it asks of the tab is read by the tab's page.
        app.load(open_tab, None, row, **look.QUIET).then(None, js=look.FOLLOWED)
    return app.queue(max_size=visitors.QUEUE, default_concurrency_limit=4, api_open=False)


def _head(board: BoardStore) -> str:
    """The heading of the page, which comes from the results that stand first."""
    title = boards.title(board.snapshot)
    kind = boards.boards(board.snapshot)[0].kind
    below = _ALL_CRITERIA if not title or kind.name == TRUEBENCH else kind.title
    return look.macro("parts.html.jinja", "head", title or _NAME, below)


def serve(options: SpaceOptions, *, block: bool = True) -> Any:
    """Build and serve the Space; returns the app. With `block` off it goes on in the background.

    Gradio's own variables say where it listens: GRADIO_SERVER_NAME, GRADIO_SERVER_PORT. Raises UserError where the
    address cannot be had.
    """
    need("space", "gradio", what="the Space")
    from starlette.middleware import Middleware

    learn_environment()
    board = BoardStore([Path(folder) for folder in options.runs], options.results or "")
    board.start(visitors.REFRESH)
    board.ready.wait(_PATIENCE)  # so that the page is laid out with what visitors are to see
    ours = LeaderboardTab(board)
    app = build(options, board, ours, Engine(options))
    parts = {block.elem_id: block for block in app.blocks.values()}
    row = parts["tabs"].children

    def html(query: dict[str, str]) -> str:
        """What stands in the page before Gradio has drawn it, for the address that was asked for."""
        first = query.get("tab", row[0].id) == row[0].id
        return render(
            ours.html(Asked.of(query)) if first else "", part=parts["leaderboard"]._id, head=_head(board), tabs=[tab.label for tab in row],
            style=tabs.STYLE, script=tabs.SCRIPT, fonts=look.FONT_LIST, theme=query.get("__theme", ""),
        )  # fmt: skip

    view = Middleware(FirstView, html=html, head=preview(TITLE, _ABOUT))
    try:
        app.launch(
            prevent_thread_lock=True, quiet=True,
            show_error=False, share=False, ssr_mode=False, theme=look.theme(), css=look.css(), footer_links=[],
            max_file_size=visitors.UPLOAD_MIB * 2**20, enable_monitoring=False, run_history=False, mcp_server=False,
            app_kwargs={"middleware": [Middleware(Compressed), view]},
        )  # fmt: skip
    except OSError as error:
        raise UserError(f"{error}; GRADIO_SERVER_NAME and GRADIO_SERVER_PORT say where to listen") from error
    app.app.router.routes.insert(0, json_route(board))  # before those of Gradio, which take any path
    # Outside of all that Gradio has put around the app, compression included; it is built with the first request.
    app.app.middleware_stack = SafeHeaders(AssetCache(app.app.middleware_stack or app.app.build_middleware_stack()))
    if block:
        say(f"The Space is at {app.local_url} (Ctrl-C ends it)")
        try:
            threading.Event().wait()  # for ever, or until Ctrl-C
        finally:
            app.close(verbose=False)
    return app


def _read_only_tools(board: BoardStore, engine: Engine) -> None:
    """Offer `who_leads` and `judge_answer` inside the current Blocks, to programs and over MCP, under the limits of the playground."""
    import gradio as gr

    def who_leads(board_id: str = "", group: str = "") -> dict[str, Any]:
        """The results of a board, and who leads; without ids those that visitors meet first."""
        return board_json(board.snapshot, Asked.of({"board": board_id, "group": group}))

    async def judge_answer(prompt: str, answer: str, criteria: str) -> list[dict[str, str]]:
        """The verdict on each criterion (one a line): its text, the label, and the reason."""
        try:
            request = visitors.text_within(prompt, visitors.PROMPT, "The prompt")
            text = visitors.text_within(answer, visitors.PROMPT, "The answer")
            lines = visitors.lines_within(criteria)
            work = engine.verdicts(request, text, lines, engine.levels[0])
            done = [verdicts async for verdicts in visitors.within(work, visitors.SECONDS)][-1]
        except Exception as error:  # a visitor sees one plain line and the operator the rest
            raise gr.Error(visitors.told(error)) from None
        return [{"criterion": v.criterion.text, "label": v.label or "", "reason": v.reason} for v in done]

    gr.api(who_leads, api_name="who_leads", queue=False)
    gr.api(judge_answer, api_name="judge_answer", concurrency_limit=visitors.AT_A_TIME, concurrency_id="model")
