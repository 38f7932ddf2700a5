"""What a study would take, and what it cost: its own work, run against models that answer at once at the usual length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from truebench_hf.engine.money import Prices, Spent, dollars, is_free
from truebench_hf.hashing import canonical, digest
from truebench_hf.models.protocol import ChatModel, ChatRequest, Completion, Decision, DecisionRequest, Identity
from truebench_hf.report.table import Column, Table
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


def tokens(text: str) -> int:
    """About how many tokens a text has."""
    return len(text.encode("utf-8", "surrogatepass")) // _BYTES + 1


_COLUMNS = (
    Column("part", "part"), Column("model", "model"), Column("calls", "calls", "count"),
    Column("input_tokens", "input tokens", "count"), Column("output_tokens", "output tokens", "count"),
)  # fmt: skip


def estimated(spent: Spent, count: int, notes: Sequence[str]) -> Outcome[Any]:
    """What is shown of an estimate over `count` items: a line per part and model."""
    usage = {part: Usage(used.input, used.output, calls=used.calls) for (part, _), used in spent.items()}
    rows = [{"part": part, "model": model, **asdict(usage[part])} for part, model in spent]
    rows.append({"part": "all", "model": "", **asdict(sum(usage.values(), Usage()))})
    note = f"Answers are reckoned as long as they usually are, or at {ANSWER} tokens; thinking comes on top."
    table = Table("", _COLUMNS, rows, f"What {how_many(count, 'item')} would take", note)
    return Outcome(usage, title="Estimate", tables=[table], notes=notes)


def cost_notes(spent: Spent, prices: Prices, count: int, verb: str = "Cost") -> list[str]:
    """Return what was (or would be) spent over `count` items, and by which prices; nothing where no price is known."""
    known = {spec: price for _, spec in spent if (price := prices.of(spec))}
    if not known:
        return []
    total = prices.cost(spent)
    unpriced = sorted({spec for _, spec in spent if spec not in known and not is_free(spec)})
    without = f", without {', '.join(unpriced)}, whose price nobody tells" if unpriced else ""
    unknown = sum(tokens.unknown_calls for tokens in spent.values())
    least = f" at least, since {unknown:,} calls came without counts" if unknown else ""
    per = f" ({dollars(1000 * total / count)} per 1,000 items)" if count else ""
    of = "; ".join(f"{spec} {price}" for spec, price in known.items())
    return [f"{verb}: {dollars(total)}{per}{least}{without}. Dollars per million tokens: {of}."]


_COST_COLUMNS = (
    Column("part", "Part"), Column("model", "Model"), Column("calls", "calls", "count"),
    Column("input", "input tokens", "count"), Column("cached", "of them cached", "count"),
    Column("output", "output tokens", "count"), Column("cost", "cost"),
)  # fmt: skip


def cost_table(spent: Spent, prices: Prices) -> list[Table]:
    """Return a row per part of the study with what it cost; no table where no price is known."""
    if not any(prices.of(spec) for _, spec in spent):
        return []
    rows = []
    for (part, spec), tokens in spent.items():
        price = prices.of(spec)
        rows.append(
            {"part": part, "model": spec, **tokens._asdict(), "cost": dollars(price.of(tokens)) if price else "-"}
        )
    note = "Calls that were asked for by this folder, in all sessions; what came from the cache of calls costs nothing."
    return [Table("", _COST_COLUMNS, rows, "What the calls cost", note, printed=False)]
