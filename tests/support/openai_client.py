"""Our `openai:` back end as its tests use it: quick retries, and models that are opened, asked once and closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from truebench_hf.engine.retry import RetryPolicy
from truebench_hf.judging.signed_asking import verdict_schema
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.openai_options import OpenAIOptions
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest
from truebench_hf.models.streaming import stream
from truebench_hf.types import Message

FAST = RetryPolicy(attempts=3, first_wait=0.001, longest_wait=0.01, deadline=30.0)
NOBODY = "http://127.0.0.1:9/v1"  # a port where nothing listens, and which no test is ever given
HELLO = ChatRequest((Message("user", "Name a river."),))
WITH_SCHEMA = ChatRequest(HELLO.messages, schema=verdict_schema("3f9a2c41", 1, True))


def open_at(url: str, policy: RetryPolicy = FAST, **options: Any) -> OpenAIModel:
    """A model at `url`; the waits of real life would make the tests slow."""
    model = OpenAIModel("test-model", OpenAIOptions(base_url=url, **options))
    model.policy = policy
    return model


T = TypeVar("T")
Ask = Callable[..., Awaitable[Completion | Decision]]


async def ask_chat(model: OpenAIModel, text: str = "Name a river.") -> Completion:
    """The answer to one message."""
    return await model.complete(ChatRequest((Message("user", text),)))


async def ask_stream(model: OpenAIModel, text: str = "Name a river.") -> Completion:
    """The same as a stream, read to its end."""
    return [part async for part in stream(model, ChatRequest((Message("user", text),)))][-1]


async def ask_decide(model: OpenAIModel, text: str = "s") -> Decision:
    """One question about a text."""
    return await model.decide(DecisionRequest(text, ("q",)))


def once(model: OpenAIModel, work: Awaitable[T]) -> T:
    """What comes of asking a model, which is closed afterwards."""

    async def closing() -> T:
        try:
            return await work
        finally:
            await model.close()

    return asyncio.run(closing())


def chat(model: OpenAIModel, request: ChatRequest = HELLO) -> Completion:
    """One completion, after which the model is closed."""
    return once(model, model.complete(request))


def decide(model: OpenAIModel, request: DecisionRequest) -> Decision:
    """One decision, after which the model is closed."""
    return once(model, model.decide(request))
