"""A model as a run uses it: looked up in the ledger first, limited in concurrency, committed before use."""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields
from typing import Any
from weakref import WeakValueDictionary

from truebench_hf.engine.ledger import Calls
from truebench_hf.engine.money import Budget, PaidTokens, Price, unanswered
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.hashing import canonical, digest
from truebench_hf.models.protocol import ChatModel, ChatRequest, Completion, Decision, DecisionRequest
from truebench_hf.text import redaction
from truebench_hf.types import Usage

_Ask = Callable[[], Awaitable[tuple[dict[str, Any], Usage]]]
_METER: ContextVar[dict[str, Usage] | None] = ContextVar("meter", default=None)


def metered() -> dict[str, Usage]:
    """Start counting in the current task: the dict fills with the usage per role of all it and its children ask."""
    spent: dict[str, Usage] = {}
    _METER.set(spent)
    return spent


@dataclass
class ReadingCost:
    """Counts over the labels that one part of a study asked a model for.

    `again` labels were read only after the model was told what was wrong with an answer, `unread` ones in none of its
    answers, `unsigned` ones in an object without the id that was asked for. Of yes/no questions `yes` and `other` count
    the labels, and `open` those that are unread. `thinking` counts answers by (with a JSON schema, with reasoning).

    All follow from the answers alone: what the ledger replays is counted as it was when it was asked.
    """

    labels: int = 0
    again: int = 0
    unread: int = 0
    unsigned: int = 0
    yes: int = 0
    other: int = 0
    open: int = 0
    thinking: Counter[tuple[bool, bool]] = field(default_factory=Counter)

    def add(
        self, answer: Any, offered_labels: Mapping[str, Iterable[object]], outcomes: Sequence[bool | None] | None = None
    ) -> None:
        """Count what a question came to, which offered these labels under each key. What failed was never read.

        `answer` is what the judge stated in the end (`judging.signed.SignedAnswer`), `outcomes` are its yes/no
        questions, None where unread; by default the keys on which yes is offered.
        """
        if answer.failed:
            return
        read = len(answer.labels)
        self.labels += len(offered_labels)
        self.again += read if answer.asks > 1 else 0
        self.unread += len(offered_labels) - read
        self.unsigned += 0 if answer.signed else read
        if outcomes is None:
            keys = [key for key, offered in offered_labels.items() if any(map(_is_yes, offered))]
            outcomes = [_is_yes(answer.labels[key]) if key in answer.labels else None for key in keys]
        self.yes += outcomes.count(True)
        self.other += outcomes.count(False)
        self.open += outcomes.count(None)

    @property
    def share_of_yes(self) -> tuple[float, float] | None:
        """The share of yes had all unread labels been no, and had they been yes; None without yes/no questions."""
        total = self.yes + self.other + self.open
        return (self.yes / total, (self.yes + self.open) / total) if total else None

    def __add__(self, more: ReadingCost) -> ReadingCost:
        return ReadingCost(*(getattr(self, part.name) + getattr(more, part.name) for part in fields(self)))


