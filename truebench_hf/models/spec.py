"""From a SPEC such as `openai:gpt-5` to a model: what a spec may be, and the options each kind takes."""

from __future__ import annotations

import json
import os
import re
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from truebench_hf.errors import UserError, need, unknown
from truebench_hf.models.loading import COPIES, of_spec
from truebench_hf.models.protocol import ChatModel, Identity
from truebench_hf.models.providers import OPEN, pinning, provider_spec_for, providers
from truebench_hf.options import InMemory
from truebench_hf.text.redaction import learn_environment, shown_argument
from truebench_hf.text.terminal import warn
from truebench_hf.version import __version__

Options = TypeVar("Options")
_CARRIED = ("HF_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE")  # to other machines, beside all of OPENAI_*
_FILES = ("hf", "hf-classifier", "reward", "vllm", "scripted")  # specs that may name one

_OWN_SPECS = {
    "smollm2": "the embedded SmolLM2-135M-Instruct; no network, no key, a weak judge",
    "hf:REPO_OR_PATH": "a chat model run by transformers in this process",
    "vllm:REPO_OR_PATH": "a chat model run by vLLM in this process",
    "hf-classifier:REPO_OR_PATH": "a small judge of grounding, run by transformers; decides whether a document supports a claim",
    "reward:REPO_OR_PATH": "a reward model run by transformers, to select answers by",
    "scripted:FILE": "a test double that answers by the rules in a JSON file",
}


@cache
def specs() -> dict[str, str]:
    """Return the forms that a spec may have, each with what it means."""
    return _OWN_SPECS | {f"{name}:MODEL": provider.title for name, provider in providers().items()}


@cache
def kinds() -> frozenset[str]:
    """Return what may stand before the colon of a spec."""
    return frozenset(form.partition(":")[0] for form in specs() if ":" in form)


def open_model(
    spec: str, arguments: Mapping[str, str] | None = None, base_url: str | None = None, needs_key: bool = True
) -> ChatModel:  # fmt: skip
    """The model a spec names, or holds (`InMemory`). Nothing heavy is loaded before its first request.

    `arguments` are the provider's options as text; `base_url` is for servers (`openai:`, `groq:`), and gives way to one
    among them. An estimate, which asks nothing, needs no key.
    Raises UserError on an unknown spec or option, and on a missing extra.
    """
    kind, _, name = spec.partition(":")
    options = dict(arguments or {})
    learn_environment()  # before any message can show one of them
    if base_url is not None:
        if not takes_url(spec):
            raise UserError(f"{spec}: a base URL only goes with specs of servers, such as openai:; leave it out")
        options.setdefault("base_url", base_url)  # an argument is about this very model
    if isinstance(spec, InMemory):
        if options:
            raise UserError(f"{spec}: takes no options here; give them to truebench_hf.model(...)")
        return typing.cast(ChatModel, spec.value)
    if (spec == "smollm2") != (kind == "smollm2") or (not name) != (kind == "smollm2"):
        raise _unknown_spec(spec)
    if takes_url(spec):
        from truebench_hf.models.openai_model import OpenAIModel
        from truebench_hf.models.openai_options import OpenAIOptions

        model = OpenAIModel(name, read_options(OpenAIOptions, options, spec), kind, needs_key)
        if model.identity.provider == OPEN:
            warn(pinning(spec))
        return model
    if kind == "scripted":
        from truebench_hf.models.scripted import ScriptedOptions, from_file

        return from_file(name, read_options(ScriptedOptions, options, spec))
    return _open_local(kind, name, options, spec)


def _open_local(kind: str, name: str, arguments: Mapping[str, str], spec: str) -> ChatModel:
    """Return a model that runs in this process; raise UserError where `kind` is none."""
    if kind in ("smollm2", "hf", "hf-classifier", "reward"):
        need("local", "transformers", "torch", what=spec)
        from truebench_hf.models.local import LocalModel, LocalOptions

        if kind in ("smollm2", "hf"):
            return LocalModel(name, read_options(LocalOptions, arguments, spec))
        from truebench_hf.models.classifier import ClassifierModel, ClassifierOptions, RewardModel

        if kind == "reward":
            return RewardModel(name, read_options(LocalOptions, arguments, spec))
        return ClassifierModel(name, read_options(ClassifierOptions, arguments, spec))
    if kind == "vllm":
        need("vllm", "vllm", what=spec)
        from truebench_hf.models.vllm_engine import VllmModel, VllmOptions

        return VllmModel(name, read_options(VllmOptions, arguments, spec))
    raise _unknown_spec(spec)


