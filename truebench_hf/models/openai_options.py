"""What `--model-arg k=v` may set for `openai:` specs, and the server that is meant by it."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from pydantic import Field, PositiveInt

from truebench_hf.errors import UserError, unknown
from truebench_hf.models.protocol import SamplingOptions
from truebench_hf.models.providers import Provider
from truebench_hf.text.redaction import MARK, error, learn, secrets_in

PUBLIC_API = "https://api.openai.com/v1"
# Parameters that `omit` may leave out of a request.
OMITTABLE = (
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "repetition_penalty", "reasoning_effort",
    "chat_template_kwargs", "response_format", "stream_options",
)  # fmt: skip

_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@dataclass(frozen=True)
class OpenAIOptions(SamplingOptions):
    """What `--model-arg k=v` may set for `openai:` specs."""

    base_url: str | None = None
    api_key_env: str | None = None  # None: OPENAI_API_KEY, if there is one
    timeout: _Seconds = 1800.0  # seconds without a word from the server: reasoning models think that long
    connect_timeout: Annotated[float, Field(gt=0, le=30)] = 30.0  # seconds until there is a connection
    attempts: PositiveInt = 14
    # Seconds for which every call to the server may fail for want of server, key or model before the command stops.
    patience: Annotated[float, Field(ge=0)] = 60.0
    deadline: _Seconds = 3600.0  # seconds over all attempts of one request: room for one that takes the whole timeout
    chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    extra_body: dict[str, Any] = field(default_factory=dict)
    reasoning_effort: str | None = None
    omit: str = ""  # comma-separated parameters not to send, for servers that refuse them
    decisions: Literal["auto", "systemone", "decisions"] = "auto"  # decisions at the public API, elsewhere systemone

    def __post_init__(self) -> None:
        for name in self.omitted:
            if name not in OMITTABLE:
                raise unknown("parameter to omit", name, OMITTABLE)

    @property
    def omitted(self) -> tuple[str, ...]:
        """The parameters not to send."""
        return tuple(name.strip() for name in self.omit.split(",") if name.strip())


@dataclass(frozen=True, slots=True)
class Server:
    """Where a model is asked. `url` may be shown: it holds neither login nor query.

    `login` (user, password) goes as Basic authorization in place of the `key`, `query` behind every path. The key is that
    of the variable `key_env` when the model was opened, "none" where there is none: the SDK insists on one.
    """

    url: str
    login: tuple[str, str] | None = field(default=None, repr=False)
    query: str = field(default="", repr=False)
    key: str = field(default="none", repr=False)
    key_env: str = "OPENAI_API_KEY"
    spec: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """The headers that a login takes; they stand in place of those of an API key."""
        login = base64.b64encode(":".join(self.login).encode()).decode("ascii") if self.login else ""
        return {"Authorization": f"Basic {login}"} if self.login else {}

    @property
    def public(self) -> bool:
        """Whether this is OpenAI's own service."""
        return self.url == PUBLIC_API

    def with_query(self, path: str) -> str:
        """A path below the base URL with the query of the base URL behind it."""
        return f"{path}?{self.query}" if self.query else path


def server_of(spec: str, options: OpenAIOptions, host: Provider, *, needs_key: bool = True) -> Server:
    """Return the server that options, the environment or the provider name. Raises UserError on a bad URL or no key.

    A login in the URL goes before the provider's key, which is then not sent.
    """
    url = options.base_url or (os.environ.get("OPENAI_BASE_URL") if host.name == "openai" else "") or host.url(spec)
    try:
        server = server_at(url.strip())
    except ValueError as error:
        raise UserError(f"{spec}: {error}") from None
    key_env = options.api_key_env or host.key
    if server.login and options.api_key_env:
        raise UserError(f"{spec}: the base URL holds a login and api_key_env names a key; take one of them away")
    key = "" if server.login else os.environ.get(key_env, "").strip()  # a .env file may have left a line end behind it
    learn(key, *secrets_in(options.extra_body))
    needed = options.api_key_env or ((server.public or not host.key_optional) and not server.login)
    if not key and needed and needs_key:
        raise UserError(f"{spec}: set the environment variable {key_env} to your API key")
    if not (key.isascii() and key.isprintable()):
        raise UserError(f"{spec}: the API key in {key_env} holds a character that no key has; copy it again")
    return replace(server, key=key or "none", key_env=key_env, spec=spec)


def server_at(text: str) -> Server:
    """The server that a base URL names. Raises ValueError, without the login in it, on what is none."""
    safe_url = error(re.sub(r"(?<=://).*@", f"{MARK}@", text))
    if not text.startswith(("http://", "https://")):
        raise ValueError(f"the base URL {safe_url!r} must begin with http:// or https://")
    try:
        parts = urlsplit(text)
        host = parts.hostname if parts.port != 0 else None
    except ValueError:  # a port that is no number, or a bracket left open
        host = None
    if not host or " " in host or not text.isprintable():
        raise ValueError(f"the base URL {safe_url!r} cannot be used; write it as http://HOST:PORT/v1")
    user, at, place = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    url = urlunsplit(parts._replace(netloc=place, path=parts.path.rstrip("/"), query="", fragment=""))
    server = Server(url, (unquote(name), unquote(password)) if at else None, parts.query)
    # A query tells a server who asks, or which version of it is meant.
    learn(*(value for name, value in parse_qsl(parts.query) if "version" not in name.lower()))
    if server.login:
        learn(*server.login, server.headers["Authorization"].removeprefix("Basic "))
    return server
