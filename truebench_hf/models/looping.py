"""Answers that have begun to repeat themselves, as small models do up to the token limit.

What repeats itself foretells itself, so such a row is finished alone by prompt lookup: the tokens that followed last
time are offered all at once, and the model confirms them in one pass or goes on in its own way. Greedy answers stay
what they are, beyond rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truebench_hf.models.kv_cache import growing_cache

_TAIL = 128  # tokens looked at
_GRAM = 8  # tokens that count as something said before
_AHEAD = 48  # tokens offered at a time


def repeats(tokens: Sequence[int]) -> bool:
    """Whether three quarters of an answer's last tokens have stood in it before, in stretches of `_GRAM`."""
    grams = [tuple(tokens[i : i + _GRAM]) for i in range(len(tokens) - _GRAM + 1)]
    seen, last = set(grams[:-_TAIL]), grams[-_TAIL:]
    again = 0
    for gram in last:
        again += gram in seen
        seen.add(gram)
    return len(last) == _TAIL and 4 * again >= 3 * _TAIL


def finish(model: Any, ids: Any, mask: Any, cache: Any, row: int, room: int, how: dict[str, Any]) -> list[int]:
    """Up to `room` further tokens of one row of a left-padded batch, whose `cache` holds all but its last token."""
    import torch

    pad = int((mask[row] == 0).sum())
    own = growing_cache(model)
    if own is None:
        raise TypeError("only plain caches can be cut back")
    for number, layer in enumerate(cache.layers):
        own.update(layer.keys[row : row + 1, :, pad:], layer.values[row : row + 1, :, pad:], number)
    alone = ids[row : row + 1, pad:]
    with torch.inference_mode():
        out = model.generate(
            input_ids=alone, attention_mask=torch.ones_like(alone), past_key_values=own, max_new_tokens=room,
            prompt_lookup_num_tokens=_AHEAD, max_matching_ngram_size=16, **how,
        )  # fmt: skip
    made: list[int] = out[0, alone.shape[1] :].tolist()
    return made
