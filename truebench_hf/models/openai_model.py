"""Any OpenAI-compatible server: chat completions, and typed decisions at `/systemone` or `/decisions`.

What is sent, and how answers are read: fields may be missing, null or of another type.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from typing import Any

from truebench_hf.engine.money import Price, listed_price
from truebench_hf.engine.retry import PATIENCE, RequestFailed, TryAgain
from truebench_hf.models.markup import broken_up, split_thinking
from truebench_hf.models.openai_connection import Connection
from truebench_hf.models.openai_options import OpenAIOptions, server_of
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest, Identity
from truebench_hf.models.providers import Served, provider, providers
from truebench_hf.text.redaction import shown
from truebench_hf.types import Usage

_CHAT = "/chat/completions"
_HALF = re.compile("[\ud800-\udfff]")
_BROKEN_OFF = ("error", "network_error", "abort", "insufficient_system_resource")
_FILTERED = ("content_filter", "sensitive")


class OpenAIModel:
    """`openai:MODEL`, `groq:MODEL` and the like: one chat model on an OpenAI-compatible server."""

    batch: int | None = None

    def __init__(
        self, name: str, options: OpenAIOptions, patience: float = PATIENCE, host: str = "openai", asked: bool = True
    ) -> None:
        """`host` is the provider's name in `providers.yaml`; a model that is not `asked` needs no key.

        `patience`: seconds for which all calls to the server may fail before the run is stopped; see `CircuitBreaker`.
        """
        self.spec = f"{host}:{name}"
        self._host = providers()[host]
        self.takes_schema = self._host.schema
        self._name, self._options = name, options
        self._server = server_of(self.spec, options, self._host, needs_key=asked)
        self.identity = Identity(provider(name, self._server.url, host), name, "", _shaping(options))
        self._connection = Connection(self._server, options, patience)

    @property
    def url(self) -> str:
        """The server's base URL."""
        return self._server.url

    @property
    def cache_scope(self) -> str:
        """Its server."""
        return self._server.url

    @property
    def served(self) -> Served:
        """What its answers told of who gave them."""
        return self._connection.served

    def listed_price(self) -> Price | None:
        """The price that the server lists for the model; None where it tells none, or gives no answer soon."""
        return listed_price(self._connection.models(), self._name)

    async def complete(self, request: ChatRequest) -> Completion:
        """Ask for one chat completion; see `ChatModel.complete`."""
        return await self._connection.ask(_CHAT, self._body(request), completion, request.schema is not None)

    async def open_stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        """A streamed completion: iterate over its chunks (plain objects), then close it. Raises as `complete`.

        While it is read only TryAgain is raised.
        """
        body = self._body(request) | {"stream": True}
        if "stream_options" not in self._options.omitted:
            body["stream_options"] = {"include_usage": True}
        return await self._connection.stream(_CHAT, body, request.schema is not None)

    async def decide(self, request: DecisionRequest) -> Decision:
        """Ask typed yes/no questions, as many a request as the server takes; see `ChatModel.decide`."""
        kind = self._options.decisions
        if kind == "auto":
            kind = "decisions" if self._server.public else "systemone"
        body_of, read, size = _DECISIONS[kind]
        text = str if self._server.public else broken_up
        state, questions = text(request.state), list(map(text, request.questions))
        probabilities: list[float | None] = []
        spent = Usage()
        for start in range(0, len(questions), size):
            part = questions[start : start + size]
            body = {"model": self._name} | body_of(state, part)
            answer = await self._connection.ask(f"/{kind}", body, partial(read, count=len(part)))
            probabilities += answer.probabilities
            spent += answer.usage
        return Decision(tuple(probabilities), spent)

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        body = chat_body(self._name, self._options, self._options.applied(request), public=self._server.public)
        if self._host.limit not in body and "max_tokens" in body:
            body[self._host.limit] = body.pop("max_tokens")
        return {key: value for key, value in body.items() if key not in self._host.omit}


