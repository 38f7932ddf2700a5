"""Beyond one machine: the Ray cluster of a study, and the actors on its machines that answer requests."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.text.terminal import warn

# Seconds for a connection, and for an answer; left alone, Ray would try for two minutes, and then end this process.
_CONNECTS, _ANSWERS = 5.0, 15.0
_SILENT = 120.0  # seconds without any answer after which it is told what the cluster has free
TRIES = 3  # a request that is lost so often may be what kills the workers


@dataclass(frozen=True)
class Seat:
    """What a model needs: `calls` under way, of a `local` one with every worker, else with all workers together.

    A worker with a local model has `gpus` of one machine to itself, or all its processors.
    """

    calls: int
    local: bool = False
    gpus: int = 0


class Cluster:
    """The Ray cluster of a study, joined before its first request: that at `address` (HOST:PORT, or auto for the one that
    this machine is part of), else that of RAY_ADDRESS, else one of its own on this machine.
    """

    def __init__(self, address: str | None) -> None:
        self.address = address or os.environ.get("RAY_ADDRESS") or "local"
        self._joined = self._ours = False
        self._tenant: Workers | None = None
        self._turn, self._joining = asyncio.Lock(), asyncio.Lock()
        # Linux ends what a thread started together with that thread: Ray's processes are started by one that stays.
        self._starter = ThreadPoolExecutor(1, "ray")

    async def join(self) -> None:
        """Be part of the cluster, once. Raises UserError where there is none."""
        async with self._joining:
            if not self._joined:
                await asyncio.get_running_loop().run_in_executor(self._starter, self._start)
                self._joined = True

    async def let(self, tenant: Workers) -> None:
        """Wait until a local model may have the cluster: one after the other has it, each while it is asked."""
        async with self._turn:
            if self._tenant is not tenant:
                if self._tenant is not None:
                    await self._tenant.leave()
                self._tenant = tenant

    def has_gpus(self) -> bool:
        """Return whether any machine has one."""
        return any(node.get("GPU", 0) for node in _nodes())

    def room(self, seat: Seat) -> tuple[int, float]:
        """Return how many workers the cluster holds at once, and the processors each takes.

        Raises UserError where no machine has room for one.
        """
        nodes = [node for node in _nodes() if node.get("CPU", 0) >= 1]
        if seat.gpus:
            workers, cpus = sum(int(node.get("GPU", 0)) // seat.gpus for node in nodes), 1.0
        elif seat.local:
            workers, cpus = len(nodes), min((node["CPU"] for node in nodes), default=0.0)
        else:
            workers, cpus = (
                min(len(nodes), seat.calls),
                0.0,
            )  # they wait for a server: a local model takes a whole machine
        if not workers:
            what = f"{seat.gpus} GPUs" if seat.gpus else "a processor"
            raise UserError(f"--engine ray: no machine of the cluster at {self.address} has {what}; add one that has")
        return workers, cpus

    def leave(self) -> None:
        """Give all workers back; nothing where it was not joined."""
        if self._ours:
            import ray

            ray.shutdown()
        self._joined = self._ours = False
        self._starter.shutdown()

    def _start(self) -> None:
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # or lost workers would be told of by Ray, too
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would send statistics home
        import ray

        if ray.is_initialized():  # the caller's own, in a notebook say
            return
        if self.address not in ("local", "auto"):
            _check_answers(self.address)
        own = {"include_dashboard": False} if self.address == "local" else {}
        try:
            with _silent_stderr():
                ray.init(address=self.address, log_to_driver=False, logging_level="ERROR", **own)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise _no_cluster(self.address, " ".join(str(error).split())[:200]) from error
        self._ours = True


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Let what libraries of C++ print of themselves go nowhere."""
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)


