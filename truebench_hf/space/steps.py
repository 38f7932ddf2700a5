"""Work that a visitor starts: buttons that start it, one that stops it, and a line that says how it goes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from truebench_hf.space import visitors
from truebench_hf.space.look import QUIET

# New values by component, and what the line says, again and again.
Updates = AsyncGenerator[tuple[dict[Any, Any], str], None]
Work = Callable[..., Updates]

_QUEUED = "Waiting for your turn …"
_REFUSED = (
    "This was not begun: something else of yours is under way, or too many visitors are waiting. Please try again in a "
    "moment."
)
_STOPPED = "Stopped."


@dataclass(frozen=True)
class Controls:
    """Buttons of which one starts work at a time, the button that stops it, and the line.

    `fields` cannot be edited meanwhile: what work shows always belongs to what stands there.
    """

    starts: tuple[Any, ...]
    stop: Any
    line: Any
    fields: tuple[Any, ...] = ()

    def update(self, text: str | None, kind: str = "info", *, start: bool, stop: bool) -> dict[Any, Any]:
        """What the line says (None leaves it), and what can be pressed and edited."""
        import gradio as gr

        line = {} if text is None else {self.line: visitors.status(text, kind)}
        open_ = {part: gr.update(interactive=start) for part in (*self.starts, *self.fields)}
        return {**open_, self.stop: gr.update(interactive=stop), **line}


@dataclass(frozen=True)
class Job:
    """What one of the buttons starts, with what it reads and what it may change."""

    start: Any
    work: Work
    inputs: Sequence[Any]
    outputs: Sequence[Any]


def controls(label: str, name: str, primary: bool = False) -> Controls:
    """Lay out a start button, a stop button and the line; `name` makes their ids."""
    import gradio as gr

    with gr.Row():
        start = gr.Button(label, variant="primary" if primary else "secondary", elem_id=f"{name}-start", min_width=180)
        stop = gr.Button("Stop", variant="stop", interactive=False, elem_id=f"{name}-stop", min_width=90, scale=0)
    return Controls((start,), stop, gr.HTML(visitors.status(""), elem_id=f"{name}-line", min_height=30))


def queued(app: Any, **how: Any) -> Any:
    """The app with its queue, in which a session has one place of a lane, waiting or at work.

    What else it asks for is turned away as from a full queue: nobody else waits for it.
    """
    queue = app.queue(**how)._queue
    push = queue.push

    async def pushed(body: Any, request: Any, username: str | None) -> Any:
        work = app.fns.get(body.fn_index)
        waiting = [event for lane in queue.event_queue_per_concurrency_id.values() for event in lane.queue]
        at_work = [event for events in queue.active_jobs for event in events or ()]
        places = {(event.session_hash, event.concurrency_id) for event in (*waiting, *at_work)}
        if work is not None and (body.session_hash, work.concurrency_id) in places:
            return False, "One request at a time.", "queue_full"
        return await push(body=body, request=request, username=username)

    queue.push = pushed
    return app


def wire(parts: Controls, jobs: Sequence[Job], seconds: float, concurrency: int, lane: str = "model") -> None:
    """Make the buttons run and stop work. Errors become a line for the visitor; time is limited.

    `concurrency` counts over all work of a `lane`. Only the work itself waits in the queue: the buttons change before
    and after it at once, so that a visitor who still waits can leave, and they rest again however it ends.
    """
    all_parts, under_way = [parts.line, *parts.starts, parts.stop, *parts.fields], []

    def rest(line: str | None) -> dict[Any, Any]:
        """The buttons at rest. A line that work left busy says what became of it."""
        if _QUEUED in (line or ""):
            return parts.update(_REFUSED, "bad", start=True, stop=False)
        return parts.update(_STOPPED if "tb-busy" in (line or "") else None, start=True, stop=False)

    for job in jobs:
        begun = job.start.click(lambda: parts.update(_QUEUED, "busy", start=False, stop=True), None, all_parts, **QUIET)
        working = begun.then(
            _guarded(parts, job.work, seconds), list(job.inputs), [*job.outputs, parts.line],
            concurrency_limit=concurrency, concurrency_id=lane, show_progress="minimal",
            show_progress_on=parts.line, api_visibility="private",
        )  # fmt: skip
        # Gradio goes on to this after success, failure and cancelling alike, and when the queue took no more.
        working.then(rest, parts.line, all_parts, **QUIET)
        under_way.append(working)
    # Start stays as it is until the server has really let go of the work.
    parts.stop.click(
        lambda: parts.update(_STOPPED, start=False, stop=False), None, all_parts, cancels=under_way, **QUIET
    )


def _guarded(parts: Controls, work: Work, seconds: float) -> Callable[..., Any]:
    async def run(*values: Any) -> AsyncGenerator[dict[Any, Any], None]:
        try:
            async with aclosing(visitors.within(work(*values), seconds)) as updates:
                async for changed, line in updates:
                    yield changed | {parts.line: line}
        except Exception as error:  # whatever it is, a visitor sees one plain line and the operator the rest
            yield {parts.line: visitors.status(visitors.told(error), "bad")}

    return run
