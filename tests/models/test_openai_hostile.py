"""Answers that are malformed, too large, redirects or of no API at all: each fails its own try, and nothing follows it."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.models.bad_answers import BAD, redirect
from tests.support.bad_server import Bad, BadServer, reply
from tests.support.openai_client import FAST, Ask, ask_chat, ask_decide, ask_stream, chat, once, open_at
from tests.support.runs import command, command_here, held, row, write_jsonl
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models import openai_model
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.protocol import Completion, Decision


def _once(names: dict[str, Bad]) -> Any:
    """The answer to the first POST that holds a name is the bad one of that name."""
    left = dict(names)

    def choose(number: int, text: str) -> Bad | None:
        name = next((name for name in left if f"<{name}>" in text), None)
        return left.pop(name) if name is not None else None

    return choose


async def _all_of_them(model: OpenAIModel, ask: Any) -> dict[str, Any]:
    found = await asyncio.gather(*(ask(model, f"<{name}>") for name in BAD), return_exceptions=True)
    return dict(zip(BAD, found, strict=True))


@pytest.mark.parametrize(
    ("ask", "options"),
    [(ask_chat, {}), (ask_decide, {"decisions": "systemone"}), (ask_decide, {"decisions": "decisions"})],
)
def test_every_malformed_answer_is_asked_for_again(ask: Any, options: dict[str, Any]) -> None:
    assert len(BAD) > 60

    # More tries than two: a connection that the server has closed may be picked up from the pool now and then.
    patient = replace(FAST, attempts=20)

    with BadServer(_once(BAD)) as server:
        found = once(model := open_at(server.url, patient, timeout=20.0, **options), _all_of_them(model, ask))
    wrong = {name: answer for name, answer in found.items() if not isinstance(answer, Completion | Decision)}
    wrong |= {name: answer for name, answer in found.items() if getattr(answer, "text", "Answer ")[:7] != "Answer "}
    assert wrong == {}
    assert server.posts == 2 * len(BAD), "each twice: the bad answer was none"


@pytest.mark.parametrize(("ask", "words"), [(ask_chat, "gave up after 3 tries: "), (ask_stream, "")])
def test_one_that_never_gets_better_fails_its_call_alone(ask: Any, words: str) -> None:
    async def between_good_ones(model: OpenAIModel) -> dict[str, Any]:
        await ask_chat(model)
        found = await _all_of_them(model, ask)
        assert (await ask_chat(model)).text.startswith("Answer "), "others go on"
        return found

    with BadServer(lambda n, text: next((bad for name, bad in BAD.items() if f"<{name}>" in text), None)) as server:
        found = once(model := open_at(server.url, timeout=20.0), between_good_ones(model))
    assert {name: error for name, error in found.items() if not isinstance(error, RequestFailed)} == {}
    for told in map(str, found.values()):
        assert told.startswith(words)
        assert len(told) < 800
        assert "\n" not in told


@pytest.mark.slow
def test_a_run_ends_well_through_all_of_them(tmp_path: Path) -> None:
    rows = [row(i, [(f"Task {i}: <{name}>", ["It holds."])]) for i, name in enumerate(BAD)]
    rows.append(row("lost", [("Task <POISON>", ["It holds."])]))
    data, once = write_jsonl(tmp_path / "data.jsonl", rows), _once(BAD)
    worst = BAD["JSON nested 1,000 deep"]
    with BadServer(lambda n, text: worst if "<POISON>" in text else once(n, text)) as server:
        urls = ("--model-base-url", server.url, "--judge-base-url", server.url)
        done = command(
            "run", "--data", data, "--model", "openai:m", "--judge", "openai:j", *urls, "--out", str(tmp_path / "out"),
            "--model-arg", "attempts=6", OPENAI_API_KEY="none",
        )  # fmt: skip
    why = "truebench: 1 item could not be scored, so the exit code is 3; --allow-unscored makes it 0\n"
    assert (done.returncode, done.stderr) == (3, why)
    lines = held(tmp_path / "out" / "judgments.jsonl")
    assert {line["id"] for line in lines if line["passed"] is None} == {"lost"}
    assert len(lines) == len(BAD) + 1


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
GZIP = "Content-Encoding: gzip\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        lambda body: reply(200, gzip.compress(body), GZIP),
        lambda body: reply(200, body),
        lambda body: CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body),
    ],
    ids=["gzip", "plain", "chunks"],
)
def test_an_answer_beyond_the_limit_fails_and_says_so(
    answer: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = 2**20  # for speed
    monkeypatch.setattr(openai_model, "LARGEST_ANSWER", limit)
    bodies = [
        json.dumps({"choices": [{"message": {"content": "a" * size}}]}).encode() for size in (limit, limit - 1000)
    ]
    too_large, large = (Bad(answer(body)) for body in bodies)
    with BadServer([too_large] * 9) as server, pytest.raises(RequestFailed, match="the answer is larger than 1 MiB"):
        chat(open_at(server.url))
    assert server.posts == 2, "once more, since it may have been an accident, and no more"
    with BadServer([large]) as server:
        assert len(chat(open_at(server.url)).text) == limit - 1000, "a large one below the limit is an answer"


@pytest.mark.parametrize("headers", ["", GZIP])
def test_of_an_endless_error_the_beginning_is_read(headers: str) -> None:
    body = b'{"error": {"message": "' + b"no " * openai_model.LARGEST_ERROR
    bad = Bad(reply(500, gzip.compress(body, 1) if headers else body, headers))
    with BadServer([bad] * 9) as server, pytest.raises(RequestFailed, match=r"answered 500: .*no no") as failed:
        chat(open_at(server.url))
    assert len(str(failed.value)) < 800
    assert server.posts == 3


ASKS = [
    pytest.param(ask_chat, {}, "/chat/completions", id="chat"),
    pytest.param(ask_stream, {}, "/chat/completions", id="stream"),
    pytest.param(ask_decide, {"decisions": "systemone"}, "/systemone", id="systemone"),
    pytest.param(ask_decide, {"decisions": "decisions"}, "/decisions", id="decisions"),
]


def _refused(url: str, ask: Ask, **options: Any) -> str:
    model = open_at(url, **options)
    with pytest.raises(UserError) as caught:
        once(model, ask(model))
    return str(caught.value)


@pytest.mark.parametrize(("ask", "options", "path"), ASKS)
@pytest.mark.parametrize("status", [300, 303, 308])
def test_a_redirect_stops_the_run_and_names_the_new_url(
    ask: Ask, options: dict[str, Any], path: str, status: int, recorder: Any
) -> None:
    url = recorder.url
    with BadServer([redirect(url + path, status)] * 9) as server:
        message = _refused(server.url, ask, **options)
        assert message == (
            f"openai:test-model: {server.url} answered {status}, a redirect to {url}{path}, which is not followed; if "
            "you trust it, give its base URL as --model-base-url/--judge-base-url"
        )
        assert server.posts == 1
    assert recorder.calls == [], "no key goes there"


@pytest.mark.parametrize(
    ("where", "words", "reason"),
    [
        ("/v2/chat/completions", "to http://127.0.0.1:PORT/v2/chat/completions, which", "relative to what was asked"),
        ("?again", "a redirect to http://127.0.0.1:PORT/v1/chat/completions, which", "in a circle"),
        (
            "https://me:secret-login@login.example/in?token=secret-query",
            "to https://login.example/in, which",
            "secrets",
        ),
        ("ftp://127.0.0.1/x", "a redirect to ftp://127.0.0.1/x, which", "another protocol"),
        ("http://[::1/x?a=secret-query", "a redirect to http://[::1/x, which", "a bracket left open"),
        ("http://127.0.0.1:x/", "a redirect to http://127.0.0.1:x/, which", "a letter for a port"),
        ("http://a.example/" + "x" * 5000, "a redirect to http://a.example/xxx", "a long one"),
        ("", "a redirect to a place it does not name, which", "no place at all"),
    ],
)
def test_any_place_is_told_in_one_line_without_secrets(where: str, words: str, reason: str) -> None:
    with BadServer([redirect(where)] * 9) as server:
        message = _refused(server.url, ask_chat)
        assert words.replace("PORT", str(server.port)) in message, reason
        assert server.posts == 1
    assert "secret" not in message
    assert "\n" not in message
    assert len(message) < 1500


_EVENTS = b'data: {"choices": [{"delta": {"content": "Elbe"}}]}\n\ndata: [DONE]\n\n'


def no_api(body: Any, kind: bytes = b"application/json") -> Bad:
    """Closes, else the next try may meet the old connection's end, which is no POST."""
    return Bad(reply(200, body, "Connection: close\r\n").replace(b"application/json", kind))


