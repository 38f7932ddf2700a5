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
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from truebench_hf.engine.money import PaidTokens, note_unanswered, unanswered
from truebench_hf.engine.retry import RequestFailed, Slot
from truebench_hf.errors import UserError
from truebench_hf.models.loading import COPIES, of_spec
from truebench_hf.models.protocol import (
    ChatModel,
    ChatRequest,
    Completion,
    Decision,
    DecisionRequest,
    Identity,
    SchemaRefused,
)  # fmt: skip
from truebench_hf.models.providers import Served
from truebench_hf.models.spec import open_model
from truebench_hf.text import redaction
from truebench_hf.text.terminal import silent_stderr, warn
from truebench_hf.version import __version__

# Seconds for a connection, for an answer (left alone, Ray ends this process), and without any before it is told.
_CONNECTS, _ANSWERS, _SILENT = 5.0, 15.0, 120.0
_TRIES = 3  # a request that is lost so often may be what kills the workers
# An answer, or what is to be raised; who gave answers (by kind); what was billed in vain.
Reply = tuple[Completion | Decision | Exception, Mapping[str, Counter[str]], list[PaidTokens]]
_CARRIED = ("HF_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE")  # beside all of OPENAI_*
_FILES = ("hf", "hf-classifier", "reward", "vllm", "scripted")  # specs that may name one


class Cluster:
    """The Ray cluster of a study, joined before its first request: that at `address` (HOST:PORT, or auto for the one that
    this machine is part of), else that of RAY_ADDRESS, else one of its own on this machine.
    """

    def __init__(self, address: str | None) -> None:
        self.address = address or os.environ.get("RAY_ADDRESS") or "local"
        self._joined = self._ours = False
        self._tenant: OnRay | None = None
        self._turn = asyncio.Lock()
        # Linux ends what a thread started together with that thread: Ray's processes are started by one that stays.
        self._starter = ThreadPoolExecutor(1, "ray")

    async def join(self, local: OnRay | None) -> None:
        """Be part of the cluster, which one `local` model after the other has, each while it is asked.

        Raises UserError where there is none.
        """
        async with self._turn:
            if not self._joined:
                await asyncio.get_running_loop().run_in_executor(self._starter, self._start)
                self._joined = True
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
        self._joined = self._ours = False
        self._starter.shutdown()

    def _start(self) -> None:
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # or lost workers would be told of by Ray, too
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would send statistics home
        import ray

        if ray.is_initialized():  # the caller's own, in a notebook say
            return
        if self.address not in ("local", "auto"):
            self._check_answers()
        own = {"include_dashboard": False} if self.address == "local" else {}
        try:
            with silent_stderr():
                ray.init(address=self.address, log_to_driver=False, logging_level="ERROR", **own)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise self._missing(" ".join(str(error).split())[:200]) from error
        self._ours = True

    def _check_answers(self) -> None:
        """Raise UserError where no cluster answers at HOST:PORT within seconds, or none that lets this process in."""
        host, _, port = self.address.rpartition(":")
        if not host or not port.isdigit() or "/" in host:
            raise UserError(
                f"--ray-address (or RAY_ADDRESS) {self.address}: write it as HOST:PORT of the head, or auto"
            )
        health_check = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", self.address]
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECTS).close()
            done = subprocess.run(health_check, capture_output=True, timeout=_ANSWERS, check=False)
        except (OSError, OverflowError, subprocess.TimeoutExpired) as error:
            raise self._missing(getattr(error, "strerror", None) or "no answer") from error
        if done.returncode and b"InvalidAuthToken" in done.stderr:  # Ray sends its token only where it is told to
            raise UserError(
                f"--engine ray: the cluster at {self.address} asks for its token; export RAY_AUTH_MODE=token, with the "
                "token in RAY_AUTH_TOKEN or ~/.ray/auth_token"
            )
        if done.returncode:
            raise self._missing("what answers there is no cluster of this version of Ray")

    def _missing(self, why: str) -> UserError:
        return UserError(
            f"--engine ray: no cluster at {self.address}: {why}; start one with `ray start --head`, check --ray-address, or "
            "leave it out for one of its own"
        )


