"""Any OpenAI-compatible server: chat completions, and typed decisions at `/systemone` or `/decisions`."""

from __future__ import annotations

import difflib
import functools
import math
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from truebench_hf.engine.retry import RequestFailed, RetryPolicy, Transient, with_retries
from truebench_hf.errors import UserError
from truebench_hf.models.openai_errors import OMITTABLE, ServerError, retry_after, server_error
from truebench_hf.models.openai_replies import completion, share, usage
from truebench_hf.models.protocol import (
    ChatRequest,
    Completion,
    Decision,
    DecisionRequest,
    Identity,
    SchemaRefused,
)
from truebench_hf.types import Usage

T = TypeVar("T")

_PUBLIC_API = "https://api.openai.com/v1"
_CONNECT_TIMEOUT = 30.0
_UNREACHABLE_TRIES = 6  # about 8 seconds: a wrong URL should show soon, before anything has been answered
_TRANSIENT = {408, 409, 425, 429}
_QUESTIONS_PER_REQUEST = {"decisions": 400, "systemone": 64}  # limits of the two kinds of server


@dataclass(frozen=True)
class OpenAIOptions:
    """What `--model-arg k=v` may set for `openai:` specs."""

    base_url: str | None = None
    api_key_env: str | None = None  # None: OPENAI_API_KEY, if there is one
    timeout: float = 600.0
    attempts: int = 12
    deadline: float = 900.0  # seconds over all attempts of one request
    chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    extra_body: dict[str, Any] = field(default_factory=dict)
    reasoning_effort: str | None = None
    omit: str = ""  # comma-separated parameters not to send, for servers that refuse them
    decisions: str = "auto"  # systemone | decisions | auto: decisions at the public API, systemone elsewhere

    def __post_init__(self) -> None:
        for name in ("timeout", "deadline"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name}={getattr(self, name)} must be a number of seconds above 0")
        if self.attempts < 1:
            raise ValueError(f"attempts={self.attempts} must be at least 1")
        if self.decisions not in ("auto", "systemone", "decisions"):
            raise ValueError(f"decisions={self.decisions!r} is unknown; use systemone or decisions")
        for name in self.omitted:
            if name not in OMITTABLE:
                near = difflib.get_close_matches(name, OMITTABLE, n=1)
                hint = f"; did you mean {near[0]}?" if near else "."
                raise ValueError(f"omit={name} is no such parameter{hint} One can omit {', '.join(OMITTABLE)}")

    @property
    def omitted(self) -> tuple[str, ...]:
        """The parameters not to send."""
        return tuple(name.strip() for name in self.omit.split(",") if name.strip())


class _Unreachable(Transient):
    """No connection came about."""


