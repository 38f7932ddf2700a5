"""One step of the playground: a button that starts work, one that stops it, and a line that says how it goes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from truebench_hf.report.space import guard

# The values of a step's outputs (None leaves one as it is), and what the line says.
Update = tuple[Sequence[Any], str]
Work = Callable[..., AsyncGenerator[Update, None]]


@dataclass(frozen=True)
class Controls:
    """The three parts of a step's controls."""

    start: Any
    stop: Any
    line: Any


def controls(label: str, name: str, primary: bool = False) -> Controls:
    """Lay out a start button, a stop button and the line; `name` makes their ids."""
    import gradio as gr

    with gr.Row():
        start = gr.Button(label, variant="primary" if primary else "secondary", elem_id=f"{name}-start", min_width=180)
        stop = gr.Button("Stop", variant="stop", interactive=False, elem_id=f"{name}-stop", min_width=90, scale=0)
    return Controls(start, stop, gr.HTML(guard.status(""), elem_id=f"{name}-line", min_height=30))


def wire(
    parts: Controls,
    work: Work,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    seconds: float,
    concurrency: int,
    lane: str = "model",
) -> None:
    """Make the buttons run and stop `work`. Errors become a line for the visitor; time is limited.

    `concurrency` counts over all steps of a `lane`.
    """
    import gradio as gr

    def update(values: Sequence[Any], line: str, busy: bool) -> tuple[Any, ...]:
        buttons = gr.update(interactive=not busy), gr.update(interactive=busy)
        return (*(gr.skip() if value is None else value for value in values), line, *buttons)

    nothing = [None] * len(outputs)

    async def run(*values: Any) -> AsyncGenerator[tuple[Any, ...], None]:
        yield update(
            nothing,
            guard.status(
                "Waiting …" if lane != "model" else "Waiting for the model; its first use takes longer.", "busy"
            ),
            True,
        )
        last = guard.status("")
        try:
            async with aclosing(guard.within(work(*values), seconds)) as updates:
                async for shown, last in updates:
                    yield update(shown, last, True)
        except Exception as error:  # whatever it is, a visitor sees one plain line and the operator the rest
            last = guard.status(guard.told(error), "bad")
        yield update(nothing, last, False)

    everything = [*outputs, parts.line, parts.start, parts.stop]
    event = parts.start.click(
        run, list(inputs), everything, concurrency_limit=concurrency, concurrency_id=lane, show_progress="minimal",
        show_progress_on=parts.line, api_visibility="private",
    )  # fmt: skip
    after = [parts.line, parts.start, parts.stop]
    parts.stop.click(
        lambda: update([], guard.status("Stopped."), False), None, after, cancels=[event], queue=False,
        api_visibility="private",
    )  # fmt: skip
