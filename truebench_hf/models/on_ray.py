"""Beyond one machine: to a study a chat model like any other, its provider held by actors of Ray on many machines.

Only this side knows the ledger. A call that is lost with its worker is repeated with a new one.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

from truebench_hf.engine.money import PaidTokens, note_unanswered, unanswered
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import ChatModel, ChatRequest, Completion, Decision, DecisionRequest, SchemaRefused
from truebench_hf.models.spec import Opening
from truebench_hf.text import redaction
from truebench_hf.text.terminal import silent_stderr, warn

# Seconds for an answer of a cluster (left alone, Ray ends this process), and without any of a worker before it is told.
_ANSWERS, _SILENT = 15.0, 120.0
_TRIES = 3  # a request that is lost so often may be what kills the workers
Reply = tuple[Completion | Decision | Exception, list[PaidTokens]]  # with what was billed in vain


class Cluster:
    """The Ray cluster of a study, joined before its first request: that at `address` (HOST:PORT, or auto for the one that
    this machine is part of), else that of RAY_ADDRESS, else one of its own on this machine.
    """

    def __init__(self, address: str | None) -> None:
        self.address = address or os.environ.get("RAY_ADDRESS") or "local"
        self._ours: bool | None = None  # whether it is left at the end; None: not joined yet
        self._tenant: OnRay | None = None
        self._turn = asyncio.Lock()
        # Linux ends what a thread started together with that thread: Ray's processes are started by one that stays.
        self._starter = ThreadPoolExecutor(1, "ray")

    async def join(self, local: OnRay | None) -> None:
        """Be part of the cluster, which one `local` model after the other has. Raises UserError where there is none."""
        async with self._turn:
            if self._ours is None:
                self._ours = await asyncio.get_running_loop().run_in_executor(self._starter, self._start)
            if local and local is not self._tenant:
                if self._tenant is not None:
                    await self._tenant.leave()
                self._tenant = local

    def machines(self) -> list[dict[str, float]]:
        """Return the resources of all machines that have a processor."""
        import ray

        return [node["Resources"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]

    def leave(self) -> None:
        """Give all workers back; nothing where it was not joined."""
        if self._ours:
            import ray

            ray.shutdown()
        self._starter.shutdown()

    def _start(self) -> bool:
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # or lost workers would be told of by Ray, too
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would send statistics home
        import ray

        if ray.is_initialized():  # the caller's own, in a notebook say
            return False
        own = {"include_dashboard": False} if self.address == "local" else {}
        try:
            if self.address not in ("local", "auto"):
                self._check_answers()
            with silent_stderr():
                ray.init(address=self.address, log_to_driver=False, logging_level="ERROR", **own)
        except (OSError, OverflowError, RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
            why = "no answer" if isinstance(error, subprocess.TimeoutExpired) else " ".join(str(error).split())[:200]
            raise UserError(
                f"--engine ray: no cluster at {self.address}: {why}; start one with `ray start --head`, check "
                "--ray-address, or leave it out for one of its own"
            ) from error
        return True

    def _check_answers(self) -> None:
        """Raise an error where no cluster answers at HOST:PORT within seconds, or none that lets this process in."""
        host, _, port = self.address.rpartition(":")
        if not host or not port.isdigit() or "/" in host:
            raise ValueError("write it as HOST:PORT of the head, or auto")
        health_check = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", self.address]
        socket.create_connection((host.strip("[]"), int(port)), _ANSWERS).close()
        done = subprocess.run(health_check, capture_output=True, timeout=_ANSWERS, check=False)
        if done.returncode:  # Ray sends its token only where it is told to
            token = "it asks for its token (export RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or ~/.ray/auth_token)"
            other = "what answers there is no cluster of this version of Ray"
            raise ValueError(token if b"InvalidAuthToken" in done.stderr else other)


class Holder:
    """An actor of Ray that holds a provider, and answers requests."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._model: ChatModel | None = None

    async def answer(self, request: ChatRequest | DecisionRequest) -> Reply:
        """Return what the provider answers, or how it failed."""
        lost = unanswered()
        answer: Completion | Decision | Exception
        try:
            self._model = self._model or self._opening.open()
            ask: Any = self._model.decide if isinstance(request, DecisionRequest) else self._model.complete
            answer = await ask(request)
        except (RequestFailed, SchemaRefused, UserError) as error:
            answer = type(error)(redaction.error(str(error)))
        except Exception:
            answer = RuntimeError(redaction.error(traceback.format_exc()))
        return answer, lost


