"""A server that never answers readably ends the run after three tries; one request's trouble later on does not."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.bad_server import Bad, BadServer, reply
from tests.support.openai_client import FAST, HELLO, Ask, ask_chat, ask_decide, ask_stream, chat, once, open_at
from tests.support.runs import command, row, write_jsonl
from truebench_hf.engine import retry
from truebench_hf.errors import UserError
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.protocol import Completion

_EVENTS = b'data: {"choices": [{"delta": {"content": "Elbe"}}]}\n\ndata: [DONE]\n\n'
_CLOSE = "Connection: close\r\n"  # else the next try may meet the old connection's end, which is no POST
NO_API = {
    "a login page": Bad(reply(200, b"<html>Log in</html>", _CLOSE).replace(b"application/json", b"text/html")),
    "events, though none were asked for": Bad(
        reply(200, _EVENTS, _CLOSE).replace(b"application/json", b"text/event-stream")
    ),
    "a welcome in JSON": Bad(reply(200, {"message": "Welcome to our service"}, _CLOSE)),
    "a list": Bad(reply(200, [], _CLOSE)),
    "nothing": Bad(reply(200, b"", _CLOSE)),
    "another protocol": Bad(b"SSH-2.0-OpenSSH_9.6\r\n"),
}


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        *((ask_chat, name) for name in NO_API),
        *((ask_decide, name) for name in NO_API),
        *((ask_stream, name) for name in NO_API if "events" not in name),
    ],
)
def test_three_tries_and_no_more_where_nothing_readable_ever_came(ask: Ask, name: str) -> None:
    with BadServer(lambda n, text: NO_API[name]) as server:
        model = open_at(server.url, replace(FAST, attempts=14))
        with pytest.raises(UserError, match=f"^no OpenAI-compatible API at {re.escape(server.url)}: 3 tries") as caught:
            once(model, ask(model))
        assert server.posts == 3
    if name == "a login page" and ask is not ask_stream:
        assert "no JSON: Expecting" in str(caught.value), "Expecting value alone tells nobody"


def test_a_server_at_the_address_of_an_earlier_one_is_another_server() -> None:
    with BadServer() as first:
        kept = open_at(first.url)  # held to the end, as a traceback may hold it
        chat(kept)
    with BadServer(lambda n, text: NO_API["a list"], port=first.port) as second:
        with pytest.raises(UserError, match="3 tries brought"):
            chat(open_at(second.url, replace(FAST, attempts=14)))
        assert second.posts == 3
    assert kept.spec == "openai:test-model"


@pytest.mark.parametrize("name", ["a login page", "events, though none were asked for"])
def test_a_run_of_64_instances_asks_for_no_more_than_its_first_ones(name: str, tmp_path: Path) -> None:
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
        assert server.posts <= 3 * 8, "three tries of all that may be under way"


def test_one_long_wait_is_said_and_ends_for_all_when_a_probe_is_answered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(retry, "_PROBE_AFTER", 0.5)  # in place of a minute

    async def many(model: OpenAIModel) -> list[Completion]:
        work = asyncio.gather(*(model.complete(replace(HELLO, sample=i)) for i in range(20)))
        return await asyncio.wait_for(work, 60)

    busy = Bad(reply(429, {"error": {"message": "slow down"}}, "Retry-After: 3000\r\n"), "open")
    with BadServer(lambda n, text: busy if n < 20 else None) as server:
        answers = once(model := open_at(server.url, replace(FAST, deadline=3600.0)), many(model))
        assert len(answers) == 20
        assert server.posts == 20 + 20, "each once in vain, and the probe is one of those that are answered"
        assert server.times[21] >= server.times[20], "the others after it"
    (line,) = capsys.readouterr().err.splitlines()
    assert re.match(
        rf"waiting until \d\d:\d\d, as the server asks: {re.escape(server.url)} answered 429: slow down; ", line
    )
