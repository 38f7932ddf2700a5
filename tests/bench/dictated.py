"""Judges that write what a judge writes, with a model that cannot: the embedded one, by transformers and by vLLM.

Left to itself it would babble, and what was measured would be its babble and the calls that ask again. So its answers
get the form, and the length in tokens, of `verdict_example`, the answer that `--estimate` reckons with. All else is the
product's own: prompts, slots, batches, caches, decoding, one token after the other, and the reader.
"""

from __future__ import annotations

import functools
import itertools
import json
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from truebench_hf.models.local import LocalModel
from truebench_hf.models.protocol import ChatRequest, Completion
from truebench_hf.models.vllm_engine import VllmModel


class DictatedModel(LocalModel):
    """Transformers. Every step is computed; then the token of the answer's example is the only choice."""

    async def forget(self) -> None:
        """Empty the cache that goes from batch to batch."""
        self._prefix = None

    def _generate(self, requests: Sequence[ChatRequest]) -> list[Completion | BaseException]:
        model, tokenizer = self._load()
        prompts = [tuple(self._encode(tokenizer, request)) for request in requests]
        answers = [_tokens(tokenizer, request.example) for request in requests]
        with _dictated(model, dict(zip(prompts, answers, strict=True)), tokenizer.eos_token_id):
            return super()._generate(requests)


class ShapedModel(VllmModel):
    """vLLM, which takes a JSON schema: what the schema leaves open, the length of the reasons, is set as well."""

    written = 0  # tokens so far

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer in the form of the example: its keys by the schema, its reasons of as many characters."""
        made = await super().complete(replace(request, schema=_of_length(request)))
        self.written += made.usage.output_tokens
        return made

    async def forget(self) -> None:
        """Empty the prefix cache, which would know all prompts when they are judged once more."""
        engine, _ = self._open()
        await engine.reset_prefix_cache()


@contextmanager
def _dictated(model: Any, answers: dict[tuple[int, ...], list[int]], pad: int) -> Iterator[None]:
    import torch

    sizes = sorted(set(map(len, answers)))

    def dictate(ids: Any, scores: Any) -> Any:
        only = torch.full_like(scores, float("-inf"))
        for row, tokens in enumerate(ids.tolist()):
            said = tuple(itertools.dropwhile(lambda token: token == pad, tokens))
            size = next(size for size in sizes if said[:size] in answers)
            answer = answers[said[:size]]
            only[row, answer[min(len(said) - size, len(answer) - 1)]] = 0.0  # an answer that has ended says so again
        return only

    real = model.generate
    model.generate = lambda **how: real(logits_processor=[dictate], **how)
    try:
        yield
    finally:
        del model.generate  # the method of its class shows again


def _tokens(tokenizer: Any, example: str) -> list[int]:
    """The tokens of an answer to its end. Words that repeat themselves would be guessed, so reasons get others."""
    draw, words = random.Random(len(example)), _words(tokenizer)

    def others(found: re.Match[str]) -> str:
        count = len(tokenizer.encode(found[2]))
        return found[1] + tokenizer.decode(draw.sample(words, count))

    text = re.sub(r"(?m)^(criteria_\d+:)(.*)", others, example)
    return [*tokenizer.encode(text), tokenizer.eos_token_id]


@functools.cache
def _words(tokenizer: Any) -> list[int]:
    return [token for word, token in sorted(tokenizer.get_vocab().items()) if re.fullmatch("Ġ[a-z]{4,}", word)]


def _of_length(request: ChatRequest) -> dict[str, Any] | None:
    schema = json.loads(json.dumps(request.schema))
    for entry, said in zip(schema["properties"].values(), json.loads(request.example).values(), strict=True):
        if isinstance(said, dict):
            size = len(said["reason"])
            entry["properties"]["reason"] |= {"minLength": size, "maxLength": size}
    return schema
