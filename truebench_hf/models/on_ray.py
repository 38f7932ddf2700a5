"""A model asked through Ray: to a study a chat model like any other, its provider held by actors on many machines.

A request goes there as a JSON text and its reply comes back as one. Only this side knows the ledger.
"""

from __future__ import annotations

import asyncio
import json
import os
import traceback
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from truebench_hf.engine.ray_cluster import Cluster, Seat
from truebench_hf.engine.retry import RequestFailed, ServerUnavailable, Slot
from truebench_hf.engine.rounds import Rounds
from truebench_hf.errors import UserError
from truebench_hf.models.fingerprint import COPIES, of_spec
from truebench_hf.models.protocol import (
    ChatModel,
    ChatRequest,
    Completion,
    Decision,
    DecisionRequest,
    Identity,
    NoDecisions,
    Sampling,
    SchemaRefused,
)
from truebench_hf.models.provider import Served
from truebench_hf.models.spec import open_model
from truebench_hf.text import redaction
from truebench_hf.types import Message, Usage
from truebench_hf.version import __version__

_ROUND = 8192  # requests let in at once: a round is worth the start of its workers
_RAISED: dict[str, type[Exception]] = {
    "failed": RequestFailed, "refused": SchemaRefused, "no_decisions": NoDecisions, "gone": ServerUnavailable, "user": UserError,
    "bug": RuntimeError,
}  # fmt: skip
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
        given = dict(arguments)
        if "record" in given:  # of `scripted:`
            given["record"] = str(Path(given["record"]).absolute())
        wanted = {*_CARRIED, arguments.get("api_key_env", "")}
        found = {name: text for name, text in os.environ.items() if name in wanted or name.startswith("OPENAI_")}
        return cls(spec, given, base_url, patience, found, identity)

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
        here, there = self.identity, model.identity
        # The embedded model is a package here, say, and another file of the Hub there; scripts go by their whole path there.
        if here and here not in (
            there,
            replace(there, model=here.model) if self.spec.startswith("scripted:") else there,
        ):
            told = [" ".join(filter(None, (one.model, one.revision))) for one in (here, there)]
            hint = f": {COPIES}" if of_spec(self.spec) else ""
            raise UserError(
                f"--engine ray: {self.spec} is {told[0]} here and {told[1]} on a worker; have the same on every machine{hint}"
            )
        return model


class OnRay:
    """A model whose provider is opened by the workers of a cluster; `model` is the same one here, never asked."""

    batch: int | None = _ROUND

    def __init__(self, model: ChatModel, opening: Opening, cluster: Cluster, turn: asyncio.Lock) -> None:
        """`turn` is shared by all models of a study: local ones have the cluster to themselves, one after the other."""
        self.spec, self.identity, self.takes_schema = model.spec, model.identity, model.takes_schema
        self.concurrency = 1  # requests at a time to a server
        self.served = Served()
        self._model, self._opening, self._cluster = model, opening, cluster
        self._sent: Any = None  # the opening, as the cluster keeps it
        self._rounds: Rounds[str, str] = Rounds(self._run, turn if model.batch else None)

    @property
    def lost(self) -> int:
        """How many requests were lost with a worker, and repeated."""
        return self._rounds.lost

    async def complete(self, request: ChatRequest) -> Completion:
        """See `ChatModel.complete`."""
        asked = {"messages": [[m.role, m.content] for m in request.messages], "sampling": asdict(request.sampling)}
        made = await self._ask({**asked, "sample": request.sample, "schema": request.schema})
        return Completion(made["text"], made["reasoning"], Usage(**made["usage"]), made["truncated"])

    async def decide(self, request: DecisionRequest) -> Decision:
        """See `ChatModel.decide`."""
        made = await self._ask(asdict(request))
        return Decision(tuple(made["probabilities"]), Usage(**made["usage"]))

    async def close(self) -> None:
        """Ask for nothing more; the cluster is left by whoever made it."""
        await self._rounds.close()
        await self._model.close()

    async def _ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        reply: dict[str, Any] = json.loads(await self._rounds.ask(json.dumps(asked)))
        for kind, value, count in reply.pop("served", ()):
            self.served.add(kind, value, count)
        for kind, error in _RAISED.items():
            if kind in reply:
                raise error(reply[kind])
        return reply

    def _run(self, requests: Sequence[str]) -> Iterator[tuple[int, str]]:
        self._sent = self._sent or self._cluster.put(self._opening)
        return self._cluster.run(requests, Holder, (self._sent,), self._seat())

    def _seat(self) -> Seat:
        if not self._model.batch:
            return Seat(self.concurrency)
        given = self._opening.arguments
        wants = 0 if given.get("device") == "cpu" or not self._cluster.has_gpus() else 1
        return Seat(self._model.batch, True, wants * int(given.get("tensor_parallel_size", 1)))


class Holder:
    """An actor of Ray Data that holds a provider, and answers blocks of requests."""

    def __init__(self, opening: Any, calls: int) -> None:
        """`opening` is a reference to an `Opening`; `calls` are under way here at a time."""
        self._opening = opening
        self._model: ChatModel | None = None
        self._worked: set[str] = set()  # the kinds of requests that were ever answered
        self._useless: dict[str, UserError] = {}
        self._slots = asyncio.Semaphore(calls)

    async def __call__(self, block: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """A block with a reply to each of its requests."""
        replies = await asyncio.gather(*(self._reply(json.loads(text)) for text in block["request"]))
        replies[0]["served"] = self._told()
        yield {"place": block["place"], "reply": [json.dumps(reply) for reply in replies]}

    def _told(self) -> list[tuple[str, str, int]]:
        """What answers told of who gave them, as far as it has not been passed on: kind, value, how many."""
        served = getattr(self._model, "served", None)
        if not isinstance(served, Served):
            return []
        told, served.told = served.told, {}
        return [(kind, value, count) for kind, counts in told.items() for value, count in counts.items()]

    async def _reply(self, asked: dict[str, Any]) -> dict[str, Any]:
        kind = "decision" if "questions" in asked else "text"
        try:
            async with Slot(self._slots):  # given back while the call waits for its next try
                if useless := self._useless.get(kind):
                    raise useless
                reply = await self._answer(asked)
                self._worked.add(kind)
                return reply
        except RequestFailed as error:
            return {"failed": redaction.error(str(error))}
        except SchemaRefused as error:
            return {"refused": redaction.error(str(error))}
        except UserError as error:
            if kind not in self._worked:
                self._useless[kind] = error  # weights that cannot be loaded are not tried again for every request
            kind = next(name for name in ("no_decisions", "gone", "user") if isinstance(error, _RAISED[name]))
            return {kind: redaction.error(str(error))}
        except Exception:  # a bug: its traceback is shown where the study runs
            return {"bug": redaction.error(traceback.format_exc())}

    async def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self._model is None:
            import ray

            opening: Opening = ray.get(self._opening)
            self._model = opening.open()
        if "questions" in asked:
            made: Any = await self._model.decide(
                DecisionRequest(asked["state"], tuple(asked["questions"]), asked["sample"])
            )
        else:
            messages = tuple(Message(role, content) for role, content in asked["messages"])
            sampling = Sampling(**asked["sampling"])
            made = await self._model.complete(ChatRequest(messages, sampling, asked["sample"], asked["schema"]))
        return redaction.masked(asdict(made))  # type: ignore[no-any-return]
