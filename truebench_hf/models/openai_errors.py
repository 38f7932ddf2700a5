"""What a failed call means for a run: another try, one request lost, the schema to blame, or the user to ask.

First what an error answer is about, by its code and type and then by how servers word it; below, what is made of it.
"""

from __future__ import annotations

import errno
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

from truebench_hf.engine.gate import Busy, Missing, Unreadable
from truebench_hf.engine.retry import Paused, RequestFailed, Transient
from truebench_hf.errors import UserError
from truebench_hf.models.openai_options import OMITTABLE, Server
from truebench_hf.models.protocol import ChatRequest, NoDecisions, SchemaRefused
from truebench_hf.text import redaction

_TOO_LONG_CODES = {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"}
_TOO_LONG = re.compile(
    "|".join(
        (
            r"maximum context (?:length|size|window)",  # OpenAI, vLLM, SGLang, Mistral, OpenRouter
            r"(?:exceed|longer|larger|greater|too large)\b.{0,40}\bcontext (?:length|size|window|limit)",  # many
            r"exceeds.{0,40}\bcontext (?:length|size|window|limit)",  # llama.cpp, OpenAI
            r"context length (?:is|of) only",  # vLLM, LM Studio
            r"(?:longer than|exceeds) the maximum model length",  # vLLM
            r"input tokens exceed",  # OpenAI
            r"inputs?\W{0,2} must have less than \d+ tokens",  # TGI
            r"inputs?\W{0,2} tokens \+ \W?max_new_tokens\W? must be",  # TGI, Together
            r"(?:prompt|input) is too long",  # Anthropic, Bedrock, Fireworks
            r"input token count.{0,30}exceeds",  # Gemini
            r"maximum prompt length",  # xAI
            r"prompt exceeds max length",  # Zhipu
            r"reduce the length of the (?:messages|input|prompt)",  # Groq, Cerebras
        )
    )
)
_NO_CREDIT_CODES = {
    "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "exceeded_current_quota_error",
    "insufficient_balance", "insufficient_credits", "arrearage",
}  # fmt: skip
# "Exceeded your current quota" is left out: some say so of a limit per minute.
_NO_CREDIT = re.compile(r"insufficient (?:balance|credit|funds)|credit balance is too low|not enough credit")
_PROMPT_REFUSED = {"content_filter", "invalid_prompt", "data_inspection_failed"}
_NOT_TAKEN_CODES = {"unsupported_parameter", "unsupported_value", "unknown_parameter"}
_NOT_TAKEN = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|not permitted|not allowed|cannot both|deprecated|only the default"
)


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error answer: HTTP status, the message in one line, and the error object's code, type and param."""

    status: int
    text: str
    code: str = ""
    kind: str = ""
    param: str = ""

    @property
    def too_long(self) -> bool:
        """Whether the prompt does not fit: the window, or the size of a request."""
        told = {self.code, self.kind} & _TOO_LONG_CODES or _TOO_LONG.search(self.text.lower())
        return self.status == 413 or (self.status in (400, 422, 500) and bool(told))

    @property
    def prompt_refused(self) -> bool:
        """Whether a filter refuses this very prompt."""
        return self.status == 400 and self.code in _PROMPT_REFUSED

    @property
    def no_credit(self) -> bool:
        """Whether the account behind the key is used up."""
        told = {self.code.lower(), self.kind.lower()} & _NO_CREDIT_CODES or _NO_CREDIT.search(self.text.lower())
        return self.status == 402 or (self.status in (400, 403, 429) and bool(told))

    @property
    def not_taken(self) -> str:
        """The parameter that the server does not take, among those that can be omitted; "" for any other error."""
        if self.status not in (400, 422) or not (self.code in _NOT_TAKEN_CODES or _NOT_TAKEN.search(self.text.lower())):
            return ""
        if self.param in OMITTABLE:
            return self.param
        found = re.search(rf"\b(?:{'|'.join(OMITTABLE)})\b", self.text)
        return found.group() if found else ""


def status_error(response: Any) -> Exception:
    """An answer (`httpx2.Response`) with any other status than 200 to 299 as the SDK's error."""
    import openai

    try:
        body = json.loads(response.text)
    except (ValueError, RecursionError):
        body = response.text.strip()
    told = body.get("error", body) if isinstance(body, dict) else body
    return openai.APIStatusError(f"Error code: {response.status_code}", response=response, body=told)


