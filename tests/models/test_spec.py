"""From a SPEC to a model, and the errors that teach what a spec may be; see `specs.yaml`."""

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
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.openai_options import OpenAIOptions
from truebench_hf.models.protocol import DecisionRequest
from truebench_hf.models.spec import family, open_model, read_options
from truebench_hf.models.vllm_engine import VllmModel, VllmOptions


@each_row(__file__, "specs", "unknown")
def test_an_unknown_spec_names_what_there_is(spec: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        open_model(spec)
    assert words in str(caught.value)


@each_row(__file__, "specs", "options")
def test_a_wrong_option_is_refused(arguments: dict[str, str], words: str) -> None:
    with pytest.raises(UserError) as caught:
        open_model("openai:m", arguments, "http://127.0.0.1:9/v1")
    assert words in str(caught.value)


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
