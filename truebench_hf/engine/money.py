"""What calls cost: prices per million tokens, as a server lists them or a user gives them, and a budget for a run."""

from __future__ import annotations

import asyncio
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from math import inf, isfinite
from pathlib import Path
from typing import Any, NamedTuple

from truebench_hf.errors import UserError

FILE = "prices.toml"  # of the user, in the working directory
_MILLION = 1_000_000


class PaidTokens(NamedTuple):
    """Tokens that were paid for; `cached` of the `input` ones the server took from its cache of prefixes."""

    input: int
    output: int
    cached: int = 0
    calls: int = 0
    unknown_calls: int = 0


Spent = Mapping[tuple[str, str], PaidTokens]  # by part of the study and spec
_UNANSWERED: ContextVar[list[PaidTokens] | None] = ContextVar("unanswered", default=None)


def unanswered() -> list[PaidTokens]:
    """Start noting in the current task: the list fills with the tokens of tries that a server billed and did not answer."""
    tokens: list[PaidTokens] = []
    _UNANSWERED.set(tokens)
    return tokens


def note_unanswered(tokens: PaidTokens | None) -> None:
    """Note what a try is billed for of which no answer came; None: nothing."""
    if tokens and (noted := _UNANSWERED.get()) is not None:
        noted.append(tokens)


@dataclass(frozen=True)
class Price:
    """Dollars per million tokens, the day they are of, and who says so."""

    input: float
    output: float
    cached: float
    day: str
    source: str

    def of(self, tokens: PaidTokens) -> float:
        """Return what tokens cost."""
        fresh = tokens.input - tokens.cached
        return (fresh * self.input + tokens.cached * self.cached + tokens.output * self.output) / _MILLION

    def __str__(self) -> str:
        cached = "" if self.cached == self.input else f", {self.cached:g} cached"
        return f"{self.input:g} in{cached}, {self.output:g} out ({self.source}, {self.day})"


def dollars(amount: float) -> str:
    """Return an amount as people read it: `$12.30`, `$0.0042`."""
    return f"${amount:,.2f}" if amount >= 1 or not amount else f"${amount:.4f}"


class Prices:
    """The prices of models: the user's (`MODEL=IN,OUT[,CACHED]` texts over those of a file), and those servers list."""

    def __init__(
        self, texts: Sequence[str] = (), noted: Mapping[str, Any] | None = None, file: Path = Path(FILE)
    ) -> None:
        """`noted` are those that servers listed in earlier sessions, as JSON. Raises UserError on what is no price."""
        self._own = {**_read_file(file), **dict(map(_read_text, texts))}
        self._noted = {spec: Price(**row) for spec, row in (noted or {}).items()}
        self._listed: dict[str, Price] = {}

    def of(self, spec: str) -> Price | None:
        """Return the price of a model by its spec, or by its name without its kind; None where nobody tells."""
        return self._own_of(spec) or self._listed.get(spec) or self._noted.get(spec)

    def look_up(self, models: Iterable[Any]) -> None:
        """Ask the servers of those models for which the user gives no price."""
        for model in models:
            ask = getattr(model, "listed_price", None)
            known = model.spec in self._listed or self._own_of(model.spec)
            if ask and not known and (price := ask()):
                self._listed[model.spec] = price

    def to_json(self) -> dict[str, Any]:
        """The prices that servers listed, for `run.json`."""
        return {spec: asdict(price) for spec, price in {**self._noted, **self._listed}.items()}

    def cost(self, spent: Spent) -> float:
        """Return what is spent on the models whose price is known."""
        return sum(price.of(tokens) for (_, spec), tokens in spent.items() if (price := self.of(spec)))

    def _own_of(self, spec: str) -> Price | None:
        return self._own.get(spec) or self._own.get(spec.partition(":")[2])


def _read_file(file: Path) -> dict[str, Price]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be read: {error}") from error
    written = time.gmtime(file.stat().st_mtime if content else None)
    day = str(content.pop("date", "")) or time.strftime("%Y-%m-%d", written)
    for model, row in content.items():
        if not isinstance(row, dict) or set(row) - {"input", "output", "cached"} or not {"input", "output"} <= set(row):
            raise UserError(f'{file}, {model}: write ["{model}"] with input, output and, if need be, cached')
    return {model: _price(f"{file}, {model}", **row, day=day, source=str(file)) for model, row in content.items()}


