"""The way to one OpenAI-compatible server: its client, asking until there is an answer, and what a call may take."""

from __future__ import annotations

import functools
import json
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeVar

import httpx2

from truebench_hf.engine.retry import PATIENCE, RequestFailed, RetryPolicy, TryAgain, breaker_of
from truebench_hf.models.openai_errors import Call, meaning, no_client, no_server, one_line, status_error
from truebench_hf.models.openai_options import OpenAIOptions, Server
from truebench_hf.models.providers import Served
from truebench_hf.text import redaction

T = TypeVar("T")
_MIB = 2**20
_LISTING = 5.0  # seconds for a list of models
LARGEST_ANSWER, LARGEST_ERROR = 16 * _MIB, _MIB  # bytes, after decompression


class Connection:
    """A client of one server, which remembers what has ever been answered there."""

    def __init__(self, server: Server, options: OpenAIOptions, patience: float = PATIENCE) -> None:
        self.server, self._options = server, options
        self.policy = RetryPolicy(attempts=options.attempts, deadline=options.deadline)
        self._key = server.key  # as it is now: another one in the environment later on would not be masked
        self._patience = patience
        self.served = Served()
        self._answered: set[str] = set()  # the paths at which this model has answered

    async def ask(
        self, path: str, body: Mapping[str, Any], read: Callable[[dict[str, Any]], T], schema: bool = False
    ) -> T:
        """Return what `read` makes of the JSON object that answers `body`, asked for until there is one.

        Raises RequestFailed, UserError, and SchemaRefused for a body with a `schema`. A server that never gave an answer
        and cannot be reached stops the run; so does one that is lost for good, and whatever in the environment keeps
        all calls from being sent.
        """

        async def once() -> T:
            answer = await self._send(path, body)
            if not isinstance(answer, dict):
                raise TryAgain(f"{self.server.url}{path} sent a body that is not a JSON object", "unreadable")
            if error := answer.get("error"):  # some gateways send failures with status 200
                message = error.get("message") if isinstance(error, dict) else None
                raise TryAgain(f"{self.server.url}{path} sent an error: {one_line(message or error)}")
            result = read(answer)
            self.served.body(answer)
            return result

        return await self._repeat(once, path, schema)

    async def stream(self, path: str, body: Mapping[str, Any], schema: bool = False) -> AsyncGenerator[Any, None]:
        """Return the answer to `body` as an iterator over plain objects, to be closed. Raises as `ask`.

        It has begun when this returns: what is no stream at all is tried again. While it is read only TryAgain is raised.
        """
        from openai import AsyncStream

        async def once() -> AsyncGenerator[Any, None]:
            sent = await self._client.post(
                self.server.with_query(path), cast_to=object, body=body, stream=True, stream_cls=AsyncStream[object]
            )
            chunks = self._chunks(sent, path)
            if not isinstance(first := await anext(chunks, None), dict):
                await chunks.aclose()
                raise TryAgain(f"{self.server.url}{path} sent no stream of objects", "unreadable")
            return _chain(first, chunks)

        return await self._repeat(once, path, schema)

    def models(self) -> Any:
        """What the server answers at `/models`; None where it gives no JSON within a few seconds."""
        until, content = time.monotonic() + _LISTING, b""
        sent = (
            self.server.headers
            if self.server.login or self._key == "none"
            else {"Authorization": f"Bearer {self._key}"}
        )
        logging.getLogger("httpx2").addFilter(_without_secrets)
        try:
            url = self.server.url + self.server.with_query("/models")
            with httpx2.stream("GET", url, headers=sent, timeout=_LISTING) as response:
                for part in response.iter_bytes():
                    content += part
                    if time.monotonic() > until or len(content) > LARGEST_ANSWER:
                        return None
                return json.loads(content) if response.is_success else None
        except (OSError, ValueError, RecursionError, httpx2.HTTPError, httpx2.InvalidURL):
            return None

    async def close(self) -> None:
        """Close the connections."""
        if "_http" in self.__dict__:
            await self._http.aclose()

    async def _repeat(self, once: Callable[[], Awaitable[T]], path: str, schema: bool) -> T:
        breaker = breaker_of(self.server.url)
        try:
            _ = self._headers  # made before all tries, and the client with them: what is wrong there stays wrong
        except (OSError, ValueError, httpx2.InvalidURL) as error:
            raise no_client(error, self.server) from error

        async def attempt() -> T:
            try:
                result = await once()
            except (TryAgain, RequestFailed):
                raise
            except Exception as error:  # of the SDK, of either HTTP library below it, or of reading the answer
                call = Call(self.server, path, schema, breaker.answered, path in self._answered)
                raise meaning(error, call) from error
            self._answered.add(path)
            return result

        try:
            return await breaker.ask(attempt, self.policy, self._patience)
        except RequestFailed as error:
            last = error.__cause__
            found_nobody = (
                isinstance(last, TryAgain) and last.kind == "gone" and not hasattr(last.__cause__, "status_code")
            )
            if found_nobody and not breaker.answered:
                raise no_server(error, self.server) from error
            raise

    async def _send(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return what answers `body`: sent as the SDK sends it, by its own client and with its errors, but without its
        typed requests and answers. They cost more than the call, and servers leave out or null fields that the types
        promise.
        """
        import openai

        content = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        request = httpx2.Request(
            "POST", _url(self.server.url + self.server.with_query(path)), headers=self._headers, content=content,
            cookies=self._http.cookies, extensions={"timeout": self._timeout.as_dict()},
        )  # fmt: skip
        try:
            response = await self._http.send(request)
        except httpx2.RequestError as error:
            raise openai.APIConnectionError(request=request) from error
        if not response.is_success:
            raise status_error(response)
        return response.json()

    async def _chunks(self, stream: Any, path: str) -> AsyncGenerator[Any, None]:
        try:
            async for chunk in stream:
                yield chunk
        except Exception as error:
            raise meaning(error, Call(self.server, path, False, True, True)) from error
        finally:
            await stream.close()

    @functools.cached_property
    def _http(self) -> Any:
        from openai import DefaultAioHttpClient

        logging.getLogger("httpx2").addFilter(_without_secrets)
        hooks = {"response": [limit_size, self.served.head]}
        return DefaultAioHttpClient(
            limits=unlimited(), event_hooks=hooks, verify=_certificates(), timeout=self._timeout, follow_redirects=False
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
    def _timeout(self) -> Any:
        return timeout(self._options.timeout, self._options.connect_timeout)

    @functools.cached_property
    def _headers(self) -> Any:
        headers = httpx2.Headers(self._http.headers)
        # One by one, as the SDK does: names may differ in case alone (a login's, $OPENAI_CUSTOM_HEADERS), the last counts.
        for part in (self._client.auth_headers, self._client.default_headers):
            for name, text in part.items():
                headers.pop(name, None)
                if isinstance(text, str):  # else the SDK's word for leaving it out
                    headers[name] = text
        return headers


async def _chain(first: Any, rest: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    try:
        yield first
        async for chunk in rest:
            yield chunk
    finally:
        await rest.aclose()


def _without_secrets(record: logging.LogRecord) -> bool:
    """A filter of what the HTTP library logs: whole URLs, with the keys in their queries."""
    record.msg, record.args = redaction.error(record.getMessage()), ()
    return True


@functools.cache
def _url(text: str) -> Any:
    return httpx2.URL(text)


@functools.cache
def _certificates() -> Any:
    """Whom to trust, read once: every client would read all certificates anew."""
    return httpx2.create_ssl_context()


def timeout(seconds: float, connect: float = 30.0) -> Any:
    """An answer may take `seconds`; an address where nobody answers shows long before, in `connect` seconds."""
    connect = min(seconds, connect)
    return httpx2.Timeout(seconds, connect=connect, pool=connect)  # to the aiohttp client "pool" is all of connecting


def unlimited() -> Any:
    """As many connections as calls: the run's own limits decide, a second, hidden one would only make them lie."""
    return httpx2.Limits(max_connections=0, max_keepalive_connections=None)  # to aiohttp 0 is no limit, None is 100


async def limit_size(response: Any) -> None:
    """Let no more of a response (`httpx2.Response`) be read than the limit; a hook that is called before reading."""
    source, encoding = response.stream, response.headers.get("content-encoding")
    if encoding:
        inner = httpx2.Response(200, headers={"content-encoding": encoding}, stream=source)
        source = inner.aiter_bytes()
        del response.headers["content-encoding"]  # what comes out is decoded
    response.stream = _Limited(source, response.stream, response.is_success)


class _Limited(httpx2.AsyncByteStream):  # type: ignore[misc]
    """The decoded body. Beyond the limit an answer is a TryAgain; of anything else the beginning is enough."""

    def __init__(self, parts: Any, stream: Any, is_answer: bool) -> None:
        self._parts, self._stream, self._is_answer = parts, stream, is_answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, most = 0, LARGEST_ANSWER if self._is_answer else LARGEST_ERROR
        async for part in self._parts:
            size += len(part)
            if size <= most:
                yield part
            elif not self._is_answer:
                yield part[: most - size]
                return
            else:
                raise TryAgain(f"the answer is larger than {most // _MIB} MiB", tries=2)

    async def aclose(self) -> None:
        await self._parts.aclose()
        if self._parts is not self._stream:
            await self._stream.aclose()
