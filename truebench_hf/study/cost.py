"""What a study costs: the prices of its models, what its folder has spent by role, and the budget of its calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from truebench_hf.engine.money import Budget, PaidTokens, Price, Purse, dollars, find_price, read_prices
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import ChatModel
from truebench_hf.report.table import Column, Table
from truebench_hf.study.options import FolderOptions

Spent = Mapping[tuple[str, str], PaidTokens]  # by part of the study and spec
_FREE = ("hf", "vllm", "smollm2", "hf-classifier", "reward", "scripted", "loaded")  # kinds that run in this process


class Prices:
    """The prices of a study's models: the user's, those that `noted` in its folder, and those that servers list."""

    def __init__(self, options: FolderOptions, noted: Mapping[str, Any]) -> None:
        """Raises UserError on a price that is none."""
        self._own = read_prices(options.price)
        self._noted = {spec: Price(**row) for spec, row in noted.items()}
        self.listed: dict[str, Price] = {}

    def of(self, spec: str) -> Price | None:
        """Return the price of a model; None where nobody tells."""
        return find_price(spec, self._own) or self.listed.get(spec) or self._noted.get(spec)

    def look_up(self, models: Iterable[ChatModel]) -> None:
        """Ask the servers of those models for which the user gives no price."""
        for model in models:
            ask = getattr(model, "listed_price", None)
            known = model.spec in self.listed or find_price(model.spec, self._own)
            if ask and not known and (price := ask()):
                self.listed[model.spec] = price

    def to_json(self) -> dict[str, Any]:
        """The prices that servers listed, for `run.json`."""
        return {spec: asdict(price) for spec, price in {**self._noted, **self.listed}.items()}

    def cost(self, spent: Spent) -> float:
        """Return what is spent on the models whose price is known."""
        return sum(price.of(tokens) for (_, spec), tokens in spent.items() if (price := self.of(spec)))


class RunBudget:
    """The budget of a study, of which every model gets its purse."""

    def __init__(self, limit: float, prices: Prices, spent: Spent) -> None:
        """`spent` counts, whatever session it was in. Raises UserError where a paid model has no price."""
        self._budget, self._prices = Budget(limit, prices.cost(spent)), prices
        for _, spec in spent:
            self.purse(spec)

    def purse(self, spec: str) -> Purse | None:
        """Return the purse of a model; None of one that costs nothing. Raises UserError where it has no price."""
        price = self._prices.of(spec)
        if price is None and spec.partition(":")[0] not in _FREE:
            raise UserError(
                f"--budget: nobody tells the price of {spec}; add --price {spec}=IN,OUT, in dollars per million tokens"
            )
        return Purse(self._budget, price) if price else None


def cost_notes(spent: Spent, prices: Prices, count: int, verb: str = "Cost") -> list[str]:
    """Return what was (or would be) spent over `count` items, and by which prices; nothing where no price is known."""
    known = {spec: price for _, spec in spent if (price := prices.of(spec))}
    if not known:
        return []
    total = prices.cost(spent)
    unpriced = sorted({spec for _, spec in spent if spec not in known and spec.partition(":")[0] not in _FREE})
    without = f", without {', '.join(unpriced)}, whose price nobody tells" if unpriced else ""
    unknown = sum(tokens.unknown_calls for tokens in spent.values())
    least = f" at least, since {unknown:,} calls came without counts" if unknown else ""
    per = f" ({dollars(1000 * total / count)} per 1,000 items)" if count else ""
    of = "; ".join(f"{spec} {price}" for spec, price in known.items())
    return [f"{verb}: {dollars(total)}{per}{least}{without}. Dollars per million tokens: {of}."]


_COLUMNS = (
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
    return [Table("", _COLUMNS, rows, "What the calls cost", note, printed=False)]
