"""Watching an answer being written: completions as they grow, which stop being made when nobody reads on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from truebench_hf.engine.money import note_unanswered
from truebench_hf.engine.retry import RequestFailed, TryAgain
from truebench_hf.models import openai_reading as reading
from truebench_hf.models.chat_template import begins_thinking, split_thinking, tokens_left, window_of
from truebench_hf.models.generation import generate
from truebench_hf.models.local import MACHINE, LocalModel
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.protocol import ChatModel, ChatRequest, Completion
from truebench_hf.text.redaction import known


async def stream(
    model: ChatModel, request: ChatRequest, begins_within: float | None = None
) -> AsyncGenerator[Completion, None]:
    """The completion so far, again and again; the last one is whole and has its usage.

    Local models and OpenAI-compatible servers stream; any other gives its completion at once. Closing the iterator (or
    cancelling the task) stops the model. Raises what `ChatModel.complete` raises, and RequestFailed where a model that
    streams does not begin within so many seconds.
    """
    if not isinstance(model, LocalModel | OpenAIModel):
        yield _masked(await model.complete(request))
        return
    async with aclosing(_local(model, request) if isinstance(model, LocalModel) else _served(model, request)) as parts:
        try:
            part = await asyncio.wait_for(anext(parts, None), begins_within)
        except TimeoutError as error:
            raise RequestFailed(f"it did not begin to answer within {begins_within:g} seconds") from error
        while part is not None:
            yield _masked(part)
            part = await anext(parts, None)


def _masked(part: Completion) -> Completion:
    return replace(part, text=known(part.text), reasoning=known(part.reasoning))


async def _local(model: LocalModel, request: ChatRequest) -> AsyncGenerator[Completion, None]:
    from transformers import AsyncTextIteratorStreamer

    loop, stop, sampling = asyncio.get_running_loop(), threading.Event(), model._options.applied(request).sampling
    engine, tokenizer = await loop.run_in_executor(MACHINE, model._load)
    prompt = model._encode(tokenizer, request)
    tokens_left(prompt, window_of(engine))  # fails where there are none
    streamer = AsyncTextIteratorStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True)

    def work() -> Completion:
        stopped = [lambda ids, scores: stop.is_set()]
        return generate(engine, tokenizer, [prompt], sampling, streamer=streamer, stopping_criteria=stopped)[0]

    # Waiting in line counts as nothing: a job whose reader has gone is never begun.
    job = loop.run_in_executor(MACHINE, work)
    job.add_done_callback(lambda _: streamer.on_finalized_text("", stream_end=True))  # also where it failed
    text, opened = "", begins_thinking(tokenizer, prompt)
    try:
        async for part in streamer:
            text += part
            yield _so_far(text.lstrip(), opened=opened)
        yield await job
    finally:
        stop.set()
        job.cancel()


async def _served(model: OpenAIModel, request: ChatRequest) -> AsyncGenerator[Completion, None]:
    text, thought, end, has_begun = "", "", None, False
    answer: dict[str, Any] = {"usage": None}
    try:
        async with aclosing(model.stream(request)) as chunks:
            async for chunk in chunks:
                if not isinstance(chunk, dict):
                    raise TryAgain("the server sent a chunk that is not an object")
                answer["usage"] = chunk.get("usage") or answer["usage"]
                if (choice := reading.first_choice(chunk)) is None:
                    continue
                if isinstance(delta := choice.get("delta"), dict):
                    written, part = reading.texts(delta.get("content"))
                    text += written
                    thought += reading.separate_thinking(delta) + part
                    has_begun = True
                reading.check_end(choice)
                end = choice.get("finish_reason") or end
                yield _so_far(text, thought)
        if not has_begun:
            raise TryAgain("it held no message")
    except (TryAgain, RequestFailed) as error:
        note_unanswered(reading.paid_tokens(answer))
        if isinstance(error, RequestFailed):
            raise
        raise RequestFailed(f"the stream broke off: {error}") from error
    message = {"content": text, "reasoning": thought}
    yield reading.completion(answer | {"choices": [{"message": message, "finish_reason": end}]})


def _so_far(raw: str, separate: str = "", opened: bool = False) -> Completion:
    text, inner, unclosed = split_thinking(raw, opened)
    return Completion(text, "\n".join(part for part in (separate, inner) if part), truncated=unclosed)
