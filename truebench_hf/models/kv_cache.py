"""Key-value caches that grow in place: a decoding step then writes one token's states instead of copying them all."""

from __future__ import annotations

import functools
from typing import Any

_STEP = 128  # tokens of room taken at a time


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
        """A cache layer whose keys and values, of shape (batch, heads, length, size), are views on room kept ahead."""

        def update(self, key_states: Any, value_states: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            """Append states of new tokens; returns all keys and values."""
            if not self.is_initialized:
                self.lazy_initialization(key_states, value_states)
                self.keys, self.values = self.rooms = [key_states[:, :, :0], value_states[:, :, :0]]
            self.keys, self.rooms[0] = _appended(self.keys, self.rooms[0], key_states)
            self.values, self.rooms[1] = _appended(self.values, self.rooms[1], value_states)
            return self.keys, self.values

    return GrowingLayer


def _appended(held: Any, room: Any, new: Any) -> tuple[Any, Any]:
    """`held` with `new` behind it, and the room that both now stand in: the same one where it suffices."""
    length = held.shape[2]
    whole = length + new.shape[2]
    # Selected or repeated rows are tensors of their own: they have left the room and need a new one.
    if held.data_ptr() != room.data_ptr() or held.shape[:2] != room.shape[:2] or room.shape[2] < whole:
        room = new.new_empty((*new.shape[:2], whole + _STEP, new.shape[3]))
        room[:, :, :length] = held
    room[:, :, length:whole] = new
    return room[:, :, :whole], room
