"""Any OpenAI-compatible server: chat completions, and typed decisions at `/systemone` or `/decisions`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Any

from truebench_hf.engine.money import Price, listed_price
from truebench_hf.engine.retry import PATIENCE
from truebench_hf.models.markup import broken_up
from truebench_hf.models.openai_connection import Connection
from truebench_hf.models.openai_options import OpenAIOptions, server_of
from truebench_hf.models.openai_reading import completion, decision, question_name
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest, Identity
from truebench_hf.models.providers import provider, providers
from truebench_hf.text.redaction import shown
from truebench_hf.types import Usage

_CHAT = "/chat/completions"
_AT_ONCE = {"decisions": 400, "systemone": 64}  # questions of one request, by the kind of server


class OpenAIModel:
    """`openai:MODEL`, `groq:MODEL` and the like: one chat model on an OpenAI-compatible server."""

    batch: int | None = None

    def __init__(
        self,
        name: str,
        options: OpenAIOptions,
        patience: float = PATIENCE,
        host: str = "openai",
        needs_key: bool = True,
    ) -> None:
        """`host` is the provider's name in `providers.yaml`; an estimate, which asks nothing, needs no key.

        `patience`: seconds for which all calls to the server may fail before the run is stopped; see `CircuitBreaker`.
        """
        self.spec = f"{host}:{name}"
        self._name, self._options, self._host = name, options, providers()[host]
        self.takes_schema = self._host.schema
        self._server = server_of(self.spec, options, self._host, needs_key=needs_key)
        self.cache_scope = self._server.url
        self.identity = Identity(provider(name, self._server.url, host), name, "", _shaping(options))
        self._connection = Connection(self._server, options, patience)
        self.served = self._connection.served

    def listed_price(self) -> Price | None:
        """The price that the server lists for the model; None where it tells none, or gives no answer soon."""
        return listed_price(self._connection.models(), self._name)

    async def complete(self, request: ChatRequest) -> Completion:
        """Ask for one chat completion; see `ChatModel.complete`."""
        return await self._connection.ask(_CHAT, self.chat_body(request), completion, request.schema is not None)

    def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        """Yield the chunks of a streamed completion, as plain objects. Raises as `complete`, and TryAgain once it began."""
        body = self.chat_body(request) | {"stream": True}
        if "stream_options" not in self._options.omitted:
            body["stream_options"] = {"include_usage": True}
        return self._connection.stream(_CHAT, body, request.schema is not None)

    async def decide(self, request: DecisionRequest) -> Decision:
        """Ask typed yes/no questions, as many a request as the server takes; see `ChatModel.decide`."""
        kind, public = self._options.decisions, self._server.public
        if kind == "auto":
            kind = "decisions" if public else "systemone"
        text = str if public else broken_up
        state, questions = text(request.state), list(map(text, request.questions))
        probabilities: list[float | None] = []
        spent = Usage()
        for start in range(0, len(questions), _AT_ONCE[kind]):
            part = questions[start : start + _AT_ONCE[kind]]
            body = {"model": self._name} | _questions(kind, state, part)
            answer = await self._connection.ask(f"/{kind}", body, partial(decision, kind=kind, count=len(part)))
            probabilities += answer.probabilities
            spent += answer.usage
        return Decision(tuple(probabilities), spent)

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    def chat_body(self, request: ChatRequest) -> dict[str, Any]:
        """Return what is sent to `/chat/completions`."""
        request, options, public = self._options.applied(request), self._options, self._server.public
        # OpenAI's own service reads control tokens in messages as text.
        content_of = str if public else broken_up
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": self._name,
            "messages": [{"role": m.role, "content": content_of(m.content)} for m in request.messages],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            # The public API wants the newer name; many other servers only know the older one.
            "max_completion_tokens" if public else self._host.limit: sampling.max_tokens,
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
        return {name: value for name, value in body.items() if name not in (*options.omitted, *self._host.omit)}


def _shaping(options: OpenAIOptions) -> dict[str, Any]:
    """The options that shape the answers, for the model's identity: those that say something, and no secrets."""
    shaping = {
        "chat_template_kwargs": shown(options.chat_template_kwargs, drop=True),
        "extra_body": shown(options.extra_body, drop=True),
        "reasoning_effort": options.reasoning_effort,
        "omit": ",".join(options.omitted),
    } | options.own_sampling
    return {name: value for name, value in shaping.items() if value}


def _questions(kind: str, state: str, questions: Sequence[str]) -> dict[str, Any]:
    if kind == "systemone":
        return {
            "state": state,
            "questions": {question_name(i): {"type": "noul", "instructions": q} for i, q in enumerate(questions)},
        }
    predicates = [{"type": "predicate", "name": question_name(i), "instructions": q} for i, q in enumerate(questions)]
    return {"input": state, "questions": predicates}
