"""What of options, URLs and the environment is secret: learned from there, and left out of what is written down."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from truebench_hf.text.redaction import LONG, MARK, error, learn, learn_login, learn_looks, masked

# Names under which secrets are kept. Numbers of tokens and tokens of a tokenizer are none.
_SECRET = re.compile(
    r"(?<!cache)(?<!sort)(?<!public)(?:^|[_-])key$"
    r"|(?<!bos)(?<!eos)(?<!pad)(?<!unk)(?<!sep)(?<!cls)(?<!mask)(?<!stop)(?<!image)(?<!start)(?<!end)(?:^|[_-])token$"
    r"|(?:^|[_-])(?:auth|pwd|sig)$|(?:apikey|accesskey|authtoken|accesstoken)$"
    r"|secret|passw|passphrase|authorization|credential|cookie|bearer|signature",
    re.IGNORECASE,
)
_TELLING = re.compile(r"(?=.*[A-Za-z])(?=.*\d)[^\s/]{20,}")  # no word and no version: a secret under whatever name
_OTLP_HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_LOGS_HEADERS")  # k=v,k=v: keys under any name


def is_secret(name: str) -> bool:
    """Whether what goes by this name is nobody's business: `api_key`, `X-Auth-Token`, `password`."""
    return _SECRET.search(name) is not None


def learn_environment() -> None:
    """Know the keys and logins in the environment, whichever of them this process will use."""
    for name, value in os.environ.items():
        if "://" in value:
            learn_url(value)
        elif name == "OPENAI_CUSTOM_HEADERS":
            pairs = (line.partition(":") for line in value.splitlines())
            learn(*(content for header, _, content in pairs if is_secret(header.strip())))
        elif name in _OTLP_HEADERS:
            learn(*(unquote(pair.partition("=")[2].strip()) for pair in value.split(",")))
        elif is_secret(name) and len(value) >= LONG and not value.startswith(("/", "~", ".")) and value.isprintable():
            learn(value)


def learn_url(url: str) -> None:
    """Know the login and the secret parts of the query of a URL."""
    head, at, _ = url.partition("://")[2].rpartition("@")  # of a URL that nothing can read, too
    if at and "/" not in head:
        user, _, password = head.partition(":")
        learn_login(unquote(user), unquote(password))
        learn(password)
    for name, value in parse_qsl(url.partition("?")[2].partition("#")[0]):
        if is_secret(name) or _TELLING.fullmatch(value):
            learn(value)


def learn_arguments(given: Mapping[str, str]) -> None:
    """Know what is secret among the options of a provider, as they were given: `k=v` with JSON for objects."""
    for name, text in given.items():
        if name.endswith("base_url"):
            learn_url(text)
        elif isinstance(value := _json(text), dict | list):
            learn_entries(value)
        else:
            learn_entries(text, secret=is_secret(name))


def learn_entries(value: Any, *, secret: bool = False) -> None:
    """Know what stands under a telling name within an object, such as `extra_body`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            learn_entries(inner, secret=secret or is_secret(str(name)))
    elif isinstance(value, list | tuple):
        for inner in value:
            learn_entries(inner, secret=secret)
    elif isinstance(value, str):
        learn_looks(value)
        if secret:
            learn(value)


def open_entries(value: Any, *, mark: bool = False) -> Any:
    """An object without its secret entries, so that a changed key changes no identity; with `mark` they are masked."""
    if isinstance(value, dict):
        shown = {n: MARK if _hides(str(n), inner) else open_entries(inner, mark=mark) for n, inner in value.items()}
        return {name: inner for name, inner in shown.items() if mark or not _hides(str(name), value[name])}
    if isinstance(value, list | tuple):
        return [open_entries(inner, mark=mark) for inner in value]
    return error(value) if isinstance(value, str) else value


def _hides(name: str, value: Any) -> bool:
    return is_secret(name) and not isinstance(value, bool | int | float | None)


def without_login(url: str | None) -> str | None:
    """A URL that may be written down: user, password and query are left out."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:  # a bracket left open
        return error(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def recorded(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a command as they may be written down; a key that was changed changes nothing of them."""
    return {name: _recorded(name, value) for name, value in settings.items()}


def _recorded(name: str, value: Any) -> Any:
    if name.endswith("base_url"):
        return without_login(value)
    if name.endswith("_arg"):
        return arguments(value)
    return masked(value)


def arguments(given: Iterable[str]) -> list[str]:
    """Provider options (`k=v`, also for one of several models) as they may be written down."""
    return [_argument(*text.partition("=")) for text in given]


def _argument(name: str, equals: str, text: str) -> str:
    own = re.split(r"[@.]", name.strip())[-1]
    if own.endswith("base_url"):
        shown = without_login(text) or ""
    elif isinstance(value := _json(text), dict | list):
        shown = json.dumps(open_entries(value, mark=True), ensure_ascii=False)
    else:
        shown = MARK if is_secret(own) else error(text)
    return f"{name}{equals}{shown}"


def _json(text: str) -> Any:
    """The value of a text that may be JSON; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