@dataclass(frozen=True)
class Opening:
    """All it takes to open a provider on another machine: see `open_model`. It may hold keys and logins."""

    spec: str
    arguments: Mapping[str, str] = field(repr=False)
    base_url: str | None = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    identity: Identity | None = None
    version: str = __version__

    @classmethod
    def here(
        cls, spec: str, arguments: Mapping[str, str], base_url: str | None, identity: Identity | None = None
    ) -> Opening:  # fmt: skip
        """With what of this process's environment a provider reads; workers have a working folder of their own.

        `identity` is that of the model as it is opened here.
        """
        kind, colon, name = spec.partition(":")
        if kind in _FILES and os.path.exists(name):  # noqa: PTH110  Path.exists fails on names that are too long
            spec = f"{kind}{colon}{Path(name).resolve()}"
        recorded = {"record": str(Path(arguments["record"]).absolute())} if "record" in arguments else {}
        wanted = {*_CARRIED, arguments.get("api_key_env", "")}
        environment = {name: text for name, text in os.environ.items() if name in wanted or name.startswith("OPENAI_")}
        return cls(spec, {**arguments, **recorded}, base_url, environment, identity)

    def open(self) -> ChatModel:
        """The provider, in the process of a worker. Raises UserError as `open_model` does, and where it is another one."""
        if self.version != __version__:
            versions, remedy = [self.version, __version__], "install one version on every machine"
            raise UserError(f"--engine ray: truebench-hf is {versions[0]} here and {versions[1]} on a worker; {remedy}")
        for name in [name for name in os.environ if name.startswith("OPENAI_")]:
            del os.environ[name]  # the worker's own: another server, or a key that is none of this study's business
        os.environ.update(self.environment)
        model = open_model(self.spec, self.arguments, self.base_url)
        here, worker = self.identity, model.identity
        if here and self.spec.startswith("scripted:"):  # by its whole path there
            worker = replace(worker, model=here.model)
        if here and here != worker:  # the embedded model is a package here, say, and another file of the Hub there
            versions = [" ".join(filter(None, (identity.model, identity.revision))) for identity in (here, worker)]
            remedy = f"have the same on every machine{f': {COPIES}' if of_spec(self.spec) else ''}"
            raise UserError(f"--engine ray: {self.spec} is {versions[0]} here and {versions[1]} on a worker; {remedy}")
        return model


class Holder:
    """An actor of Ray that holds a provider, and answers requests, of which `calls` are under way at a time."""

    def __init__(self, opening: Opening, calls: int) -> None:
        self._opening = opening
        self._model: ChatModel | None = None
        self._slots = asyncio.Semaphore(calls)

    async def answer(self, request: ChatRequest | DecisionRequest) -> Reply:
        """Return what the provider answers, or how it failed."""
        lost = unanswered()
        answer: Completion | Decision | Exception
        try:
            async with Slot(self._slots):  # given back while the call waits for its next try
                self._model = self._model or self._opening.open()
                ask: Any = self._model.decide if isinstance(request, DecisionRequest) else self._model.complete
                answer = await ask(request)
        except (RequestFailed, SchemaRefused, UserError) as error:
            answer = type(error)(redaction.error(str(error)))
        except Exception:
            answer = RuntimeError(redaction.error(traceback.format_exc()))
        served = getattr(self._model, "served", Served())
        counts, served.counts = served.counts, {}
        return answer, counts, lost


