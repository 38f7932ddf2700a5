"""Key-value caches that grow in place, and caches filled with the prompts of a batch so that nothing is computed twice.

A decoding step writes one token's states instead of copying them all. What prompts of a batch share (rubrics of one
response, votes, one judge) is computed once: they are walked in sorted order with one running cache, which from prompt
to prompt is cut back to what both have in common and fed the rest, however the groups in a batch are mixed. The rows
are then laid out exactly as left padding lays them out, and generation goes on from there.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Any

_WORTHWHILE = 256  # tokens saved per prompt; below it, one padded batch is as fast and simpler
_STEP = 128  # tokens of memory taken at a time


def growing_cache(model: Any) -> Any | None:
    """An empty cache for `model`. None where it keeps more than plain keys and values (sliding windows, states)."""
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer

    if not model._supports_default_dynamic_cache() or getattr(model, "_is_stateful", False):
        return None
    cache = DynamicCache(config=model.config)
    if not cache.layers or any(type(layer) is not DynamicLayer for layer in cache.layers):
        return None
    cache.layers = [_growing_layer()() for _ in cache.layers]
    return cache


@functools.cache
def _growing_layer() -> type[Any]:
    from transformers.cache_utils import DynamicLayer

    class GrowingLayer(DynamicLayer):  # type: ignore[misc]
        """A cache layer whose keys and values, of shape (batch, heads, length, size), are views on memory kept ahead."""

        def update(self, key_states: Any, value_states: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            """Append states of new tokens; returns all keys and values."""
            if not self.is_initialized:
                self.lazy_initialization(key_states, value_states)
                self.keys, self.values = self.kept = [key_states[:, :, :0], value_states[:, :, :0]]
            self.keys, self.kept[0] = _appended(self.keys, self.kept[0], key_states)
            self.values, self.kept[1] = _appended(self.values, self.kept[1], value_states)
            return self.keys, self.values

    return GrowingLayer


def _appended(held: Any, kept: Any, new: Any) -> tuple[Any, Any]:
    """`held` with `new` behind it, and the memory that both now stand in: the same where it suffices."""
    length = held.shape[2]
    whole = length + new.shape[2]
    # Selected or repeated rows are tensors of their own: they have left that memory and need their own.
    if held.data_ptr() != kept.data_ptr() or held.shape[:2] != kept.shape[:2] or kept.shape[2] < whole:
        kept = new.new_empty((*new.shape[:2], whole + _STEP, new.shape[3]))
        kept[:, :, :length] = held
    kept[:, :, length:whole] = new
    return kept[:, :, :whole], kept


def prefill(model: Any, prompts: Sequence[list[int]]) -> Any | None:
    """A cache that holds all but the last token of every prompt, left-padded to the longest one.

    None where the prompts share too little, or the model keeps more than plain keys and values (sliding windows,
    recurrent states), which cannot be cut back.
    """
    ordered = sorted(prompts)
    saved = sum(_common(one, other) for one, other in pairwise(ordered))
    if len(prompts) < 2 or saved < _WORTHWHILE * (len(prompts) - 1):
        return None
    return _walk(model, prompts)


def _walk(model: Any, prompts: Sequence[list[int]]) -> Any | None:
    import torch

    width = max(map(len, prompts)) - 1
    running, cache, held = growing_cache(model), growing_cache(model), list[int]()
    if running is None or cache is None:
        return None
    rows: list[tuple[Any, Any]] = []  # per layer: keys and values of shape (prompts, heads, width, size)
    with torch.inference_mode():
        for i in sorted(range(len(prompts)), key=lambda i: prompts[i]):
            tokens = list(prompts[i][:-1])
            keep = _common(held, tokens)
            running.crop(keep - len(held))
            if fresh := tokens[keep:]:
                model(torch.tensor([fresh], device=model.device), past_key_values=running, logits_to_keep=1)
            held = tokens
            if not held:
                continue
            rows = rows or [tuple(_zeros(x, len(prompts), width) for x in _states(layer)) for layer in running.layers]
            for filled, layer in zip(rows, running.layers, strict=True):
                for batch, one in zip(filled, _states(layer), strict=True):
                    batch[i, :, width - len(held) :] = one[0]
        for number, (keys, values) in enumerate(rows):
            cache.update(keys, values, number)
    return cache


def _states(layer: Any) -> tuple[Any, Any]:
    return layer.keys, layer.values


def _zeros(like: Any, count: int, width: int) -> Any:
    # Zeros where padding is: masked out, but a stray NaN would still spread.
    return like.new_zeros((count, like.shape[1], width, like.shape[3]))


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
