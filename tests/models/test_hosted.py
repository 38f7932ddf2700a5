"""Providers by name: what each is sent, what is told where its key is missing, and who runs a model at a router."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from tests.support import loopback
from tests.support.openai_client import chat, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.errors import UserError
from truebench_hf.models import openai_reading as reading
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.openai_options import OpenAIOptions
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.models.providers import OPEN, pinning, provider
from truebench_hf.models.spec import open_model
from truebench_hf.types import Message

SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
# (spec, variable of its key, parameters beside model and messages; None in a place: not sent)
HOSTS = [
    ("openai:gpt-5", "OPENAI_API_KEY", {"temperature", "top_p", "max_tokens", "response_format"}),
    ("anthropic:claude-x", "ANTHROPIC_API_KEY", {"temperature", "max_tokens", "response_format"}),
    ("gemini:gemini-x", "GEMINI_API_KEY", {"temperature", "top_p", "max_tokens", "response_format"}),
    ("mistral:mistral-small", "MISTRAL_API_KEY", {"temperature", "top_p", "max_tokens", "response_format"}),
    ("groq:llama-x", "GROQ_API_KEY", {"temperature", "top_p", "max_tokens", "response_format"}),
    ("openrouter:org/m:free", "OPENROUTER_API_KEY", {"temperature", "top_p", "max_tokens", "response_format"}),
    ("hf-router:org/m:together", "HF_TOKEN", {"temperature", "top_p", "max_tokens", "response_format"}),
    ("ollama:qwen3:8b", "OLLAMA_API_KEY", {"temperature", "top_p", "max_tokens", "response_format"}),
    ("azure:my-deployment", "AZURE_OPENAI_API_KEY", {"temperature", "top_p", "max_completion_tokens", "response_format"}),
]  # fmt: skip


class Recorder:
    """A server that answers every call, and keeps the path, the headers and the body of each."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.calls.append((request.path, dict(request.headers), await request.json()))
        choice = {"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})


def ask(spec: str, base_url: str | None, schema: dict[str, Any] | None = None) -> str:
    async def answer() -> str:
        model = open_model(spec, {"attempts": "1"}, base_url)
        try:
            request = ChatRequest((Message("user", "hi"),), Sampling(0.0, 0.9, 1.0, 8), schema=schema)
            return (await model.complete(request)).text
        finally:
            await model.close()

    return asyncio.run(answer())


@pytest.mark.parametrize(("spec", "variable", "sent"), HOSTS, ids=[spec for spec, _, _ in HOSTS])
def test_each_provider_gets_its_own_key_and_the_parameters_it_takes(
    spec: str, variable: str, sent: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _, other, _ in HOSTS:
        monkeypatch.setenv(other, f"key-of-{other.lower()}-123456")
    recorder = Recorder()
    with loopback.serving(recorder.handle) as port:
        assert ask(spec, f"http://{loopback.HOST}:{port}/v1", SCHEMA) == "ok"
    ((path, headers, body),) = recorder.calls
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer key-of-{variable.lower()}-123456", "no other provider's key"
    assert body.keys() - {"model", "messages"} == sent
    assert body["model"] == spec.partition(":")[2], "the name keeps its own colons and slashes"


def test_only_a_schema_that_a_provider_heeds_is_asked_for() -> None:
    with pytest.MonkeyPatch.context() as patch:
        for _, variable, _ in HOSTS:
            patch.setenv(variable, "key-for-nobody-123456")
        patch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/")
        takes = {spec.partition(":")[0]: open_model(spec).takes_schema for spec, _, _ in HOSTS}
        assert [name for name, yes in takes.items() if not yes] == ["anthropic"], "its documentation says: ignored"


@pytest.mark.parametrize(
    ("spec", "words", "reason"),
    [
        ("groq:llama-x", "GROQ_API_KEY", "a key is named that is not set"),
        ("anthropic:claude-x", "ANTHROPIC_API_KEY", "and OPENAI_API_KEY does not stand in for it"),
        ("azure:mine", "AZURE_OPENAI_ENDPOINT", "an address of one's own comes first"),
        ("gpt-4.1", "did you mean openai:gpt-4.1?", "a bare name of OpenAI's"),
        ("o3", "did you mean openai:o3?", "a short one"),
        ("claude-sonnet-4-5", "did you mean anthropic:claude-sonnet-4-5?", "Anthropic's"),
        ("gemini-2.5-flash", "did you mean gemini:gemini-2.5-flash?", "Google's"),
        ("mistral-small-latest", "did you mean mistral:mistral-small-latest?", "Mistral's"),
        (
            "Qwen/Qwen3-8B",
            "did you mean hf:Qwen/Qwen3-8B (in this process) or hf-router:Qwen/Qwen3-8B?",
            "a repository",
        ),
        ("grok:llama", "groq:MODEL", "a slip of the pen"),
    ],
)
def test_what_is_missing_is_named(spec: str, words: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for _, variable, _ in HOSTS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai-alone-123456")
    with pytest.raises(UserError) as caught:
        open_model(spec)
    assert words in str(caught.value), reason


def test_azure_is_asked_below_the_address_of_the_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "key-of-azure-123456")
    with loopback.serving(recorder.handle) as port:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", f"http://{loopback.HOST}:{port}/")
        assert ask("azure:mine", None) == "ok"
    assert recorder.calls[0][0] == "/openai/v1/chat/completions"


def test_ollama_needs_no_key_and_is_not_sent_that_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai-alone-123456")
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)
    recorder = Recorder()
    with loopback.serving(recorder.handle) as port:
        ask("ollama:qwen3", f"http://{loopback.HOST}:{port}/v1")
    assert "alone" not in str(recorder.calls[0][1])


def test_a_base_url_without_v1_that_knows_no_such_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"detail": "Not Found"}, status=404)

    with loopback.serving(nothing) as port, pytest.raises(UserError) as caught:
        ask("openai:m", f"http://{loopback.HOST}:{port}")
    assert "--model-base-url/--judge-base-url (most servers want /v1 at the end)" in str(caught.value)


