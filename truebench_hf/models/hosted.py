"""Providers by name: where `groq:MODEL` and the like are asked, as data in `providers.yaml`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from truebench_hf.errors import UserError


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
