"""An OpenAI-compatible server that can say what no HTTP library would: any bytes, and any end of a connection.

    with BadServer([Bad(b"HTTP/9 what\r\n\r\n")]) as server: ... server.url ... server.posts

The n-th POST gets the n-th bad answer; after the last one, and where it is None, all is well, as of `openai_server`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from .openai_answers import Json, strings
from .openai_server import OpenAIServer


@dataclass(frozen=True)
class Bad:
    """What goes over the wire instead of an answer, and then: `close`, `reset`, or `open` (the connection stays)."""

    raw: bytes
    then: str = "close"


Choose = Callable[[int, str], Bad | None]


class _Wire(web.Response):
    """Bytes in place of a response, to which aiohttp adds nothing."""

    def __init__(self, bad: Bad) -> None:
        super().__init__()
        self.bad = bad

    @property
    def keep_alive(self) -> bool:
        return self.bad.then == "open"

    async def prepare(self, request: web.BaseRequest) -> None:
        if (transport := request.transport) is None:
            return
        transport.write(self.bad.raw)
        if self.bad.then == "reset":
            # No lingering: the kernel then sends a reset instead of the proper end.
            raw: Any = transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await asyncio.sleep(0.02)  # what was written first has to be there first
            transport.abort()

    async def write_eof(self, data: Any = b"") -> None:
        pass


class BadServer(OpenAIServer):
    """Answers in a thread of its own while the block runs. `delay` is seconds per POST, bad or not; `port` 0 is any.

    `bad`: the answers in turn, or a function of the number of the POST (from 0) and the texts in its body.
    """

    def __init__(self, bad: Sequence[Bad | None] | Choose = (), delay: float = 0.0, port: int = 0) -> None:
        super().__init__(delay, port=port)
        self.choose: Choose = bad if callable(bad) else lambda n, _: bad[n] if n < len(bad) else None
        self.posts = self.spoiled = 0  # how many came in, and how many of them went wrong
        self.times: list[float] = []

    async def called(self, request: web.BaseRequest, body: Json, kind: str, prompt: str | None) -> web.StreamResponse:
        number, self.posts = self.posts, self.posts + 1
        self.times.append(asyncio.get_running_loop().time())
        if (bad := self.choose(number, "\n".join(strings(body)))) is None:
            return await super().called(request, body, kind, prompt)
        await asyncio.sleep(self.delay)
        self.spoiled += 1
        return _Wire(bad)


def reply(status: int, body: Any, headers: str = "") -> bytes:
    """An answer as it should be."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n{headers}\r\n"
    return head.encode() + data


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
    """A storm in a process of its own, so that it takes no time from who is tested; the first line that it prints is the port."""
    parser = argparse.ArgumentParser(description="Loopback server that fails a share of all calls.")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds per call")
    parser.add_argument("--share", type=float, default=0.0, help="how many of the calls fail, 0 to 1")
    options = parser.parse_args()
    with BadServer(storm(options.share), options.delay) as server:
        print(server.port, flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
