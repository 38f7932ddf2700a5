"""The way to one OpenAI-compatible server: its client, asking until there is an answer, and what a call may take."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, TypeVar

import httpx2

from truebench_hf.engine.money import note_unanswered
from truebench_hf.engine.retry import PATIENCE, RequestFailed, RetryPolicy, TryAgain, breaker_of
from truebench_hf.models.openai_errors import (
    Call,
    meaning,
    no_client,
    no_server,
    one_line,
    status_error,
)
from truebench_hf.models.openai_options import OpenAIOptions, Server
from truebench_hf.models.openai_reading import paid_tokens
from truebench_hf.models.providers import Served
from truebench_hf.text import redaction

T = TypeVar("T")
_MIB = 2**20
_LISTING = 5.0  # seconds for a list of models
_url = functools.cache(httpx2.URL)
_certificates = functools.cache(httpx2.create_ssl_context)  # whom to trust, read once: every client would read all anew
LARGEST_ANSWER, LARGEST_ERROR = 16 * _MIB, _MIB  # bytes, after decompression


class Connection:
    """A client of one server, which remembers what has ever been answered there."""

    def __init__(self, server: Server, options: OpenAIOptions, patience: float = PATIENCE) -> None:
        self.server, self._patience = server, patience
        self.policy = RetryPolicy(attempts=options.attempts, deadline=options.deadline)
        self.served = Served()
        self._key = server.key  # as it is now: another one in the environment later on would not be masked
        # An answer may take long; an address where nobody answers shows soon. To the aiohttp client "pool" is all of connecting.
        connect = min(options.timeout, options.connect_timeout)
        self._timeout = httpx2.Timeout(options.timeout, connect=connect, pool=connect)
        self._answered: set[str] = set()  # the paths at which this model has answered

    async def ask(
        self, path: str, body: Mapping[str, Any], read: Callable[[dict[str, Any]], T], schema: bool = False
    ) -> T:
        """Return what `read` makes of the JSON object that answers `body`, asked for until there is one.

        Raises RequestFailed, UserError, and SchemaRefused for a body with a `schema`. A server that never gave an answer
        and cannot be reached stops the run; so does one that is lost for good, and whatever in the environment keeps
        all calls from being sent.
        """

        async def attempt() -> T:
            answer = await self._send(path, body)
            if not isinstance(answer, dict):
                raise TryAgain(f"{self.server.url}{path} sent a body that is not a JSON object", "unreadable")
            try:
                if error := answer.get("error"):  # some gateways send failures with status 200
                    message = error.get("message") if isinstance(error, dict) else None
                    raise TryAgain(f"{self.server.url}{path} sent an error: {one_line(message or error)}")
                result = read(answer)
            except (TryAgain, RequestFailed):
                note_unanswered(paid_tokens(answer))
                raise
            self.served.body(answer)
            return result

        return await self._repeat(attempt, path, schema)

    async def stream(self, path: str, body: Mapping[str, Any], schema: bool = False) -> AsyncGenerator[Any, None]:
        """Yield the plain objects that a streamed answer to `body` is made of. Raises as `ask` before the first one, which
        is asked for again where it is none, and TryAgain afterwards.
        """
        from openai import AsyncStream

        async def attempt() -> tuple[Any, Any]:
            response = await self._client.post(
                self.server.with_query(path), cast_to=object, body=body, stream=True, stream_cls=AsyncStream[object]
            )
            if not isinstance(first := await anext(response, None), dict):
                await response.close()
                raise TryAgain(f"{self.server.url}{path} sent no stream of objects", "unreadable")
            return first, response

        first, response = await self._repeat(attempt, path, schema)
        try:
            yield first
            async for chunk in response:
                yield chunk
        except Exception as error:
            raise meaning(error, Call(self.server, path, False, True, True)) from error
        finally:
            await response.close()

    def models(self) -> Any:
        """What the server answers at `/models`; None where it gives no JSON within a few seconds."""
        key = {} if self.server.login or self._key == "none" else {"Authorization": f"Bearer {self._key}"}
        logging.getLogger("httpx2").addFilter(_without_secrets)
        try:
            url = self.server.url + self.server.with_query("/models")
            response = httpx2.get(url, headers=key or self.server.headers, timeout=_LISTING)
            return response.json() if response.is_success else None
        except (OSError, ValueError, RecursionError, httpx2.HTTPError, httpx2.InvalidURL):
            return None

    async def close(self) -> None:
        """Close the connections."""
        if "_http" in self.__dict__:
            await self._http.aclose()

    async def _repeat(self, attempt: Callable[[], Awaitable[T]], path: str, schema: bool) -> T:
        breaker = breaker_of(self.server.url)
        try:
            _ = self._headers  # made before all tries, and the client with them: what is wrong there stays wrong
        except (OSError, ValueError, httpx2.InvalidURL) as error:
            raise no_client(error, self.server) from error

        async def understood() -> T:
            try:
                result = await attempt()
            except (TryAgain, RequestFailed):
                raise
            except Exception as error:  # of the SDK, of either HTTP library below it, or of reading the answer
                raise meaning(
                    error, Call(self.server, path, schema, breaker.answered, path in self._answered)
                ) from error
            self._answered.add(path)
            return result

        try:
            return await breaker.ask(understood, self.policy, self._patience)
        except RequestFailed as error:
            if breaker.answered or (stopped := no_server(error, self.server)) is None:
                raise
            raise stopped from error

    async def _send(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return what answers `body`: sent as the SDK sends it, by its own client and with its errors, but without its
        typed requests and answers. They cost more than the call, and servers leave out or null fields that the types
        promise.
        """
        import openai

        sent = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        request = httpx2.Request(
            "POST", _url(self.server.url + self.server.with_query(path)), headers=self._headers, content=sent,
            cookies=self._http.cookies, extensions={"timeout": self._timeout.as_dict()},
        )  # fmt: skip
        try:
            response = await self._http.send(request, stream=True)
            content = await _content(response)
        except httpx2.RequestError as error:
            raise openai.APIConnectionError(request=request) from error
        if not response.is_success:
            raise status_error(response, content)
        return json.loads(content)

    @functools.cached_property
    def _http(self) -> Any:
        from openai import DefaultAioHttpClient

        logging.getLogger("httpx2").addFilter(_without_secrets)
        hooks = {"response": [self.served.head]}
        # As many connections as calls: the run's own limits decide. To aiohttp 0 is no limit, None is 100.
        limits = httpx2.Limits(max_connections=0, max_keepalive_connections=None)
        return DefaultAioHttpClient(
            limits=limits, event_hooks=hooks, verify=_certificates(), timeout=self._timeout, follow_redirects=False
        )

    @functools.cached_property
    def _client(self) -> Any:
        # Made for the first call: a run whose answers are all in the ledger needs neither the SDK nor certificates.
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self._key, base_url=self.server.url, default_headers=self.server.headers,
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


async def _content(response: Any) -> bytes:
    """Return the decoded body of a response; only its beginning where it is larger than the limit for errors.

    Raises TryAgain where it is an answer larger than the limit.
    """
    parts: list[bytes] = []
    size, most = 0, LARGEST_ANSWER if response.is_success else LARGEST_ERROR
    try:
        async for part in response.aiter_bytes():
            parts.append(part)
            size += len(part)
            if size > most and response.is_success:
                raise TryAgain(f"the answer is larger than {most // _MIB} MiB", tries=2)
            if size > most:
                break
    finally:
        await response.aclose()
    return b"".join(parts)[:most]