class OnRay:
    """A model whose provider is opened by workers, started for its first request; where one is lost another is started.

    `model` is the same one here, never asked. `concurrency` counts the calls to a server, with all workers together;
    `lost` counts requests that were lost with a worker, and repeated.
    """

    batch: int | None = 8192  # requests let in at once, of which the workers get what they may have under way

    def __init__(self, model: ChatModel, opening: Opening, cluster: Cluster) -> None:
        self.spec, self.identity, self.takes_schema = model.spec, model.identity, model.takes_schema
        self.listed_price = getattr(model, "listed_price", lambda: None)
        self.concurrency, self.lost, self.served = 1, 0, Served()
        self._model, self._opening, self._cluster = model, opening, cluster
        self._is_local = bool(model.batch)
        self._start_one: Callable[[], Any]
        self._load: Counter[Any] = Counter()  # requests by actor
        self._starting, self._under_way = asyncio.Lock(), 0
        self._alarm: asyncio.TimerHandle | None = None
        self._has_answered = False

    @property
    def cache_scope(self) -> Any:
        """That of the model as it is opened here."""
        return getattr(self._model, "cache_scope", None)

    async def complete(self, request: ChatRequest) -> Completion:
        """See `ChatModel.complete`."""
        answer: Completion = await self._ask(replace(request, example=""))
        return answer

    async def decide(self, request: DecisionRequest) -> Decision:
        """See `ChatModel.decide`."""
        answer: Decision = await self._ask(request)
        return answer

    async def close(self) -> None:
        """Ask for nothing more; the cluster is left by whoever made it."""
        self._stop()
        await self._model.close()

    async def leave(self) -> None:
        """Give the workers back once none of them is asked any more."""
        while self._under_way:
            await asyncio.sleep(0.05)
        self._stop()

    def room(self) -> tuple[int, int, float, int]:
        """Return how many workers there are, the calls of each, and its processors and GPUs. Raises UserError without room.

        A worker with a local model has GPUs of one machine to itself, or all its processors; others wait for a server.
        """
        machines = self._cluster.machines()
        arguments, calls, gpus = self._opening.arguments, self._model.batch or self.concurrency, 0
        if self._is_local and arguments.get("device") != "cpu" and any(machine.get("GPU") for machine in machines):
            gpus = int(arguments.get("tensor_parallel_size", 1))
        workers = sum(int(machine.get("GPU", 0)) // gpus for machine in machines) if gpus else len(machines)
        if not workers:
            what = f"{gpus} GPUs" if gpus else "a processor"
            where = f"of the cluster at {self._cluster.address}"
            raise UserError(f"--engine ray: no machine {where} has {what}; add one that has")
        if not self._is_local:
            # Together never more calls than are allowed.
            workers = max(range(1, min(workers, calls) + 1), key=lambda count: (calls // count * count, count))
            return workers, calls // workers, 0.0, 0
        return workers, calls, 1.0 if gpus else min(machine["CPU"] for machine in machines), gpus

    async def _ask(self, request: ChatRequest | DecisionRequest) -> Any:
        """Return the answer to one request; of a local model once it has the cluster to itself.

        Raises what the provider raises, UserError where there is no cluster or no room, and where no worker can start,
        and RequestFailed for a request that is lost again and again.
        """
        await self._cluster.join(self if self._is_local else None)
        self._under_way += 1
        try:
            await self._start()
            async with self._slots:
                answer, served, lost = await self._reply(request)
        finally:
            self._under_way -= 1
        for fact, counts in served.items():
            for value, count in counts.items():
                self.served.add(fact, value, count)
        for tokens in lost:
            note_unanswered(tokens)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _start(self) -> None:
        async with self._starting:
            if self._load:
                return
            import ray

            workers, calls, cpus, gpus = self.room()
            # More than may be under way, so that a call that waits for its next try holds up no other.
            self._slots = asyncio.Semaphore(2 * workers * calls)
            kind = ray.remote(Holder).options(
                num_cpus=cpus, num_gpus=gpus, max_concurrency=4 * calls, scheduling_strategy="SPREAD"
            )
            opening = ray.put(self._opening)  # which no log of Ray shows
            self._start_one = lambda: kind.remote(opening, calls)
            self._load = Counter({self._start_one(): 0 for _ in range(workers)})
            needs = f"each of the {workers} workers takes {cpus:g} processors and {gpus} GPUs; `ray status` shows what is free"
            told = f"--engine ray: no answer for {_SILENT:g} s; {needs}; it goes on waiting"
            self._alarm = asyncio.get_running_loop().call_later(_SILENT, warn, told)

    async def _reply(self, request: Any) -> Reply:
        import ray
        from ray.exceptions import RayError

        for number in range(_TRIES):
            actor = min(self._load, key=self._load.__getitem__)
            self._load[actor] += 1
            try:
                reply: Reply = await actor.answer.remote(request)
            except RayError as error:
                why = str(error).strip() or type(error).__name__
                self.lost += number < _TRIES - 1
                if actor in self._load:  # else another request has seen it first
                    del self._load[actor]
                    self._load[self._start_one()] = 0
                    ray.kill(actor)
            else:
                self._has_answered = True
                if self._alarm is not None:
                    self._alarm.cancel()
                return reply
            finally:
                if actor in self._load:
                    self._load[actor] -= 1
        if self._has_answered:
            raise RequestFailed(f"lost with {_TRIES} workers one after the other")
        raise UserError(
            f"--engine ray: no worker answered: {why.splitlines()[-1][:300]}; is this version of truebench-hf installed "
            "on every machine?"
        )

    def _stop(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        actors, self._load = list(self._load), Counter()
        for actor in actors:
            import ray

            ray.kill(actor)
