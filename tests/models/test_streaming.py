"""Answers as they grow: the last part equals what `complete` gives, and closing stops the model."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.openai_client import once, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import ChatModel, ChatRequest, Completion, Sampling
from truebench_hf.models.spec import open_model
from truebench_hf.models.streaming import stream
from truebench_hf.text.redaction import known, learn
from truebench_hf.types import Message


def _request(text: str = "hi there", tokens: int = 12) -> ChatRequest:
    return ChatRequest((Message("user", text),), Sampling(max_tokens=tokens))


async def _parts(model: ChatModel, request: ChatRequest, begins_within: float | None = None) -> list[Completion]:
    return [part async for part in stream(model, request, begins_within)]


def _streamed(
    script: dict[str, Any] | None = None, begins_within: float | None = None, **fault: Any
) -> tuple[list[Completion], Completion]:
    """What is streamed by a server of which one answer is scripted or fails, and what it answers otherwise."""
    with OpenAIServer() as server:
        server.add_scripts([{"contains": "hi", **script}] if script else [])
        server.add_faults([fault] if fault else [])

        async def both() -> tuple[list[Completion], Completion]:
            return await _parts(model, _request(), begins_within), await model.complete(_request())

        return once(model := open_at(server.url), both())


def test_a_server_streams_what_it_would_have_answered() -> None:
    parts, whole = _streamed()
    assert len(parts) > 1
    assert parts[-1] == whole
    assert all(whole.text.startswith(part.text) for part in parts)


def test_cached_input_of_a_stream_is_counted() -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 400}}
    parts, whole = _streamed({"usage": {"prompt_tokens": 1000, "completion_tokens": 10, **details}})
    assert (parts[-1].cached_tokens, parts[-1].usage) == (400, whole.usage)
    assert whole.cached_tokens == 400


def test_streamed_thinking_is_kept_apart() -> None:
    parts, whole = _streamed({"message": {"content": "<think>let me see</think>Four."}})
    assert (parts[-1].text, parts[-1].reasoning) == ("Four.", "let me see") == (whole.text, whole.reasoning)
    assert not any("think" in part.text or "see" in part.text for part in parts)


def test_a_secret_is_masked_in_what_is_streamed() -> None:
    learn(secret := "a-known-secret-word")
    text = f"{'x' * 55}{secret}{'y' * 40}{secret}"  # pieces of 64 characters, so that both are cut in two
    parts, whole = _streamed({"message": {"content": text, "reasoning_content": text}})
    assert whole.text == text, "the caller masks it"
    assert parts[-1].text == parts[-1].reasoning == known(text)


@pytest.mark.parametrize(
    ("script", "fault", "error", "words"),
    [
        ({"finish_reason": "error"}, {}, RequestFailed, "the stream broke off: .*error"),
        ({"finish_reason": "content_filter"}, {}, RequestFailed, "content filter"),
        (None, {"hang": 30}, RequestFailed, r"it did not begin to answer within 0\.2 seconds"),
        (None, {"status": 401, "body": {"error": {"message": "bad key"}}}, UserError, "401"),
    ],
)
def test_a_stream_that_ends_badly_is_no_answer(
    script: dict[str, Any] | None, fault: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        _streamed(script, 0.2 if "hang" in fault else 60, **fault)


@each_row(__file__, "served", "broken_streams")
def test_a_stream_without_a_message_is_no_answer(raw: str) -> None:
    with pytest.raises(RequestFailed, match="the stream broke off"):
        _streamed(raw=raw)


@each_row(__file__, "served", "no_streams")
def test_a_stream_that_never_began_is_asked_for_again(raw: str) -> None:
    assert _streamed(raw=raw)[0][-1].text.startswith("Answer ")


def test_a_stream_whose_message_is_empty_is_an_empty_answer() -> None:
    chunk = 'data: {"choices": [{"delta": {"role": "assistant", "content": null}, "finish_reason": "stop"}]}'
    assert _streamed(raw=f"{chunk}\n\ndata: [DONE]\n\n")[0][-1].text == ""


@pytest.mark.slow
def test_the_embedded_model_streams_stops_and_tells_its_window() -> None:
    async def scenario() -> None:
        model = open_model("smollm2")
        parts = await _parts(model, _request("Name three colours."))
        assert len(parts) > 3
        assert parts[-1] == await model.complete(_request("Name three colours."))
        assert parts[-1].usage.output_tokens <= 12

        endless = stream(model, _request("Tell a very long story.", 4000))
        await anext(endless)
        await endless.aclose()
        started = time.monotonic()
        await model.complete(_request("Hi", 1))
        assert time.monotonic() - started < 30, "the story is not written on behind the next request"

        with pytest.raises(RequestFailed, match="window"):
            await _parts(model, _request("word " * 9000))

    asyncio.run(scenario())
