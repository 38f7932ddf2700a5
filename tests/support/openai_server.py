"""A loopback OpenAI-compatible server for tests: deterministic answers, a fixed delay, counters, faults, scripts.

In a test:            with OpenAIServer(delay=0.01) as server: ... server.url ... server.stats()
As its own process:   python -m tests.support.openai_server --port 0 --delay 0.2 --quiet   (first line: the port)

POST /v1/chat/completions (stream too), /v1/systemone, /v1/decisions; GET /v1/models, GET /stats. To steer it:
POST /settings  {delay, record}; record = how many of the last request bodies /stats shows.
`add_faults`    list of {match: {nth, contains, kind, path}, status, headers, body, raw, drop, hang}, each used once.
                `nth` counts the requests that fit the rest of `match` since the fault was added; 1 is the next one.
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
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from . import loopback, openai_answers
from .openai_answers import Json, JudgePrompt, chat_text, chat_usage, judge_prompt, strings

CHAT, SYSTEMONE, DECISIONS = "/v1/chat/completions", "/v1/systemone", "/v1/decisions"
DECIDERS = {SYSTEMONE: openai_answers.systemone, DECISIONS: openai_answers.decisions}
FAULT_KEYS = {"match", "status", "headers", "body", "raw", "drop", "hang"}
MATCH_KEYS = {"nth", "contains", "kind", "path"}
_ID = re.compile(r'"id", which is "(\w+)"')
SCRIPT_KEYS = {"contains", "message", "usage", "finish_reason", "times"}


@dataclass
class Counters:
    """What came in since the start or the last reset; `kind` is "judge" (decisions too) or "model"."""

    by_path: collections.Counter[str] = field(default_factory=collections.Counter)
    by_kind: collections.Counter[str] = field(default_factory=collections.Counter)
    in_flight: collections.Counter[str] = field(default_factory=collections.Counter)
    max_in_flight: collections.Counter[str] = field(default_factory=collections.Counter)

    def enter(self, path: str, kind: str) -> None:
        self.by_path[path] += 1
        self.by_kind[kind] += 1
        for key in ("all", kind):
            self.in_flight[key] += 1
            self.max_in_flight[key] = max(self.max_in_flight[key], self.in_flight[key])

    def leave(self, kind: str) -> None:
        for key in ("all", kind):
            self.in_flight[key] -= 1


def _fits(match: Json, path: str, kind: str, text: str) -> bool:
    return match.get("path", path) == path and match.get("kind", kind) == kind and match.get("contains", "") in text


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

    def __init__(self, delay: float = 0.0, record: int = 0) -> None:
        self.delay = delay
        self._bodies: collections.deque[Json] = collections.deque(maxlen=record)
        self._faults: list[Json] = []
        self._scripts: list[Json] = []
        self.counters = Counters()

    @property
    def url(self) -> str:
        """The base URL for a client, ending in /v1."""
        return f"http://{loopback.HOST}:{self.port}/v1"

    def reset(self) -> None:
        """Forget counters, recorded bodies, faults and scripts; requests still running are no longer counted."""
        self.counters = Counters()
        self._bodies.clear()
        self._faults.clear()
        self._scripts.clear()

    def record(self, last: int) -> None:
        """Keep the bodies of the last `last` requests."""
        self._bodies = collections.deque(self._bodies, maxlen=last)

    def add_faults(self, faults: Sequence[Json]) -> None:
        """Queue faults, each consumed by one request; raises ValueError for an unknown key."""
        for fault in faults:
            unknown = set(fault) - FAULT_KEYS | set(fault.get("match", {})) - MATCH_KEYS
            if unknown:
                raise ValueError(f"unknown keys in fault: {sorted(unknown)}")
        self._faults += [{**fault, "match": fault.get("match", {}), "seen": 0} for fault in faults]

    def add_scripts(self, scripts: Sequence[Json]) -> None:
        """Add scripted chat answers; the first that fits is used. Raises ValueError for an unknown key."""
        for script in scripts:
            if set(script) - SCRIPT_KEYS:
                raise ValueError(f"unknown keys in script: {sorted(set(script) - SCRIPT_KEYS)}")
        self._scripts += [dict(script) for script in scripts]

    def stats(self) -> Json:
        """Counts so far: total, by_path, by_kind, in_flight, max_in_flight (all, and by kind), unused faults, bodies."""
        counts = self.counters
        return {
            "total": sum(counts.by_path.values()),
            "by_path": dict(counts.by_path),
            "by_kind": {"model": 0, "judge": 0, **counts.by_kind},
            "in_flight": counts.in_flight["all"],
            "max_in_flight": counts.max_in_flight["all"],
            "max_in_flight_by_kind": {kind: counts.max_in_flight[kind] for kind in ("model", "judge")},
            "faults_left": len(self._faults),
            "bodies": list(self._bodies),
        }

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request."""
        path = request.path
        if request.method == "GET":
            if path == "/stats":
                return _reply(self.stats())
            if path == "/v1/models":
                model = {"id": "test-model", "object": "model", "created": 0, "owned_by": "tests"}
                return _reply({"object": "list", "data": [model]})
            return _error(f"no such path: {path}", 404)
        raw = await request.content.read()
        try:
            body = json.loads(raw or b"null")
            if path == "/settings":
                self.delay = float(body.get("delay", self.delay))
                self.record(int(body.get("record", self._bodies.maxlen)))
                return _reply({})
        except ValueError as error:
            return _error(str(error), 400)
        if path != CHAT and path not in DECIDERS:
            return _error(f"no such path: {path}", 404)
        if not isinstance(body, dict):
            return _error("the body must be a JSON object", 400)
        prompt = judge_prompt(body.get("messages", [])) if path == CHAT else None
        kind = "model" if path == CHAT and prompt is None else "judge"
        counters = self.counters
        counters.enter(path, kind)
        self._bodies.append(body)
        try:
            return await self._call(request, body, kind, prompt)
        finally:
            counters.leave(kind)

    async def _call(
        self, request: web.BaseRequest, body: Json, kind: str, prompt: JudgePrompt | None
    ) -> web.StreamResponse:
        text = "\n".join(strings(body)) if self._faults or self._scripts else ""
        fault = self._due_fault(request.path, kind, text)
        if fault is not None:
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

    def _due_fault(self, path: str, kind: str, text: str) -> Json | None:
        """Count this request for every fault it fits, and take out the first that is due."""
        fitting = [fault for fault in self._faults if _fits(fault["match"], path, kind, text)]
        for fault in fitting:
            fault["seen"] += 1
        due = next((fault for fault in fitting if fault["seen"] >= fault["match"].get("nth", 1)), None)
        if due is not None:
            self._faults.remove(due)
        return due

    def _due_script(self, text: str) -> Json | None:
        for script in self._scripts:
            if script.get("contains", "") in text and script.get("times", 1) > 0:
                if "times" in script:
                    script["times"] -= 1
                return script
        return None

    def _completion(self, body: Json, prompt: JudgePrompt | None, script: Json) -> Json:
        message = {"role": "assistant", **script.get("message", {})}
        if "content" not in message:
            message["content"] = chat_text(body, prompt)
        elif isinstance(message["content"], str) and (tag := _ID.search("\n".join(strings(body)))):
            message["content"] = message["content"].replace("{id}", tag[1])
        choice = {"index": 0, "message": message, "finish_reason": script.get("finish_reason", "stop")}
        return {
            "id": f"chatcmpl-{sum(self.counters.by_path.values())}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": body.get("model"),
            "choices": [choice],
            "usage": script["usage"] if "usage" in script else chat_usage(body, message),
        }