def chat_body(name: str, options: OpenAIOptions, request: ChatRequest, *, public: bool) -> dict[str, Any]:
    """What to send to `/chat/completions` for model `name`; `public` is OpenAI's own service."""
    sampling = request.sampling
    # OpenAI's own service reads control tokens in messages as text.
    content_of = str if public else broken_up
    # The public API wants the newer name; many other servers only know the older one.
    limit = "max_completion_tokens" if public else "max_tokens"
    body: dict[str, Any] = {
        "model": name,
        "messages": [{"role": m.role, "content": content_of(m.content)} for m in request.messages],
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        limit: sampling.max_tokens,
    }
    if sampling.repetition_penalty != 1.0:
        body["repetition_penalty"] = sampling.repetition_penalty
    if options.reasoning_effort:
        body["reasoning_effort"] = options.reasoning_effort
    if options.chat_template_kwargs:
        body["chat_template_kwargs"] = options.chat_template_kwargs
    if request.schema is not None:
        schema = {"name": "verdicts", "schema": request.schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    body |= options.extra_body
    return {k: v for k, v in body.items() if k not in options.omitted}


def _shaping(options: OpenAIOptions) -> dict[str, Any]:
    """The options that shape the answers, for the model's identity: those that say something, and no secrets."""
    shaping = {
        "chat_template_kwargs": shown(options.chat_template_kwargs, drop=True),
        "extra_body": shown(options.extra_body, drop=True),
        "reasoning_effort": options.reasoning_effort,
        "omit": ",".join(options.omitted),
    } | options.own_sampling
    return {name: value for name, value in shaping.items() if value}


def completion(answer: dict[str, Any]) -> Completion:
    """The completion in a chat answer. Raises as `check_end` does, and TryAgain where there is none."""
    if "choices" not in answer:
        raise TryAgain("the server sent an object that is no completion", "unreadable")
    choice = first_choice(answer)
    if choice is None:
        raise TryAgain("the server sent a completion without choices")
    check_end(choice)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise TryAgain("the server sent a completion without a message")
    content, part = texts(message.get("content"))
    text, thinking, unclosed = split_thinking(content or texts(message.get("refusal"))[0])
    separate = separate_thinking(message)
    reasoning = "\n".join(thought for thought in (separate, part, thinking) if thought)
    cut = unclosed or choice.get("finish_reason") == "length"
    return Completion(text, reasoning, usage(answer), cut, cached_tokens(answer))


def first_choice(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The one choice of a chat answer, or of a chunk of one; None where it holds none."""
    choices = answer.get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None


def check_end(choice: dict[str, Any]) -> None:
    """See that an answer is not what a failure has left of one: raises TryAgain, or RequestFailed where filtered."""
    reason = str(choice.get("finish_reason") or "")
    if reason in _BROKEN_OFF:
        message = _object(choice.get("error")).get("message") or ""
        raise TryAgain(f"the server broke off its answer (finish_reason {reason}) {message}".rstrip())
    if reason.startswith(_FILTERED):
        raise RequestFailed(f"the server's content filter stopped the answer (finish_reason {reason})")


def texts(content: Any) -> tuple[str, str]:
    """(answer, thinking) in a message's content: a text, or a list of parts that are texts or objects with a type."""
    if not isinstance(content, list):
        # Half a character, where a limit cut an emoji: no later request could carry it.
        return (_HALF.sub("\ufffd", content) if isinstance(content, str) else ""), ""
    written, thought = "", ""
    for part in content:
        if not isinstance(part, dict):
            written += texts(part)[0]
        elif part.get("type") in ("thinking", "reasoning"):
            inner = part.get("thinking") or part.get("reasoning") or part.get("text")
            thought += "".join(texts(inner))
        else:
            written += texts(part.get("text") or part.get("refusal"))[0]
    return written, thought


def separate_thinking(message: dict[str, Any]) -> str:
    """The thinking that stands in a field of its own, under either name."""
    return texts(message.get("reasoning_content"))[0] or texts(message.get("reasoning"))[0]


def usage(answer: dict[str, Any]) -> Usage:
    """What one call has spent. A good answer is not thrown away for a bad count: its usage is unknown then."""
    spent = _object(answer.get("usage"))
    details = _object(_first(spent, "completion_tokens_details", "output_tokens_details"))
    read = _count(_first(spent, "prompt_tokens", "input_tokens"))
    written = _count(_first(spent, "completion_tokens", "output_tokens"))
    thought = _count(_first(details, "reasoning_tokens") or 0)  # part of what is written, which few servers tell apart
    return Usage(read or 0, written or 0, thought or 0, 1, int(None in (read, written, thought)))


def cached_tokens(answer: dict[str, Any]) -> int:
    """How many tokens of the input of one call the server took from its cache; 0 where it does not tell."""
    spent = _object(answer.get("usage"))
    details = _object(_first(spent, "prompt_tokens_details", "input_tokens_details"))
    cached = _count(_first(details, "cached_tokens") or spent.get("prompt_cache_hit_tokens") or 0)
    return min(cached or 0, usage(answer).input_tokens)


def _share(answer: Any, key: str) -> float | None:
    """A probability of an answer to one question; None where it has none."""
    value = answer.get(key) if isinstance(answer, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        return None
    return float(value)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _first(values: dict[str, Any], *names: str) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)


def _count(value: Any) -> int | None:
    """A number of tokens, which some servers send as a text; None for what is none."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,15}", value.strip(), re.ASCII):
        value = int(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value < 1e15 and value == int(value) else None


def _systemone_body(state: str, questions: Sequence[str]) -> dict[str, Any]:
    return {
        "state": state,
        "questions": {_name(i): {"type": "noul", "instructions": q} for i, q in enumerate(questions)},
    }


def _decisions_body(state: str, questions: Sequence[str]) -> dict[str, Any]:
    predicates = [{"type": "predicate", "name": _name(i), "instructions": q} for i, q in enumerate(questions)]
    return {"input": state, "questions": predicates}


def _read_systemone(answer: dict[str, Any], count: int) -> Decision:
    return _decision(answer, answer.get("answers"), "noul", count)


def _read_decisions(answer: dict[str, Any], count: int) -> Decision:
    answers = answer.get("answers")
    # By name, not by place: a server that leaves one out must not shift the others.
    items = [item for item in answers if isinstance(item, dict)] if isinstance(answers, list) else []
    return _decision(answer, {str(item.get("name")): item for item in items}, "probability", count)


def _decision(answer: dict[str, Any], by_name: Any, key: str, count: int) -> Decision:
    names = [_name(i) for i in range(count)]
    if not isinstance(by_name, dict) or not by_name.keys() & set(names):
        raise TryAgain("the server sent no answers", "fault" if answer.get("answers") else "unreadable")
    return Decision(tuple(_share(by_name.get(name), key) for name in names), usage(answer))


def _name(place: int) -> str:
    return f"criteria_{place + 1}"


BodyOf = Callable[[str, Sequence[str]], dict[str, Any]]
ReadDecision = Callable[..., Decision]
# How each kind of server is asked, how its answer is read, and how many questions it takes at once.
_DECISIONS: dict[str, tuple[BodyOf, ReadDecision, int]] = {
    "decisions": (_decisions_body, _read_decisions, 400),
    "systemone": (_systemone_body, _read_systemone, 64),
}
