"""Models that write for a reward (checklists, the demands of a criterion), on one loop and with one ledger."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from truebench_hf.api.kept import open_ledger
from truebench_hf.data.case import Case
from truebench_hf.engine.background import Background
from truebench_hf.engine.ledger import Ledger
from truebench_hf.judging.checklists import generate_checklist
from truebench_hf.judging.splitting import split_criterion
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatModel
from truebench_hf.models.spec import open_model
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion

T = TypeVar("T")


@dataclass(frozen=True)
class Opening:
    """How a model is reached: its spec, which may hold an object, provider options, base URL, and how patiently."""

    spec: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    base_url: str | None = None
    concurrency: int = 16
    patience: float = 60.0


class Writers:
    """A generator of checklists and a splitter of criteria, either of which may be absent. Used from any thread."""

    def __init__(self, openings: Mapping[str, Opening], cache: Path | None, prompts: Prompts) -> None:
        """`openings` by role: `generator`, `splitter`. Raises UserError on a model that cannot be had."""
        self._prompts = prompts
        self._background = Background()
        try:
            self._open = self._background.run(_Open.of(openings, cache))
        except BaseException:
            self._background.close()
            raise
        self.close = weakref.finalize(self, self._background.close, self._open.close)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine that uses them comes to, for a caller without a loop."""
        return self._background.run(work)

    async def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """The same for a caller on a loop of its own."""
        return await self._background.ask(work)

    async def checklist(self, case: Case, language: str = "") -> tuple[Criterion, ...] | Problem:
        """The questions for responses to the instruction of a case. On their own loop only."""
        if (caller := self._open.generator) is None:
            return Problem("there are no criteria")
        found = await generate_checklist(caller, case, self._prompts, language=language)
        if found.problem:
            return Problem(f"no checklist could be written: {found.problem}")
        return tuple(Criterion(question) for question in found.questions)

    async def split(self, case: Case) -> list[tuple[Criterion, ...] | Problem]:
        """For each criterion of a case its demands, of which it is the only one where it is single.

        They share its points. A fault (negative points) is left whole: it is there only where all of it is.
        """
        if (schemas := self._open.splitter) is None:
            return [(one,) for one in case.criteria]

        async def demands(one: Criterion) -> tuple[Criterion, ...] | Problem:
            if one.weight < 0:
                return (one,)
            found = await split_criterion(schemas, replace(case, criteria=(one,)), self._prompts)
            if isinstance(found, Problem):
                return found
            share = one.weight / len(found) if found else one.weight
            return tuple(replace(one, text=text, weight=share, rule=None) for text in found) or (one,)

        return await asyncio.gather(*(demands(one) for one in case.criteria))


@dataclass(frozen=True)
class _Open:
    models: tuple[ChatModel, ...]
    ledger: Ledger
    generator: Caller | None
    splitter: SchemaFallback | None

    @classmethod
    async def of(cls, openings: Mapping[str, Opening], cache: Path | None) -> _Open:
        models = {
            role: open_model(how.spec, dict(how.arguments), how.base_url, how.patience)
            for role, how in openings.items()
        }
        ledger = open_ledger(cache)
        callers = {role: Caller(model, ledger, role, openings[role].concurrency) for role, model in models.items()}
        splitter = SchemaFallback(callers["splitter"]) if "splitter" in callers else None
        return cls(tuple(models.values()), ledger, callers.get("generator"), splitter)

    async def close(self) -> None:
        try:
            for model in self.models:
                await model.close()
        finally:
            self.ledger.close()
