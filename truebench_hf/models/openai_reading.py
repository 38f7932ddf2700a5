"""How answers of OpenAI-compatible servers are read, and what a failed call means for a run.

Fields may be missing, null or of another type. A failure has one of these outcomes, an exception each:

- UserError: nobody but the user can mend it; the run stops, and the message names the remedy.
- TryAgain: another try may succeed, after the wait that the server asks for.
- RequestFailed: this request is lost, for the reason given; the others go on.
- SchemaRefused: the same request is to be asked without its JSON schema.
- NoDecisions: the server answers no yes/no questions by probabilities.
- ServerUnavailable: the account has no credit; the run stops, and goes on where it was once there is some.

Once a path has answered, a refusal loses that request only; 401, 403, 404 and 410 then mean that the key or the model
went away, and are tried again. `_RULES` is the table of all of it.
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

from truebench_hf.engine.money import PaidTokens
from truebench_hf.engine.retry import Kind, RequestFailed, ServerUnavailable, TryAgain
from truebench_hf.errors import UserError
from truebench_hf.models.chat_template import split_thinking
from truebench_hf.models.openai_options import Server
from truebench_hf.models.protocol import Completion, Decision, NoDecisions, SchemaRefused
from truebench_hf.text import redaction
from truebench_hf.types import Usage

_HALF = re.compile("[\ud800-\udfff]")
_BROKEN_OFF = ("error", "network_error", "abort", "insufficient_system_resource")
_ANSWER_FILTERED = ("content_filter", "sensitive")


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
    usage, cached = spent(answer)
    return Completion(text, reasoning, usage, cut, cached, served(answer))


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
    if reason.startswith(_ANSWER_FILTERED):
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


def spent(answer: dict[str, Any]) -> tuple[Usage, int]:
    """What one call has spent, and how many tokens of its input the server took from its cache, as far as it tells.

    A good answer is not thrown away for a bad count: its usage is unknown then.
    """
    counts = _object(answer.get("usage"))
    details = _object(_first(counts, "completion_tokens_details", "output_tokens_details"))
    inner = _object(_first(counts, "prompt_tokens_details", "input_tokens_details"))
    read = _count(_first(counts, "prompt_tokens", "input_tokens"))
    written = _count(_first(counts, "completion_tokens", "output_tokens"))
    thought = _count(_first(details, "reasoning_tokens") or 0)  # part of what is written, which few servers tell apart
    cached = _count(_first(inner, "cached_tokens") or counts.get("prompt_cache_hit_tokens") or 0)
    usage = Usage(read or 0, written or 0, thought or 0, 1, int(None in (read, written, thought)))
    return usage, min(cached or 0, usage.input_tokens)


def served(answer: dict[str, Any]) -> dict[str, str]:
    """What an answer tells of who gave it, by kind; a server may say anything."""
    texts = {kind: answer.get(kind) for kind in ("provider", "model", "system_fingerprint")}
    return {kind: text.strip()[:100] for kind, text in texts.items() if isinstance(text, str) and text.strip()}


def paid_tokens(answer: dict[str, Any]) -> PaidTokens | None:
    """The tokens that one call is billed for by what its answer says, whether it can be used or not; None where it says none."""
    usage, cached = spent(answer)
    tokens = PaidTokens(usage.input_tokens, usage.output_tokens, cached, 1, usage.unknown_calls)
    return tokens if tokens.input or tokens.output else None


def decision(answer: dict[str, Any], *, kind: str, count: int) -> Decision:
    """The decision in an answer to `count` questions. Raises TryAgain where it answers none of them."""
    answers = by_name = answer.get("answers")
    if kind == "decisions":  # by name, not by place: a server that leaves one out must not shift the others
        items = [item for item in answers if isinstance(item, dict)] if isinstance(answers, list) else []
        by_name = {str(item.get("name")): item for item in items}
    names = [question_name(i) for i in range(count)]
    if not isinstance(by_name, dict) or not by_name.keys() & set(names):
        raise TryAgain("the server sent no answers", "fault" if answers else "unreadable")
    key = "noul" if kind == "systemone" else "probability"
    shares: list[float | None] = []
    for name in names:
        value: Any = _object(by_name.get(name)).get(key)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        shares.append(float(value) if is_number and 0.0 <= value <= 1.0 else None)
    return Decision(tuple(shares), spent(answer)[0], served(answer))


def question_name(place: int) -> str:
    """The name by which a question is asked and answered."""
    return f"criteria_{place + 1}"


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


# Wordings are looked for in "code type: message", in lower case.
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|string_above_max|context (length|size|window|limit)|too long"
    r"|(model|prompt|max) length|reduce the length|input tokens?\b|must have less than \d+ tokens|max_new_tokens"
)
_PROMPT_FILTERED = re.compile(r"^(content_filter|invalid_prompt|data_inspection_failed)\b")
# "Exceeded your current quota" is left out: some say so of a limit per minute.
_NO_CREDIT = re.compile(
    r"insufficient[ _](quota|balance|credit|funds)|billing_(hard_limit_reached|not_active)|exceeded_current_quota_error"
    r"|arrearage|credit balance is too low|not enough credit"
)
_SCHEMA = re.compile(r"grammar|json[ _-]?schema|response_format")
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


class Refusal(Exception):
    """An answer (`httpx2.Response`) with another status than 200 to 299, of which `content` was read.

    `words` are its code, type and message, `wait` the seconds that it asks for, `place` is where it redirects to.
    """

    def __init__(self, response: Any, content: bytes | bytearray) -> None:
        body: Any = content.decode(errors="replace").strip()
        with suppress(ValueError, RecursionError):
            body = json.loads(body)
        body = body.get("error", body) if isinstance(body, dict) else body
        body = body if isinstance(body, dict) else {"message": body}
        self.status: int = response.status_code
        self.message = one_line(body.get("message") or body.get("detail") or f"Error code: {self.status}")
        code = f"{body.get('code') or ''} {body.get('type') or ''}".strip()
        self.words = f"{code}: {self.message}".lower()
        self.wait = retry_after(response.headers)
        place = response.headers.get("location", "")
        with suppress(ValueError):  # a bracket left open
            place = place and urljoin(str(response.request.url), place)
        self.place = one_line(re.sub(r"(?<=//)[^/]*@", "", place.partition("?")[0])) or "a place it does not name"
        super().__init__(f"{self.status}: {self.message}")


class _Rule(NamedTuple):
    """Where the status is one of `statuses` and `applies` is true, `outcome` is raised; a word such as "busy" is a TryAgain
    of that kind."""

    statuses: Container[int]
    outcome: type[Exception] | Kind
    message: str = "{refusal}"
    applies: Callable[[Refusal, Call], object] = lambda answer, call: True


_WINDOW = "the prompt does not fit the window: {answer.message}"
_CREDIT = "{call.server.spec}: no credit: {refusal}; top up the account; the same command goes on where it was"
# The first one that applies counts.
_RULES = (
    _Rule({413}, RequestFailed, _WINDOW),
    _Rule({400, 422, 500}, RequestFailed, _WINDOW, lambda answer, _: _TOO_LONG.search(answer.words)),
    _Rule({400}, RequestFailed, "the server's content filter refused the prompt: {answer.message}",
          lambda answer, _: _PROMPT_FILTERED.search(answer.words)),
    _Rule({402}, ServerUnavailable, _CREDIT),
    _Rule({400, 403, 429}, ServerUnavailable, _CREDIT, lambda answer, _: _NO_CREDIT.search(answer.words)),
    _Rule({429}, "busy"),
    _Rule({503}, "busy", applies=lambda answer, _: answer.wait is not None),
    _Rule({502, 503, 521, 522, 523, 530}, "gone"),  # what gateways say where nobody is behind them
    _Rule({500}, SchemaRefused, applies=lambda answer, call: call.schema and _SCHEMA.search(answer.words)),
    _Rule({*range(300), 408, 409, 425, *range(500, 1000)} - {501}, "fault"),
    # Keys and prompts go to the address that the user gave alone.
    _Rule(range(400), UserError, "{call.server.spec}: {call.server.url} answered {answer.status}, a redirect to "
          f"{{answer.place}}, which is not followed; if you trust it, give its base URL as {URLS}"),
    # Whether the schema is to blame shows when it is left out.
    _Rule({400, 422, 501}, SchemaRefused, applies=lambda _, call: call.schema),
    _Rule({401, 403, 404, 410}, "gone", applies=lambda _, call: call.path_answered),
    _Rule(range(1000), RequestFailed, "the server refused this request: {refusal}", lambda _, call: call.path_answered),
    _Rule({404, 405, 501}, NoDecisions, "{call.server.spec}: no decision level there: {call.server.url} answered {call.path} "
          "with {answer.status}: {answer.message}; use --judge-level checklist or rubric",
          lambda _, call: not call.path.startswith("/chat")),
    _Rule(range(1000), UserError, f"{{call.server.spec}} at {{refusal}}; check the model name, {URLS} (most servers want /v1 at "
          "the end) and ${call.server.key_env}; a parameter that it does not take is left out with "
          "--model-arg/--judge-arg omit=NAME,NAME"),
)  # fmt: skip


def meaning(error: Exception, call: Call) -> Exception:
    """Return what any exception of one try is to be raised as: one of the outcomes above, never the exception itself."""
    import httpx2
    import openai

    try:
        if isinstance(error, Refusal):
            rule = next(rule for rule in _RULES if error.status in rule.statuses and rule.applies(error, call))
            message = rule.message.format(answer=error, call=call, refusal=f"{call.server.url} answered {error}")
            return (
                TryAgain(message, rule.outcome, error.wait) if isinstance(rule.outcome, str) else rule.outcome(message)
            )
        if isinstance(error, openai.APIError | httpx2.RequestError):
            # A call without an answer: dropped connections, timeouts, streams that broke off. The SDK itself calls nearly
            # everything a timeout.
            cause = error.__cause__ if isinstance(error, openai.APIError) and error.__cause__ else error
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
