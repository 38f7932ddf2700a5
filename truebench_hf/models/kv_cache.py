"""Key-value caches that grow in place: a decoding step then writes one token's states instead of copying them all.

Imports transformers, so import it where a model is already at hand.
"""

from __future__ import annotations

from typing import Any

from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

_STEP = 128  # tokens of room taken at a time


def growing_cache(model: Any) -> DynamicCache | None:
    """An empty cache for `model`. None where it keeps more than plain keys and values (sliding windows, states)."""
    if not model._supports_default_dynamic_cache() or getattr(model, "_is_stateful", False):
        return None
    cache = DynamicCache(config=model.config)
    if not cache.layers or any(type(layer) is not DynamicLayer for layer in cache.layers):
        return None
    cache.layers = [GrowingLayer() for _ in cache.layers]
    return cache


class GrowingLayer(DynamicLayer):  # type: ignore[misc]
    """A cache layer whose keys and values, of shape (batch, heads, length, size), are views on room kept ahead."""

    def update(self, key_states: Any, value_states: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Append states of new tokens; returns all keys and values."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self._rooms = [key_states[:, :, :0], value_states[:, :, :0]]
            self.keys, self.values = self._rooms
        self.keys = self._append(0, self.keys, key_states)
        self.values = self._append(1, self.values, value_states)
        return self.keys, self.values

    def _append(self, which: int, held: Any, new: Any) -> Any:
        length = held.shape[2]
        whole = length + new.shape[2]
        room = self._rooms[which]
        # Selected or repeated rows are tensors of their own: they have left the room and need a new one.
        if held.data_ptr() != room.data_ptr() or held.shape[:2] != room.shape[:2] or room.shape[2] < whole:
            room = new.new_empty((*new.shape[:2], whole + _STEP, new.shape[3]))
            room[:, :, :length] = held
            self._rooms[which] = room
        room[:, :, length:whole] = new
        return room[:, :, :whole]