ROUTER = "https://router.huggingface.co/v1"


@pytest.mark.parametrize(
    ("name", "url", "expected", "reason"),
    [
        ("Qwen/Qwen3-8B:together", ROUTER, "huggingface:together", "pinned"),
        ("Qwen/Qwen3-8B:Together", "https://ROUTER.huggingface.co/v1/", "huggingface:together", "in any case"),
        ("Qwen/Qwen3-8B", ROUTER, OPEN, "the router chooses"),
        ("Qwen/Qwen3-8B:fastest", ROUTER, OPEN, "a policy is no provider"),
        ("Qwen/Qwen3-8B:cheapest", ROUTER, OPEN, "nor is this one"),
        ("Qwen/Qwen3-8B:preferred", ROUTER, OPEN, "nor the user's own order, which others do not have"),
        ("Qwen/Qwen3-8B:", ROUTER, OPEN, "nothing behind the colon"),
        ("Qwen/Qwen3-8B", "https://router.huggingface.co/together/v1", "huggingface:together", "the route of one"),
        ("qwen3:8b", "http://127.0.0.1:11434/v1", "openai", "a colon elsewhere is a tag"),
        ("gpt-4.1", "https://api.openai.com/v1", "openai", "no router"),
        ("m", "https://router.huggingface.co.example.com/v1", "openai", "another host"),
    ],
)
def test_the_provider_of_a_model(name: str, url: str, expected: str, reason: str) -> None:
    assert provider(name, url) == expected, reason


def test_who_left_the_provider_open_is_told_how_to_pin_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_of_a_test_only")
    given = {"api_key_env": "HF_TOKEN"}
    model = open_model("openai:Qwen/Qwen3-8B:fastest", given, ROUTER)
    told = capsys.readouterr().err
    assert "chooses who runs it" in told
    assert "openai:Qwen/Qwen3-8B:PROVIDER" in told
    assert told.count("\n") == 1
    pinned = open_model("openai:Qwen/Qwen3-8B:together", given, ROUTER)
    assert capsys.readouterr().err == ""
    assert model.identity.provider == OPEN
    assert pinned.identity.provider == "huggingface:together"
    assert OpenAIModel("Qwen/Qwen3-8B", OpenAIOptions(base_url="http://127.0.0.1:9/v1")).identity.provider == "openai"
    assert pinning("openai:m").count("openai:m:PROVIDER") == 1


def test_what_an_answer_tells_of_who_gave_it(server: OpenAIServer) -> None:
    model = open_at(server.url)
    assert chat(model).served["model"] == "test-model"
    odd = {"provider": ["x"], "model": "  ", "system_fingerprint": "x" * 5000}
    assert reading.served(odd) == {"system_fingerprint": "x" * 100}
