"""A loopback OpenAI-compatible server for tests: deterministic answers, a fixed delay, counters, faults, scripts.

In a test:            with OpenAIServer(delay=0.01) as server: ... server.url ... server.stats()
As its own process:   python -m tests.support.openai_server --delay 0.2   (first line: the port)

POST /v1/chat/completions (stream too), /v1/systemone, /v1/decisions; GET /stats. To steer it:
POST /settings  {delay, record}; record = how many of the last request bodies /stats shows.
`add_faults`    list of {match: {contains, kind, path}, status, headers, body, raw, drop, hang}, each used once.
                `hang` waits that many seconds, then goes on with the rest; alone it only makes the answer late.
`add_scripts`   list of {contains, message, usage, finish_reason, times}: what an answer should look like instead.
                `message` is laid over the usual one, so `{"content": null}` or `{"reasoning_content": "..."}` will do.
                In its `content` `{id}` is the id by which the prompt wants an answer signed.
`contains` is looked for in the strings of the request body, after JSON decoding.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
import re
import signal
import time
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from . import loopback, openai_answers
from .openai_answers import Json, chat_text, chat_usage, judge_prompt, strings

CHAT, SYSTEMONE, DECISIONS = "/v1/chat/completions", "/v1/systemone", "/v1/decisions"
DECIDERS = {SYSTEMONE: openai_answers.systemone, DECISIONS: openai_answers.decisions}
_ID = re.compile(r'"id", which is "(\w+)"')


def _reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    body = json.dumps(value).encode()
    return web.Response(body=body, status=status, headers=headers, content_type="application/json")


def _error(message: str, status: int) -> web.Response:
    return _reply({"error": {"message": message, "type": "invalid_request_error", "code": None}}, status)


class OpenAIServer(loopback.Server):
    """The server's state and handler; as a context manager it serves from a background thread.

    `delay` is seconds per call, `record` how many request bodies to keep. The steering methods may be called from
    the test's thread while it serves.
    """

    def __init__(self, delay: float = 0.0, record: int = 0, port: int = 0) -> None:
        self.delay, self.port = delay, port
        self._bodies: collections.deque[Json] = collections.deque(maxlen=record)
        self.reset()

    @property
    def url(self) -> str:
        """The base URL for a client, ending in /v1."""
        return f"http://{loopback.HOST}:{self.port}/v1"

    def reset(self) -> None:
        """Forget counters, recorded bodies, faults and scripts."""
        # By path and by kind: "judge" (decisions too) or "model".
        self._counts: collections.Counter[str] = collections.Counter()
        self._in_flight = self._max_in_flight = 0
        self._bodies.clear()
        self._faults: list[Json] = []
        self._scripts: list[Json] = []

    def add_faults(self, faults: Sequence[Json]) -> None:
        """Queue faults, each consumed by one request."""
        self._faults += faults

    def add_scripts(self, scripts: Sequence[Json]) -> None:
        """Add scripted chat answers; the first that fits is used."""
        self._scripts += [dict(script) for script in scripts]

    def stats(self) -> Json:
        """Counts so far: total, by_path, by_kind, max_in_flight; and the bodies that were kept."""
        by_path = {path: count for path, count in self._counts.items() if path[0] == "/"}
        return {
            "total": sum(by_path.values()), "by_path": by_path,
            "by_kind": {kind: self._counts[kind] for kind in ("model", "judge")},
            "max_in_flight": self._max_in_flight, "bodies": list(self._bodies),
        }  # fmt: skip

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request."""
        path, body = request.path, json.loads(await request.content.read() or b"null")
        if path == "/stats":
            return _reply(self.stats())
        if path == "/settings":
            self.delay = body["delay"]
            self._bodies = collections.deque(self._bodies, maxlen=body.get("record", self._bodies.maxlen))
            return _reply({})
        if path != CHAT and path not in DECIDERS:
            return _error(f"no such path: {path}", 404)
        prompt = judge_prompt(body.get("messages", [])) if path == CHAT else None
        kind = "model" if path == CHAT and prompt is None else "judge"
        self._counts.update([path, kind])
        self._in_flight += 1
        self._max_in_flight = max(self._max_in_flight, self._in_flight)
        self._bodies.append(body)
        try:
            return await self.called(request, body, kind, prompt)
        finally:
            self._in_flight -= 1

    async def called(self, request: web.BaseRequest, body: Json, kind: str, prompt: str | None) -> web.StreamResponse:
        """Answer a call: as a fault or a script says that fits, else as a server of sense."""
        text = "\n".join(strings(body)) if self._faults or self._scripts else ""
        fault = next((fault for fault in self._faults if _fits(fault.get("match", {}), request.path, kind, text)), None)
        if fault is not None:
            self._faults.remove(fault)
            await asyncio.sleep(fault.get("hang", 0))
            failed = _failure(request, fault)
            if failed is not None:
                return failed
        script = self._due_script(text) if request.path == CHAT else None
        if self.delay:
            await asyncio.sleep(self.delay)
        if request.path in DECIDERS:
            try:
                return _reply(DECIDERS[request.path](body))
            except openai_answers.BadRequest as error:
                return _error(str(error), 422 if request.path == SYSTEMONE else 400)
        completion = self._completion(body, prompt, script or {})
        return await _stream(request, body, completion) if body.get("stream") else _reply(completion)

    def _due_script(self, text: str) -> Json | None:
        for script in self._scripts:
            if script.get("contains", "") in text and script.get("times", 1) > 0:
                if "times" in script:
                    script["times"] -= 1
                return script
        return None

    def _completion(self, body: Json, prompt: str | None, script: Json) -> Json:
        message = {"role": "assistant", **script.get("message", {})}
        if "content" not in message:
            message["content"] = chat_text(body, prompt)
        elif isinstance(message["content"], str) and (tag := _ID.search("\n".join(strings(body)))):
            message["content"] = message["content"].replace("{id}", tag[1])
        choice = {"index": 0, "message": message, "finish_reason": script.get("finish_reason", "stop")}
        return {
            "id": f"chatcmpl-{self._counts[CHAT]}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": body.get("model"),
            "choices": [choice],
            "usage": script["usage"] if "usage" in script else chat_usage(body, message),
        }


