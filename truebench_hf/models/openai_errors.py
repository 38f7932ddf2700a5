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
from collections.abc import Callable, Container
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urljoin

from truebench_hf.engine.retry import Kind, RequestFailed, ServerUnavailable, TryAgain
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
_FIRST_TRIES = 6  # a few seconds: a wrong URL should show soon, before anything has been answered
_WEEK = 7 * 86400.0
URLS = "--model-base-url/--judge-base-url"


@dataclass(frozen=True, slots=True)
class Call:
    """What was asked: where, whether with a JSON schema, and whether the server and this path of it have answered before."""

    server: Server
    path: str
    schema: bool
    server_answered: bool
    path_answered: bool


@dataclass(frozen=True)
class _Refusal:
    """An answer with another status than 200 to 299. `words` are code, type and message, `place` is where it redirects to."""

    call: Call
    status: int
    words: str
    message: str
    wait: float | None
    place: str

    def __str__(self) -> str:
        return f"{self.call.server.url} answered {self.status}: {self.message}"


class _Rule(NamedTuple):
    """An answer of one of these statuses to which the condition applies means `outcome`, of TryAgain the kind."""

    statuses: Container[int]
    outcome: type[Exception] | Kind
    message: str = "{0}"
    applies: Callable[[_Refusal], object] = lambda answer: True


_WINDOW = "the prompt does not fit the window: {0.message}"
_CREDIT = "{0.call.server.spec}: no credit: {0}; top up the account; the same command goes on where it was"
# The first one that applies counts.
_RULES = (
    _Rule({413}, RequestFailed, _WINDOW),
    _Rule({400, 422, 500}, RequestFailed, _WINDOW, lambda answer: _TOO_LONG.search(answer.words)),
    _Rule({400}, RequestFailed, "the server's content filter refused the prompt: {0.message}",
          lambda answer: _FILTERED.search(answer.words)),
    _Rule({402}, ServerUnavailable, _CREDIT),
    _Rule({400, 403, 429}, ServerUnavailable, _CREDIT, lambda answer: _NO_CREDIT.search(answer.words)),
    _Rule({429}, "busy"),
    _Rule({503}, "busy", applies=lambda answer: answer.wait is not None),
    _Rule({502, 503, 521, 522, 523, 530}, "gone"),  # what gateways say where nobody is behind them
    _Rule({*range(300), 408, 409, 425, *range(500, 1000)} - {501}, "fault"),
    # Keys and prompts go to the address that the user gave alone.
    _Rule(range(400), UserError, "{0.call.server.spec}: {0.call.server.url} answered {0.status}, a redirect to {0.place}, "
          f"which is not followed; if you trust it, give its base URL as {URLS}"),
    # Whether the schema is to blame shows when it is left out.
    _Rule({400, 422, 501}, SchemaRefused, applies=lambda answer: answer.call.schema),
    _Rule({401, 403, 404, 410}, "gone", applies=lambda answer: answer.call.path_answered),
    _Rule(range(1000), RequestFailed, "the server refused this request: {0}", lambda answer: answer.call.path_answered),
    _Rule({404, 405, 501}, NoDecisions, "{0.call.server.spec}: no decision level there: {0.call.server.url} answered "
          "{0.call.path} with {0.status}: {0.message}; use --judge-level checklist or rubric",
          lambda answer: not answer.call.path.startswith("/chat")),
    _Rule(range(1000), UserError, f"{{0.call.server.spec}} at {{0}}; check the model name, {URLS} (most servers want /v1 at "
          "the end) and ${0.call.server.key_env}; a parameter that it does not take is left out with "
          "--model-arg/--judge-arg omit=NAME,NAME"),
)  # fmt: skip


def meaning(error: Exception, call: Call) -> Exception:
    """Return what any exception of one try is to be raised as: one of the four outcomes, never the exception itself."""
    import httpx2
    import openai

    try:
        if isinstance(error, openai.APIStatusError):
            answer = _refusal(error, call)
            rule = next(rule for rule in _RULES if answer.status in rule.statuses and rule.applies(answer))
            message, outcome = rule.message.format(answer), rule.outcome
            return TryAgain(message, outcome, answer.wait) if isinstance(outcome, str) else outcome(message)
        if isinstance(error, openai.APIError | httpx2.TransportError):
            # A call without an answer: dropped connections, timeouts, streams that broke off.
            cause = error.__cause__ or error  # the SDK itself calls nearly everything a timeout
            problem = f"{call.server.url}: {one_line(cause) or type(cause).__name__}"
            if getattr(cause.__cause__, "errno", None) in (errno.EMFILE, errno.ENFILE):  # says nothing of the server
                return TryAgain(f"{problem}; allow more open files (ulimit -n), or fewer calls at a time")
            if isinstance(cause, httpx2.ConnectTimeout | httpx2.ConnectError | httpx2.UnsupportedProtocol):
                return TryAgain(problem, "gone", tries=None if call.server_answered else _FIRST_TRIES)
            return TryAgain(problem)
    except Exception as odd:  # a header or a body so odd that telling what it means fails
        error = odd
    if isinstance(error, UnicodeEncodeError):
        return RequestFailed(f"the prompt holds a character that cannot be sent: {error.reason}")
    problem = "nested too deeply" if isinstance(error, RecursionError) else one_line(error) or type(error).__name__
    # A page of a login or of another service, more often than not.
    no_json = "no JSON: " if isinstance(error, json.JSONDecodeError) else ""
    return TryAgain(f"{call.server.url}: unreadable answer: {no_json}{problem}", "unreadable")


def status_error(response: Any, content: bytes | bytearray) -> Exception:
    """Return an answer (`httpx2.Response`) with any other status than 200 to 299 as the SDK's error."""
    import openai

    body: Any = content.decode(errors="replace").strip()
    with suppress(ValueError, RecursionError):
        body = json.loads(body)
    body = body.get("error", body) if isinstance(body, dict) else body
    return openai.APIStatusError(f"Error code: {response.status_code}", response=response, body=body)


def _refusal(error: Any, call: Call) -> _Refusal:
    body, headers = error.body if isinstance(error.body, dict) else {"message": error.body}, error.response.headers
    message = one_line(body.get("message") or body.get("detail") or error.message)
    code = f"{body.get('code') or ''} {body.get('type') or ''}".strip()
    place = headers.get("location") or "nowhere"
    with suppress(ValueError):  # a bracket left open
        place = urljoin(str(error.request.url), place)
    place = one_line(re.sub(r"(?<=//)[^/]*@", "", place.partition("?")[0]))
    return _Refusal(call, error.status_code, f"{code}: {message}".lower(), message, retry_after(headers), place)


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
