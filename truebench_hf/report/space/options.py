"""Every option of `truebench space`, declared once; on the Hub they are read from variables TRUEBENCH_<NAME>."""

from __future__ import annotations

import os
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields

from truebench_hf.errors import UserError
from truebench_hf.options import option


@dataclass(frozen=True, kw_only=True)
class SpaceOptions:
    """What the Space reads, which model it runs, and what it allows a visitor."""

    runs: tuple[str, ...] = option((), help="Run folder, or a folder of run folders; may be repeated.")
    results: str | None = option(None, help="Results data set on the Hub: ORG/NAME or ORG/NAME@REVISION.")
    submit: bool = option(True, help="Whether visitors may submit runs (to the results data set, as pull requests).")
    model: str = option("smollm2", help="Playground model: smollm2, hf:, vllm: or openai: spec.")
    model_base_url: str | None = option(None, help="URL of the playground model's OpenAI-compatible server.")
    model_arg: tuple[str, ...] = option((), help="Provider option k=v for the playground model; may be repeated.")
    judge: str | None = option(None, help="Playground judge: a spec; the playground model itself by default.")
    judge_base_url: str | None = option(None, help="URL of the playground judge's OpenAI-compatible server.")
    judge_arg: tuple[str, ...] = option((), help="Provider option k=v for the playground judge; may be repeated.")
    port: int = option(7860, help="Port to listen on; 0 takes any free one.")
    host: str = option("127.0.0.1", help="Address to listen on.")
    refresh: int = option(60, help="Seconds between looks at the sources.")
    max_prompt: int = option(6000, help="Characters of a visitor's prompt or answer.")
    max_tokens: int = option(512, help="Tokens of one answer, of the model or of the judge.")
    max_criteria: int = option(12, help="Criteria in a visitor's checklist.")
    max_seconds: int = option(180, help="Seconds one request may take.")
    max_queue: int = option(24, help="Visitors waiting at a time; further ones are turned away.")
    concurrency: int = option(1, help="Playground requests worked on at a time.")
    max_upload_mb: int = option(64, help="Size of an uploaded file in MiB.")

    def __post_init__(self) -> None:
        for name in ("refresh", "max_prompt", "max_tokens", "max_criteria", "max_seconds", "max_queue", "concurrency"):
            if getattr(self, name) < 1:
                raise UserError(f"--{name.replace('_', '-')} {getattr(self, name)}: must be at least 1")


def from_environment(environment: Mapping[str, str] = os.environ) -> SpaceOptions:
    """The options a Space is configured with; lists are separated by commas. Raises UserError on a bad number."""
    types = typing.get_type_hints(SpaceOptions)
    values: dict[str, typing.Any] = {"host": "0.0.0.0"}
    for field in fields(SpaceOptions):
        text = environment.get(f"TRUEBENCH_{field.name.upper()}", "").strip()
        if not text:
            continue
        kind = types[field.name]
        if kind is int:
            if not text.isdigit():
                raise UserError(f"TRUEBENCH_{field.name.upper()}={text}: must be a number")
            values[field.name] = int(text)
        elif kind is bool:
            values[field.name] = text.lower() not in ("0", "false", "no", "off")
        else:
            several = typing.get_origin(kind) is tuple
            values[field.name] = tuple(part.strip() for part in text.split(",")) if several else text
    return SpaceOptions(**values)