def server_error(error: Any) -> ServerError:
    """The parts of an `openai.APIStatusError`, whatever the shape of its body."""
    body = error.body
    parts = body if isinstance(body, dict) else {}
    message = parts.get("message") or parts.get("detail") if parts else body
    return ServerError(
        error.status_code,
        one_line(message or error.message),
        *(str(parts.get(key) or "") for key in ("code", "type", "param")),
    )


def one_line(said: Any) -> str:
    """What a server says of a failure, in one line. Masked before it is cut: half a secret is one still."""
    return redaction.error(" ".join(str(said).split())[:20_000])[:500]


_WEEK = 7 * 86400.0


def retry_after(headers: Any) -> float | None:
    """Seconds asked for by Retry-After (a number or a date), None where it is absent, unreadable or over a week."""
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
        except (TypeError, ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds < _WEEK else None


_TRANSIENT = {408, 409, 425}
_KEY_REFUSED, _MODEL_GONE = {401, 403}, {404, 410}
_NOBODY_BEHIND = {502, 503, 521, 522, 523, 530}  # what gateways say for a server that is gone
_LONGEST_SILENCE = 60.0  # seconds between two tries of one request, for which nobody is told that it waits
_UNREACHABLE_TRIES = 6  # a few seconds: a wrong URL should show soon, before anything has been answered


class Unreachable(Missing):
    """No connection came about."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked: which server, the chat request if it was one, and whether that server, and this path, has answered.

    An error that nothing but the user can mend stops the run, unless the same has worked before.
    """

    server: Server
    request: ChatRequest | None
    answered: bool
    worked: bool


def failure(error: Exception, asked: Asked) -> Exception:
    """What any exception of one try is to be raised as: Transient, Paused, RequestFailed, SchemaRefused or UserError."""
    import openai

    try:
        if isinstance(error, openai.APIStatusError):
            return _refused(error, asked)
        if isinstance(error, openai.APIError):
            return _unanswered(error, asked)
        if isinstance(error, UnicodeEncodeError):
            return RequestFailed(f"the prompt holds a character that cannot be sent: {error.reason}")
        return unreadable(error, asked.server)
    except Exception as odd:  # a header or a body so odd that telling what it means fails
        return unreadable(odd, asked.server)


def unreadable(error: Exception, server: Server) -> Transient:
    """What an exception is to be raised as that came of reading an answer, or of giving up to read it."""
    import httpx2
    import openai

    if isinstance(error, httpx2.TransportError | openai.APIError):  # a stream that broke off, or told an error
        return Transient(f"{server.url}: {one_line(error) or type(error).__name__}")
    if isinstance(error, RecursionError):
        return Unreadable(f"{server.url}: unreadable answer: nested too deeply")
    told = one_line(error) or type(error).__name__
    if isinstance(error, json.JSONDecodeError):  # a page of a login or of another service, more often than not
        told = f"no JSON: {told}"
    return Unreadable(f"{server.url}: unreadable answer: {told}", tries=getattr(error, "tries", None))


def _refused(error: Any, asked: Asked) -> Exception:
    """What an answer with any other status than 200 to 299 (`openai.APIStatusError`) means."""
    said, where = server_error(error), error.request.url.path
    server, request = asked.server, asked.request
    answered, wait = f"{server.url} answered {said.status}: {said.text}", retry_after(error.response.headers)
    if 300 <= said.status < 400:
        return _redirected(error, server)
    if said.too_long:
        return RequestFailed(f"the prompt does not fit the window: {said.text}")
    if said.prompt_refused:
        return RequestFailed(f"the server's content filter refused the prompt: {said.text}")
    if said.status == 503 and wait is not None:
        return Busy(answered, wait)
    if what := _missing(said, asked.worked):
        return Missing(answered, what)
    if said.status == 429:
        return Busy(answered, wait)
    if said.status < 300 or said.status in _TRANSIENT or (said.status >= 500 and said.status != 501):
        return Transient(answered, None if wait is None else min(wait, _LONGEST_SILENCE))
    if said.status in (400, 422) and request and _has_empty_answer(request):
        return RequestFailed(f"the server refused a conversation with an empty answer in it: {said.text}")
    # Wordings are too many to know: whether the schema is to blame shows when it is asked again without.
    if request and request.schema and said.status in (400, 422, 501) and said.not_taken in ("", "response_format"):
        return SchemaRefused(answered)
    if said.status in (404, 405, 501) and where.endswith(("/systemone", "/decisions")):
        told = f"{server.url} answered {where} with {said.status}: {said.text}"
        return NoDecisions(f"{server.spec}: no decision level there: {told}; use --judge-level checklist or rubric")
    return UserError(f"{server.spec} at {answered}; {_remedy(said, server)}")


def _redirected(error: Any, server: Server) -> UserError:
    """What stops the run where a server sends calls on: keys and prompts go to the address that the user gave alone."""
    asked, location = error.request.url, error.response.headers.get("location", "")
    answered = f"{server.spec}: {server.url} answered {error.response.status_code}"
    try:
        parts = urlsplit(urljoin(str(asked), location))
        place = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"  # no login, no query
    except ValueError:  # a port that is no number, or a bracket left open
        place = location.partition("?")[0]
    if not location:
        return UserError(f"{answered}, a redirect without a new URL; check --model-base-url/--judge-base-url")
    base = place.removesuffix(asked.path.removeprefix(urlsplit(server.url).path))
    return UserError(
        f"{answered}, a redirect to {one_line(place)}, which is not followed; if you trust it, give {one_line(base)} as "
        "--model-base-url/--judge-base-url"
    )


def _missing(said: ServerError, worked: bool) -> str:
    """What an error answer says is missing, "" where nothing is that could be back in a while."""
    if said.no_credit:
        return "credit"
    if said.status in _NOBODY_BEHIND:
        return "the server"
    if worked and (said.status in _MODEL_GONE or (said.status < 500 and said.code == "model_not_found")):
        return "the model"
    return "a valid key" if worked and said.status in _KEY_REFUSED else ""


def _has_empty_answer(request: ChatRequest) -> bool:
    # A model may well answer nothing at all, but some servers take no such message back.
    return any(message.role == "assistant" and not message.content.strip() for message in request.messages)


def _unanswered(error: Exception, asked: Asked) -> Transient | Paused:
    """What any other `openai.APIError` means: dropped connections, timeouts, bodies that do not validate.

    Unreachable where no connection came about, with few tries for a server that has answered nothing yet.
    """
    import httpx2

    cause = error.__cause__ or error  # the SDK itself calls nearly everything a timeout
    told = f"{asked.server.url}: {str(cause) or type(cause).__name__}"
    if getattr(cause.__cause__, "errno", None) in (errno.EMFILE, errno.ENFILE):  # says nothing of the server
        return Transient(f"{told}; allow more open files (ulimit -n), or fewer calls at a time")
    if isinstance(cause, httpx2.ConnectTimeout | httpx2.ConnectError | httpx2.UnsupportedProtocol):
        return Unreachable(told, tries=None if asked.answered else _UNREACHABLE_TRIES)
    if isinstance(cause, httpx2.ReadTimeout):
        return Paused(told)
    return Transient(told)


def no_server(error: RequestFailed, server: Server) -> UserError:
    """What stops the run where the first requests found no server at all."""
    remedy = "start the server, or check --model-base-url/--judge-base-url and $OPENAI_BASE_URL"
    return UserError(f"{server.spec}: cannot be reached: {error}; {remedy}")


def no_client(error: Exception, server: Server) -> UserError:
    """What stops the run where no call could ever be sent."""
    remedy = "check the base URL, and $HTTPS_PROXY, $SSL_CERT_FILE, $OPENAI_CUSTOM_HEADERS and the like"
    return UserError(f"{server.spec}: no client can be made for {server.url}: {one_line(error)}; {remedy}")


def _remedy(said: ServerError, server: Server) -> str:
    if said.not_taken:
        omit = ",".join((*server.omitted, said.not_taken))
        return f"leave the parameter out with --model-arg/--judge-arg omit={omit}"
    if said.status == 404 and not re.search(r"/v\d", server.url):
        return f"most servers want /v1 at the end: --model-base-url/--judge-base-url {server.url}/v1"
    return f"check the model name, --model-base-url/--judge-base-url and ${server.key_env}"