class OnRay:
    """A model whose provider is opened by workers, started for its first request; where one is lost another is started.

    `model` is the same one here, never asked. `concurrency` counts the calls to a server, with all workers together;
    `lost` counts requests that were lost with a worker, and repeated.
    """

    batch: int | None = 8192  # requests let in at once, of which the workers get what they may have under way

    def __init__(self, model: ChatModel, opening: Opening, cluster: Cluster) -> None:
        self.spec, self.identity, self.takes_schema = model.spec, model.identity, model.takes_schema
        self.listed_price = getattr(model, "listed_price", lambda: None)
        self.cache_scope: str | None = getattr(model, "cache_scope", None)
        self.concurrency, self.lost = 1, 0
        self._model, self._opening, self._cluster = model, opening, cluster
        self._is_local = bool(model.batch)
        self._load: Counter[Any] = Counter()  # requests by actor
        self._under_way, self._has_answered = 0, False

    async def complete(self, request: ChatRequest) -> Completion:
        """See `ChatModel.complete`."""
        return await self._ask(replace(request, example=""))  # type: ignore[no-any-return]

    async def decide(self, request: DecisionRequest) -> Decision:
        """See `ChatModel.decide`."""
        return await self._ask(request)  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Ask for nothing more; the cluster is left by whoever made it."""
        await self.leave()
        await self._model.close()

    async def leave(self) -> None:
        """Give the workers back once none of them is asked any more."""
        while self._under_way:
            await asyncio.sleep(0.05)
        actors, self._load = list(self._load), Counter()
        for actor in actors:
            import ray

            ray.kill(actor)

    def room(self) -> tuple[int, int, float, int]:
        """Return how many workers there are, the calls of each, and its processors and GPUs. Raises UserError without room.

        A worker with a local model has GPUs of one machine to itself, or all its processors.
        """
        machines, arguments = self._cluster.machines(), self._opening.arguments
        calls, gpus = self._model.batch or self.concurrency, 0
        if not self._is_local and machines:  # together never more calls than are allowed
            counts = range(1, min(len(machines), calls) + 1)
            workers = max(counts, key=lambda count: (calls // count * count, count))
            return workers, calls // workers, 0.0, 0
        if arguments.get("device") != "cpu" and any(machine.get("GPU") for machine in machines):
            gpus = int(arguments.get("tensor_parallel_size", 1))
        workers = sum(int(machine.get("GPU", 0)) // gpus for machine in machines) if gpus else len(machines)
        if not workers:
            what, where = f"{gpus} GPUs" if gpus else "a processor", f"of the cluster at {self._cluster.address}"
            raise UserError(f"--engine ray: no machine {where} has {what}; add one that has")
        return workers, calls, 1.0 if gpus else min(machine["CPU"] for machine in machines), gpus

    async def _ask(self, request: ChatRequest | DecisionRequest) -> Any:
        """Return the answer to one request; of a local model once it has the cluster to itself.

        Raises what the provider raises, UserError where no worker can be had, RequestFailed for what is lost repeatedly.
        """
        await self._cluster.join(self if self._is_local else None)
        self._under_way += 1
        try:
            if not self._load:
                self._start()
            async with self._slots:
                answer, lost = await self._reply(request)
        finally:
            self._under_way -= 1
        for tokens in lost:
            note_unanswered(tokens)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _start(self) -> None:
        import ray

        workers, calls, cpus, gpus = self.room()
        self._slots = asyncio.Semaphore(workers * calls)
        takes = {"num_cpus": cpus, "num_gpus": gpus, "max_concurrency": calls, "scheduling_strategy": "SPREAD"}
        opening = ray.put(self._opening)  # which no log of Ray shows
        self._start_one = partial(ray.remote(Holder).options(**takes).remote, opening)
        self._load = Counter({self._start_one(): 0 for _ in range(workers)})
        needs = f"each worker takes {cpus:g} processors and {gpus} GPUs; `ray status` shows what is free"
        asyncio.get_running_loop().call_later(_SILENT, self._tell_waiting, needs)

    def _tell_waiting(self, needs: str) -> None:
        if self._load and not self._has_answered:
            warn(f"--engine ray: no answer for {_SILENT:g} s; {needs}; it goes on waiting")

    async def _reply(self, request: Any) -> Reply:
        import ray

        for number in range(_TRIES):
            actor = min(self._load, key=self._load.__getitem__)
            self._load[actor] += 1
            try:
                reply: Reply = await actor.answer.remote(request)
                self._has_answered = True
                return reply
            except ray.exceptions.RayError as error:
                why = str(error).strip() or type(error).__name__
                self.lost += number < _TRIES - 1
                if self._load.pop(actor, None) is not None:  # else another request has seen it first
                    self._load[self._start_one()] = 0
                    ray.kill(actor)
            finally:
                if actor in self._load:
                    self._load[actor] -= 1
        lost = f"lost with {_TRIES} workers one after the other: {why.splitlines()[-1][:300]}"
        if self._has_answered:
            raise RequestFailed(lost)
        raise UserError(f"--engine ray: {lost}; is this version of truebench-hf installed on every machine?")
