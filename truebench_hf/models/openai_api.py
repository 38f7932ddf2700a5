"""Any OpenAI-compatible server: chat completions, and typed decisions at `/systemone` or `/decisions`."""

from __future__ import annotations

import functools
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from truebench_hf.engine.retry import RequestFailed, RetryPolicy, Transient, with_retries
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import (
    ChatRequest,
    Completion,
    Decision,
    DecisionRequest,
    Identity,
    SchemaRefused,
)
from truebench_hf.models.thinking import split_thinking
from truebench_hf.types import Usage

T = TypeVar("T")

_PUBLIC_API = "https://api.openai.com/v1"
_FATAL = {400, 401, 403, 404, 405, 422, 501}
_TRANSIENT = {408, 409, 425, 429}
_QUESTIONS_PER_REQUEST = {"decisions": 400, "systemone": 64}  # limits of the two kinds of server


@dataclass(frozen=True)
class OpenAIOptions:
    """What `--model-arg k=v` may set for `openai:` specs."""

    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    timeout: float = 600.0
    attempts: int = 6
    deadline: float = 900.0
    chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    extra_body: dict[str, Any] = field(default_factory=dict)
    reasoning_effort: str | None = None
    omit: str = ""  # comma-separated parameters not to send, for servers that refuse them
    decisions: str = "auto"  # systemone | decisions | auto: decisions at the public API, systemone elsewhere


class OpenAIModel:
    """`openai:MODEL`: one chat model on an OpenAI-compatible server."""

    batch: int | None = None
    takes_schema = True

    def __init__(self, name: str, options: OpenAIOptions) -> None:
        from openai import AsyncOpenAI, DefaultAioHttpClient

        self.spec = f"openai:{name}"
        self._name, self._options = name, options
        self.url = (options.base_url or os.environ.get("OPENAI_BASE_URL") or _PUBLIC_API).rstrip("/")
        key = os.environ.get(options.api_key_env)
        if not key and self.url == _PUBLIC_API:
            raise UserError(f"{self.spec}: set the environment variable {options.api_key_env} to your API key")
        if options.decisions not in ("auto", "systemone", "decisions"):
            raise UserError(f"{self.spec}: decisions={options.decisions!r} is unknown; use systemone or decisions")
        shaping: dict[str, Any] = {
            "chat_template_kwargs": options.chat_template_kwargs,
            "extra_body": options.extra_body,
        }
        shaping |= {"reasoning_effort": options.reasoning_effort, "omit": options.omit}
        self.identity = Identity("openai", name, "", {k: v for k, v in shaping.items() if v})
        self._policy = RetryPolicy(attempts=options.attempts, deadline=options.deadline)
        # A local server needs no key, but the client insists on one.
        self._client = AsyncOpenAI(
            api_key=key or "none", base_url=self.url, timeout=options.timeout, max_retries=0,
            http_client=DefaultAioHttpClient(limits=_unlimited()),
        )  # fmt: skip

    async def complete(self, request: ChatRequest) -> Completion:
        """Ask for one chat completion; see `ChatModel.complete`."""
        body = self._body(request)

        async def ask() -> Completion:
            return _completion(await self._post("/chat/completions", body))

        return await with_retries(lambda: self._guarded(ask, request.schema is not None), self._policy)

    async def open_stream(self, request: ChatRequest) -> Any:
        """A streamed completion: iterate over its chunks (plain objects), then `close()` it. Raises as `complete`."""
        from openai import AsyncStream

        body = self._body(request)
        body["stream"] = True
        if "stream_options" not in self._options.omit.split(","):
            body["stream_options"] = {"include_usage": True}

        async def ask() -> Any:
            kind = AsyncStream[object]
            return await self._client.post("/chat/completions", cast_to=object, body=body, stream=True, stream_cls=kind)

        return await with_retries(lambda: self._guarded(ask, request.schema is not None), self._policy)

    async def decide(self, request: DecisionRequest) -> Decision:
        """Ask typed yes/no questions, as many a request as the server takes; see `ChatModel.decide`."""
        kind = self._options.decisions
        if kind == "auto":
            kind = "decisions" if self.url == _PUBLIC_API else "systemone"
        ask = self._decisions if kind == "decisions" else self._systemone
        size = _QUESTIONS_PER_REQUEST[kind]
        probabilities: list[float | None] = []
        usage = Usage()
        for start in range(0, len(request.questions), size):
            part = request.questions[start : start + size]
            asking = functools.partial(self._guarded, functools.partial(ask, request.state, part))
            answer = await with_retries(asking, self._policy)
            probabilities += answer.probabilities
            usage += answer.usage
        return Decision(tuple(probabilities), usage)

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
        return {k: v for k, v in body.items() if k not in self._options.omit.split(",")}

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
        return Decision(tuple(_share(found.get(name), "noul") for name in asked), _usage(answer))

    async def _decisions(self, state: str, questions: tuple[str, ...]) -> Decision:
        asked = [{"type": "predicate", "name": f"criteria_{i}", "instructions": t} for i, t in enumerate(questions, 1)]
        answer = await self._post("/decisions", {"model": self._name, "input": state, "questions": asked})
        answers = answer.get("answers") or []
        if not isinstance(answers, list):
            raise Transient(f"{self.url}/decisions sent answers that are not a list")
        # By name, not by place: a server that leaves one out must not shift the others.
        found = {item.get("name"): item for item in answers if isinstance(item, dict)}
        return Decision(tuple(_share(found.get(item["name"]), "probability") for item in asked), _usage(answer))

    async def _guarded(self, ask: Callable[[], Awaitable[T]], with_schema: bool = False) -> T:
        """Sort what can go wrong into Transient, RequestFailed, SchemaRefused and UserError."""
        import openai

        try:
            return await ask()
        except openai.APIStatusError as error:
            raise self._sorted(error, with_schema) from error
        except openai.APIError as error:  # dropped connections, timeouts, bodies that do not validate
            raise Transient(f"{self.url}: {type(error).__name__}: {error}") from error
        except UnicodeEncodeError as error:
            raise RequestFailed(f"the prompt holds a character that cannot be sent: {error.reason}") from error
        except (ValueError, OSError) as error:  # unreadable JSON or encoding
            raise Transient(f"{self.url}: unreadable answer: {error}") from error

    def _sorted(self, error: Any, with_schema: bool) -> Exception:
        status, text = error.status_code, _error_text(error)
        if status in _TRANSIENT or (status >= 500 and status not in _FATAL):
            return Transient(f"{self.url} answered {status}: {text}", _retry_after(error.response.headers))
        low = text.lower()
        if status in (400, 413, 422) and "context" in low and ("length" in low or "window" in low or "maximum" in low):
            return RequestFailed(f"the prompt does not fit the window: {text}")
        if status in (400, 413, 422, 501) and with_schema and ("schema" in low or "response_format" in low):
            return SchemaRefused(text)
        where = error.request.url.path
        if status in (404, 405, 501) and where.endswith(("/systemone", "/decisions")):
            asked = f"{self.url} answered {where} with {status}: {text}"
            return UserError(f"{self.spec}: no decision level there: {asked}; use --judge-level checklist or rubric")
        remedy = f"check the model name, --model-base-url/--judge-base-url and ${self._options.api_key_env}"
        return UserError(f"{self.spec} at {self.url} answered {status}: {text}; {remedy}")


