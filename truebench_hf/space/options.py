"""Every option of `truebench space`, declared once; on the Hub they are read from variables TRUEBENCH_<NAME>."""

from __future__ import annotations

import errno
import os
import re
import socket
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.rules.deciding import MODES
from truebench_hf.models.spec import kinds, specs, takes_url
from truebench_hf.options import at_least_one, option, pairs

_LEAST_ONE = (
    "refresh", "max_prompt", "max_document", "max_criteria", "max_seconds", "max_queue", "concurrency", "max_upload_mb",
)  # fmt: skip
# What only rates or classifies writes no answer and decides no criterion.
_NO_CHAT = ("reward", "hf-classifier")


@dataclass(frozen=True, kw_only=True)
class SpaceOptions:
    """What the Space reads, which model it runs, and what it allows a visitor.

    Raises UserError on what can be seen to be wrong before anything is read or loaded.
    """

    runs: tuple[str, ...] = option((), help="Run folder, or a folder of run folders; may be repeated.")
    results: str | None = option(None, help="Results data set on the Hub: ORG/NAME or ORG/NAME@REVISION.")
    submit: bool = option(True, help="Whether visitors may submit runs (to the results data set, as pull requests).")
    model: str = option("smollm2", help="Playground model: smollm2, hf:, vllm: or openai: spec.")
    model_base_url: str | None = option(None, help="URL of the playground model's OpenAI-compatible server.")
    model_arg: tuple[str, ...] = option((), help="Provider option k=v for the playground model; may be repeated.")
    judge: str | None = option(None, help="Playground judge: a spec; the playground model itself by default.")
    judge_base_url: str | None = option(None, help="URL of the playground judge's OpenAI-compatible server.")
    judge_arg: tuple[str, ...] = option((), help="Provider option k=v for the playground judge; may be repeated.")
    rules: str = option(
        "decide", help="What can be counted in an answer: off, evidence or decide, as in `truebench run`."
    )
    warm: bool = option(False, help="Load the playground's models before the first visitor comes.")
    port: int = option(7860, help="Port to listen on; 0 takes any free one.")
    host: str = option("127.0.0.1", help="Address to listen on.")
    refresh: int = option(60, help="Seconds between looks at the sources.")
    max_prompt: int = option(6000, help="Characters of a visitor's prompt or answer.")
    max_document: int = option(
        12_000, help="Characters of a visitor's document, in the playground's check of grounding."
    )
    max_tokens: int = option(
        512, help="Tokens of one answer, of the model or of the judge (four times as many to check grounding); at least 32."
    )  # fmt: skip
    max_criteria: int = option(12, help="Criteria in a visitor's checklist.")
    max_seconds: int = option(
        180, help="Seconds one request may take, a third of them until the model begins to answer."
    )
    max_queue: int = option(24, help="Visitors waiting at a time; further ones are turned away.")
    concurrency: int = option(1, help="Playground requests worked on at a time.")
    max_upload_mb: int = option(64, help="Size of an uploaded file in MiB.")

    def __post_init__(self) -> None:
        at_least_one(self, *_LEAST_ONE)
        if self.rules not in MODES:
            raise unknown("mode of rules", self.rules, MODES)
        if self.max_tokens < 32:
            raise UserError(f"--max-tokens {self.max_tokens}: must be at least 32")
        if not 0 <= self.port <= 65535:
            raise UserError(f"--port {self.port}: must be at most 65535; 0 takes any free one")
        for folder in self.runs:
            if not folder or not Path(folder).is_dir():
                raise UserError(f"--runs {folder}: no such folder; make it first if runs are to come")
        if self.results is not None:
            from truebench_hf.hub.mistakes import name_and_revision

            name_and_revision(self.results, "--results")
        _check_model("--model", self.model, self.model_base_url, self.model_arg)
        if self.judge is not None:
            _check_model("--judge", self.judge, self.judge_base_url, self.judge_arg)
        elif self.judge_base_url or self.judge_arg:
            raise UserError("--judge-base-url and --judge-arg only go with --judge")


def from_environment(environment: Mapping[str, str] = os.environ) -> SpaceOptions:
    """The options a Space is configured with; lists are separated by commas.

    Raises UserError, naming the variable, on what cannot be read and on what the options themselves refuse.
    """
    types = typing.get_type_hints(SpaceOptions)
    values: dict[str, typing.Any] = {"host": "0.0.0.0"}
    for field in fields(SpaceOptions):
        variable = f"TRUEBENCH_{field.name.upper()}"
        text = environment.get(variable, "").strip()
        if text:
            values[field.name] = _value(variable, text, types[field.name])
    try:
        return SpaceOptions(**values)
    except UserError as error:
        said = re.sub(r"--([a-z][a-z-]+)", lambda flag: f"TRUEBENCH_{flag[1].upper().replace('-', '_')}", str(error))
        raise UserError(said) from error


def check_address(host: str, port: int) -> None:
    """Raise UserError where this machine cannot listen there, which is better known before the runs are read."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server: left-overs do not count
            trial.bind(address)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "not an address"
        if getattr(error, "errno", None) in (errno.EADDRINUSE, errno.EACCES):
            raise UserError(f"--port {port}: {why} on {host}; give another one, or 0 for any free one") from error
        raise UserError(f"--host {host}: {why}; give an address of this machine, such as 127.0.0.1") from error


def _value(variable: str, text: str, kind: typing.Any) -> typing.Any:
    from pydantic import TypeAdapter, ValidationError

    if typing.get_origin(kind) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    try:
        return TypeAdapter(kind).validate_python(text)
    except ValidationError as error:
        raise UserError(f"{variable}={text}: must be {'yes or no' if kind is bool else 'a number'}") from error


def _check_model(flag: str, spec: str, base_url: str | None, arguments: tuple[str, ...]) -> None:
    kind, _, name = spec.partition(":")
    if spec != "smollm2" and (kind not in kinds() or kind in _NO_CHAT or not name):
        raise unknown(f"{flag} spec", spec, specs())
    if base_url is not None and not takes_url(spec):
        raise UserError(
            f"{flag}-base-url {base_url}: only goes with specs of servers such as openai:, not with {flag} {spec}"
        )
    pairs(arguments, f"{flag}-arg")
