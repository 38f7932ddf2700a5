"""What a study would take: its own work, run against models that answer at once with an answer of the usual length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from truebench_hf.engine.ledger import Ledger
from truebench_hf.engine.money import PaidTokens
from truebench_hf.hashing import canonical, digest
from truebench_hf.models.protocol import (
    ChatModel,
    ChatRequest,
    Completion,
    Decision,
    DecisionRequest,
    Identity,
)  # fmt: skip
from truebench_hf.report.sections import Grid
from truebench_hf.study.outcome import Outcome
from truebench_hf.text.terminal import how_many
from truebench_hf.types import Usage

ANSWER = 400  # tokens of an answer of which nothing is known
_BYTES = 4  # of UTF-8 a token, in the languages and tokenizers of today: within a third or so
_FILLER = "This is what an answer could say. " * (ANSWER * _BYTES // 34)
_DOUBT = 0.45  # P(yes) of decisions: not met, and in doubt, so that what is asked then is counted: an upper bound


class EstimatedModel:
    """A model in name and identity that answers with the `example` of a request, or with some 400 tokens.

    These differ by model and draw: judges are asked about every response, and equal requests would count once.
    """

    def __init__(self, model: ChatModel) -> None:
        self.spec: str = model.spec
        self.identity: Identity = model.identity
        self.batch: int | None = model.batch
        self.takes_schema: bool = model.takes_schema
        self.cache_scope: str | None = getattr(model, "cache_scope", None)

    async def complete(self, request: ChatRequest) -> Completion:
        """See `ChatModel.complete`."""
        own = digest(canonical([asdict(self.identity), request.sample]))[:12]
        text = request.example or own + _FILLER[len(own) :]
        read = sum(map(tokens, (message.content for message in request.messages)))
        return Completion(text, usage=Usage(read, min(tokens(text), request.sampling.max_tokens), calls=1))

    async def decide(self, request: DecisionRequest) -> Decision:
        """See `ChatModel.decide`."""
        read = sum(map(tokens, (request.state, *request.questions)))
        return Decision((_DOUBT,) * len(request.questions), Usage(read, calls=1))

    async def close(self) -> None:
        """Nothing is held."""


class EstimatedLedger:
    """What the ledger of a folder holds, if there is one, and in memory what would be asked for beside it."""

    def __init__(self, file: Path) -> None:
        self._paid = Ledger(file) if file.exists() and file.stat().st_size else None
        self._new: dict[str, dict[str, Any]] = {}
        self._recalled: list[float] = []  # when what comes from the cache was asked for
        self.spent: dict[str, Usage] = {}  # by part

    def get(self, key: str) -> dict[str, Any] | None:
        """See `Ledger.get`."""
        return self._new.get(key) or (self._paid.get(key) if self._paid else None)

    def put(
        self, key: str, role: str, request: str, result: dict[str, Any], usage: Usage, recalled: float | None = None,
        model: str = "",
    ) -> dict[str, Any]:  # fmt: skip
        """See `Ledger.put`; nothing is written."""
        self._new[key] = result
        if recalled is None:
            self.spent[role] = self.spent.get(role, Usage()) + usage
        else:
            self._recalled.append(recalled)
        return result

    def put_unanswered(self, role: str, model: str, tokens: PaidTokens) -> None:
        """Nothing is billed."""

    def recalled(self) -> tuple[int, float, float]:
        """See `Ledger.recalled`."""
        dates = self._recalled
        return len(dates), min(dates, default=0.0), max(dates, default=0.0)

    def used(self) -> bool:
        """See `Ledger.used`."""
        return self._paid is not None and self._paid.used()

    def without_schema(self, role: str) -> bool:
        """See `Ledger.without_schema`."""
        return self._paid is not None and self._paid.without_schema(role)

    def close(self) -> None:
        """Give the file back."""
        if self._paid:
            self._paid.close()


class CacheToRead:
    """A cache across folders from which an estimate takes answers, and which gets none of its own."""

    def __init__(self, cache: Ledger) -> None:
        self.get_dated = cache.get_dated

    def put(
        self, key: str, role: str, request: str, result: dict[str, Any], usage: Usage, *, model: str = ""
    ) -> dict[str, Any]:
        """Keep nothing."""
        return result


def tokens(text: str) -> int:
    """About how many tokens a text has."""
    return len(text.encode("utf-8", "surrogatepass")) // _BYTES + 1


def estimated(spent: Mapping[str, Usage], models: Mapping[str, str], count: int, notes: Sequence[str]) -> Outcome[Any]:
    """What is shown of an estimate over `count` items: a line per part, `models` giving the spec of each."""
    rows = [(part, models.get(part, ""), u.calls, u.input_tokens, u.output_tokens) for part, u in spent.items()]
    total = sum(spent.values(), Usage())
    rows.append(("all", "", total.calls, total.input_tokens, total.output_tokens))
    cells = tuple((part, model, *(f"{number:,}" for number in numbers)) for part, model, *numbers in rows)
    note = f"Answers are reckoned as long as they usually are, or at {ANSWER} tokens; thinking comes on top."
    grid = Grid(
        f"What {how_many(count, 'item')} would take",
        ("part", "model", "calls", "input tokens", "output tokens"),
        cells,
        note=note,
    )
    return Outcome(dict(spent), {}, "Estimate", [grid], notes=notes)
