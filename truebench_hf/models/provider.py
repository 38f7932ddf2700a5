"""Who runs a model behind a server that hands requests on: pinned by its name, told by its answers, or left open.

The router of Hugging Face takes `MODEL:PROVIDER`; with a bare model, or with a policy in place of a provider, it chooses
one itself, and another one tomorrow. One model's score differs between providers (quantisation, chat template, limits).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

OPEN = "huggingface:not pinned"
_ROUTER = "router.huggingface.co"
_POLICIES = ("auto", "cheapest", "fastest", "preferred")
_HEADER = "x-inference-provider"
_TOLD = ("provider", "model", "system_fingerprint")  # in the body of an answer
_MOST, _LONGEST = 20, 100  # values of one kind that are kept, and characters of each: servers may say anything


def provider(name: str, url: str, host: str = "openai") -> str:
    """Return the provider of a model at a base URL, as its identity has it.

    `huggingface:together` for `Qwen/Qwen3-8B:together` at the router, `OPEN` where the router chooses, at any other
    server the `host` that the spec names.
    """
    place = urlsplit(url)
    if place.hostname != _ROUTER:
        return host
    route = place.path.strip("/").partition("/")[0]
    chosen = route if route not in ("", "v1") else name.rpartition("/")[2].partition(":")[2]
    return f"huggingface:{chosen.lower()}" if chosen and chosen.lower() not in _POLICIES else OPEN


def unpinned(spec: str, provider: str) -> str:
    """A spec without the provider that it pins, as its identity has it: `openai:Qwen/Qwen3-8B:together` is also
    `openai:Qwen/Qwen3-8B`."""
    kind, _, pinned = provider.partition(":")
    return spec[: -len(pinned) - 1] if kind == "huggingface" and spec.lower().endswith(f":{pinned}") else spec


def pinning(spec: str) -> str:
    """What to tell of a spec whose provider the router chooses."""
    head, _, last = spec.rpartition("/")
    bare = f"{head}/{last.partition(':')[0]}" if head else spec
    return (
        f"{spec}: the router of Hugging Face chooses who runs it, now and again later, and one model's score differs "
        f"between providers; pin one as {bare}:PROVIDER (together, say)"
    )


class Served:
    """What answers tell of who gave them: by kind (provider, model, system_fingerprint, revision) how many said what."""

    def __init__(self) -> None:
        self.told: dict[str, Counter[str]] = {}

    def add(self, kind: str, value: object, count: int = 1) -> None:
        """Count what an answer says; what is no text, or empty, says nothing."""
        if isinstance(value, str) and (text := value.strip()[:_LONGEST]):
            found = self.told.setdefault(kind, Counter())
            found[text if text in found or len(found) < _MOST else "others"] += count

    def body(self, answer: Mapping[str, Any]) -> None:
        """Count what the body of an answer says."""
        for kind in _TOLD:
            self.add(kind, answer.get(kind))

    async def head(self, response: Any) -> None:
        """The same of the head of a response (`httpx2.Response`); a hook that is called before reading."""
        if response.is_success:
            self.add("provider", response.headers.get(_HEADER))
