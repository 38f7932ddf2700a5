"""What leaves for a server: its own key or login, the query, its cookies, and the parameters that it takes."""

from __future__ import annotations

import asyncio
import base64
import logging
from typing import Any

import pytest

from tests.support.openai_client import HELLO, chat, decide, once, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.errors import UserError
from truebench_hf.models.chat_template import JOINER
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.openai_options import OpenAIOptions
from truebench_hf.models.protocol import ChatRequest, DecisionRequest, Sampling
from truebench_hf.models.spec import open_model
from truebench_hf.text.redaction import MARK
from truebench_hf.types import Message

USUAL = {"temperature", "top_p", "max_tokens", "response_format"}
HOSTS = [  # spec, variable of its key, parameters beside model and messages
    ("openai:gpt-5", "OPENAI_API_KEY", USUAL),
    ("anthropic:claude-x", "ANTHROPIC_API_KEY", USUAL - {"top_p"}),
    ("gemini:gemini-x", "GEMINI_API_KEY", USUAL),
    ("mistral:mistral-small", "MISTRAL_API_KEY", USUAL),
    ("groq:llama-x", "GROQ_API_KEY", USUAL),
    ("openrouter:org/m:free", "OPENROUTER_API_KEY", USUAL),
    ("hf-router:org/m:together", "HF_TOKEN", USUAL),
    ("ollama:qwen3:8b", "OLLAMA_API_KEY", USUAL),
    ("azure:my-deployment", "AZURE_OPENAI_API_KEY", USUAL - {"max_tokens"} | {"max_completion_tokens"}),
]
SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for _, variable, _ in HOSTS:
        monkeypatch.setenv(variable, f"key-of-{variable.lower()}-123456")


@pytest.mark.parametrize(("spec", "variable", "sent"), HOSTS, ids=[spec for spec, _, _ in HOSTS])
def test_each_provider_gets_its_own_key_and_the_parameters_it_takes(
    spec: str, variable: str, sent: set[str], recorder: Any
) -> None:
    request = ChatRequest((Message("user", "hi"),), Sampling(0.0, 0.9, 1.0, 8), schema=SCHEMA)
    chat(open_model(spec, {"attempts": "1"}, recorder.url), request)  # type: ignore[arg-type]
    (call,) = recorder.calls
    assert call.path == "/v1/chat/completions"
    assert call.all_of("authorization") == [f"Bearer key-of-{variable.lower()}-123456"], "no other provider's key"
    assert call.body.keys() - {"model", "messages"} == sent
    assert call.body["model"] == spec.partition(":")[2], "the name keeps its own colons and slashes"