@dataclass(frozen=True)
class Opening:
    """All it takes to open a provider on another machine: see `open_model`. It may hold keys and logins."""

    spec: str
    arguments: Mapping[str, str] = field(repr=False)
    base_url: str | None = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    identity: Identity | None = None
    version: str = __version__

    @classmethod
    def here(
        cls, spec: str, arguments: Mapping[str, str], base_url: str | None, identity: Identity | None = None
    ) -> Opening:  # fmt: skip
        """With what of this process's environment a provider reads; `identity` is that of the model as opened here.

        Files go by their whole paths, since workers have a working folder of their own.
        """
        kind, colon, name = spec.partition(":")
        if kind in _FILES and os.path.exists(name):  # noqa: PTH110  Path.exists fails on names that are too long
            spec = f"{kind}{colon}{Path(name).resolve()}"
        recorded = {"record": str(Path(arguments["record"]).absolute())} if "record" in arguments else {}
        wanted = {*_CARRIED, arguments.get("api_key_env", "")}
        environment = {name: text for name, text in os.environ.items() if name in wanted or name.startswith("OPENAI_")}
        return cls(spec, {**arguments, **recorded}, base_url, environment, identity)

    def open(self) -> ChatModel:
        """The provider, in the process of a worker. Raises UserError as `open_model` does, and where it is another one."""
        self._compare("truebench-hf", self.version, __version__, "install one version on every machine")
        for name in [name for name in os.environ if name.startswith("OPENAI_")]:
            del os.environ[name]  # the worker's own: another server, or a key that is none of this study's business
        os.environ.update(self.environment)
        model = open_model(self.spec, self.arguments, self.base_url)
        # A script goes by its whole path there. The embedded model may be a package here, and a file of the Hub there.
        if self.identity and not self.spec.startswith("scripted:"):
            remedy = f"have the same on every machine{f': {COPIES}' if of_spec(self.spec) else ''}"
            self._compare(self.spec, self.identity, model.identity, remedy)
        return model

    def _compare(self, what: str, here: Any, worker: Any, remedy: str) -> None:
        if here != worker:
            names = [f"{x.model} {x.revision}".strip() if isinstance(x, Identity) else x for x in (here, worker)]
            raise UserError(f"--engine ray: {what} is {names[0]} here and {names[1]} on a worker; {remedy}")


def takes_url(spec: str) -> bool:
    """Return whether a spec names a model behind a server, so that a base URL may go with it."""
    return spec.partition(":")[0] in providers()


def _unknown_spec(spec: str) -> UserError:
    """The error for what is no spec: a bare name is answered with the provider that has such models."""
    if ":" not in spec and (meant := provider_spec_for(spec)):
        return UserError(f"unknown spec {spec!r}: did you mean {meant}?")
    if ":" not in spec and "/" in spec.strip("/"):
        return UserError(f"unknown spec {spec!r}: did you mean hf:{spec} (in this process) or hf-router:{spec}?")
    return unknown("spec", spec, specs())


def read_options(kind: type[Options], arguments: Mapping[str, Any], spec: str) -> Options:
    """An options object from texts: each value is read as its field's type, objects as JSON; others are checked alike.

    Raises UserError on an unknown name, an unreadable value, and what the options themselves refuse.
    """
    if not arguments:
        return kind()
    from pydantic import TypeAdapter, ValidationError  # a tenth of a second, which scripted models go without

    types = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for key, value in arguments.items():
        if key not in types:
            raise unknown(f"option of {spec}", key, types)
        values[key] = value
        if typing.get_origin(types[key]) is dict and isinstance(value, str):
            with suppress(ValueError):  # refused below as what it is
                values[key] = json.loads(value)
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        place = "".join(f"{shown_argument(f'{key}={arguments[str(key)]}')}: " for key in wrong["loc"][:1])
        remedy = "; write it as a JSON object" if wrong["type"] == "dict_type" else ""
        raise UserError(f"{spec}: {place}{wrong['msg'].removeprefix('Value error, ')}{remedy}") from error


_OBJECTS = ("loaded", "function")  # what stands there for models that are objects of this process


def without_kind(spec: str) -> str:
    """A model's name as its kind of spec has it: `openai:org/m:free` -> `org/m:free`; a name that is no spec as it is."""
    kind, colon, rest = spec.partition(":")
    return rest if colon and rest and (kind in kinds() or kind in _OBJECTS) else spec


def without_provider(spec: str) -> str:
    """A model's name without who provides it: `openai:gpt-4o` and `vllm:Qwen/Qwen3-8B` -> `gpt-4o` and `Qwen3-8B`."""
    name = without_kind(spec.strip()).strip()
    return name if re.search(r"\s", name) else name.rstrip("/").rpartition("/")[2]  # a path has no blanks


def family(spec: str) -> str:
    """The family a model's name shows (`Qwen/Qwen3-8B` and `my-qwen2.5:7b` -> `qwen`), for marking self-judged runs.

    Of several the first counts, the last part of a path before its folder; with none it is that last part itself.
    """
    name = without_kind(spec.lower().rstrip("/"))
    parts = [part for part in name.split("/") if not re.match(r"checkpoint\b", part)] or [name]
    for text in (parts[-1], "/".join(parts[-2:])):
        matches = [(match.start(), known) for known, words in _families().items() if (match := re.search(words, text))]
        if matches:
            return min(matches)[1]
    return parts[-1].partition(":")[0]


@cache
def _families() -> dict[str, str]:
    import yaml

    words: dict[str, str] = yaml.safe_load((Path(__file__).parent / "families.yaml").read_text(encoding="utf-8"))
    return words
