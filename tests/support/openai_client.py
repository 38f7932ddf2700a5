"""Our `openai:` back end as its tests use it: quick retries, and models that are opened, asked once and closed."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from truebench_hf.engine.retry import RetryPolicy
from truebench_hf.judging.verdicts import verdict_schema
from truebench_hf.models.openai_api import OpenAIModel
from truebench_hf.models.openai_options import OpenAIOptions
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest
from truebench_hf.types import Message

FAST = RetryPolicy(attempts=3, first_wait=0.001, longest_wait=0.01, deadline=30.0)
HELLO = ChatRequest((Message("user", "Name a river."),))
WITH_SCHEMA = ChatRequest(HELLO.messages, schema=verdict_schema(1, ["PASS", "FAIL"], True))


def open_at(url: str, policy: RetryPolicy = FAST, **options: Any) -> OpenAIModel:
    """A model at `url`; the waits of real life would make the tests slow."""
    model = OpenAIModel("test-model", OpenAIOptions(base_url=url, **options))
    model._connection.policy = policy
    return model


def free_url() -> str:
    """The URL of a port where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


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