def _read_text(text: str) -> tuple[str, Price]:
    model, _, numbers = text.rpartition("=")
    try:
        amounts = [float(number) for number in numbers.split(",")]
    except ValueError:
        amounts = []
    if not model or len(amounts) not in (2, 3):
        raise UserError(f"--price {text}: write it as MODEL=IN,OUT or MODEL=IN,OUT,CACHED, dollars per million tokens")
    today = time.strftime("%Y-%m-%d", time.gmtime())
    return model.strip(), _price(f"--price {text}", *amounts, day=today, source="--price")


def listed_price(answer: Any, name: str, day: str = "") -> Price | None:
    """Return the price of a model in what a server answers at `/models`; None where it does not tell.

    Routers write `prompt` and `completion` per token, or `input` and `output` per million, some of them by provider.
    """
    rows = answer.get("data") if isinstance(answer, dict) else answer
    bare, _, provider = name.rpartition("/")[2].partition(":")
    unpinned = f"{name.rpartition('/')[0]}/{bare}".lstrip("/")
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict) or row.get("id") not in (name, unpinned):
            continue
        offers: Any = row.get("providers") if isinstance(row.get("providers"), list) else ()
        chosen = [row] if row["id"] == name else []
        chosen += [offer for offer in offers if isinstance(offer, dict) and offer.get("provider") == provider]
        for offer in chosen:
            if amounts := _amounts(offer.get("pricing")):
                return Price(*amounts, day or time.strftime("%Y-%m-%d", time.gmtime()), "listed by the server")
    return None


class BudgetReached(UserError):
    """The next call could cost more than is left of the budget; the same command goes on with a higher one."""

    exit_code = 3


class Budget:
    """What a run may spend; `spent` is what it has, in all sessions. For one event loop."""

    def __init__(self, limit: float, prices: Prices, spent: Spent) -> None:
        """Raises UserError where a model that something was spent on has no price."""
        self.limit, self.spent, self._prices = limit, prices.cost(spent), prices
        self._held: list[float] = []  # what each of the calls under way could cost at most
        self._settled = asyncio.Event()
        for _, spec in spent:
            self.price(spec)

    def price(self, spec: str) -> Price | None:
        """Return the price of a model; None of one that costs nothing. Raises UserError where nobody tells it."""
        price = self._prices.of(spec)
        if price is None and not is_free(spec):
            raise UserError(
                f"--budget: nobody tells the price of {spec}; add --price {spec}=IN,OUT, in dollars per million tokens"
            )
        return price

    async def hold(self, most: float) -> None:
        """Wait until a call that costs `most` at most has room; `settle` it afterwards. Raises BudgetReached.

        Calls under way mostly cost less than they could, so that they are waited for first; none is broken off.
        """
        while self.spent + sum(self._held) + most > self.limit:
            if not self._held:
                raise BudgetReached(
                    f"--budget {self.limit:g}: {dollars(self.spent)} are spent, and the next call could cost up to "
                    f"{dollars(most)}; the same command goes on with a higher --budget"
                )
            self._settled.clear()
            await self._settled.wait()
        self._held.append(most)

    def settle(self, most: float, cost: float) -> None:
        """Put what a call did cost in place of what was held for it."""
        self._held.remove(most)
        self.spent += cost
        self._settled.set()


def is_free(spec: str) -> bool:
    """Return whether a model runs in this process, so that its calls cost nothing."""
    return spec.partition(":")[0] in ("hf", "vllm", "smollm2", "hf-classifier", "reward", "scripted", "loaded")


def _price(where: str, input: Any, output: Any, cached: Any = None, *, day: str, source: str) -> Price:
    amounts = (input, output, input if cached is None else cached)
    if not all(isinstance(a, int | float) and not isinstance(a, bool) and 0 <= a < inf for a in amounts):
        raise UserError(f"{where}: prices are numbers from 0 on, dollars per million tokens")
    return Price(float(amounts[0]), float(amounts[1]), float(amounts[2]), day, source)


def _amounts(pricing: Any) -> tuple[float, float, float] | None:
    """(input, output, cached) per million tokens; None where it is no price."""
    if not isinstance(pricing, dict):
        return None
    per_token = "prompt" in pricing
    names = ("prompt", "completion", "input_cache_read") if per_token else ("input", "output", "cached_input")
    try:
        amounts = [float(pricing[name]) * (_MILLION if per_token else 1) for name in names[:2]]
        cached = pricing.get(names[2])
        amounts.append(amounts[0] if cached is None else float(cached) * (_MILLION if per_token else 1))
    except (KeyError, TypeError, ValueError):
        return None
    return (amounts[0], amounts[1], amounts[2]) if all(a >= 0 and isfinite(a) for a in amounts) else None
