"""The model that writes checklists for a reward, on a loop of its own and with its ledger."""

from __future__ import annotations

import weakref
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from truebench_hf.api.kept import open_ledger
from truebench_hf.engine.background import Background
from truebench_hf.engine.ledger import Ledger
from truebench_hf.judging.case import Case
from truebench_hf.judging.checklists import generate_checklist
from truebench_hf.models.asking import Problem
from truebench_hf.models.caller import Caller
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


class Writer:
    """A generator of checklists, which may be absent. Used from any thread."""

    def __init__(self, generator: Opening | None, cache: Path | None, prompts: Prompts) -> None:
        """Raises UserError on a model that cannot be had."""
        self._prompts = prompts
        self._background = Background()
        try:
            self._open = self._background.run(_Open.of(generator, cache))
        except BaseException:
            self._background.close()
            raise
        self.close = weakref.finalize(self, self._background.close, self._open.close)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine that uses it comes to, for a caller without a loop."""
        return self._background.run(work)

    async def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """The same for a caller on a loop of its own."""
        return await self._background.ask(work)

    async def checklist(self, case: Case, language: str = "") -> tuple[Criterion, ...] | Problem:
        """The questions for responses to the instruction of a case. On its own loop only."""
        if (caller := self._open.generator) is None:
            return Problem("there are no criteria")
        found = await generate_checklist(caller, case, self._prompts, language=language)
        if found.problem:
            return Problem(f"no checklist could be written: {found.problem}")
        return tuple(Criterion(question) for question in found.questions)


@dataclass(frozen=True)
class _Open:
    ledger: Ledger
    generator: Caller | None

    @classmethod
    async def of(cls, generator: Opening | None, cache: Path | None) -> _Open:
        if generator is None:
            return cls(open_ledger(cache), None)
        model = open_model(generator.spec, dict(generator.arguments), generator.base_url, generator.patience)
        ledger = open_ledger(cache)
        return cls(ledger, Caller(model, ledger, "generator", generator.concurrency))

    async def close(self) -> None:
        try:
            if self.generator is not None:
                await self.generator.model.close()
        finally:
            self.ledger.close()
