"""What stands between visitors and the machine: limits on what comes in, and no inner text on what goes out."""

from __future__ import annotations

import asyncio
import re
import time
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from difflib import SequenceMatcher
from typing import Any, TypeVar

from markupsafe import escape

from truebench_hf.engine.retry import RequestFailed, TryAgain
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import (
    ChatModel,
    ChatRequest,
    Completion,
    Decision,
    DecisionRequest,
    Identity,
    NoDecisions,
)  # fmt: skip
from truebench_hf.models.streaming import stream
from truebench_hf.space.board import words
from truebench_hf.text import anonymous, redaction
from truebench_hf.text.terminal import warn

T = TypeVar("T")
REFRESH = 60  # seconds between looks at the sources
PROMPT = 6000  # characters of a visitor's prompt or answer
DOCUMENT = 12_000  # characters of a visitor's document, in the playground's check of grounding
TOKENS = 512  # of one answer, of the model or of the judge; four times as many to check grounding
CRITERIA, CRITERION = 12, 400  # in a visitor's checklist, and characters of each
SECONDS = 180  # that one request may take, a third of them until the model begins to answer
QUEUE = 24  # visitors waiting at a time; further ones are turned away
AT_A_TIME = 1  # playground requests worked on
UPLOAD_MIB = 64  # size of an uploaded file
# For handlers that only look things up: they take milliseconds, and never wait behind those that run a model.
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "queue": False}

# A list's mark at the head of a line, with the space after it: "-5 °C is stated" and "3.5 km" have none.
_MARK = re.compile(r"^(?:[-*•]|\d{1,2}[.)])(?:\s+|$)")
_QUOTED = 12  # characters in common from which an error quotes a text rather than speaks the same language


class VisitorError(Exception):
    """Something the visitor can mend; its text is shown as it stands."""


def text_within(text: str | None, limit: int, what: str) -> str:
    """A visitor's text without surrounding space. Raises VisitorError when it is empty or too long."""
    kept = sendable(text)
    if not kept:
        raise VisitorError(f"{what} is empty.")
    check_length(kept, limit, what)
    return kept


def check_length(text: str, limit: int, what: str) -> None:
    """Raise VisitorError where a text is too long."""
    if len(text) > limit:
        raise VisitorError(f"{what} has {len(text):,} characters; the limit is {limit:,}. Please shorten it.")


def lines_within(text: str | None) -> list[str]:
    """A checklist from one criterion a line, list marks left out.

    Raises VisitorError when there is none, or too many, or one too long.
    """
    lines = [_MARK.sub("", line.strip()) for line in sendable(text).splitlines()]
    kept = [line for line in lines if line]
    if not kept:
        raise VisitorError("The checklist is empty: write one criterion per line.")
    if len(kept) > CRITERIA:
        raise VisitorError(f"The checklist has {len(kept)} criteria; the limit is {CRITERIA}.")
    if any(len(line) > CRITERION for line in kept):
        raise VisitorError(f"A criterion is longer than {CRITERION} characters.")
    return kept


def sendable(text: str | None) -> str:
    """A visitor's text without surrounding space, and without what no model can be sent: nulls, and halves of characters,
    which become `?`."""
    return (text or "").replace("\0", "").encode("utf-8", "replace").decode().strip()


def message_for(error: BaseException) -> str:
    """What a visitor is told about an error; all but a VisitorError goes to the operator's log instead."""
    if isinstance(error, VisitorError):
        return str(error)
    if isinstance(error, TimeoutError):
        return "This took too long and was stopped."
    if isinstance(error, RequestFailed):  # the operator was told when it failed
        if "window" in str(error):
            return "The text is too long for the model's window; please shorten it."
        return "The model gave no answer; please try again later."
    if isinstance(error, UserError):  # the operator can mend it: a line says how
        warn(f"space: {' '.join(anonymous.text(redaction.error(str(error))).split())}")
    else:
        warn("".join(traceback.format_exception(error)).rstrip())
    return "Something went wrong on our side. It has been noted; please try again."


def status(text: str, kind: str = "info") -> str:
    """A line about what is going on, as HTML that a screen reader speaks.

    `kind` is info, busy, bad (it went wrong), or how an answer did: good, fail, open.
    """
    role = "alert" if kind == "bad" and text else "status"
    return f'<p class="tb-status tb-{kind if text else "none"}" role="{role}">{escape(text) or "&nbsp;"}</p>'


async def within(parts: AsyncIterator[T], seconds: float) -> AsyncGenerator[T, None]:
    """The items of an iterator until the time is up. Raises TimeoutError then; closes the iterator in any case."""
    end = time.monotonic() + seconds
    source: Any = parts
    async with aclosing(source):
        while True:
            try:
                part = await asyncio.wait_for(anext(source), end - time.monotonic())
            except StopAsyncIteration:
                return
            yield part