def test_azure_is_asked_below_its_resource_and_ollama_without_a_key(
    recorder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", recorder.url.removesuffix("v1"))
    monkeypatch.delenv("OLLAMA_API_KEY")
    chat(open_model("azure:mine"))  # type: ignore[arg-type]
    chat(open_model("ollama:qwen3", base_url=recorder.url))  # type: ignore[arg-type]
    assert recorder.calls[0].path == "/openai/v1/chat/completions"
    assert "openai_api_key" not in str(recorder.calls[1].headers), "nor that of another"


@pytest.mark.parametrize(
    ("base", "custom", "authorization"),
    [
        ("", "", "Bearer sk-of-the-test"),
        ("?version=2", "X-Team: rivers", "Bearer sk-of-the-test"),
        ("", "authorization: Token 7\ncontent-type: application/x", "Token 7"),  # another case is the same header
        ("", "OpenAI-Project: p\nX-A: 1\nx-a: 2\nuser-agent: me", "Bearer sk-of-the-test"),
    ],
)
def test_a_call_goes_out_as_the_sdk_itself_would_send_it(
    base: str, custom: str, authorization: str, recorder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openai import AsyncOpenAI, DefaultAioHttpClient

    environment = {"ORG_ID": "org-1", "PROJECT_ID": "proj-1", "API_KEY": "sk-of-the-test", "CUSTOM_HEADERS": custom}
    for name, value in environment.items():
        monkeypatch.setenv(f"OPENAI_{name}", value)

    async def theirs() -> None:
        async with AsyncOpenAI(base_url=recorder.url, max_retries=0, http_client=DefaultAioHttpClient()) as client:
            await client.post(f"/chat/completions{base}", cast_to=object, body=recorder.calls[0].body)

    assert chat(open_at(recorder.url + base)).text == "Elbe ✓"
    asyncio.run(theirs())
    ours, sdk = recorder.calls
    assert (ours.path, ours.body) == (sdk.path, sdk.body)
    # Counts of the SDK's own tries, of which there are none, and what depends on its way of writing the body.
    apart = {"x-stainless-retry-count", "x-stainless-read-timeout", "content-length"}
    assert {header for header in {*ours.headers} ^ {*sdk.headers} if header[0] not in apart} == set()
    assert ours.all_of("authorization") == [authorization]


def test_cookies_go_back_and_the_key_is_that_of_when_the_model_was_opened(
    recorder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its cookie a balancer sends all calls to the server whose cache has the prompt. Another key in the environment
    later on would be neither checked nor masked."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-when-opened-0123")
    model = open_at(recorder.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-afterwards-0123")

    async def twice() -> None:
        await model.complete(HELLO)
        await model.complete(HELLO)

    once(model, twice())
    assert [call.all_of("cookie") for call in recorder.calls] == [[], ["backend=b7"]]
    assert [call.all_of("authorization") for call in recorder.calls] == [["Bearer sk-when-opened-0123"]] * 2


def test_a_line_end_behind_key_or_url_is_no_part_of_it(recorder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a .env file with Windows line ends leaves them."""
    monkeypatch.setenv("MY_KEY", "secret\r")
    model = open_at(f"{recorder.url}/\r\n", api_key_env="MY_KEY")
    assert model.cache_scope == recorder.url
    chat(model)
    assert recorder.calls[0].all_of("authorization") == ["Bearer secret"]


def basic(login: str) -> str:
    return f"Basic {base64.b64encode(login.encode()).decode()}"


@pytest.mark.parametrize(
    ("login", "sent", "reason"),
    [
        ("eva:hush", basic("eva:hush"), "plain"),
        ("e%40x:p%3Aa%2Fs%C3%A9", basic("e@x:p:a/sé"), "percent-encoded"),
        ("eva:p@ss", basic("eva:p@ss"), "an at sign that was not encoded"),
        ("token", basic("token:"), "no password"),
        (":pass", basic(":pass"), "no user"),
    ],
)
@pytest.mark.parametrize("key", ["", "sk-an-api-key-of-some-length"])
def test_a_login_is_sent_alone(
    login: str, sent: str, reason: str, key: str, recorder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    model = open_at(recorder.url.replace("://", f"://{login}@") + "/")
    chat(model)
    (call,) = recorder.calls
    assert (call.path, call.all_of("authorization")) == ("/v1/chat/completions", [sent]), reason
    assert model.cache_scope == recorder.url
    assert not any(secret in repr(model._server) for secret in (login, sent))


def test_a_query_goes_with_every_request(recorder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{recorder.url}?token=a%26b+c&x=1&x=2&empty=#part")

    async def all_kinds(model: OpenAIModel) -> None:
        await model.complete(HELLO)
        await model.decide(DecisionRequest("s", ("q",)))
        async for _ in model.stream(HELLO):
            pass

    once(model := OpenAIModel("m", OpenAIOptions()), all_kinds(model))
    query = "?token=a%26b+c&x=1&x=2&empty="
    paths = ("/chat/completions", "/systemone", "/chat/completions")
    assert [call.path for call in recorder.calls] == [f"/v1{path}{query}" for path in paths]


@pytest.mark.parametrize("login", ["eva:hush", "e%40x:p%3Aa%2Fs"])
def test_no_error_shows_login_or_query(recorder: Any, login: str) -> None:
    recorder.refuses = True
    messages = []
    for url in (recorder.url, "http://127.0.0.1:1/v1"):
        with pytest.raises(UserError) as caught:
            chat(open_at(url.replace("://", f"://{login}@") + "?token=quiet"))
        messages.append(str(caught.value))
        assert url in messages[-1]
    assert f"openai:test-model at {recorder.url} answered 401: who is" in messages[0]
    for secret in (*login.split(":"), basic("eva:hush")[6:], basic("e@x:p:a/s")[6:], "quiet"):
        assert secret not in str(messages), "the server has said it again"


def test_what_the_http_library_logs_holds_no_key(recorder: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        chat(open_at(f"{recorder.url}?tenant=7&api_key=k3y-in-the-query"))
    assert f"?tenant=7&api_key={MARK}" in caplog.text
    assert "k3y-in-the-query" not in caplog.text


def test_options_reach_the_server(server: OpenAIServer) -> None:
    own = {"max_tokens": 9, "top_p": 0.5, "repetition_penalty": 1.2}
    thinking = {"chat_template_kwargs": {"enable_thinking": False}}
    plain, shaped, mine = (
        open_at(server.url, **options)
        for options in (
            {}, {"extra_body": {"top_k": 20}, "reasoning_effort": "low", "omit": "top_p, temperature", **thinking}, own,
        )
    )  # fmt: skip
    chat(plain)
    chat(shaped, ChatRequest(HELLO.messages, Sampling(repetition_penalty=1.1, max_tokens=7)))
    chat(mine, ChatRequest(HELLO.messages, Sampling(temperature=0.7, max_tokens=4096)))
    first, second, third = ({**body, "model": ""} for body in server.stats()["bodies"])
    hello = {"model": "", "messages": [{"role": "user", "content": "Name a river."}]}
    assert first == hello | {"temperature": 0.0, "top_p": 0.98, "max_tokens": 4096}, "no penalty: 1.0 changes nothing"
    assert second == hello | thinking | {
        "top_k": 20, "reasoning_effort": "low", "repetition_penalty": 1.1, "max_tokens": 7
    }  # fmt: skip
    assert third == hello | own | {"temperature": 0.7}, "what is not set stays the command's"
    assert mine.identity.options == own, "other answers are other calls in the ledger"


def test_control_tokens_are_broken_up_but_for_the_public_service(server: OpenAIServer) -> None:
    decide(open_at(server.url), DecisionRequest("a</s>b", ("a</s>b",)))
    (body,) = server.stats()["bodies"]
    assert body["state"] == body["questions"]["criteria_1"]["instructions"] == f"a<{JOINER}/s>b"
    request, urls = ChatRequest((Message("user", "a</s>b"),)), ("https://api.openai.com/v1", server.url)
    contents = [open_at(url).chat_body(request)["messages"][0]["content"] for url in urls]
    assert contents == ["a</s>b", f"a<{JOINER}/s>b"], "it reads them as text by itself"
