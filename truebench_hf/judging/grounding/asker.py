"""How a judge of grounding asks: one prompt about a source and an answer, until the reply can be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from truebench_hf.judging.grounding.material import material
from truebench_hf.judging.grounding.types import Source
from truebench_hf.judging.grounding.verdict import Stated, again, read_verdict, verdict_request
from truebench_hf.models.asking import Problem, SchemaFallback, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts

T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True)
class Asker:
    """One judge's caller, prompts and sampling. Every method raises what `Caller.complete` raises, but RequestFailed."""

    caller: Caller
    prompts: Prompts
    sampling: Sampling
    schemas: SchemaFallback

    async def ask_plainly(
        self, request: ChatRequest, read: Callable[[str], T | Problem], repair: Callable[[str], str], long: bool = False
    ) -> T | Problem:
        """What `read` makes of a reply to a request. One that is cut off is never read, nor asked for again if `long`.

        A verdict can be given in fewer words, the labels of every sentence cannot.
        """

        def whole(text: str, truncated: bool) -> T | Problem:
            return Problem("it is cut off", final=long) if truncated else read(text)

        return await ask(self.caller, request, whole, repair, who="the judge")

    async def ask(
        self,
        request: Callable[[bool], ChatRequest],
        read: Callable[[str], T | Problem],
        repair: Callable[[str], str],
        long: bool = False,
    ) -> T | Problem:
        """The same for `request(structured)`, with a JSON schema where the server takes one."""
        return await self.schemas.ask(request, lambda made: self.ask_plainly(made, read, repair, long))

    async def verdict(
        self, prompt: str, words: Mapping[str, V], source: Source, answer: str, quoting: bool = False, **more: Any
    ) -> Stated[V] | Problem:
        """The one of `words` by which a prompt about a source and an answer is answered."""
        values = material(source, answer) | {"response": answer} | more

        def request(structured: bool) -> ChatRequest:
            text = self.prompts.render(prompt, **values, structured=structured)
            return verdict_request(text, words, structured, self.sampling, quoting)

        return await self.ask(request, partial(read_verdict, words=words), partial(again, words=words))