def _unlimited() -> Any:
    import httpx2

    # The run's own concurrency limits decide; a second, hidden limit here would only make them lie.
    return httpx2.Limits(max_connections=None, max_keepalive_connections=None)


def _completion(answer: dict[str, Any]) -> Completion:
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Transient("the server sent a completion without choices")
    choice: dict[str, Any] = choices[0]
    message = choice.get("message") or {}
    if not isinstance(message, dict):
        raise Transient("the server sent a completion without a message")
    content = _text(message.get("content")) or _text(message.get("refusal"))
    text, thinking, unclosed = split_thinking(content)
    separate = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    reasoning = "\n".join(part for part in (separate, thinking) if part)
    return Completion(text, reasoning, _usage(answer), unclosed or choice.get("finish_reason") == "length")


def _text(content: Any) -> str:
    if isinstance(content, list):  # content parts
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _usage(answer: dict[str, Any]) -> Usage:
    usage = _object(answer.get("usage"))
    details = _object(usage.get("completion_tokens_details") or usage.get("output_tokens_details"))
    spent = usage.get("prompt_tokens") or usage.get("input_tokens")
    made = usage.get("completion_tokens") or usage.get("output_tokens")
    return Usage(_count(spent), _count(made), _count(details.get("reasoning_tokens")), 1)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    # A good answer is not thrown away for a bad count.
    return int(value) if isinstance(value, int | float) and value == value and abs(value) < 1e15 else 0


def _share(answer: Any, key: str) -> float | None:
    value = answer.get(key) if isinstance(answer, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        return None
    return float(value)


def _error_text(error: Any) -> str:
    body = error.body
    message = body.get("message") or body.get("detail") if isinstance(body, dict) else body
    return " ".join(str(message or error.message).split())[:500]


def _retry_after(headers: Any) -> float | None:
    """Seconds asked for by Retry-After (a number or a date), None where it is absent or unreadable."""
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None
