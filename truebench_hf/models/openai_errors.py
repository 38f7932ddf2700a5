"""What a failed call means for a run. There are four outcomes, one exception each:

- UserError: nobody but the user can mend it; the run stops, and the message names the remedy.
- TryAgain: another try may succeed, after the wait that the server asks for.
- RequestFailed: this request is lost, for the reason given; the others go on.
- SchemaRefused: the same request is to be asked without its JSON schema.

Where the same path has answered before, key, model and parameters are right: then an error is about one request.
"""

from __future__ import annotations

import errno
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin

from truebench_hf.engine.retry import RequestFailed, ServerUnavailable, TryAgain
from truebench_hf.errors import UserError
from truebench_hf.models.openai_options import Server
from truebench_hf.models.protocol import NoDecisions, SchemaRefused
from truebench_hf.text import redaction

# Wordings are looked for in "code type: message", in lower case.
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|string_above_max|maximum context (length|size|window)"
    r"|(exceed|longer|larger|greater|too large).{0,40}\bcontext (length|size|window|limit)|context length (is|of) only"
    r"|maximum (model|prompt) length|input tokens exceed|input token count.{0,30}exceeds"
    r"|must have less than \d+ tokens|max_new_tokens. must be|(prompt|input) is too long|prompt exceeds max length"
    r"|reduce the length of the (messages|input|prompt)"
)
_FILTERED = re.compile(r"^(content_filter|invalid_prompt|data_inspection_failed)\b")
# "Exceeded your current quota" is left out: some say so of a limit per minute.
_NO_CREDIT = re.compile(
    r"insufficient[ _](quota|balance|credit|funds)|billing_(hard_limit_reached|not_active)|exceeded_current_quota_error"
    r"|arrearage|credit balance is too low|not enough credit"
)
_PASSING = {408, 409, 425}
_NOBODY_BEHIND = {502, 503, 521, 522, 523, 530}  # what gateways say for a server that is gone
_LONGEST_SILENCE = 60.0  # seconds between two tries of one request, for which nobody is told that it waits
_FIRST_TRIES = 6  # a few seconds: a wrong URL should show soon, before anything has been answered
_WEEK = 7 * 86400.0
_URLS = "--model-base-url/--judge-base-url"


@dataclass(frozen=True, slots=True)
class Call:
    """What was asked: where, whether with a JSON schema, and whether the server and this path of it have answered before."""

    server: Server
    path: str
    schema: bool
    server_answered: bool
    path_answered: bool


def meaning(error: Exception, call: Call) -> Exception:
    """Return what any exception of one try is to be raised as: one of the four outcomes, never the exception itself."""
    import httpx2
    import openai

    try:
        if isinstance(error, openai.APIStatusError):
            return _status_error(error, call)
        if isinstance(error, openai.APIError | httpx2.TransportError):
            return _connection_error(error, call)
    except Exception as odd:  # a header or a body so odd that telling what it means fails
        error = odd
    if isinstance(error, UnicodeEncodeError):
        return RequestFailed(f"the prompt holds a character that cannot be sent: {error.reason}")
    problem = "nested too deeply" if isinstance(error, RecursionError) else one_line(error) or type(error).__name__
    # A page of a login or of another service, more often than not.
    no_json = "no JSON: " if isinstance(error, json.JSONDecodeError) else ""
    return TryAgain(f"{call.server.url}: unreadable answer: {no_json}{problem}", "unreadable")


def _status_error(error: Any, call: Call) -> Exception:
    """Return the meaning of an answer with another status than 200 to 299. The order of the rules counts."""
    status, server = error.status_code, call.server
    kind, message = _message_and_code(error)
    words, answered = f"{kind}: {message}".lower(), f"{server.url} answered {status}: {message}"
    wait = retry_after(error.response.headers)
    if status == 413 or (status in (400, 422, 500) and _TOO_LONG.search(words)):
        return RequestFailed(f"the prompt does not fit the window: {message}")
    if status == 400 and _FILTERED.search(words):
        return RequestFailed(f"the server's content filter refused the prompt: {message}")
    if status == 402 or (status in (400, 403, 429) and _NO_CREDIT.search(words)):
        return ServerUnavailable(
            f"{server.spec}: no credit: {answered}; top up the account; the same command goes on where it was"
        )
    if status == 429 or (status == 503 and wait is not None):
        return TryAgain(answered, "busy", wait)
    if status in _NOBODY_BEHIND:
        return TryAgain(answered, "gone")
    if status < 300 or status in _PASSING or (status >= 500 and status != 501):
        return TryAgain(answered, "fault", None if wait is None else min(wait, _LONGEST_SILENCE))
    if status < 400:
        return _redirected(error, server)
    if call.schema and status in (400, 422, 501):  # whether the schema is to blame shows when it is left out
        return SchemaRefused(answered)
    if call.path_answered and status in (401, 403, 404, 410):
        return TryAgain(answered, "gone")
    if call.path_answered:
        return RequestFailed(f"the server refused this request: {answered}")
    if status in (404, 405, 501) and not call.path.startswith("/chat"):
        return NoDecisions(
            f"{server.spec}: no decision level there: {server.url} answered {call.path} with {status}: {message}; "
            "use --judge-level checklist or rubric"
        )
    return UserError(f"{server.spec} at {answered}; {_remedy(status, server)}")