def _fits(match: Json, path: str, kind: str, text: str) -> bool:
    return match.get("path", path) == path and match.get("kind", kind) == kind and match.get("contains", "") in text


def _failure(request: web.BaseRequest, fault: Json) -> web.Response | None:
    """The answer a fault asks for, or None when it only delays."""
    if fault.get("drop"):
        if request.transport is not None:
            request.transport.abort()
        return web.Response()  # goes nowhere: the connection is gone
    status, headers = fault.get("status", 200), fault.get("headers")
    if "raw" in fault:
        return web.Response(text=fault["raw"], status=status, headers=headers)
    if "body" in fault or "status" in fault:
        default = {"error": {"message": f"injected failure {status}", "type": "test_fault", "code": None}}
        return _reply(fault.get("body", default), status, headers)
    return None


async def _stream(request: web.BaseRequest, body: Json, completion: Json) -> web.StreamResponse:
    """Send a finished completion as server-sent events: the role, text pieces, the end, and usage when asked for."""
    message, reason = completion["choices"][0]["message"], completion["choices"][0]["finish_reason"]
    head = {**{key: completion[key] for key in ("id", "created", "model")}, "object": "chat.completion.chunk"}
    deltas: list[Json] = [{"role": "assistant"}]
    for key in ("reasoning_content", "content"):
        text = message.get(key) or ""
        deltas += [{key: text[begin : begin + 64]} for begin in range(0, len(text), 64)]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": reason})
    chunks: list[Json] = [{**head, "choices": [choice]} for choice in choices]
    if (body.get("stream_options") or {}).get("include_usage"):
        chunks.append({**head, "choices": [], "usage": completion["usage"]})
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for chunk in chunks:
        await response.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


def main() -> None:
    """Run the server in this process until it is killed; the first line that it prints is the port."""
    parser = argparse.ArgumentParser(description="Loopback OpenAI-compatible test server.")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds per call")
    with OpenAIServer(parser.parse_args().delay) as server:
        print(server.port, flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
