"""Any OpenAI-compatible server: chat completions, and typed decisions at `/systemone` or `/decisions`."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

import httpx2

from truebench_hf.engine.money import Price, listed_price, note_unanswered
from truebench_hf.engine.retry import RequestFailed, RetryPolicy, TryAgain, breaker_of
from truebench_hf.errors import UserError
from truebench_hf.models import openai_reading as reading
from truebench_hf.models.chat_template import broken_up
from truebench_hf.models.openai_options import OpenAIOptions, server_of
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest, Identity
from truebench_hf.models.providers import provider, providers
from truebench_hf.text import redaction
from truebench_hf.types import Usage

T = TypeVar("T")
_CHAT = "/chat/completions"
_AT_ONCE = {"decisions": 400, "systemone": 64}  # questions of one request, by the kind of server
_LISTING = 5.0  # seconds for a list of models
_MIB = 2**20
LARGEST_ANSWER, LARGEST_ERROR = 16 * _MIB, _MIB  # bytes, after decompression
_url = functools.cache(httpx2.URL)
_certificates = functools.cache(httpx2.create_ssl_context)  # whom to trust, read once: every client would read all anew


class OpenAIModel:
    """`openai:MODEL`, `groq:MODEL` and the like: one chat model on an OpenAI-compatible server."""

    batch: int | None = None

    def __init__(self, name: str, options: OpenAIOptions, host: str = "openai", needs_key: bool = True) -> None:
        """`host` is the provider's name in `providers.yaml`; an estimate, which asks nothing, needs no key."""
        self.spec = f"{host}:{name}"
        self._name, self._options, self._host = name, options, providers()[host]
        self.takes_schema = self._host.schema
        self._server = server_of(self.spec, options, self._host, needs_key=needs_key)
        self.cache_scope = self._server.url
        shaping = {
            "chat_template_kwargs": redaction.shown(options.chat_template_kwargs, drop=True),
            "extra_body": redaction.shown(options.extra_body, drop=True),
            "reasoning_effort": options.reasoning_effort,
            "omit": ",".join(options.omitted),
        } | options.own_sampling
        shaping = {option: value for option, value in shaping.items() if value}
        self.identity = Identity(provider(name, self._server.url, host), name, "", shaping)
        self.policy = RetryPolicy(options.attempts, deadline=options.deadline, patience=options.patience)
        # An answer may take long; an address where nobody answers shows soon. To the aiohttp client "pool" is all of connecting.
        connect = min(options.timeout, options.connect_timeout)
        self._timeout = httpx2.Timeout(options.timeout, connect=connect, pool=connect)
        self._answered: set[str] = set()  # the paths at which this model has answered

    def listed_price(self) -> Price | None:
        """The price that the server lists for the model at `/models`; None where it tells none, or gives no JSON soon."""
        server = self._server
        key = {} if server.key == "none" else {"Authorization": f"Bearer {server.key}"}
        logging.getLogger("httpx2").addFilter(_without_secrets)
        try:
            url = server.url + server.with_query("/models")
            response = httpx2.get(url, headers=key | server.headers, timeout=_LISTING)
            return listed_price(response.json() if response.is_success else None, self._name)
        except (OSError, ValueError, RecursionError, httpx2.HTTPError, httpx2.InvalidURL):
            return None

    async def complete(self, request: ChatRequest) -> Completion:
        """Ask for one chat completion; see `ChatModel.complete`."""
        return await self._ask(_CHAT, self.chat_body(request), reading.completion, request.schema is not None)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        """Yield the chunks of a streamed completion, as plain objects. Raises as `complete` before the first one, which is
        asked for again where it is none, and TryAgain afterwards.
        """
        from openai import AsyncStream

        body = self.chat_body(request) | {"stream": True}
        if "stream_options" not in self._options.omitted:
            body["stream_options"] = {"include_usage": True}

        async def attempt() -> tuple[Any, Any]:
            response = await self._post(_CHAT, body)
            chunks = AsyncStream[object](cast_to=object, response=response, client=self._client)
            if not isinstance(first := await anext(chunks, None), dict):
                await chunks.close()
                raise TryAgain(f"{self._server.url}{_CHAT} sent no stream of objects", "unreadable")
            return first, chunks

        first, chunks = await self._repeat(attempt, _CHAT, request.schema is not None)
        try:
            yield first
            async for chunk in chunks:
                yield chunk
        except Exception as error:
            raise reading.meaning(error, reading.Call(self._server, _CHAT, False, True, True)) from error
        finally:
            await chunks.close()

    async def decide(self, request: DecisionRequest) -> Decision:
        """Ask typed yes/no questions, as many a request as the server takes; see `ChatModel.decide`."""
        kind, public = self._options.decisions, self._server.public
        if kind == "auto":
            kind = "decisions" if public else "systemone"
        text = str if public else broken_up
        state, questions = text(request.state), list(map(text, request.questions))
        probabilities: list[float | None] = []
        spent, served = Usage(), dict[str, str]()
        for start in range(0, len(questions), _AT_ONCE[kind]):
            named = {reading.question_name(i): q for i, q in enumerate(questions[start : start + _AT_ONCE[kind]])}
            body: dict[str, Any] = {"model": self._name}
            if kind == "systemone":
                typed = {name: {"type": "noul", "instructions": question} for name, question in named.items()}
                body |= {"state": state, "questions": typed}
            else:
                predicates = [{"type": "predicate", "name": name, "instructions": q} for name, q in named.items()]
                body |= {"input": state, "questions": predicates}
            read = functools.partial(reading.decision, kind=kind, count=len(named))
            answer = await self._ask(f"/{kind}", body, read)
            probabilities += answer.probabilities
            spent += answer.usage
            served |= answer.served
        return Decision(tuple(probabilities), spent, served)

    async def close(self) -> None:
        """Close the connections."""
        if "_http" in self.__dict__:
            await self._http.aclose()

    def chat_body(self, request: ChatRequest) -> dict[str, Any]:
        """Return what is sent to `/chat/completions`."""
        request, options, public = self._options.applied(request), self._options, self._server.public
        # OpenAI's own service reads control tokens in messages as text.
        content_of = str if public else broken_up
        sampling, schema = request.sampling, request.schema
        form = schema and {"name": "verdicts", "schema": schema, "strict": True}
        body: dict[str, Any] = {
            "model": self._name,
            "messages": [{"role": m.role, "content": content_of(m.content)} for m in request.messages],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            # The public API wants the newer name; many other servers only know the older one.
            "max_completion_tokens" if public else self._host.limit: sampling.max_tokens,
            "repetition_penalty": sampling.repetition_penalty if sampling.repetition_penalty != 1.0 else None,
            "reasoning_effort": options.reasoning_effort or None,
            "chat_template_kwargs": options.chat_template_kwargs or None,
            "response_format": form and {"type": "json_schema", "json_schema": form},
        }
        body = {name: value for name, value in body.items() if value is not None} | options.extra_body
        return {name: value for name, value in body.items() if name not in (*options.omitted, *self._host.omit)}

    async def _ask(
        self, path: str, body: Mapping[str, Any], read: Callable[[dict[str, Any]], T], schema: bool = False
    ) -> T:
        """Return what `read` makes of the JSON object that answers `body`, asked for until there is one.

        Raises as `_repeat`.
        """

        async def attempt() -> T:
            answer = await self._send(path, body)
            if not isinstance(answer, dict):
                raise TryAgain(f"{self._server.url}{path} sent a body that is not a JSON object", "unreadable")
            try:
                if error := answer.get("error"):  # some gateways send failures with status 200
                    message = error.get("message") if isinstance(error, dict) else None
                    raise TryAgain(f"{self._server.url}{path} sent an error: {reading.one_line(message or error)}")
                return read(answer)
            except (TryAgain, RequestFailed):
                note_unanswered(reading.paid_tokens(answer))
                raise

        return await self._repeat(attempt, path, schema)

    async def _repeat(self, attempt: Callable[[], Awaitable[T]], path: str, schema: bool) -> T:
        """Return what `attempt` gives in the end. Raises RequestFailed, UserError, and SchemaRefused with a `schema`.

        A server that never gave an answer and cannot be reached stops the run; so does one that is lost for good, and
        whatever in the environment keeps all calls from being sent.
        """
        server, breaker = self._server, breaker_of(self._server.url)
        try:
            _ = self._headers  # made before all tries, and the client with them: what is wrong there stays wrong
        except (OSError, ValueError, httpx2.InvalidURL) as error:
            remedy = "check the base URL, and $HTTPS_PROXY, $SSL_CERT_FILE, $OPENAI_CUSTOM_HEADERS and the like"
            why = f"no client can be made for {server.url}: {reading.one_line(error)}"
            raise UserError(f"{self.spec}: {why}; {remedy}") from error

        async def understood() -> T:
            try:
                result = await attempt()
            except (TryAgain, RequestFailed):
                raise
            except Exception as error:  # of the SDK, of either HTTP library below it, or of reading the answer
                call = reading.Call(server, path, schema, breaker.answered, path in self._answered)
                raise reading.meaning(error, call) from error
            self._answered.add(path)
            return result

        try:
            return await breaker.ask(understood, self.policy)
        except RequestFailed as error:
            last = error.__cause__  # no connection, if its tries are bounded
            if breaker.answered or not (isinstance(last, TryAgain) and last.kind == "gone" and last.tries):
                raise
            remedy = f"start the server, or check {reading.URLS} and $OPENAI_BASE_URL"
            raise UserError(f"{self.spec}: cannot be reached: {error}; {remedy}") from error

    async def _send(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return what answers `body`, whatever JSON it is. Raises TryAgain on an answer that is larger than the limit."""
        content = bytearray()
        async with aclosing(await self._post(path, body)) as response:
            async for part in response.aiter_bytes():
                content += part
                if len(content) > LARGEST_ANSWER:
                    raise TryAgain(f"the answer is larger than {LARGEST_ANSWER // _MIB} MiB", tries=2)
        answer = json.loads(content)
        if isinstance(answer, dict) and (name := response.headers.get("x-inference-provider")):
            answer["provider"] = name
        return answer

    async def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the answer to `body`, yet to be read. It is sent by the SDK's client as the SDK sends it, but without its
        typed requests and answers: they cost more than the call, and servers leave out or null fields that the types
        promise. Raises Refusal, for which only the beginning of an error larger than the limit is read.
        """
        sent = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        request = httpx2.Request(
            "POST", _url(self._server.url + self._server.with_query(path)), headers=self._headers, content=sent,
            cookies=self._http.cookies, extensions={"timeout": self._timeout.as_dict()},
        )  # fmt: skip
        response = await self._http.send(request, stream=True)
        if response.is_success:
            return response
        content = bytearray()
        async with aclosing(response):
            async for part in response.aiter_bytes():
                content += part
                if len(content) > LARGEST_ERROR:
                    break
        raise reading.Refusal(response, content[:LARGEST_ERROR])

    @functools.cached_property
    def _http(self) -> Any:
        from openai import DefaultAioHttpClient

        logging.getLogger("httpx2").addFilter(_without_secrets)
        # As many connections as calls: the run's own limits decide. To aiohttp 0 is no limit, None is 100.
        limits = httpx2.Limits(max_connections=0, max_keepalive_connections=None)
        return DefaultAioHttpClient(
            limits=limits, verify=_certificates(), timeout=self._timeout,
            follow_redirects=False,
        )  # fmt: skip

    @functools.cached_property
    def _client(self) -> Any:
        # Made for the first call: a run whose answers are all in the ledger needs neither the SDK nor certificates.
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self._server.key, base_url=self._server.url, default_headers=self._server.headers,
            timeout=self._timeout, max_retries=0, http_client=self._http,
        )  # fmt: skip

    @functools.cached_property
    def _headers(self) -> Any:
        headers = httpx2.Headers(self._http.headers)
        # One by one, as the SDK does: names may differ in case alone (a login's, $OPENAI_CUSTOM_HEADERS), the last counts.
        for name, text in [*self._client.auth_headers.items(), *self._client.default_headers.items()]:
            headers.pop(name, None)
            if isinstance(text, str):  # else the SDK's word for leaving it out
                headers[name] = text
        return headers


def _without_secrets(record: logging.LogRecord) -> bool:
    """A filter of what the HTTP library logs: whole URLs, with the keys in their queries."""
    record.msg, record.args = redaction.error(record.getMessage()), ()
    return True
