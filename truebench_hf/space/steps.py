"""Work that a visitor starts by a button: it waits for its turn, says how it goes, and ends in time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

from truebench_hf.space import visitors
from truebench_hf.space.look import QUIET

# New values by component, and what the line says, again and again.
Updates = AsyncGenerator[tuple[dict[Any, Any], str], None]
Work = Callable[..., Updates]


def start(
    button: Any, work: Work, inputs: Sequence[Any], outputs: Sequence[Any], line: Any, *,
    fields: Sequence[Any] = (), lane: str = "model", at_a_time: int = visitors.AT_A_TIME,
) -> Any:  # fmt: skip
    """Make a button start work, and return the event.

    Errors become a line for the visitor, and time is limited. `fields` cannot be edited meanwhile: what work shows
    always belongs to what stands there. `at_a_time` counts over all work of a `lane`.
    """
    import gradio as gr

    async def run(*values: Any) -> AsyncGenerator[dict[Any, Any], None]:
        begun = {field: gr.update(interactive=False) for field in fields}
        yield {**begun, line: visitors.status("Begun …", "busy")}
        try:
            async with aclosing(visitors.within(work(*values), visitors.SECONDS)) as updates:
                async for changed, text in updates:
                    yield changed | {line: text}
        except Exception as error:  # whatever it is, a visitor sees one plain line and the operator the rest
            yield {line: visitors.status(visitors.told(error), "bad")}

    def rest(text: str | None) -> dict[Any, Any]:
        """The fields can be edited again. A line that work left busy says what became of it."""
        stopped = visitors.status("Stopped.") if "tb-busy" in (text or "") else gr.skip()
        return {line: stopped, **{field: gr.update(interactive=True) for field in fields}}

    event = button.click(
        run, list(inputs), list(dict.fromkeys([*outputs, line, *fields])),
        concurrency_limit=at_a_time, concurrency_id=lane, trigger_mode="once", show_progress="minimal",
        show_progress_on=line, api_visibility="private",
    )  # fmt: skip
    # Gradio goes on to this after success, failure and cancelling alike.
    event.then(rest, line, [line, *fields], **QUIET)
    return event