def _remedy(status: int, server: Server) -> str:
    if status == 404 and not re.search(r"/v\d", server.url):
        return f"most servers want /v1 at the end: {_URLS} {server.url}/v1"
    if status in (400, 422):
        return (
            "a parameter that it does not take is left out with --model-arg/--judge-arg omit=NAME,NAME; else check the "
            f"model name, {_URLS} and ${server.key_env}"
        )
    return f"check the model name, {_URLS} and ${server.key_env}"


def _redirected(error: Any, server: Server) -> UserError:
    """Return what stops the run: keys and prompts go to the address that the user gave alone."""
    requested, location = error.request.url, error.response.headers.get("location", "")
    answered = f"{server.spec}: {server.url} answered {error.response.status_code}"
    if not location:
        return UserError(f"{answered}, a redirect without a new URL; check {_URLS}")
    try:
        place = urljoin(str(requested), location)
    except ValueError:  # a bracket left open
        place = location
    place = re.sub(r"(?<=//)[^/]*@", "", place.partition("?")[0])
    base = place.removesuffix("/chat/completions").removesuffix("/systemone").removesuffix("/decisions")
    return UserError(
        f"{answered}, a redirect to {one_line(place)}, which is not followed; if you trust it, give {one_line(base)} as "
        f"{_URLS}"
    )


def _connection_error(error: Exception, call: Call) -> TryAgain:
    """Return the meaning of a call without an answer: dropped connections, timeouts, streams that broke off."""
    import httpx2

    cause = error.__cause__ or error  # the SDK itself calls nearly everything a timeout
    problem = f"{call.server.url}: {one_line(cause) or type(cause).__name__}"
    if getattr(cause.__cause__, "errno", None) in (errno.EMFILE, errno.ENFILE):  # says nothing of the server
        return TryAgain(f"{problem}; allow more open files (ulimit -n), or fewer calls at a time")
    if isinstance(cause, httpx2.ConnectTimeout | httpx2.ConnectError | httpx2.UnsupportedProtocol):
        return TryAgain(problem, "gone", tries=None if call.server_answered else _FIRST_TRIES)
    return TryAgain(problem)


def no_server(error: Exception, server: Server) -> UserError:
    """Return what stops the run where the first requests found no server at all."""
    remedy = f"start the server, or check {_URLS} and $OPENAI_BASE_URL"
    return UserError(f"{server.spec}: cannot be reached: {error}; {remedy}")


def no_client(error: Exception, server: Server) -> UserError:
    """Return what stops the run where no call could ever be sent."""
    remedy = "check the base URL, and $HTTPS_PROXY, $SSL_CERT_FILE, $OPENAI_CUSTOM_HEADERS and the like"
    return UserError(f"{server.spec}: no client can be made for {server.url}: {one_line(error)}; {remedy}")


def status_error(response: Any) -> Exception:
    """Return an answer (`httpx2.Response`) with any other status than 200 to 299 as the SDK's error."""
    import openai

    try:
        body = json.loads(response.text)
    except (ValueError, RecursionError):
        body = response.text.strip()
    body = body.get("error", body) if isinstance(body, dict) else body
    return openai.APIStatusError(f"Error code: {response.status_code}", response=response, body=body)


def _message_and_code(error: Any) -> tuple[str, str]:
    """Return (code and type, message) of an error answer, whatever the shape of its body."""
    body = error.body if isinstance(error.body, dict) else {"message": error.body}
    message = body.get("message") or body.get("detail") or error.message
    return f"{body.get('code') or ''} {body.get('type') or ''}".strip(), one_line(message)


def one_line(text: Any) -> str:
    """Return what a server says of a failure in one line. It is masked before it is cut: half a secret is one still."""
    return redaction.error(" ".join(str(text).split())[:20_000])[:500]


def retry_after(headers: Any) -> float | None:
    """Return the seconds asked for by Retry-After (a number or a date); None if absent, unreadable or over a week."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
        except (TypeError, ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds < _WEEK else None
