"""A model asked through Ray: to a study a chat model like any other, its provider held by actors on many machines.

Only this side knows the ledger. A call that is lost with its worker is repeated with a new one.
"""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from truebench_hf.engine.ray_cluster import Cluster, Seat, Workers
from truebench_hf.engine.retry import RequestFailed, ServerUnavailable, Slot
from truebench_hf.errors import UserError
from truebench_hf.models.loading import COPIES, of_spec
from truebench_hf.models.protocol import (
    ChatModel,
    ChatRequest,
    Completion,
    Decision,
    DecisionRequest,
    Identity,
    NoDecisions,
    SchemaRefused,
)
from truebench_hf.models.providers import Served
from truebench_hf.models.spec import open_model
from truebench_hf.text import redaction
from truebench_hf.version import __version__

_AT_ONCE = 8192  # requests let in at once, of which the workers get what they may have under way
_RAISED: dict[str, type[Exception]] = {
    "failed": RequestFailed, "refused": SchemaRefused, "no_decisions": NoDecisions, "gone": ServerUnavailable, "user": UserError,
    "bug": RuntimeError,
}  # fmt: skip
Reply = tuple[str, Any, list[tuple[str, str, int]]]
_CARRIED = ("HF_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE")  # beside all of OPENAI_*
_FILES = ("hf", "hf-classifier", "reward", "vllm", "scripted")  # specs that may name one


@dataclass(frozen=True)
class Opening:
    """All it takes to open a provider on another machine: see `open_model`. It may hold keys and logins."""

    spec: str
    arguments: Mapping[str, str] = field(repr=False)
    base_url: str | None = field(repr=False)
    patience: float
    environment: Mapping[str, str] = field(repr=False)
    identity: Identity | None = None
    version: str = __version__

    @classmethod
    def here(
        cls, spec: str, arguments: Mapping[str, str], base_url: str | None, patience: float,
        identity: Identity | None = None,
    ) -> Opening:  # fmt: skip
        """With what of this process's environment a provider reads; workers have a working folder of their own.

        `identity` is that of the model as it is opened here.
        """
        kind, colon, name = spec.partition(":")
        if kind in _FILES and os.path.exists(name):  # noqa: PTH110  Path.exists fails on names that are too long
            spec = f"{kind}{colon}{Path(name).resolve()}"
        arguments_here = dict(arguments)
        if "record" in arguments_here:  # of `scripted:`
            arguments_here["record"] = str(Path(arguments_here["record"]).absolute())
        wanted = {*_CARRIED, arguments.get("api_key_env", "")}
        environment = {name: text for name, text in os.environ.items() if name in wanted or name.startswith("OPENAI_")}
        return cls(spec, arguments_here, base_url, patience, environment, identity)

    def open(self) -> ChatModel:
        """The provider, in the process of a worker. Raises UserError as `open_model` does, and where it is another one."""
        if self.version != __version__:
            raise UserError(
                f"--engine ray: truebench-hf is {self.version} here and {__version__} on a worker; install one version on "
                "every machine"
            )
        for name in [name for name in os.environ if name.startswith("OPENAI_")]:
            del os.environ[name]  # the worker's own: another server, or a key that is none of this study's business
        os.environ.update(self.environment)
        model = open_model(self.spec, self.arguments, self.base_url, self.patience)
        here, worker = self.identity, model.identity
        # The embedded model is a package here, say, and another file of the Hub there; scripts go by their whole path there.
        if here and here not in (
            worker,
            replace(worker, model=here.model) if self.spec.startswith("scripted:") else worker,
        ):
            versions = [" ".join(filter(None, (identity.model, identity.revision))) for identity in (here, worker)]
            hint = f": {COPIES}" if of_spec(self.spec) else ""
            raise UserError(
                f"--engine ray: {self.spec} is {versions[0]} here and {versions[1]} on a worker; have the same on every machine{hint}"
            )
        return model


class OnRay:
    """A model whose provider is opened by the workers of a cluster; `model` is the same one here, never asked."""

    batch: int | None = _AT_ONCE

    def __init__(self, model: ChatModel, opening: Opening, cluster: Cluster) -> None:
        self.spec, self.identity, self.takes_schema = model.spec, model.identity, model.takes_schema
        self.concurrency = 1  # requests at a time to a server
        self.served = Served()
        self._model, self._opening, self._cluster = model, opening, cluster
        self._workers = Workers(cluster, Holder, opening, self.seat)

    @property
    def cache_scope(self) -> str | None:
        """That of the model as it is opened here."""
        scope: str | None = getattr(self._model, "cache_scope", None)
        return scope

    @property
    def lost(self) -> int:
        """How many requests were lost with a worker, and repeated."""
        return self._workers.lost

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
        self._workers.stop()
        await self._model.close()

    def seat(self) -> Seat:
        """Return what the model takes of the cluster."""
        if not self._model.batch:
            return Seat(self.concurrency)
        arguments = self._opening.arguments
        wants = 0 if arguments.get("device") == "cpu" or not self._cluster.has_gpus() else 1
        return Seat(self._model.batch, True, wants * int(arguments.get("tensor_parallel_size", 1)))

    async def _ask(self, request: ChatRequest | DecisionRequest) -> Any:
        kind, answer, served = await self._workers.ask(request, local=bool(self._model.batch))
        for fact, value, count in served:
            self.served.add(fact, value, count)
        if kind in _RAISED:
            raise _RAISED[kind](answer)
        return answer


class Holder:
    """An actor of Ray that holds a provider, and answers requests."""

    def __init__(self, opening: Opening, calls: int) -> None:
        """`calls` are under way here at a time."""
        self._opening = opening
        self._model: ChatModel | None = None
        self._worked: set[type] = set()  # the kinds of requests that were ever answered
        self._useless: dict[type, UserError] = {}
        self._slots = asyncio.Semaphore(calls)

    async def answer(self, request: ChatRequest | DecisionRequest) -> Reply:
        """Return ("answer", what the provider answers) or (the kind of failure, its text), and what it told of itself."""
        kind = type(request)
        try:
            async with Slot(self._slots):  # given back while the call waits for its next try
                if useless := self._useless.get(kind):
                    raise useless
                self._model = self._model or self._opening.open()
                ask: Any = self._model.decide if isinstance(request, DecisionRequest) else self._model.complete
                answer = redaction.masked(await ask(request))
                self._worked.add(kind)
                return "answer", answer, self._drain_served()
        except UserError as error:
            if kind not in self._worked:
                self._useless[kind] = error  # weights that cannot be loaded are not tried again for every request
            return self._failure(error, str(error))
        except Exception as error:
            # Of a bug the traceback is shown where the study runs.
            expected = isinstance(error, RequestFailed | SchemaRefused)
            return self._failure(error, str(error) if expected else traceback.format_exc())

    def _failure(self, error: Exception, text: str) -> Reply:
        kind = next((name for name, raised in _RAISED.items() if isinstance(error, raised)), "bug")
        return kind, redaction.error(text), self._drain_served()

    def _drain_served(self) -> list[tuple[str, str, int]]:
        """What answers told of who gave them, as far as it has not been passed on: kind, value, how many."""
        served = getattr(self._model, "served", None)
        if not isinstance(served, Served):
            return []
        counters, served.told = served.told, {}
        return [(kind, value, count) for kind, counts in counters.items() for value, count in counts.items()]
