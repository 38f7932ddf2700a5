"""From a SPEC to a model, and who runs it: errors that teach what a spec may be (`specs.yaml`), and providers by name."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.runs import script
from truebench_hf.errors import UserError
from truebench_hf.models import vllm_engine
from truebench_hf.models.local import LocalOptions
from truebench_hf.models.openai_options import OpenAIOptions
from truebench_hf.models.openai_reading import served
from truebench_hf.models.protocol import DecisionRequest
from truebench_hf.models.providers import OPEN, provider, providers
from truebench_hf.models.spec import family, open_model, read_options
from truebench_hf.models.vllm_engine import VllmModel, VllmOptions

HERE = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of one provider, and nothing else of the machine's own."""
    named = [(host.key, host.base_url_env) for host in providers().values()]
    for name in {"OPENAI_BASE_URL", *(name for names in named for name in names if name)}:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai-alone-123456")


@each_row(__file__, "specs", "unknown")
def test_an_unknown_spec_names_what_there_is_and_a_missing_key_its_variable(spec: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        open_model(spec)
    assert words in str(caught.value)


@each_row(__file__, "specs", "options")
def test_a_wrong_option_is_refused_and_shows_no_secret(
    arguments: dict[str, str], words: str, url: str | None, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", key or "abc")
    with pytest.raises(UserError) as caught:
        open_model("openai:m", arguments, url or HERE)
    assert words in str(caught.value)
    assert "shed" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "arguments", "words", "reason"),
    [
        (LocalOptions, {"batch_size": "0"}, "x: batch_size=0", "batches of none never come to an end"),
        (
            VllmOptions,
            {"gpu_memory_utilization": "90"},
            "x: gpu_memory_utilization=90: Input should be less",
            "a share",
        ),
        (VllmOptions, {"gpu_memory_utilization": "NaN"}, "x: gpu_memory_utilization=NaN", "not a number"),
        (VllmOptions, {"max_model_len": "-1"}, "x: max_model_len=-1", "0 stands for the model's own"),
        (VllmOptions, {"kv_cache_gib": "-0.5"}, "x: kv_cache_gib=-0.5", "0 stands for vLLM's choice"),
        (VllmOptions, {"tensor_parallel_size": "0"}, "x: tensor_parallel_size=0", "no GPU at all"),
    ],
)
def test_numbers_out_of_range_are_refused(kind: Any, arguments: dict[str, str], words: str, reason: str) -> None:
    with pytest.raises(UserError) as caught:
        read_options(kind, arguments, "x")
    assert str(caught.value).startswith(words), reason


def test_options_are_read_as_their_types() -> None:
    texts = {
        "timeout": "30", "attempts": "2", "chat_template_kwargs": '{"enable_thinking": false}',
        "reasoning_effort": "3", "omit": "top_p,temperature",
    }  # fmt: skip
    options = read_options(OpenAIOptions, texts, "openai:m")
    assert (options.timeout, options.attempts, options.omit) == (30.0, 2, "top_p,temperature")
    assert options.chat_template_kwargs == {"enable_thinking": False}
    assert options.reasoning_effort == "3", "a text stays a text even where it looks like a number"


def test_a_base_url_goes_with_servers_only_and_an_argument_of_one_model_beats_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="base URL"):
        open_model(script(tmp_path / "a.json", []), None, HERE)
    model: Any = open_model("openai:org/m:1", None, f"{HERE}/")
    assert (model.cache_scope, model.spec) == (HERE, "openai:org/m:1")
    model = open_model("openai:m", {"base_url": "http://127.0.0.1:8/v1"}, HERE)
    assert model.cache_scope == "http://127.0.0.1:8/v1"


def test_the_public_api_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        open_model("openai:gpt-5")
    with pytest.raises(UserError, match="MY_KEY"):
        open_model("openai:gpt-5", {"api_key_env": "MY_KEY"})


def test_only_a_schema_that_a_provider_heeds_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for host in providers().values():
        monkeypatch.setenv(host.key, "key-for-nobody-123456")
    takes = {name: open_model(f"{name}:m", base_url=HERE).takes_schema for name in providers()}
    assert [name for name, yes in takes.items() if not yes] == ["anthropic"], "its documentation says: ignored"


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
    model, pinned = (
        open_model(f"openai:Qwen/Qwen3-8B:{who}", {"api_key_env": "HF_TOKEN"}, ROUTER)
        for who in ("fastest", "together")
    )
    (told,) = capsys.readouterr().err.splitlines()
    assert "chooses who runs it" in told
    assert "openai:Qwen/Qwen3-8B:PROVIDER" in told
    assert (model.identity.provider, pinned.identity.provider) == (OPEN, "huggingface:together")


def test_what_an_answer_tells_of_who_gave_it() -> None:
    odd = {"provider": ["x"], "model": "  ", "system_fingerprint": "x" * 5000}
    assert served(odd) == {"system_fingerprint": "x" * 100}


def test_a_missing_extra_shows_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    hidden = ("vllm", "torch")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name in hidden else find(name, *rest))
    with pytest.raises(UserError) as caught:
        open_model("vllm:org/m")
    assert "pip install 'truebench-hf[vllm]'" in str(caught.value)
    with pytest.raises(UserError) as caught:
        open_model("hf:org/m")
    assert "pip install 'truebench-hf[local]'" in str(caught.value)


@each_row(__file__, "specs", "families")
def test_family(one: str, other: str, same: bool) -> None:
    assert (family(one) == family(other)) is same


def test_an_engine_that_cannot_start_is_started_once_in_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that fails takes half a minute, and all requests of a run wait for one; the next run tries again."""
    starts = 0

    def fail(name: str, options: VllmOptions) -> None:
        nonlocal starts
        starts += 1
        raise UserError(f"{name}: no memory")

    async def ask() -> None:
        for _ in range(3):
            with pytest.raises(UserError, match="org/m: no memory"):
                await VllmModel("org/m", VllmOptions()).decide(DecisionRequest("", ()))

    monkeypatch.setattr(vllm_engine, "_ENGINES", {})
    monkeypatch.setattr(vllm_engine, "_start", fail)
    monkeypatch.setattr(vllm_engine, "_tokenizer", lambda *names: None)
    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(SamplingParams=None))
    asyncio.run(ask())
    assert starts == 1
    asyncio.run(ask())
    assert starts == 2

    async def twice() -> None:  # on a loop that lives longer than a run, as in a notebook
        await ask()
        await VllmModel("org/m", VllmOptions()).close()
        await ask()

    asyncio.run(twice())
    assert starts == 4
