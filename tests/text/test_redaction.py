"""What is masked of texts, and what a terminal shows of them."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.runs import caller, command_here, row, script, write_jsonl
from truebench_hf.engine.pool import progress
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
from truebench_hf.text.terminal import complain, how_many, printable, shortened
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


NASTY = "\x1b[31mred\x1b]0;title\x07 \r\x9b2J\u202eevil\u2066 :x: openai:a:0.9 [bold]b[/bold] \\[red] \ud83d"
RAW = set(NASTY) & {chr(c) for c in (*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2066, 0xD83D)}


def clean(text: str) -> None:
    """Nothing that steers a terminal, and the names as they are."""
    assert not RAW & set(text), sorted(map(hex, map(ord, RAW & set(text))))
    assert ":x: openai:a:0.9 [bold]b[/bold] \\[red]" in text
    assert "\\x1b[31mred" in text


def test_what_steers_a_terminal_is_shown_as_its_escape() -> None:
    assert printable("a\tb\nc é 🎉 👩‍💻 עברית\u200f") == "a\tb\nc é 🎉 👩‍💻 עברית\u200f", (
        "lines, scripts and marks stay"
    )
    assert printable("\x1b\x00\r\x7f\x9b\u202e\u2028\ud83d") == "\\x1b\\x00\\r\\x7f\\x9b\\u202e\\u2028\\ud83d"
    clean(printable(NASTY))


def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    complain("no\ngood\r\n: Authorization: Bearer abc")
    assert capsys.readouterr().err == f"truebench: no good : Authorization: {MARK}\n"


def test_bars_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("TERM", "dumb")
    name = "\x1b[31m:x: openai:a:0.9 [bold]b\u202e"
    with progress({name: 1}) as step:
        step(name)
    told = screen.getvalue()
    assert "\\x1b[31m:x: openai:a:0.9 [bold]b\\u202e" in told
    assert name[:5] not in told
    assert "\u202e" not in told


def test_without_a_terminal_a_long_run_tells_seldom(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("answers", "\x1b[31mjudgments")
    with progress(dict.fromkeys(names, 50)) as step:
        for name in names:
            step(name)
    assert capsys.readouterr().err == ""
    clock = itertools.count(1000)  # a second for every look at it
    monkeypatch.setattr("tqdm.std.time", lambda: next(clock))
    with progress(dict.fromkeys(names, 500)) as step:
        for name in names * 500:
            step(name)
    lines = capsys.readouterr().err.replace("\r", "\n").splitlines()
    assert 0 < len([line for line in lines if line]) <= 1000 / 60 + 2
    assert lines[-1].startswith("answers, \\x1b[31mjudgments: 100%")


def test_commands_on_nasty_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    lines = [row(f"{n} \x1b[31m", [(f"Say {n}", ["c"])], category=f"=cat \x1b[31m:x: \u202e{n}") for n in range(2)]
    data = write_jsonl(tmp_path / "data.jsonl", lines)
    model = script(tmp_path / "m.json", [{"contains": "Say 1", "error": "down \x1b[2J\r"}], {"reply": "\x1b[31mHi"})
    judge = script(tmp_path / "j.json", [{"contains": "<criteria", "reply": "no \x1b[31m verdict"}])
    out = str(tmp_path / "run")
    told = command_here(capsys, "run", "--data", data, "--model", model, "--judge", judge, "--out", out)
    told2 = command_here(capsys, "study", "score", out)
    (tmp_path / "bad.jsonl").write_text('{"index": 1, "language": "\\u001b[31m\\n"}\n', encoding="utf-8")
    told3 = command_here(
        capsys, "run", "--data", str(tmp_path / "bad.jsonl"), "--model", model, "--judge", judge, "--out", f"{out}2"
    )
    for done in (told, told2, told3):
        shown = done.stdout + done.stderr
        assert shown
        assert not {"\x1b", "\r", "\u202e"} & set(shown)
    assert ":x:" in told.stdout
    assert "'=cat" not in told.stdout, "only files for spreadsheets are guarded"
    csv = (tmp_path / "run" / "scores_category.csv").read_text(encoding="utf-8")
    assert "'=cat" in csv
    assert ",=cat" not in csv
    assert "\x1b[31mHi" in (tmp_path / "run" / "judgments.jsonl").read_text(encoding="utf-8").replace("\\u001b", "\x1b")


@each_row(__file__, "shortened", "texts")
def test_a_text_is_shortened_to_a_line(text: object, shown: str) -> None:
    assert shortened(text, 10) == shown


def test_numbers_with_their_nouns() -> None:
    assert [how_many(n, "item") for n in (0, 1, 2, 1200)] == ["0 items", "1 item", "2 items", "1,200 items"]
    assert [how_many(n, "criterion", "criteria") for n in (1, 3)] == ["1 criterion", "3 criteria"]
