"""From a SPEC to a model, and the errors that teach what a spec may be."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.support.runs import script
from truebench_hf.errors import UserError
from truebench_hf.models.openai_api import OpenAIModel, OpenAIOptions
from truebench_hf.models.spec import family, open_model, read_options


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
        ({"timeout": "soon"}, "is not a float", "not a number"),
        ({"timeout": "true"}, "is not a float", "a flag is no number"),
        ({"attempts": "2.5"}, "is not a int", "not whole"),
        ({"attempts": "false"}, "is not a int", "a flag is no whole number"),
        ({"extra_body": "[1]"}, "is not a dict", "not an object"),
        ({"chat_template_kwargs": "enable_thinking=false"}, "write it as JSON", "not JSON"),
        ({"decisions": "noul"}, "systemone or decisions", "an endpoint that does not exist"),
    ],
)
def test_a_wrong_option_is_refused(arguments: dict[str, str], words: str, reason: str) -> None:
    with pytest.raises(UserError) as caught:
        open_model("openai:m", arguments, "http://127.0.0.1:9/v1")
    assert words in str(caught.value), reason


def test_options_are_read_as_their_types() -> None:
    texts = {
        "timeout": "30", "attempts": "2", "chat_template_kwargs": '{"enable_thinking": false}',
        "reasoning_effort": "3", "omit": "top_p,temperature",
    }  # fmt: skip
    options = read_options(OpenAIOptions, texts, "openai:m")
    assert (options.timeout, options.attempts, options.omit) == (30.0, 2, "top_p,temperature")
    assert options.chat_template_kwargs == {"enable_thinking": False}
    assert options.reasoning_effort == "3", "a text stays a text even where it looks like a number"


def test_a_base_url_goes_with_openai_only(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="base URL"):
        open_model(script(tmp_path / "a.json", []), None, "http://127.0.0.1:9/v1")
    model = open_model("openai:org/m:1", None, "http://127.0.0.1:9/v1/")
    assert isinstance(model, OpenAIModel)
    assert (model.url, model.spec) == ("http://127.0.0.1:9/v1", "openai:org/m:1")


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
    ],
)
def test_family(one: str, other: str, same: bool, reason: str) -> None:
    assert (family(one) == family(other)) is same, reason
