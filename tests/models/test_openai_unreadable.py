"""A server that never answers readably ends the run after three tries; one request's trouble later on does not."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.bad_server import Bad, BadServer, reply
from tests.support.openai_client import FAST, HELLO, open_at
from tests.support.runs import command, row, write_jsonl
from truebench_hf.engine import retry
from truebench_hf.errors import UserError
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.protocol import Completion, DecisionRequest
from truebench_hf.models.streaming import stream

Ask = Callable[[OpenAIModel], Awaitable[object]]
_EVENTS = b'data: {"choices": [{"delta": {"content": "Elbe"}}]}\n\ndata: [DONE]\n\n'
NO_API = {
    "a login page": Bad(reply(200, b"<html><form>Log in</form></html>").replace(b"application/json", b"text/html")),
    "events, though none were asked for": Bad(reply(200, _EVENTS).replace(b"application/json", b"text/event-stream")),
    "a welcome in JSON": Bad(reply(200, {"message": "Welcome to our service"})),
    "a list": Bad(reply(200, [])),
    "nothing": Bad(reply(200, b"")),
    "another protocol": Bad(b"SSH-2.0-OpenSSH_9.6\r\n"),
}


async def _chat(model: OpenAIModel) -> object:
    return await model.complete(HELLO)


async def _stream(model: OpenAIModel) -> object:
    return [part async for part in stream(model, HELLO)]


async def _decide(model: OpenAIModel) -> object:
    return await model.decide(DecisionRequest("s", ("q",)))


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        *((_chat, name) for name in NO_API),
        *((_decide, name) for name in NO_API),
        *((_stream, name) for name in NO_API if "events" not in name),
    ],
)
def test_three_tries_and_no_more_where_nothing_readable_ever_came(ask: Ask, name: str) -> None:
    async def once(url: str) -> None:
        model = open_at(url, replace(FAST, attempts=14))
        try:
            await ask(model)
        finally:
            await model.close()

    with BadServer(lambda n, text: NO_API[name]) as server:
        with pytest.raises(UserError, match=f"^no OpenAI-compatible API at {re.escape(server.url)}: 3 tries brought"):
            asyncio.run(once(server.url))
        assert server.posts == 3


def test_a_server_at_the_address_of_an_earlier_one_is_another_server() -> None:
    async def once(model: OpenAIModel) -> object:
        try:
            return await model.complete(HELLO)
        finally:
            await model.close()

    with BadServer() as first:
        kept = open_at(first.url)  # held to the end, as a traceback may hold it
        asyncio.run(once(kept))
    with BadServer(lambda n, text: NO_API["a list"], port=first.port) as second:
        with pytest.raises(UserError, match="3 tries brought"):
            asyncio.run(once(open_at(second.url, replace(FAST, attempts=14))))
        assert second.posts == 3
    assert kept.spec == "openai:test-model"


@pytest.mark.parametrize("name", ["a login page", "events, though none were asked for"])
def test_a_run_of_64_instances_asks_hardly_more_than_its_concurrency(name: str, tmp_path: Path) -> None:
    rows = [row(i, [(f"Task {i}", ["It holds."])]) for i in range(64)]
    judge = tmp_path / "judge.json"
    judge.write_text('{"rules": []}')
    with BadServer(lambda n, text: NO_API[name], delay=0.05) as server:
        done = command(
            "run", "--data", write_jsonl(tmp_path / "data.jsonl", rows), "--model", "openai:m", "--judge",
            f"scripted:{judge}", "--model-base-url", server.url, "--out", str(tmp_path / "out"), "--model-concurrency", "8",
            OPENAI_API_KEY="none",
        )  # fmt: skip
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"truebench: no OpenAI-compatible API at {server.url}: ")
        # All that may be under way at first, which count as one try, then one by one a second and a third.
        assert server.posts <= 8 + 2


def test_one_long_wait_is_said_and_ends_for_all_when_a_probe_is_answered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(retry, "_PROBE_AFTER", 0.5)  # in place of a minute

    async def many(url: str) -> list[Completion]:
        model = open_at(url, replace(FAST, deadline=3600.0))
        try:
            return await asyncio.gather(*(model.complete(replace(HELLO, sample=i)) for i in range(20)))
        finally:
            await model.close()

    busy = Bad(reply(429, {"error": {"message": "slow down"}}, "Retry-After: 3000\r\n"), "open")
    with BadServer(lambda n, text: busy if n < 20 else None) as server:
        answers = asyncio.run(asyncio.wait_for(many(server.url), 60))
        assert len(answers) == 20
        assert server.posts == 20 + 20, "each once in vain, and the probe is one of those that are answered"
        assert server.times[21] >= server.times[20], "the others after it"
    (line,) = capsys.readouterr().err.splitlines()
    assert re.match(
        rf"waiting until \d\d:\d\d, as the server asks: {re.escape(server.url)} answered 429: slow down; ", line
    )
