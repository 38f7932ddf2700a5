"""How a judge of grounding asks: one prompt about a source and an answer, until the reply can be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from truebench_hf.judging.grounding.material import material
from truebench_hf.judging.grounding.prescribed import ask_as_prescribed, read_word
from truebench_hf.judging.grounding.types import Source
from truebench_hf.judging.signed import Labels, SignedAnswer
from truebench_hf.judging.signed_prompt import TEXTS, Entries, ask_by_prompt
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts

T = TypeVar("T")
V = TypeVar("V")
ACCURATE: Mapping[str, bool] = {"accurate": True, "inaccurate": False}
ATTEMPTED: Mapping[str, str] = {word: word for word in ("accurate", "inaccurate", "not_attempted")}
_REASON = "The response claims this, and the document says so in its second part. "
_QUOTES: Entries = {"excerpts": (TEXTS, ["The document says so in its second part."])}
_NOTHING = {"", "null", "none", "n/a", "na", "-"}


@dataclass(frozen=True, slots=True)
class Stated(Generic[V]):
    """A verdict with what was said for it and what was quoted from the source."""

    value: V
    reason: str = ""
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asker:
    """One judge's caller, prompts and sampling. Every method raises what `Caller.complete` raises, but RequestFailed."""

    caller: Caller
    prompts: Prompts
    sampling: Sampling
    schemas: SchemaFallback

    def prescribed(self, prompt: str) -> bool:
        """Whether a prompt that stands in place of ours asks for a form of its own."""
        return not self.prompts.is_signed(prompt)

    async def as_prescribed(
        self, prompt: str, values: Mapping[str, Any], read: Callable[[str], T | Problem], *, long: bool = False,
        met: Callable[[T], bool] | None = None,
    ) -> T | Problem:  # fmt: skip
        """What `read` makes of an answer in that form."""
        return await ask_as_prescribed(
            self.caller, self.prompts, prompt, values, self.sampling, read, long=long, met=met
        )

    async def ask(
        self, prompt: str, values: Mapping[str, Any], labels: Labels[V], reason: str = "",
        entries: Entries | None = None, check: Callable[[SignedAnswer[V]], str] = lambda answer: "", long: bool = False,
        met: Callable[[SignedAnswer[V]], bool] | None = None,
    ) -> SignedAnswer[V]:  # fmt: skip
        """The signed answer to a prompt of ours."""
        return await ask_by_prompt(
            self.schemas, self.prompts, prompt, values, labels, sampling=self.sampling, reason=reason, entries=entries,
            check=check, long=long, met=met,
        )  # fmt: skip

    async def verdict(
        self, prompt: str, words: Mapping[str, V], source: Source, answer: str, quoting: bool = False, **more: Any
    ) -> Stated[V] | Problem:
        """The one of `words` by which a prompt about a source and an answer is answered."""
        values = material(source, answer) | {"response": answer} | more
        if self.prescribed(prompt):
            word = await self.as_prescribed(prompt, values, lambda text: read_word(text, words), met=_is_accurate)
            return word if isinstance(word, Problem) else Stated(word)
        entries, reason = (_QUOTES, 3 * _REASON) if quoting else (None, 9 * _REASON)
        stated = await self.ask(
            prompt,
            values,
            {"verdict": words},
            reason,
            entries,
            met=lambda stated: _is_accurate(stated.labels["verdict"]),
        )
        if stated.problem:
            return Problem(stated.problem)
        return Stated(stated.labels["verdict"], stated.reason, quotes_of(stated.fields.get("excerpts")))


def _is_accurate(value: object) -> bool:
    return value in (True, "accurate")


def quotes_of(value: Any) -> tuple[str, ...]:
    """The texts in a string or a list of strings, without what stands for none."""
    texts = (one.strip() for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))
    return tuple(text for text in texts if text.casefold() not in _NOTHING)