class Workers:
    """The workers of one model: actors of Ray, started for its first request; where one is lost another is started.

    `holder` is a class made of `argument` and the calls that one worker may have under way; its async method `answer`
    replies to a request. `lost` counts requests that were lost with a worker, and repeated.
    """

    def __init__(self, cluster: Cluster, holder: type, argument: Any, seat: Callable[[], Seat]) -> None:
        self._cluster, self._holder, self._argument, self._seat = cluster, holder, argument, seat
        self._start_one: Callable[[], Any] | None = None
        self._actors: list[Any] = []
        self._load: Counter[Any] = Counter()  # requests by actor
        self._starting, self._idle, self._under_way = asyncio.Lock(), asyncio.Event(), 0
        self._alarm: asyncio.TimerHandle | None = None
        self._answered = False
        self.lost = 0

    async def ask(self, request: Any, *, local: bool) -> Any:
        """Return the reply to one request; of a `local` model once it has the cluster to itself.

        Raises UserError where there is no cluster or no room, and where no worker can start, and RequestFailed for a
        request that is lost again and again.
        """
        await self._cluster.join()
        if local:
            await self._cluster.let(self)
        self._under_way += 1
        self._idle.clear()
        try:
            await self._start()
            async with self._slots:
                return await self._ask(request)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def leave(self) -> None:
        """Give the workers back once none of them is asked any more."""
        if self._under_way:
            await self._idle.wait()
        self.stop()

    def stop(self) -> None:
        """Give the workers back."""
        if self._alarm is not None:
            self._alarm.cancel()
        actors, self._actors = self._actors, []
        for actor in actors:
            _kill(actor)

    async def _start(self) -> None:
        async with self._starting:
            if self._actors:
                return
            import ray

            seat = self._seat()
            room, cpus = self._cluster.room(seat)
            count, calls = shared(seat, room)
            # More than may be under way, so that a call that waits for its next try holds up no other.
            self._slots = asyncio.Semaphore(2 * count * calls)
            kind = ray.remote(self._holder).options(
                num_cpus=cpus, num_gpus=seat.gpus, max_concurrency=4 * calls, scheduling_strategy="SPREAD"
            )
            argument = ray.put(self._argument)  # which no log of Ray shows
            self._start_one = lambda: kind.remote(argument, calls)
            self._actors = [self._start_one() for _ in range(count)]
            self._alarm = asyncio.get_running_loop().call_later(_SILENT, _tell_silence, cpus, seat.gpus)

    async def _ask(self, request: Any) -> Any:
        from ray.exceptions import RayError

        for number in range(TRIES):
            actor = min(self._actors, key=self._load.__getitem__)
            self._load[actor] += 1
            try:
                reply = await actor.answer.remote(request)
            except RayError as error:
                why = str(error).strip() or type(error).__name__
                self.lost += number < TRIES - 1
                self._replace(actor)
            else:
                self._answered = True
                if self._alarm is not None:
                    self._alarm.cancel()
                return reply
            finally:
                self._load[actor] -= 1
        if self._answered:
            raise RequestFailed(f"lost with {TRIES} workers one after the other")
        raise UserError(
            f"--engine ray: no worker answered: {why.splitlines()[-1][:300]}; is this version of truebench-hf installed "
            "on every machine?"
        )

    def _replace(self, actor: Any) -> None:
        if actor in self._actors and self._start_one is not None:  # else another request has seen it first
            self._actors[self._actors.index(actor)] = self._start_one()
            _kill(actor)


def _kill(actor: Any) -> None:
    import ray

    ray.kill(actor)


def _tell_silence(cpus: float, gpus: int) -> None:
    """Say what a worker needs, and what is free: little is, too, while a worker loads its model."""
    import ray

    there, free = ray.cluster_resources(), ray.available_resources()
    parts = [("processors", "CPU", cpus), *([("GPUs", "GPU", gpus)] if gpus else [])]
    resources = "; ".join(
        f"{free.get(key, 0):g} of {there.get(key, 0):g} {name} are free, of which a worker takes {need:g}"
        for name, key, need in parts
    )
    warn(f"--engine ray: no answer for {_SILENT:g} s; {resources}; it goes on waiting")


def shared(seat: Seat, most: int) -> tuple[int, int]:
    """Return how many workers, at most so many, and the calls each has under way: together never more than `seat` allows."""
    if seat.local:
        return most, seat.calls
    workers = max(range(1, most + 1), key=lambda count: (seat.calls // count * count, count))
    return workers, seat.calls // workers


def _nodes() -> list[dict[str, float]]:
    import ray

    nodes: list[dict[str, Any]] = ray.nodes()
    return [node["Resources"] for node in nodes if node["Alive"]]


def _check_answers(address: str) -> None:
    """Raise UserError where no cluster answers at HOST:PORT within seconds, or none that lets this process in."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        raise UserError(
            f"--ray-address (or RAY_ADDRESS) {address}: write it as HOST:PORT, that of the head of the cluster, or auto"
        )
    health_check = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECTS).close()
        done = subprocess.run(health_check, capture_output=True, timeout=_ANSWERS, check=False)
    except (OSError, OverflowError, subprocess.TimeoutExpired) as error:
        raise _no_cluster(address, getattr(error, "strerror", None) or "no answer") from error
    if done.returncode and b"InvalidAuthToken" in done.stderr:
        # Ray sends its token to an address only where it is told to, and so do we.
        raise UserError(
            f"--engine ray: the cluster at {address} asks for its token; export RAY_AUTH_MODE=token, with that token in "
            "RAY_AUTH_TOKEN or ~/.ray/auth_token"
        )
    if done.returncode:
        raise _no_cluster(address, "what answers there is no cluster of this version of Ray")


def _no_cluster(address: str, why: str) -> UserError:
    return UserError(
        f"--engine ray: no cluster at {address}: {why}; start one with `ray start --head`, check --ray-address, or leave "
        "it out for one of its own"
    )