NO_API = {
    "a login page": no_api(b"<html>Log in</html>", b"text/html"),
    "events, though none were asked for": no_api(_EVENTS, b"text/event-stream"),
    "a welcome in JSON": no_api({"message": "Welcome to our service"}),
    "a list": no_api([]),
    "nothing": no_api(b""),
    "another protocol": Bad(b"SSH-2.0-OpenSSH_9.6\r\n"),
}


ALL_OF_IT = [(ask, name) for ask in (ask_chat, ask_decide, ask_stream) for name in NO_API]


@pytest.mark.parametrize(("ask", "name"), [case for case in ALL_OF_IT if case != (ask_stream, [*NO_API][1])])
def test_three_tries_and_no_more_where_nothing_readable_ever_came(ask: Ask, name: str) -> None:
    with BadServer(lambda n, text: NO_API[name]) as server:
        model = open_at(server.url, replace(FAST, attempts=14))
        with pytest.raises(UserError, match=f"^no OpenAI-compatible API at {re.escape(server.url)}: 3 tries") as caught:
            once(model, ask(model))
        assert server.posts == 3
    if name == "a login page" and ask is not ask_stream:
        assert "no JSON: Expecting" in str(caught.value), "Expecting value alone tells nobody"


def test_a_run_of_64_instances_asks_for_no_more_than_its_first_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    rows = [row(i, [(f"Task {i}", ["It holds."])]) for i in range(64)]
    judge = tmp_path / "judge.json"
    judge.write_text('{"rules": []}')
    with BadServer(lambda n, text: NO_API["a login page"], delay=0.05) as server:
        done = command_here(
            capsys, "run", "--data", write_jsonl(tmp_path / "data.jsonl", rows), "--model", "openai:m", "--judge",
            f"scripted:{judge}", "--model-base-url", server.url, "--out", str(tmp_path / "out"), "--model-concurrency", "8",
        )  # fmt: skip
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"truebench: no OpenAI-compatible API at {server.url}: ")
        assert server.posts <= 4 * 8, "three tries of all under way, and one of those that come in their place"
