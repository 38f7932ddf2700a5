"""What the tests of models share: a loopback server with answers of sense, and one that keeps all that it was sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web

from tests.support import loopback
from tests.support.openai_server import OpenAIServer


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(record=1000) as running:
        yield running


@dataclass(frozen=True)
class Call:
    """One request: its path with the query, its headers by names in lower case, and its body."""

    path: str
    headers: list[tuple[str, str]]
    body: dict[str, Any]

    def all_of(self, name: str) -> list[str]:
        return [text for header, text in self.headers if header == name]


class Recorder(loopback.Server):
    """Answers every call alike, whatever its path, and keeps what came in; with `refuses` it repeats who asks."""

    refuses = False

    def __init__(self) -> None:
        self.calls: list[Call] = []

    @property
    def url(self) -> str:
        return f"http://{loopback.HOST}:{self.port}/v1"

    async def handle(self, request: web.BaseRequest) -> web.Response:
        body = json.loads(await request.content.read())
        headers = [(name.lower(), text) for name, text in request.headers.items()]
        self.calls.append(Call(request.raw_path, headers, body))
        if self.refuses:
            return web.Response(text=f"who is {request.headers['Authorization']}?", status=401)
        if body.get("stream"):
            events = 'data: {"choices": [{"delta": {"content": "Elbe"}}]}\n\ndata: [DONE]\n\n'
            return web.Response(text=events, content_type="text/event-stream")
        choice = {"message": {"content": "Elbe ✓"}, "finish_reason": "stop"}
        answer = web.json_response({"choices": [choice], "answers": {"criteria_1": {"noul": 0.5}}})
        answer.set_cookie("backend", "b7")
        return answer


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder() as running:
        yield running