class SeenModel:
    """A model whose failures reach the operator: to a judge they are verdicts left open, and nothing raises.

    What no other request would get round (a server that is gone, a wrong key) is a VisitorError. Completions are streamed
    inside, so that cancelling one really stops the model. `load` runs before the model is asked, and the first token has
    to come within `begins_within` seconds.
    """

    def __init__(self, model: ChatModel, load: Callable[[ChatModel], Awaitable[None]], begins_within: float) -> None:
        self._model, self._load, self._begins_within = model, load, begins_within
        self.spec: str = model.spec
        self.identity: Identity = model.identity
        self.batch: int | None = model.batch
        self.takes_schema: bool = model.takes_schema
        self.failed: RequestFailed | None = None  # the last failure

    async def parts(self, request: ChatRequest) -> AsyncGenerator[Completion, None]:
        """A completion as it grows."""
        with self._seen(*(message.content for message in request.messages)):
            await self._load(self._model)
            async for part in stream(self._model, request, self._begins_within):
                yield part

    async def complete(self, request: ChatRequest) -> Completion:
        """See `ChatModel.complete`."""
        parts = [part async for part in self.parts(request)]
        return parts[-1] if parts else Completion("")

    async def decide(self, request: DecisionRequest) -> Decision:
        """See `ChatModel.decide`."""
        with self._seen(request.state, *request.questions):
            await self._load(self._model)
            return await self._model.decide(request)

    async def close(self) -> None:
        """The model belongs to whoever opened it."""

    @contextmanager
    def _seen(self, *typed: str) -> Iterator[None]:
        """Tell the operator of a failure, without keys and without what the error quotes of the visitor's text, `typed`.

        Raises VisitorError where nothing else helps.
        """
        try:
            yield
        except (RequestFailed, UserError) as error:
            self.failed = error if isinstance(error, RequestFailed) else None
            reason = " ".join(redaction.error(str(error)).split())[:500]
            for text in (" ".join(text.split()) for text in typed):
                while (same := SequenceMatcher(None, reason, text, autojunk=False).find_longest_match()).size > _QUOTED:
                    reason = f"{reason[: same.a]}[…]{reason[same.a + same.size :]}"
            warn(f"playground: {anonymous.name(self.spec)} gave no answer: {anonymous.text(reason)}")
            cause, why = error.__cause__, ""
            if isinstance(error, NoDecisions):
                why = "gives no probabilities; choose a way to judge with reasons."
            elif isinstance(error, UserError) or (isinstance(cause, TryAgain) and cause.kind == "gone"):
                why = "cannot be reached or used right now. Whoever runs this page has been told; what you typed is still here."
            if not why:
                raise
            raise VisitorError(f"{words.model(self.spec)} {why}") from error


# New values by component, and what the line says, again and again.
Updates = AsyncGenerator[tuple[dict[Any, Any], str], None]
Work = Callable[..., Updates]


def start(
    button: Any, work: Work, inputs: Sequence[Any], outputs: Sequence[Any], line: Any, *,
    fields: Sequence[Any] = (), lane: str = "model", at_a_time: int = AT_A_TIME,
) -> Any:  # fmt: skip
    """Make a button start work, and return the event.

    Errors become a line for the visitor, and time is limited. `fields` cannot be edited meanwhile: what work shows
    always belongs to what stands there. `at_a_time` counts over all work of a `lane`.
    """
    import gradio as gr

    async def run(*values: Any) -> AsyncGenerator[dict[Any, Any], None]:
        begun = {field: gr.update(interactive=False) for field in fields}
        yield {**begun, line: status("Begun …", "busy")}
        try:
            async with aclosing(within(work(*values), SECONDS)) as updates:
                async for changed, text in updates:
                    yield changed | {line: text}
        except Exception as error:  # whatever it is, a visitor sees one plain line and the operator the rest
            yield {line: status(message_for(error), "bad")}

    def rest(text: str | None) -> dict[Any, Any]:
        """The fields can be edited again. A line that work left busy says what became of it."""
        stopped = status("Stopped.") if "tb-busy" in (text or "") else gr.skip()
        return {line: stopped, **{field: gr.update(interactive=True) for field in fields}}

    event = button.click(
        run, list(inputs), list(dict.fromkeys([*outputs, line, *fields])),
        concurrency_limit=at_a_time, concurrency_id=lane, trigger_mode="once", show_progress="minimal",
        show_progress_on=line, api_visibility="private",
    )  # fmt: skip
    # Gradio goes on to this after success, failure and cancelling alike.
    event.then(rest, line, [line, *fields], **QUIET)
    return event
