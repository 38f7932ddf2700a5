"""Canonical JSON and SHA-256 digests: what keys, identities and settings are compared by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any


def canonical(value: Any) -> str:
    """JSON with one spelling per value: the text that keys and hashes are made of. A dataclass is the object of its fields."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=_fields)


def digest(content: str | bytes) -> str:
    """Return the SHA-256 of a text or of a file's bytes, in hex."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content).hexdigest()


def digest_texts(texts: Iterable[str]) -> str:
    """Return the digest of texts joined, of which one at a time is held; half a character counts as "?"."""
    hashed = hashlib.sha256()
    for text in texts:
        hashed.update(text.encode("utf-8", "replace"))
    return hashed.hexdigest()


def _fields(value: Any) -> dict[str, Any]:
    # In place of dataclasses.asdict, whose deep copies cost as much as all other work on thousands of instances.
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} has no spelling in JSON")
    return {field.name: getattr(value, field.name) for field in fields(value)}