class OpenAIModel:
    """`openai:MODEL`: one chat model on an OpenAI-compatible server."""

    batch: int | None = None
    takes_schema = True

    def __init__(self, name: str, options: OpenAIOptions) -> None:
        from openai import AsyncOpenAI, DefaultAioHttpClient

        self.spec = f"openai:{name}"
        self._name, self._options = name, options
        self.url = (options.base_url or os.environ.get("OPENAI_BASE_URL") or _PUBLIC_API).rstrip("/")
        if not self.url.startswith(("http://", "https://")):
            raise UserError(f"{self.spec}: the base URL {self.url!r} must begin with http:// or https://")
        self._key_env = options.api_key_env or "OPENAI_API_KEY"
        key = os.environ.get(self._key_env)
        if not key and (options.api_key_env or self.url == _PUBLIC_API):
            raise UserError(f"{self.spec}: set the environment variable {self._key_env} to your API key")
        shaping: dict[str, Any] = {
            "chat_template_kwargs": options.chat_template_kwargs,
            "extra_body": options.extra_body,
        }
        shaping |= {"reasoning_effort": options.reasoning_effort, "omit": ",".join(options.omitted)}
        self.identity = Identity("openai", name, "", {k: v for k, v in shaping.items() if v})
        self._policy = RetryPolicy(attempts=options.attempts, deadline=options.deadline)
        self._answered = False  # whether any call ever was
        # A local server needs no key, but the client insists on one.
        self._client = AsyncOpenAI(
            api_key=key or "none", base_url=self.url, timeout=_timeout(options.timeout), max_retries=0,
            http_client=DefaultAioHttpClient(limits=_unlimited()),
        )  # fmt: skip

    async def complete(self, request: ChatRequest) -> Completion:
        """Ask for one chat completion; see `ChatModel.complete`."""
        body = self._body(request)

        async def ask() -> Completion:
            return completion(await self._post("/chat/completions", body))

        return await self._tried(ask, request.schema is not None)

    async def open_stream(self, request: ChatRequest) -> Any:
        """A streamed completion: iterate over its chunks (plain objects), then `close()` it. Raises as `complete`."""
        from openai import AsyncStream

        body = self._body(request)
        body["stream"] = True
        if "stream_options" not in self._options.omitted:
            body["stream_options"] = {"include_usage": True}

        async def ask() -> Any:
            kind = AsyncStream[object]
            return await self._client.post("/chat/completions", cast_to=object, body=body, stream=True, stream_cls=kind)

        return await self._tried(ask, request.schema is not None)

    async def decide(self, request: DecisionRequest) -> Decision:
        """Ask typed yes/no questions, as many a request as the server takes; see `ChatModel.decide`."""
        kind = self._options.decisions
        if kind == "auto":
            kind = "decisions" if self.url == _PUBLIC_API else "systemone"
        ask = self._decisions if kind == "decisions" else self._systemone
        size = _QUESTIONS_PER_REQUEST[kind]
        probabilities: list[float | None] = []
        spent = Usage()
        for start in range(0, len(request.questions), size):
            part = request.questions[start : start + size]
            answer = await self._tried(functools.partial(ask, request.state, part))
            probabilities += answer.probabilities
            spent += answer.usage
        return Decision(tuple(probabilities), spent)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        sampling = request.sampling
        # The public API wants the newer name; many other servers only know the older one.
        limit = "max_completion_tokens" if self.url == _PUBLIC_API else "max_tokens"
        body: dict[str, Any] = {
            "model": self._name,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            limit: sampling.max_tokens,
        }
        if sampling.repetition_penalty != 1.0:
            body["repetition_penalty"] = sampling.repetition_penalty
        if self._options.reasoning_effort:
            body["reasoning_effort"] = self._options.reasoning_effort
        if self._options.chat_template_kwargs:
            body["chat_template_kwargs"] = self._options.chat_template_kwargs
        if request.schema is not None:
            schema = {"name": "verdicts", "schema": request.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        body |= self._options.extra_body
        return {k: v for k, v in body.items() if k not in self._options.omitted}

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        # The plain body, not the SDK's typed object: servers leave out or null fields that the types promise.
        answer = await self._client.post(path, cast_to=object, body=body)
        if not isinstance(answer, dict):
            raise Transient(f"{self.url}{path} sent a body that is not a JSON object")
        return answer

    async def _systemone(self, state: str, questions: tuple[str, ...]) -> Decision:
        asked = {f"criteria_{i}": {"type": "noul", "instructions": text} for i, text in enumerate(questions, 1)}
        answer = await self._post("/systemone", {"model": self._name, "state": state, "questions": asked})
        found = answer.get("answers") or {}
        if not isinstance(found, dict):
            raise Transient(f"{self.url}/systemone sent answers that are not an object")
        return Decision(tuple(share(found.get(name), "noul") for name in asked), usage(answer))

    async def _decisions(self, state: str, questions: tuple[str, ...]) -> Decision:
        asked = [{"type": "predicate", "name": f"criteria_{i}", "instructions": t} for i, t in enumerate(questions, 1)]
        answer = await self._post("/decisions", {"model": self._name, "input": state, "questions": asked})
        answers = answer.get("answers") or []
        if not isinstance(answers, list):
            raise Transient(f"{self.url}/decisions sent answers that are not a list")
        # By name, not by place: a server that leaves one out must not shift the others.
        found = {item.get("name"): item for item in answers if isinstance(item, dict)}
        return Decision(tuple(share(found.get(item["name"]), "probability") for item in asked), usage(answer))

    async def _tried(self, ask: Callable[[], Awaitable[T]], with_schema: bool = False) -> T:
        """Ask until there is an answer; a server that never gave one and cannot be reached stops the run."""
        try:
            answer = await with_retries(lambda: self._guarded(ask, with_schema), self._policy)
        except RequestFailed as error:
            if self._answered or not isinstance(error.__cause__, _Unreachable):
                raise
            remedy = "start the server, or check --model-base-url/--judge-base-url and $OPENAI_BASE_URL"
            raise UserError(f"{self.spec}: cannot be reached: {error}; {remedy}") from error
        self._answered = True
        return answer

    async def _guarded(self, ask: Callable[[], Awaitable[T]], with_schema: bool) -> T:
        """Sort what can go wrong into Transient, RequestFailed, SchemaRefused and UserError."""
        import httpx2
        import openai

        try:
            return await ask()
        except openai.APIStatusError as error:
            raise self._sorted(error, with_schema) from error
        except openai.APIError as error:  # dropped connections, timeouts, bodies that do not validate
            cause = error.__cause__ or error  # the SDK itself calls nearly everything a timeout
            told = f"{self.url}: {str(cause) or type(cause).__name__}"
            if isinstance(cause, httpx2.ConnectTimeout | httpx2.ConnectError | httpx2.UnsupportedProtocol):
                raise _Unreachable(told, tries=None if self._answered else _UNREACHABLE_TRIES) from error
            raise Transient(told) from error
        except UnicodeEncodeError as error:
            raise RequestFailed(f"the prompt holds a character that cannot be sent: {error.reason}") from error
        except (ValueError, OSError) as error:  # unreadable JSON or encoding
            raise Transient(f"{self.url}: unreadable answer: {error}") from error

    def _sorted(self, error: Any, with_schema: bool) -> Exception:
        said, where = server_error(error), error.request.url.path
        answered = f"{self.url} answered {said.status}: {said.text}"
        if said.too_long:
            return RequestFailed(f"the prompt does not fit the window: {said.text}")
        if said.prompt_refused:
            return RequestFailed(f"the server's content filter refused the prompt: {said.text}")
        if said.status in _TRANSIENT or (said.status >= 500 and said.status != 501):
            return Transient(answered, retry_after(error.response.headers))
        # Wordings are too many to know: whether the schema is to blame shows when it is asked again without.
        if with_schema and said.status in (400, 422, 501) and said.not_taken in ("", "response_format"):
            return SchemaRefused(answered)
        if said.status in (404, 405, 501) and where.endswith(("/systemone", "/decisions")):
            asked = f"{self.url} answered {where} with {said.status}: {said.text}"
            return UserError(f"{self.spec}: no decision level there: {asked}; use --judge-level checklist or rubric")
        return UserError(f"{self.spec} at {answered}; {self._remedy(said)}")

    def _remedy(self, said: ServerError) -> str:
        if said.not_taken:
            omit = ",".join((*self._options.omitted, said.not_taken))
            return f"leave the parameter out with --model-arg/--judge-arg omit={omit}"
        return f"check the model name, --model-base-url/--judge-base-url and ${self._key_env}"


def _timeout(seconds: float) -> Any:
    import httpx2

    # An address where nobody answers shows long before a slow answer would.
    return httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_TIMEOUT))


def _unlimited() -> Any:
    import httpx2

    # The run's own concurrency limits decide; a second, hidden limit here would only make them lie.
    return httpx2.Limits(max_connections=None, max_keepalive_connections=None)
