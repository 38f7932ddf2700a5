"""Providers: where `groq:MODEL` and the like are asked, as data in `providers.yaml`, and who runs a model behind a server.

A server that hands requests on may have the provider pinned by the model's name, tell it by its answers, or leave it
open: the router of Hugging Face takes `MODEL:PROVIDER`; with a bare model, or with a policy in place of a provider, it
chooses one itself, and another one tomorrow. One model's score differs between providers (quantisation, chat template,
limits).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from truebench_hf.errors import UserError

OPEN = "huggingface:not pinned"
_ROUTER = "router.huggingface.co"
_POLICIES = ("auto", "cheapest", "fastest", "preferred")


@dataclass(frozen=True, slots=True)
class Provider:
    """A server that speaks OpenAI's chat completions. The fields are explained in `providers.yaml`."""

    name: str
    title: str
    key: str
    base_url: str = ""
    base_url_env: str = ""
    path: str = ""
    key_optional: bool = False
    omit: tuple[str, ...] = ()
    schema: bool = True
    limit: str = "max_tokens"
    models: str = ""

    def url(self, spec: str) -> str:
        """Return the base URL of the provider. Raises UserError where it stands in a variable that is not set."""
        if not self.base_url_env:
            return self.base_url
        host = os.environ.get(self.base_url_env, "").strip().rstrip("/")
        if not host:
            raise UserError(
                f"{spec}: set the environment variable {self.base_url_env} to the address of your resource, "
                "or give --model-base-url/--judge-base-url"
            )
        return host if host.endswith(self.path) else host + self.path


@cache
def providers() -> dict[str, Provider]:
    """Return all providers by name."""
    import yaml

    rows = yaml.safe_load((Path(__file__).parent / "providers.yaml").read_text(encoding="utf-8"))
    return {name: Provider(name=name, **row | {"omit": tuple(row.get("omit", ()))}) for name, row in rows.items()}


def provider_spec_for(model: str) -> str | None:
    """Return the spec that a bare model name most likely means: `gpt-4.1` -> `openai:gpt-4.1`; None for unknown names."""
    for provider in providers().values():
        if provider.models and re.match(provider.models, model, re.IGNORECASE):
            return f"{provider.name}:{model}"
    return None


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
