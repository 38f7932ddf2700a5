"""One step of the playground: a button that starts work, one that stops it, and a line that says how it goes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from truebench_hf.space import guard
from truebench_hf.space.look import QUIET

# The values of a step's outputs (None leaves one as it is), and what the line says.
Update = tuple[Sequence[Any], str]
Work = Callable[..., AsyncGenerator[Update, None]]

_QUEUED = "Waiting for your turn …"
_REFUSED = "This was not begun: too many visitors are waiting. Please try again in a moment."
_STOPPED = "Stopped."


@dataclass(frozen=True)
class Controls:
    """The three parts of a step's controls."""

    start: Any
    stop: Any
    line: Any

    def said(self, text: str | None, kind: str = "info", *, start: bool, stop: bool) -> dict[Any, Any]:
        """An update: what the line says (None leaves it), and which buttons can be pressed."""
        import gradio as gr

        line = {} if text is None else {self.line: guard.status(text, kind)}
        return {self.start: gr.update(interactive=start), self.stop: gr.update(interactive=stop), **line}


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

    `concurrency` counts over all steps of a `lane`. Only the work itself waits in the queue: the buttons change before
    and after it at once, so that a visitor who still waits can leave, and they rest again however it ends.
    """
    everything = [parts.line, parts.start, parts.stop]
    begun = parts.start.click(
        lambda: parts.said(_QUEUED, "busy", start=False, stop=True), None, everything, **QUIET
    )  # fmt: skip
    working = begun.then(
        _guarded(parts, work, outputs, seconds), list(inputs), [*outputs, parts.line], concurrency_limit=concurrency,
        concurrency_id=lane, show_progress="minimal", show_progress_on=parts.line, api_visibility="private",
    )  # fmt: skip
    # Gradio goes on to this after success, failure and cancelling alike, and when the queue took no more.
    working.then(lambda line: _rest(parts, line), parts.line, everything, **QUIET)
    # Start stays as it is until the server has really let go of the work.
    parts.stop.click(
        lambda: parts.said(_STOPPED, start=False, stop=False), None, everything, cancels=[working], **QUIET
    )


def _guarded(parts: Controls, work: Work, outputs: Sequence[Any], seconds: float) -> Callable[..., Any]:
    async def run(*values: Any) -> AsyncGenerator[dict[Any, Any], None]:
        try:
            async with aclosing(guard.within(work(*values), seconds)) as updates:
                async for shown, line in updates:
                    changed = {part: value for part, value in zip(outputs, shown, strict=True) if value is not None}
                    yield changed | {parts.line: line}
        except Exception as error:  # whatever it is, a visitor sees one plain line and the operator the rest
            yield {parts.line: guard.status(guard.told(error), "bad")}

    return run


def _rest(parts: Controls, line: str | None) -> dict[Any, Any]:
    """The buttons at rest. A line that work left busy says what became of it."""
    kind, text = "info", None
    if _QUEUED in (line or ""):
        kind, text = "bad", _REFUSED
    elif "tb-busy" in (line or ""):
        text = _STOPPED
    return parts.said(text, kind, start=True, stop=False)
