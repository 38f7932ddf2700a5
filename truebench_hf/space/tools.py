"""What programs may ask of the Space by `gradio_client`: who leads, and what the judge says of an answer. Both only read."""

from __future__ import annotations

from typing import Any

from truebench_hf.space import visitors
from truebench_hf.space.board.asked import Asked
from truebench_hf.space.board.store import BoardStore
from truebench_hf.space.engine import Engine
from truebench_hf.space.serving import board_json


def build(board: BoardStore, engine: Engine) -> None:
    """Offer both inside the current Blocks, under the limits of the playground."""
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
