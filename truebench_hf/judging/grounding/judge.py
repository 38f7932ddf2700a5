"""The judge of grounding: a chat model asked by one of seven templates (paper 002, section 3.1, Table 2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from truebench_hf.judging.grounding.asker import ACCURATE, ATTEMPTED, Asker
from truebench_hf.judging.grounding.sentence_level import Units, by_double_check, by_entries
from truebench_hf.judging.grounding.span_level import by_implicit, by_span
from truebench_hf.judging.grounding.templates import template_named
from truebench_hf.judging.grounding.types import UNGROUNDED, Grounding, Source
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts


class GroundingJudge:
    """One judge with one template of `TEMPLATES`. `structured` is auto, on or off."""

    def __init__(
        self, caller: Caller, template: str, prompts: Prompts, *,
        sampling: Sampling = Sampling(max_tokens=8192), structured: str = "auto",
    ) -> None:  # fmt: skip
        self.caller, self.template = caller, template_named(template)
        self.asker = Asker(caller, prompts, sampling, SchemaFallback(caller, structured))

    async def verdict(self, source: Source, answer: str) -> Grounding:
        """Whether `answer` is grounded in `source`; undecided, with the reason, where the judge settles nothing.

        An answer without a letter or digit claims nothing: it is accurate without a call (`simpleqa`: not attempted, and
        so inaccurate). Raises what `Caller.complete` raises, but for a request that failed (a window too small, say):
        that is undecided.
        """
        if not any(map(str.isalnum, answer)):
            attempted = False if self.template == "simpleqa" else None
            return self._made(attempted is None, "the answer is empty", attempted=attempted)
        if self.template == "response":
            return await self._as_a_whole(source, answer)
        if self.template == "simpleqa":
            return await self._attempted(source, answer)
        return self._of_units(await _BY_UNITS[self.template](self.asker, source, answer))

    async def _as_a_whole(self, source: Source, answer: str) -> Grounding:
        found = await self.asker.verdict("grounding_response", ACCURATE, source, answer)
        return self._made(None, found.text) if isinstance(found, Problem) else self._made(found.value, found.reason)

    async def _attempted(self, source: Source, answer: str) -> Grounding:
        """With the third label: what is not attempted is inaccurate."""
        found = await self.asker.verdict("grounding_simpleqa", ATTEMPTED, source, answer)
        if isinstance(found, Problem):
            return self._made(None, found.text)
        return self._made(found.value == "accurate", found.reason, attempted=found.value != "not_attempted")

    def _of_units(self, units: Units | Problem) -> Grounding:
        """One ungrounded unit makes an answer inaccurate; else an undecided one leaves it open."""
        if isinstance(units, Problem):
            return self._made(None, units.text)
        wrong = [unit for unit in units if unit.label in UNGROUNDED]
        unclear = [unit for unit in units if unit.label is None]
        if wrong:
            return self._made(False, f"{len(wrong)} of {len(units)} are not grounded: {wrong[0].text!r}", units=units)
        if unclear:
            first = unclear[0]
            reason = f"{len(unclear)} of {len(units)} are undecided: {first.text!r} ({first.reason})"
            return self._made(None, reason, units=units)
        return self._made(True, f"all {len(units)} are grounded or need no evidence", units=units)

    def _made(self, accurate: bool | None, reason: str, **more: Any) -> Grounding:
        return Grounding(accurate, reason, self.template, self.caller.model.spec, **more)


async def _json(asker: Asker, source: Source, answer: str) -> Units | Problem:
    return await by_entries(asker, source, answer, "grounding_json")


async def _json_alt(asker: Asker, source: Source, answer: str) -> Units | Problem:
    return await by_entries(asker, source, answer, "grounding_json_alt")


_BY_UNITS: dict[str, Callable[[Asker, Source, str], Awaitable[Units | Problem]]] = {
    "json": _json,
    "json_alt": _json_alt,
    "json_double_check": by_double_check,
    "implicit_span": by_implicit,
    "span": by_span,
}
