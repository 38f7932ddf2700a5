"""A raw-socket server for tests that can say what no HTTP library would: any bytes, and any end of a connection.

    with BadServer([Bad(b"HTTP/9 what\r\n\r\n")]) as server: ... server.url ... server.posts

The n-th POST gets the n-th bad answer; after the last one, and where it is None, all is well: chat completions and
typed decisions are those of `openai_server`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import socket
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Self

from .loopback import HOST
from .openai_answers import chat_text, chat_usage, decisions, judge_prompt, systemone


@dataclass(frozen=True)
class Bad:
    """What goes over the wire instead of an answer, and then: `close`, `reset`, or `open` (the connection stays)."""

    raw: bytes
    then: str = "close"


Choose = Callable[[int, str], Bad | None]


class BadServer:
    """Answers in a thread of its own while the block runs. `delay` is seconds per POST, bad or not; `port` 0 is any.

    `bad`: the answers in turn, or a function of the number of the POST (from 0) and the body's text.
    """

    def __init__(self, bad: Sequence[Bad | None] | Choose = (), delay: float = 0.0, port: int = 0) -> None:
        self.choose: Choose = bad if callable(bad) else lambda n, _: bad[n] if n < len(bad) else None
        self.delay = delay
        self.posts = self.spoiled = 0  # how many came in, and how many of them went wrong
        self.most = self._now = 0  # how many at once
        self.times: list[float] = []
        self._ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = Future()
        self.port = port

    @property
    def url(self) -> str:
        """The base URL for a client, ending in /v1."""
        return f"http://{HOST}:{self.port}/v1"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        self._loop, self._stop, self.port = self._ready.result(timeout=10)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.join(timeout=10)

    def stop(self) -> None:
        """Die: close the port and every connection."""
        with contextlib.suppress(RuntimeError):  # it is dead already
            self._loop.call_soon_threadsafe(self._stop.set)

    async def _serve(self) -> None:
        stop = asyncio.Event()
        server = await asyncio.start_server(self._connected, HOST, self.port, backlog=1024)
        self._ready.set_result((asyncio.get_running_loop(), stop, server.sockets[0].getsockname()[1]))
        await stop.wait()
        server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._answered(reader, writer):
                pass
        writer.close()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection goes on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path = head.split(" ")[:2]
        fields = dict(line.lower().split(":", 1) for line in head.split("\r\n")[1:] if line)
        text = (await reader.readexactly(int(fields.get("content-length", 0)))).decode()
        if method != "POST":
            writer.write(reply(404, {"error": {"message": "only POST is answered"}}))
            return True
        number, self.posts = self.posts, self.posts + 1
        self.times.append(asyncio.get_running_loop().time())
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            await asyncio.sleep(self.delay)
        finally:
            self._now -= 1
        if (bad := self.choose(number, text)) is None:
            writer.write(good(path, json.loads(text)))
            await writer.drain()
            return True
        self.spoiled += 1
        with contextlib.suppress(ConnectionError):
            writer.write(bad.raw)
            await writer.drain()
        if bad.then == "reset":
            # No lingering: the kernel then sends a reset instead of the proper end.
            raw: Any = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await asyncio.sleep(0.02)  # what was written first has to be there first
            writer.transport.abort()
        return bad.then == "open"


def reply(status: int, body: Any, headers: str = "") -> bytes:
    """An answer as it should be."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n{headers}\r\n"
    return head.encode() + data


def good(path: str, body: dict[str, Any]) -> bytes:
    """What the well-behaved test server would answer."""
    if path.endswith("/systemone"):
        return reply(200, systemone(body))
    if path.endswith("/decisions"):
        return reply(200, decisions(body))
    message = {"role": "assistant", "content": chat_text(body, judge_prompt(body["messages"]))}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return reply(200, {"model": body.get("model"), "choices": [choice], "usage": chat_usage(body, message)})


STORM = (
    Bad(reply(500, {"error": {"message": "storm"}}), "open"),
    Bad(b"", "reset"),
    Bad(b"HTTP/1.1 what\r\n\r\n"),
    Bad(reply(200, b'{"choices": [{"mess'), "open"),
)


def storm(share: float, seed: int = 0) -> Choose:
    """A server that fails that share of all calls, at random: errors, resets and malformed answers."""
    dice = random.Random(seed)
    return lambda number, text: dice.choice(STORM) if dice.random() < share else None


def main() -> None:
    """A storm in a process of its own, so that it takes no time from who is tested; prints the port, ends with stdin."""
    parser = argparse.ArgumentParser(description="Loopback server that fails a share of all calls.")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds per call")
    parser.add_argument("--share", type=float, default=0.0, help="how many of the calls fail, 0 to 1")
    options = parser.parse_args()
    with BadServer(storm(options.share), options.delay) as server:
        print(server.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
