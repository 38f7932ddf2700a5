"""Prefilling a batch of prompts so that what they share is computed once: rubrics of one response, votes, one judge.

The prompts are walked in sorted order with one running key-value cache. From prompt to prompt it is cut back to what
both have in common and fed the rest, so every distinct beginning is computed once, however the groups in a batch are
mixed. The rows are then laid out exactly as left padding lays them out, and generation goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Any

from truebench_hf.models.kv_cache import growing_cache

_WORTHWHILE = 256  # tokens saved per prompt; below it, one padded batch is as fast and simpler


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
            rows = rows or [tuple(_room(x, len(prompts), width) for x in _states(layer)) for layer in running.layers]
            for room, layer in zip(rows, running.layers, strict=True):
                for batch, one in zip(room, _states(layer), strict=True):
                    batch[i, :, width - len(held) :] = one[0]
        for number, (keys, values) in enumerate(rows):
            cache.update(keys, values, number)
    return cache


def _states(layer: Any) -> tuple[Any, Any]:
    return layer.keys, layer.values


def _room(like: Any, count: int, width: int) -> Any:
    # Zeros where padding is: masked out, but a stray NaN would still spread.
    return like.new_zeros((count, like.shape[1], width, like.shape[3]))


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
