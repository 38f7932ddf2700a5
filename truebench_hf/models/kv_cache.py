"""Key-value caches that grow in place, and caches filled with the prompts of a batch so that nothing is computed twice.

A decoding step writes one token's states instead of copying them all. What prompts of a batch share (rubrics of one
response, votes, one judge) is computed once: one running cache is led from prompt to nearest prompt, however the groups
in a batch are mixed. The rows are then laid out exactly as left padding lays them out, and generation goes on from there.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

_WORTHWHILE = 256  # tokens saved per prompt; below it, one padded batch is as fast and simpler
_STEP = 128  # tokens of memory taken at a time
_ROOM = 2**29  # bytes that keys and values of a batch may take in any case


def room(model: Any) -> int:
    """How many tokens a batch may hold: those whose keys and values take as much memory as the weights, or 512 MiB."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_attention_heads", 0)
    if not heads:  # states, whose size does not grow
        return sys.maxsize
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    kept = getattr(config, "num_key_value_heads", None) or heads
    each = 2 * config.num_hidden_layers * kept * size * model.dtype.itemsize
    return int(max(model.get_memory_footprint(), _ROOM) // each)


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


def attention_only(model: Any) -> bool:
    """Whether a cache of `model` holds keys and values alone, be it of a sliding window.

    Recurrent states (Mamba and its hybrids) allow less: rows cannot be selected, and some go on by one token only.
    """
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    if not model._supports_default_dynamic_cache() or getattr(model, "_is_stateful", False):
        return False
    kinds = {type(layer) for layer in DynamicCache(config=model.config).layers}
    return kinds <= {DynamicLayer, DynamicSlidingWindowLayer}


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


def prefill(model: Any, prompts: Sequence[list[int]], running: Running | None = None) -> Any | None:
    """A cache that holds all but the last token of every prompt, left-padded to the longest one.

    What a `running` cache holds of an earlier batch is not computed again. None where the prompts share too little, or
    the model keeps more than plain keys and values (sliding windows, recurrent states), which cannot be cut back.
    """
    ordered = sorted(prompts)
    saved = sum(_common(one, other) for one, other in pairwise(ordered))
    if len(prompts) < 2 or saved < _WORTHWHILE * (len(prompts) - 1):
        return None
    return _walk(model, prompts, running or Running.of(model))


class Running:
    """A cache led from prompt to prompt: cut back to what both have in common, and fed the rest."""

    def __init__(self, model: Any, cache: Any) -> None:
        self.model, self.cache, self._held = model, cache, list[int]()

    @classmethod
    def of(cls, model: Any) -> Running | None:
        """An empty one. None where the model keeps more than plain keys and values, which cannot be cut back."""
        cache = growing_cache(model)
        return None if cache is None else cls(model, cache)

    def common(self, tokens: list[int]) -> int:
        """How many of the first `tokens` are held."""
        return _common(self._held, tokens)

    def lead(self, tokens: list[int], *, read: bool = False) -> Any:
        """Hold the states of `tokens`. With `read` the last is fed in any case, for its logits, of shape (vocabulary)."""
        import torch

        keep = min(self.common(tokens), len(tokens) - read)
        self.cache.crop(keep - len(self._held))
        self._held = tokens[:keep]
        if not (fresh := tokens[keep:]):
            return None
        ids = torch.tensor([fresh], device=self.model.device)
        try:
            logits = self.model(ids, past_key_values=self.cache, logits_to_keep=1).logits[0, -1]
        except BaseException:  # memory ran out, say: some layers have the tokens, others do not
            self.cache, self._held = growing_cache(self.model), []
            raise
        self._held = tokens
        return logits

    def endings(self, tails: Sequence[list[int]]) -> list[Any]:
        """The logits after each of several continuations of what is held, which all start from there."""
        import torch

        copies = growing_cache(self.model)
        if copies is None:
            raise TypeError("only plain caches can be led")
        for number, layer in enumerate(self.cache.layers if self._held else ()):
            keys, values = (states.expand(len(tails), -1, -1, -1) for states in _states(layer))
            copies.update(keys, values, number)
        width = max(map(len, tails))
        # Padded behind what is read: no token sees those after it.
        ids = torch.tensor([[*tail, *tail[-1:] * (width - len(tail))] for tail in tails], device=self.model.device)
        ends = sorted({len(tail) - 1 for tail in tails})
        kept = torch.tensor(ends, device=self.model.device)
        logits = self.model(ids, past_key_values=copies, logits_to_keep=kept).logits
        return [logits[i, ends.index(len(tail) - 1)] for i, tail in enumerate(tails)]


def _walk(model: Any, prompts: Sequence[list[int]], running: Running | None) -> Any | None:
    import torch

    width = max(map(len, prompts)) - 1
    cache = growing_cache(model)
    if running is None or cache is None:
        return None
    rows: list[tuple[Any, ...]] = []  # per layer: keys and values of shape (prompts, heads, width, size)
    with torch.inference_mode():
        left = list(range(len(prompts)))
        while left:
            # Next is whatever has most in common with what is held: first of all what an earlier batch broke off at.
            i = max(left, key=lambda i: running.common(prompts[i]))
            left.remove(i)
            tokens = prompts[i][:-1]
            running.lead(tokens)
            if not tokens:
                continue
            layers = running.cache.layers
            rows = rows or [tuple(_zeros(x, len(prompts), width) for x in _states(layer)) for layer in layers]
            for filled, layer in zip(rows, layers, strict=True):
                for batch, one in zip(filled, _states(layer), strict=True):
                    batch[i, :, width - len(tokens) :] = one[0]
        for number in range(len(rows)):
            cache.update(*rows[number], number)
            rows[number] = ()  # copied: a batch of long prompts is not held twice
    return cache


def _states(layer: Any) -> tuple[Any, Any]:
    return layer.keys, layer.values


def _zeros(like: Any, count: int, width: int) -> Any:
    # Zeros where padding is: masked out, but a stray NaN would still spread.
    return like.new_zeros((count, like.shape[1], width, like.shape[3]))


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:  # by halves: whole stretches are compared much faster than token by token
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
