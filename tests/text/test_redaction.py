"""What is masked: known values in every text, what only looks like a secret in errors and options alone."""

from __future__ import annotations

import asyncio
import json
import traceback
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.runs import caller
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.openai_options import OpenAIOptions
from truebench_hf.models.protocol import ChatModel, ChatRequest, Completion, Identity
from truebench_hf.text.redaction import (
    MARK,
    error,
    known,
    learn,
    learn_environment,
    shown,
    shown_argument,
    without_login,
)
from truebench_hf.types import Message, Usage

KEY = "Zq7-planted-key-81"


@each_row(__file__, "secrets", "masked")
def test_what_looks_like_a_secret_is_masked_in_errors_and_nowhere_else(text: str, hidden: str) -> None:
    assert hidden not in error(text)
    assert MARK in error(text)
    assert error(error(text)) == error(text), "masking twice changes nothing"
    assert known(text) == text, "an answer may be about just that"


@each_row(__file__, "secrets", "ordinary")
def test_ordinary_errors_stay_as_they_are(text: str) -> None:
    learn(
        "none",
        "EMPTY",
        "dummy",
        "test",
        "sk-no-key-required",
        "xxxxxxxxxxxxxxxx",
        "sk-000000000000000",
        "ab",
        " ",
        None,
    )
    assert error(text) == text


def test_the_environment_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {
        "JUDGE_API_KEY": "a-judges-own-key", "HF_TOKEN": "a-token-of-mine", "MODEL": "a-models-own-name",
        "KEY_FILE": "/etc/some/key.pem", "SHORT_KEY": "prod", "A_TOKEN": "none",
    }  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    learn_environment()
    text = "a-judges-own-key a-token-of-mine a-models-own-name /etc/some/key.pem prod none"
    assert known(text) == f"{MARK} {MARK} a-models-own-name /etc/some/key.pem prod none"


@each_row(__file__, "secrets", "urls")
def test_a_url_is_noted_without_its_login(url: str, rest: str) -> None:
    assert without_login(url) == rest


def test_settings_are_noted_without_secrets_and_alike_when_a_key_is_changed() -> None:
    def noted(key: str) -> dict[str, Any]:
        extra = {"api_key": key, "seed": 1, "metadata": {"auth": {"who": key}, "note": f"Bearer {key}"}}
        given = (f"extra_body={json.dumps(extra)}", "2.base_url=http://u:p@h/v1?k=v", f"m@token={key}", "timeout=3")
        return shown({"judge_arg": given, "judge_base_url": "http://u:p@h", "limit": None, "data": "d.jsonl"})

    first, second = noted("sk-first-key-0123456789"), noted("Zz9-second-key-987654")
    assert first["judge_arg"][1:] == ["2.base_url=http://h/v1", f"m@token={MARK}", "timeout=3"]
    assert json.loads(first["judge_arg"][0].partition("=")[2])["seed"] == 1
    assert (first["judge_base_url"], first["limit"], first["data"]) == ("http://h", None, "d.jsonl")
    assert first == second
    assert shown_argument("api_key_env=MY_KEY") == "api_key_env=MY_KEY", "the name of a variable"


def test_an_identity_has_no_secrets_and_tells_all_else_apart() -> None:
    def identity(**extra: Any) -> Any:
        return shown({"chat": {"eos_token": "</s>", **extra}, "n": [1, {"token": "geheim"}]}, drop=True)

    assert identity(token="geheim") == identity(token="anders") == {"chat": {"eos_token": "</s>"}, "n": [1, {}]}
    assert identity(seed=1) != identity(seed=2)
    assert identity(max_token=1, key=3)["chat"]["key"] == 3, "a number is no secret"

    def of_model(**extra: Any) -> Identity:
        return OpenAIModel("m", OpenAIOptions("http://127.0.0.1:9/v1", extra_body=extra)).identity

    assert of_model(api_key="one-of-a-kind", seed=1) == of_model(api_key="another-kind", seed=1) == of_model(seed=1)
    assert of_model(seed=1) != of_model(seed=2)


class _Echo:
    """A model that says what it was asked, in one way or another."""

    spec, batch, takes_schema = "echo", None, True
    identity = Identity("echo", "m", "", {"note": KEY})

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def complete(self, request: ChatRequest) -> Completion:
        said = request.messages[-1].content
        self.asked.append(said)
        if "fail" in said:
            raise RequestFailed(f"refused {KEY}, Authorization: Bearer x") from ValueError(KEY)
        if "stop" in said:
            raise UserError(f"stopped {KEY}")
        return Completion(f"answer {KEY}", f"thought {KEY}", Usage(1, 1, 1, 1))


def test_nothing_secret_goes_into_a_ledger_or_comes_out_of_a_call() -> None:
    learn(KEY)
    model: ChatModel = _Echo()  # type: ignore[assignment]
    asked = caller(model)

    def ask(text: str) -> Completion:
        return asyncio.run(asked.complete(ChatRequest((Message("user", text),))))

    first = ask(f"say {KEY}")
    assert (first.text, first.reasoning) == (f"answer {MARK}", f"thought {MARK}")
    assert ask(f"say {KEY}") == first, "what the ledger gives is what was used"
    assert model.asked == [f"say {KEY}"], "the model reads what the user has written"  # type: ignore[attr-defined]
    for text, kind in (("fail", RequestFailed), ("stop", UserError)):
        with pytest.raises(kind) as caught:
            ask(text)
        printed = "".join(traceback.format_exception(caught.value))
        assert KEY not in printed.replace("{KEY}", "")
        assert "Bearer x" not in str(caught.value)
    assert asked.knows(ChatRequest((Message("user", f"say {KEY}"),)))
    rows = asked._ledger._ask("SELECT key, role, request, result FROM calls")
    assert len(rows) == 1
    assert KEY not in repr(rows)
    assert rows[0][0] == digest(rows[0][2]), "the key is over what stands there"


@pytest.mark.parametrize(
    "message",
    [
        "unknown option of openai:m 'api_key': did you mean api_key_env?",
        "unknown option 'password': choose from max_tokens",
    ],
)
def test_a_message_about_an_option_keeps_its_words(message: str) -> None:
    assert error(message) == message
