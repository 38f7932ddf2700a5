"""Who runs a model at a server that hands requests on."""

from __future__ import annotations

import pytest

from tests.support.openai_client import chat, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.models import openai_reading as reading
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.openai_options import OpenAIOptions
from truebench_hf.models.providers import OPEN, pinning, provider
from truebench_hf.models.spec import open_model

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
