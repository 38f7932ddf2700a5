"""From a SPEC to a model, and the errors that teach what a spec may be."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import script
from truebench_hf.errors import UserError
from truebench_hf.models.local import LocalOptions
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.openai_options import OpenAIOptions
from truebench_hf.models.spec import family, open_model, read_options
from truebench_hf.models.vllm_engine import VllmOptions


@pytest.mark.parametrize(
    ("spec", "words", "reason"),
    [
        ("", "unknown spec", "nothing"),
        ("gpt-5", "unknown spec", "a bare name"),
        ("openai", "openai:MODEL", "a kind without a model"),
        ("openai:", "openai:MODEL", "a kind with an empty model"),
        ("opnai:gpt-5", "openai:MODEL", "a slip of the pen"),
        ("smolm2", "smollm2", "another slip"),
        ("smollm2:135M", "smollm2", "the embedded model takes no name"),
        ("hf:", "hf:REPO_OR_PATH", "no repository"),
        ("scripted:", "scripted:FILE", "no file"),
        ("SCRIPTED:x", "scripted:FILE", "kinds are lower case"),
    ],
)
def test_an_unknown_spec_names_what_there_is(spec: str, words: str, reason: str) -> None:
    with pytest.raises(UserError) as caught:
        open_model(spec)
    assert words in str(caught.value), reason


@pytest.mark.parametrize(
    ("arguments", "words", "reason"),
    [
        ({"timout": "3"}, "did you mean timeout", "a slip of the pen"),
        ({"api_key": "x"}, "api_key_env", "keys go through the environment"),
        ({"timeout": "soon"}, "timeout=soon: Input should be a valid number", "not a number"),
        ({"timeout": "true"}, "should be a valid number", "a flag is no number"),
        ({"attempts": "2.5"}, "should be a valid integer", "not whole"),
        ({"attempts": "false"}, "should be a valid integer", "a flag is no whole number"),
        ({"extra_body": "[1]"}, "write it as a JSON object", "not an object"),
        (
            {"chat_template_kwargs": "enable_thinking=false"},
            "enable_thinking=false: Input should be a valid dictionary; write",
            "not JSON",
        ),
        ({"decisions": "noul"}, "'systemone' or 'decisions'", "an endpoint that does not exist"),
        ({"base_url": "localhost:8000/v1"}, "must begin with http://", "an address without its scheme"),
        ({"base_url": "http://127.0.0.1:port/v1"}, "base URL 'http://127.0.0.1:port/v1'", "a port that is no number"),
        ({"base_url": "http://127.0.0.1:99999/v1"}, "base URL 'http://127.0.0.1:99999/v1'", "a port that cannot be"),
        ({"base_url": "http://[::1"}, "base URL 'http://[::1'", "an open bracket"),
        ({"base_url": "http:///v1"}, "base URL 'http:///v1'", "no host"),
        ({"base_url": "http://:8000/v1"}, "base URL 'http://:8000/v1'", "a port alone"),
        ({"base_url": "http://my host/v1"}, "base URL 'http://my host/v1'", "a blank in the host"),
        ({"base_url": "http://h/\x01v1"}, "base URL 'http://h/\\x01v1'", "a control character"),
        ({"timeout": "0"}, "timeout=0: Input should be greater than 0", "no time at all"),
        (
            {"timeout": "NaN"},
            "timeout=NaN: Input should be a finite number",
            "no number, though JSON readers take it for one",
        ),
        ({"timeout": "Infinity"}, "timeout=Infinity: Input", "no clock can be set to it"),
        ({"deadline": "-1"}, "deadline=-1: Input should be greater", "it would have passed already"),
        ({"deadline": "NaN"}, "deadline=NaN: Input", "never reached"),
        ({"attempts": "0"}, "attempts=0", "nothing would be asked"),
        ({"omit": "temprature"}, "did you mean temperature?", "a slip of the pen"),
        ({"omit": "top_p,model"}, "parameter to omit 'model'", "no server does without it"),
        ({"api_key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY", "a key named but not there; `none` is not sent instead"),
    ],
)
def test_a_wrong_option_is_refused(arguments: dict[str, str], words: str, reason: str) -> None:
    with pytest.raises(UserError) as caught:
        open_model("openai:m", arguments, "http://127.0.0.1:9/v1")
    assert words in str(caught.value), reason


@pytest.mark.parametrize(
    ("key", "words", "reason"),
    [
        ("s\u00e9cret", "in MY_KEY holds a character", "an accent"),
        ("secret\u200b", "in MY_KEY holds a character", "a blank that cannot be seen"),
        ("sec\nret", "in MY_KEY holds a character", "two lines"),
        (" \r\n", "set the environment variable MY_KEY", "nothing but line ends"),
    ],
)
def test_a_key_that_cannot_be_sent_is_refused_by_its_name(
    key: str, words: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    with pytest.raises(UserError) as caught:
        open_model("openai:m", {"api_key_env": "MY_KEY"}, "http://127.0.0.1:9/v1")
    assert words in str(caught.value), reason
    assert "cret" not in str(caught.value), "the key itself is never shown"


@pytest.mark.parametrize(
    ("kind", "arguments", "words", "reason"),
    [
        (LocalOptions, {"batch_size": "0"}, "x: batch_size=0", "batches of none never come to an end"),
        (
            VllmOptions,
            {"gpu_memory_utilization": "90"},
            "x: gpu_memory_utilization=90: Input should be less than or equal to 1",
            "a share, not a percentage",
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


def test_a_login_and_a_key_that_is_named_do_not_go_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "abc")
    with pytest.raises(UserError, match="holds a login and api_key_env names a key") as told:
        open_model("openai:m", {"api_key_env": "SOME_KEY"}, "http://eva:hushed@localhost:1/v1")
    assert "hushed" not in str(told.value)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://eva:hu/shed@localhost:1/v1", "a slash that should have been written as %2F"),
        ("http://eva:hushed@localhost:x/v1", "no port"),
        ("ftp://eva:hushed@localhost/v1", "no HTTP"),
        ("http://eva:hushed@[::1/v1", "an open bracket"),
        ("http://[::1/v1?token=hushed", "an open bracket, and a token"),
    ],
)
def test_a_url_that_cannot_be_used_does_not_show_its_login(url: str, reason: str) -> None:
    with pytest.raises(UserError, match="the base URL") as told:
        open_model("openai:m", None, url)
    assert "shed" not in str(told.value), reason


@pytest.mark.parametrize(
    "text",
    ['extra_body={"api_key": "hushed-one"', "attempts=sk-hushed-one-of-many-characters"],
)
def test_an_option_that_cannot_be_read_does_not_show_a_secret(text: str) -> None:
    name, _, value = text.partition("=")
    with pytest.raises(UserError, match=f"openai:m: {name}=") as told:
        open_model("openai:m", {name: value}, "http://127.0.0.1:9/v1")
    assert "hushed" not in str(told.value)


def test_a_base_url_goes_with_openai_only(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="base URL"):
        open_model(script(tmp_path / "a.json", []), None, "http://127.0.0.1:9/v1")
    model = open_model("openai:org/m:1", None, "http://127.0.0.1:9/v1/")
    assert isinstance(model, OpenAIModel)
    assert (model.cache_scope, model.spec) == ("http://127.0.0.1:9/v1", "openai:org/m:1")


def test_an_argument_of_one_model_beats_the_url_for_all() -> None:
    model = open_model("openai:m", {"base_url": "http://127.0.0.1:8/v1"}, "http://127.0.0.1:9/v1")
    assert isinstance(model, OpenAIModel)
    assert model.cache_scope == "http://127.0.0.1:8/v1"


def test_the_public_api_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        open_model("openai:gpt-5")
    with pytest.raises(UserError, match="MY_KEY"):
        open_model("openai:gpt-5", {"api_key_env": "MY_KEY"})


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


@pytest.mark.parametrize(
    ("one", "other", "same", "reason"),
    [
        ("openai:gpt-5", "openai:gpt-4.1-mini", True, "one maker's line"),
        ("openai:o3", "openai:gpt-5", True, "the reasoning models too"),
        ("hf:Qwen/Qwen3-8B", "openai:qwen2.5:7b", True, "however it is served"),
        ("hf:Qwen/QwQ-32B", "vllm:Qwen/Qwen3-8B", True, "a model of another name from one family"),
        ("smollm2", "hf:HuggingFaceTB/SmolLM2-1.7B-Instruct", True, "the embedded one has a family too"),
        ("openai:gpt-5", "openai:claude-opus", False, "different makers"),
        ("hf:meta-llama/Llama-3.1-8B", "hf:mistralai/Mistral-7B", False, "different makers"),
        ("scripted:a/model.json", "scripted:b/judge.json", False, "two scripts"),
        ("hf:meta-llama/Meta-Llama-3-8B", "openai:meta-llama/llama-3.3-70b-instruct:free", True, "another first word"),
        ("openai:ft:gpt-4o-mini:acme::x1", "openai:gpt-4o", True, "a fine-tuned one has its base's family"),
        ("openai:chatgpt-4o-latest", "hf:openai/gpt-oss-20b", True, "inside a longer word"),
        ("openai:o4-mini", "openai:openrouter/openai/o3", True, "short names stand alone"),
        ("openai:ministral-8b", "openai:mistral-large", True, "one maker's line under several names"),
        ("openai:devstral-small", "hf:mistralai/Mixtral-8x7B", True, "two more of them"),
        ("openai:us.anthropic.claude-opus", "openai:claude-sonnet", True, "a cloud's prefix"),
        ("hf:NousResearch/Hermes-3-Llama-3.1-8B", "hf:meta-llama/Llama-3.1-8B", True, "the base stands last"),
        ("openai:gemini-2.5-pro", "hf:google/gemma-3-4b-it", True, "one maker's line"),
        ("hf:me/my-qwen3", "hf:me/my-llama", False, "the first word says nothing"),
        ("hf:me/my-qwen3", "hf:Qwen/Qwen3-8B", True, "but the second does"),
        ("hf:runs/a/checkpoint-100", "hf:runs/b/checkpoint-100", False, "two trainings, each at the same step"),
        ("hf:runs/a/checkpoint-100", "hf:runs/a/checkpoint-200", True, "one training at two steps"),
        ("hf:out/qwen3-sft/checkpoint-100", "hf:Qwen/Qwen3-8B", True, "the folder names the base"),
        ("hf:me/dolphin-7b", "hf:microsoft/phi-4", False, "a short word inside another one"),
        ("openai:ollama/acme", "hf:meta-llama/Llama-3.1-8B", False, "a server's name"),
        ("hf:me/acme-7b", "hf:me/acme-13b", False, "nothing known: the whole name counts"),
        ("hf:me/acme-7b", "openai:Acme-7B:q4", True, "the same one, served elsewhere"),
        ("qwen2.5:7b", "openai:qwen3", True, "a bare name with a tag is no spec"),
    ],
)
def test_family(one: str, other: str, same: bool, reason: str) -> None:
    assert (family(one) == family(other)) is same, reason
