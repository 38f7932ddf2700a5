"""Reward models: `reward:REPO_OR_PATH`, a transformers sequence classifier whose one logit rates a conversation's answer.

To the rest of the house it is a chat model: the conversation ends with the answer to be rated, the completion is a
number as text. So rewards are kept in the ledger, batched and counted as all else is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from truebench_hf.engine.batching import Batcher
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.chat_template import encode_chat
from truebench_hf.models.fingerprint import identity, unchanged
from truebench_hf.models.loading import load
from truebench_hf.models.local import MACHINE, LocalModel, LocalOptions
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest, Identity
from truebench_hf.types import Usage


class RewardModel:
    """A reward model run by transformers in this process. The weights are loaded on the first request."""

    takes_schema = False
    batch: int | None = LocalModel.batch

    def __init__(self, name: str, options: LocalOptions) -> None:
        self.spec = f"reward:{name}"
        self._name, self._options = name, options
        self._template = options.chat_template_kwargs
        self._batches = Batcher(self._rate, LocalModel._length, options.batch_size, MACHINE)

    @functools.cached_property
    def identity(self) -> Identity:
        """Where the weights are a local folder, it is read."""
        shaping = {"dtype": self._options.dtype, "chat_template_kwargs": self._template}
        return identity("transformers reward", self._name, self._options.revision, shaping)

    def _load(self) -> tuple[Any, Any]:
        content = unchanged(self.spec, self._name, self.identity)
        options = self._options
        return load(self._name, None, options.revision, options.dtype, options.device, content, reward=True)

    async def complete(self, request: ChatRequest) -> Completion:
        """The reward of a conversation's last message, which is the assistant's. Raises UserError on any other."""
        if not request.messages or request.messages[-1].role != "assistant":
            raise UserError(f"{self.spec}: a reward model writes no text; use it to select answers (best-of --by)")
        return await self._batches.ask(request)

    async def decide(self, request: DecisionRequest) -> Decision:
        """Raises UserError: a reward is no probability."""
        raise UserError(f"{self.spec}: a reward model decides no criteria; use it to select answers (best-of --by)")

    async def close(self) -> None:
        """Nothing to give back: loaded weights stay for the next run in this process."""

    def _rate(self, requests: Sequence[ChatRequest]) -> list[Completion | BaseException]:
        model, tokenizer = self._load()
        window = getattr(model.config, "max_position_embeddings", None) or math.inf
        tokens = [encode_chat(tokenizer, request.messages, self._template, answered=True) for request in requests]
        fits = [i for i, row in enumerate(tokens) if len(row) <= window]
        # A decoder finds the end of an answer by the padding token; where the model knows none, each goes alone.
        size = len(fits) if model.config.pad_token_id is not None else 1
        rated: dict[int, float] = {}
        for start in range(0, len(fits), max(1, size)):
            batch = fits[start : start + size]
            rated |= dict(zip(batch, _logits(model, [tokens[i] for i in batch]), strict=True))
        return [_completion(rated.get(i), len(row), window) for i, row in enumerate(tokens)]


def _logits(model: Any, rows: Sequence[Sequence[int]]) -> list[float]:
    """The one logit of each row of tokens, padded at the right."""
    import torch

    config, width = model.config, max(map(len, rows))
    pad = config.pad_token_id or 0  # rows that go alone need none
    ids = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows], device=model.device)
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], device=ids.device)
    with torch.inference_mode():
        made = model(input_ids=ids, attention_mask=mask).logits
    return [float(value) for value in made.float().reshape(len(rows)).tolist()]


def _completion(reward: float | None, length: int, window: float) -> Completion | BaseException:
    if reward is None:
        return RequestFailed(f"the conversation has {length} tokens, the window {window:.0f}")
    if not math.isfinite(reward):
        return RequestFailed(f"the reward is {reward}, which ranks nothing")
    return Completion(repr(reward), usage=Usage(length, 0, 0, 1))