class Caller:
    """One role (`model`, `judge`, `cascade`) of a run: the model, its ledger and its concurrency limit.

    With a `cache` what another folder has asked is taken from there: the same of a model with the same `cache_scope`.
    One that is not to `ask` raises RequestFailed for all else. Neither the ledger nor what comes back, errors included, holds a secret that this process knows.
    """

    def __init__(
        self, model: ChatModel, ledger: Calls, role: str, concurrency: int, cache: Calls | None = None,
        budget: Budget | None = None, ask: bool = True,
    ) -> None:  # fmt: skip
        self.model, self._may_ask = model, ask
        self._ledger = ledger
        self._cache = cache
        self._limits = (budget, price) if budget and (price := budget.price(model.spec)) else None
        self._role = role
        self._identity = asdict(model.identity)
        self.parts = {role: model.spec}  # whose calls count under which name, with those of `in_role`
        self.costs = {role: ReadingCost()}  # likewise
        # A batch engine schedules by itself and gains from seeing more requests than a server should get.
        self.concurrency = max(concurrency, model.batch or 0)
        self._slots = asyncio.Semaphore(self.concurrency)
        self.resumed = ledger.used()  # whether there may be answers of an earlier session
        self._last: tuple[ChatRequest, tuple[str, str]] | None = None
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def in_role(self, role: str) -> Caller:
        """The same model, ledger and limit, its calls counted under another role."""
        other = copy.copy(self)
        other._role = role
        self.parts[role] = self.model.spec
        self.costs.setdefault(role, ReadingCost())
        return other

    @property
    def reading(self) -> ReadingCost:
        """What reading the labels of this role costs; whoever reads them counts them here."""
        return self.costs[self._role]

    def knows(self, request: ChatRequest) -> bool:
        """Whether the completion of `request` is in the ledger."""
        return self._ledger.get(self._chat_key(request)[1]) is not None

    async def complete(self, request: ChatRequest) -> Completion:
        """The completion of `request`, from the ledger or from the model. Raises what the model raises."""

        async def ask() -> tuple[dict[str, Any], Usage]:
            completion = await self.model.complete(request)
            kept = {name: getattr(completion, name) for name in ("text", "reasoning", "truncated")}
            extra = {name: value for name in ("cached_tokens", "served") if (value := getattr(completion, name))}
            return kept | extra | {"usage": asdict(completion.usage)}, completion.usage

        limit = int(self._identity["options"].get("max_tokens") or request.sampling.max_tokens)
        known = await self._once(*self._chat_key(request), ask, limit)
        usage = Usage(**known["usage"])
        thought = bool(known["reasoning"] or usage.reasoning_tokens)
        self.reading.thinking[request.schema is not None, thought] += 1
        return Completion(known["text"], known["reasoning"], usage, known["truncated"])

    async def decide(self, request: DecisionRequest) -> Decision:
        """The probabilities for `request`, from the ledger or from the model. Raises what the model raises."""

        async def ask() -> tuple[dict[str, Any], Usage]:
            decision = await self.model.decide(request)
            return asdict(decision), decision.usage

        body = redaction.known(canonical({"by": self._identity, "decide": asdict(request)}))
        known = await self._once(body, digest(body), ask)
        return Decision(tuple(known["probabilities"]), Usage(**known["usage"]))

    def _chat_key(self, request: ChatRequest) -> tuple[str, str]:
        """What is asked as text, and its key in the ledger."""
        if self._last is None or self._last[0] is not request:  # whoever looks it up asks it next
            sampling = request.sampling
            # By hand: dataclasses.asdict copies deeply, which at thousands of calls costs seconds.
            content = {
                "messages": [[message.role, message.content] for message in request.messages],
                "sampling": {  # temperatures 0 and 0.0 are equal, and get one key
                    "temperature": float(sampling.temperature), "top_p": float(sampling.top_p),
                    "repetition_penalty": float(sampling.repetition_penalty), "max_tokens": sampling.max_tokens,
                },
                "sample": request.sample,
                "schema": request.schema,
            }  # fmt: skip
            body = redaction.known(canonical({"by": self._identity, "ask": content}))
            self._last = request, (body, digest(body))
        return self._last[1]

    async def _once(self, body: str, key: str, ask: _Ask, limit: int = 0) -> dict[str, Any]:
        """The ledger's result under the key of what is asked (`body`); asked for and committed where it has none."""
        if (known := self._ledger.get(key)) is None:
            # Of equal requests in flight one is sent and the others wait for it, so that nothing is paid for twice.
            lock = self._locks.setdefault(key, asyncio.Lock())  # the dictionary alone would not keep it
            waited = lock.locked()
            async with lock:
                if waited:
                    known = self._ledger.get(key)
                if known is None:
                    place = None if self._cache is None else self._place(key)
                    if self._cache and place and (hit := self._cache.get_dated(place)):
                        answer, asked_at = hit  # committed as one that was not asked for now
                        usage, spec = Usage(**answer["usage"]), self.model.spec
                        known = self._ledger.put(key, self._role, body, answer, usage, asked_at, spec)
                    else:
                        known = await self._paid(key, body, ask, limit)
        if (spent := _METER.get()) is not None:
            spent[self._role] = spent.get(self._role, Usage()) + Usage(**known["usage"])
        return known

    async def _paid(self, key: str, body: str, ask: _Ask, limit: int) -> dict[str, Any]:
        """The model's answer of `limit` tokens at most, committed to the ledger first, and to the cache."""
        if not self._may_ask:
            raise RequestFailed("offline: the cache has no answer to this")
        lost = unanswered()
        try:
            async with self._slots:
                result, usage = await (_within(*self._limits, body, ask, limit, lost) if self._limits else ask())
        except Exception as failed:
            cause: BaseException | None = failed
            while cause is not None:  # masked, too: a traceback shows it
                cause.args = tuple(redaction.error(part) if isinstance(part, str) else part for part in cause.args)
                cause = cause.__cause__ or cause.__context__
            raise
        finally:
            for tokens in lost:
                self._ledger.put_unanswered(self._role, self.model.spec, tokens)
        # As the ledger gives it back, so that a resumed run goes on with the same.
        answer = self._ledger.put(key, self._role, body, redaction.masked(result), usage, model=self.model.spec)
        if self._cache is not None and (place := self._place(key)) is not None:
            self._cache.put(place, self.model.spec, "", answer, usage, model=self.model.spec)
        return answer

    def _place(self, key: str) -> str | None:
        """The key in the cache: the ledger's, and where the model is; None where nobody can tell what it is."""
        # Asked each time: the weights of the Hub are known once they are loaded.
        scope = getattr(self.model, "cache_scope", None)
        return None if scope is None else digest(f"{scope} {key}")


async def _within(
    budget: Budget, price: Price, body: str, ask: _Ask, limit: int, lost: list[PaidTokens]
) -> tuple[dict[str, Any], Usage]:
    """What `ask` gives, once the budget has room for it; `lost` are paid for too. Raises BudgetReached."""
    most = price.of(PaidTokens(len(body.encode("utf-8", "surrogatepass")), limit))  # no token is less than a byte
    await budget.hold(most)
    cost = 0.0
    try:
        result, usage = await ask()
        tokens = PaidTokens(usage.input_tokens, usage.output_tokens, result.get("cached_tokens", 0))
        cost = most if usage.unknown_calls else price.of(tokens)
        return result, usage
    finally:
        budget.settle(most, cost + sum(map(price.of, lost)))


def _is_yes(label: object) -> bool:
    return label is True or label == "yes"  # a rating of 1 equals True