def _failure(request: web.BaseRequest, fault: Json) -> web.Response | None:
    """The answer a fault asks for, or None when it only delays."""
    if fault.get("drop"):
        if request.transport is not None:
            request.transport.abort()
        return web.Response()  # goes nowhere: the connection is gone
    status, headers = fault.get("status", 200), fault.get("headers")
    if "raw" in fault:
        return web.Response(text=fault["raw"], status=status, headers=headers, content_type="application/json")
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


async def _serve(server: OpenAIServer, port: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    runner, server.port = await loopback.start(server.handle, port)
    print(server.port, flush=True)
    await stop.wait()
    await runner.cleanup()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the server until SIGINT or SIGTERM; prints the port, and at the end the counts unless --quiet."""
    parser = argparse.ArgumentParser(description="Loopback OpenAI-compatible test server.")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free port")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds per call")
    parser.add_argument("--record", type=int, default=0, help="request bodies to keep for /stats")
    parser.add_argument("--quiet", action="store_true", help="no counts at the end")
    options = parser.parse_args(arguments)
    server = OpenAIServer(options.delay, options.record)
    asyncio.run(_serve(server, options.port))
    if not options.quiet:
        print(json.dumps(server.stats()), file=sys.stderr)


if __name__ == "__main__":
    main()
