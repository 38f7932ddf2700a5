"""A model as a run uses it: looked up in the ledger first, limited in concurrency, committed before use."""

from __future__ import annotations

import asyncio
import copy
from contextvars import ContextVar
from dataclasses import asdict
from typing import Any

from truebench_hf.engine.ledger import Ledger, canonical, digest
from truebench_hf.models.protocol import ChatModel, ChatRequest, Completion, Decision, DecisionRequest
from truebench_hf.types import Usage

_METER: ContextVar[dict[str, Usage] | None] = ContextVar("meter", default=None)


def metered() -> dict[str, Usage]:
    """Start counting in the current task: the dict fills with the usage per role of all it and its children ask."""
    spent: dict[str, Usage] = {}
    _METER.set(spent)
    return spent


class Caller:
    """One role (`model`, `judge`, `cascade`) of a run: the model, its ledger and its concurrency limit."""

    def __init__(self, model: ChatModel, ledger: Ledger, role: str, concurrency: int) -> None:
        self.model = model
        self._ledger = ledger
        self._role = role
        self._identity = asdict(model.identity)
        # A batch engine schedules by itself and gains from seeing more requests than a server should get.
        self.concurrency = max(concurrency, model.batch or 0)
        self._slots = asyncio.Semaphore(self.concurrency)

    def in_role(self, role: str) -> Caller:
        """The same model, ledger and limit, its calls counted under another role."""
        other = copy.copy(self)
        other._role = role
        return other

    async def complete(self, request: ChatRequest) -> Completion:
        """The completion of `request`, from the ledger or from the model. Raises what the model raises."""
        body = canonical({"by": self._identity, "ask": _plain(request)})
        key = digest(body)
        if (known := self._ledger.get(key)) is None:
            async with self._slots:
                made = await self.model.complete(request)
            result = {f: getattr(made, f) for f in ("text", "reasoning", "truncated")} | {"usage": asdict(made.usage)}
            self._ledger.put(key, self._role, body, result, made.usage)
            # What the ledger holds counts: of two equal requests in flight, both get the answer committed first.
            known = self._ledger.get(key) or result
        completion = Completion(known["text"], known["reasoning"], Usage(**known["usage"]), known["truncated"])
        self._count(completion.usage)
        return completion

    async def decide(self, request: DecisionRequest) -> Decision:
        """The probabilities for `request`, from the ledger or from the model. Raises what the model raises."""
        body = canonical({"by": self._identity, "decide": asdict(request)})
        key = digest(body)
        if (known := self._ledger.get(key)) is None:
            async with self._slots:
                made = await self.model.decide(request)
            self._ledger.put(key, self._role, body, asdict(made), made.usage)
            known = self._ledger.get(key) or asdict(made)
        decision = Decision(tuple(known["probabilities"]), Usage(**known["usage"]))
        self._count(decision.usage)
        return decision

    def _count(self, usage: Usage) -> None:
        if (spent := _METER.get()) is not None:
            spent[self._role] = spent.get(self._role, Usage()) + usage


def _plain(request: ChatRequest) -> dict[str, Any]:
    # By hand: dataclasses.asdict copies deeply, which at thousands of calls costs seconds.
    return {
        "messages": [[message.role, message.content] for message in request.messages],
        "sampling": asdict(request.sampling),
        "sample": request.sample,
        "schema": request.schema,
    }
