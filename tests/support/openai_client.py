"""Our `openai:` back end as its tests use it: quick retries, and models that are opened, asked once and closed."""

from __future__ import annotations

import asyncio
from typing import Any

from truebench_hf.engine.retry import RetryPolicy
from truebench_hf.judging.signed_asking import verdict_schema
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.openai_options import OpenAIOptions
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest
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


def chat(model: OpenAIModel, request: ChatRequest = HELLO) -> Completion:
    """One completion, after which the model is closed."""

    async def once() -> Completion:
        try:
            return await model.complete(request)
        finally:
            await model.close()

    return asyncio.run(once())


def decide(model: OpenAIModel, request: DecisionRequest) -> Decision:
    """One decision, after which the model is closed."""

    async def once() -> Decision:
        try:
            return await model.decide(request)
        finally:
            await model.close()

    return asyncio.run(once())
