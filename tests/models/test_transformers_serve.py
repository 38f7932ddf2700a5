"""Our `openai:` back end against a real server: `transformers serve` with the embedded model."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import truebench_hf
from tests.support.server_process import serving_process
from tests.vllm.export_smollm2 import export
from truebench_hf.models.local import LocalModel, LocalOptions
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.openai_options import OpenAIOptions
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest, Sampling
from truebench_hf.types import Message

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def name(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The embedded model as a plain folder: the server cannot make out the architecture of the GGUF file."""
    folder = tmp_path_factory.mktemp("smollm2")
    export(folder)
    return str(folder)


@pytest.fixture(scope="module")
def url(name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server; it wants a Hub cache folder that exists, even an empty one."""
    folder = tmp_path_factory.mktemp("serve")
    (folder / "hub").mkdir()
    program = str(Path(sys.executable).with_name("transformers"))

    def command(port: int) -> list[str]:
        serve = [program, "serve", name, "--host", "127.0.0.1", "--port", str(port)]
        return [*serve, "--device", "cpu", "--dtype", "float32"]

    env = {"HF_HOME": str(folder), "HF_HUB_OFFLINE": "1"}
    with serving_process(command, folder / "log", env) as address:
        yield address


def _asked(url: str, name: str, request: ChatRequest | DecisionRequest) -> Completion | Decision:
    async def once() -> Completion | Decision:
        model = OpenAIModel(name, OpenAIOptions(base_url=url))
        try:
            return await (model.complete if isinstance(request, ChatRequest) else model.decide)(request)
        finally:
            await model.close()

    return asyncio.run(once())


def test_a_chat_is_answered_and_counted(url: str, name: str) -> None:
    question = Message("user", "What is the capital of France?")
    answer = _asked(url, name, ChatRequest((question,), Sampling(max_tokens=16)))
    assert "Paris" in answer.text
    assert answer.usage.input_tokens > 10
    assert answer.usage.output_tokens > 3


def test_an_answer_at_the_token_limit_is_marked_cut_off(url: str, name: str) -> None:
    question = Message("user", "Tell me a long story about the sea.")
    answer = _asked(url, name, ChatRequest((question,), Sampling(max_tokens=5)))
    assert answer.truncated


def test_decisions_of_the_server_are_those_of_the_model_in_this_process(url: str, name: str) -> None:
    state, questions = "The sky is blue today.", ("Is the sky blue?", "Is it about cooking?", "Is it English?")
    answer = _asked(url, name, DecisionRequest(state, questions))
    here = LocalModel(name, LocalOptions(device="cpu"))
    expected = asyncio.run(here.decide(DecisionRequest(state, questions)))
    assert answer.probabilities == pytest.approx(expected.probabilities, abs=1e-3)


def test_a_run_against_the_server(url: str, name: str, tmp_path: Path) -> None:
    report = truebench_hf.run(
        data="mini", limit=3, out=str(tmp_path / "run"), max_tokens=16, allow_unscored=True,
        model=f"openai:{name}", model_base_url=url, judge=f"openai:{name}", judge_base_url=url, judge_level="decision",
    )  # fmt: skip
    overall = report.scores["overall"]
    assert overall.n + overall.unscored == 3
    assert overall.n == 3  # a probability for every criterion leaves nothing unscored
    assert report.usage["total"]["judge"]["calls"] >= 3
