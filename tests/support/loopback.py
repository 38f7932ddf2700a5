"""Serve one aiohttp handler on a free loopback port, from a background thread."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from typing import Self

from aiohttp import web

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

HOST = "127.0.0.1"  # never "localhost": the Hub clients compare hosts as text


def free_port() -> int:
    """A port for a process that is about to start.

    Below those that the system hands out by itself, so that nobody else, such as a test of another worker, is given it
    in the moment between.
    """
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return port
    raise RuntimeError("no free port")


async def _serve_until(
    handler: Handler, port: int, ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]]
) -> None:
    try:
        stop = asyncio.Event()
        # The low-level server: no router and no middleware, so a request costs little. It caps `request.read()` at 1 MiB,
        # so handlers read `request.content` instead.
        runner = web.ServerRunner(web.Server(handler, access_log=None), shutdown_timeout=0.2)
        await runner.setup()
        await web.TCPSite(runner, HOST, port, backlog=1024).start()
        ready.set_result((asyncio.get_running_loop(), stop, int(runner.addresses[0][1])))
    except OSError as error:  # no free port: raised again where the test waits
        ready.set_exception(error)
        return
    await stop.wait()
    await runner.cleanup()


@contextlib.contextmanager
def serving(handler: Handler, port: int = 0) -> Iterator[int]:
    """Serve `handler` from a daemon thread while the block runs; yields the port, any free one for 0."""
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_serve_until(handler, port, ready)), daemon=True)
    thread.start()
    loop, stop, port = ready.result(timeout=10)
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(timeout=10)


class Server:
    """What answers in `handle`; as a context manager it serves from a background thread, at `port`."""

    port = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._stack = contextlib.ExitStack()
        self.port = self._stack.enter_context(serving(self.handle, self.port))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
