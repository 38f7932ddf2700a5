"""The Space put together: pages that the library draws, and Gradio's playground, submissions and tools over one board and one engine."""

from __future__ import annotations

import threading
from contextlib import redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError, need
from truebench_hf.report.page import style
from truebench_hf.space import playground, submit, visitors
from truebench_hf.space.board.store import BoardStore
from truebench_hf.space.engine import Engine
from truebench_hf.space.options import SpaceOptions
from truebench_hf.space.pages import Query, read
from truebench_hf.space.site import GRADIO, TABS, Pages, Site, head, results_json
from truebench_hf.text.redaction import learn_environment
from truebench_hf.text.terminal import say

_PATIENCE = 45.0  # seconds


def build(options: SpaceOptions, board: BoardStore, engine: Engine) -> Any:
    """Return the Gradio app: the playground, submissions, and tools for programs. Loads no model."""
    import gradio as gr

    with gr.Blocks(title="TRUEBench playground", analytics_enabled=False, delete_cache=(3600, 3600)) as app:
        heading = gr.HTML(head(GRADIO[0]), elem_id="head")
        with gr.Tabs(elem_id="tabs") as tabs:  # whose own row of buttons is hidden: the heading leads to all pages
            with gr.Tab(TABS["playground"], id="playground"):
                playground.build_tab(engine, app)
            with gr.Tab(TABS["submit"], id="submit"):
                submit.build(options, app)
        _tools(board, engine)

        def open_tab(request: Any) -> Any:
            wanted = request.query_params.get("tab")
            wanted = wanted if wanted in GRADIO else GRADIO[0]
            return head(wanted), gr.update(selected=wanted)

        # Gradio reads the type to know what to pass, and cannot look up a name that only this function has imported.
        open_tab.__annotations__ = {"request": gr.Request}
        app.load(open_tab, None, [heading, tabs], **visitors.QUIET)
    return app.queue(max_size=visitors.QUEUE, default_concurrency_limit=4, api_open=False)


def serve(options: SpaceOptions, *, block: bool = True) -> Any:
    """Build and serve the Space; return the app. With `block` off it goes on in the background.

    Gradio's own variables say where it listens: GRADIO_SERVER_NAME, GRADIO_SERVER_PORT. Raises UserError where the
    address cannot be had.
    """
    need("space", "gradio", what="the Space")

    learn_environment()
    board = BoardStore([Path(folder) for folder in options.runs], options.results or "")
    board.start(visitors.REFRESH)
    board.ready.wait(_PATIENCE)  # so that the first visitor sees what there is
    app = build(options, board, Engine(options))
    try:
        with redirect_stdout(StringIO()):  # of its MCP server Gradio tells on its own, `quiet` or not
            app.launch(
                prevent_thread_lock=True, quiet=True, show_error=False, share=False, ssr_mode=False,
                theme=_theme(), css=style() + read("shared.css") + read("gradio.css"), footer_links=[],
                max_file_size=visitors.UPLOAD_MIB * 2**20, enable_monitoring=False, run_history=False, mcp_server=_speaks_mcp(),
            )  # fmt: skip
    except OSError as error:
        raise UserError(f"{error}; GRADIO_SERVER_NAME and GRADIO_SERVER_PORT say where to listen") from error
    # Outside of all that Gradio has put around the app; it is built with the first request.
    inner = app.app.middleware_stack or app.app.build_middleware_stack()
    app.app.middleware_stack = Site(Pages(board, options.results or ""), inner)
    if block:
        say(f"The Space is at {app.local_url} (Ctrl-C ends it)")
        try:
            threading.Event().wait()  # for ever, or until Ctrl-C
        finally:
            app.close(verbose=False)
    return app


def _theme() -> Any:
    """Return the Gradio theme with fonts of the visitor's own system."""
    import gradio as gr

    mono = ("ui-monospace", "Menlo", "Consolas", "monospace")
    return gr.themes.Base(
        primary_hue="blue", secondary_hue="slate", neutral_hue="slate", radius_size="md",
        font=[gr.themes.Font(name) for name in ("system-ui", "sans-serif")],
        font_mono=[gr.themes.Font(name) for name in mono],
    ).set(  # what Gradio takes has a contrast of 3.7 and 2.6 to 1 only
        body_text_color_subdued="*neutral_500",
        button_primary_background_fill="*primary_600", button_primary_background_fill_dark="*primary_600",
        button_primary_background_fill_hover="*primary_700", button_primary_background_fill_hover_dark="*primary_700",
    )  # fmt: skip


def _speaks_mcp() -> bool:
    """Whether the package is installed by which Gradio serves tools over MCP: the first version of `mcp`, not the second."""
    try:
        return version("mcp").startswith("1.")
    except PackageNotFoundError:
        return False


def _tools(board: BoardStore, engine: Engine) -> None:
    """Offer `who_leads` and `judge_answer` to programs inside the current Blocks, under the limits of the playground."""
    import gradio as gr

    def who_leads(board_id: str = "", group: str = "") -> dict[str, Any]:
        """Return the results of a leaderboard and who leads it; without ids those that stand first.

        Args:
            board_id: Which board; the answer lists all of them.
            group: Which group of results of it.
        """
        return results_json(board.snapshot, Query.of({"board": board_id, "group": group}))

    async def judge_answer(prompt: str, answer: str, criteria: str) -> list[dict[str, str]]:
        """Judge an answer by a checklist; return each criterion with its label (yes, no or none) and the reason.

        Args:
            prompt: What was asked.
            answer: The answer to it.
            criteria: The checklist, one criterion a line.
        """
        try:
            request = visitors.text_within(prompt, visitors.PROMPT, "The prompt")
            text = visitors.text_within(answer, visitors.PROMPT, "The answer")
            lines = visitors.lines_within(criteria)
            work = engine.verdicts(request, text, lines, engine.levels[0])
            done = [verdicts async for verdicts in visitors.within(work, visitors.SECONDS)][-1]
        except Exception as error:  # a visitor sees one plain line and the operator the rest
            raise gr.Error(visitors.message_for(error), print_exception=False) from None
        return [{"criterion": v.criterion.text, "label": v.label or "", "reason": v.reason} for v in done]

    gr.api(who_leads, api_name="who_leads", queue=False)
    gr.api(judge_answer, api_name="judge_answer", concurrency_limit=visitors.AT_A_TIME, concurrency_id="model")
