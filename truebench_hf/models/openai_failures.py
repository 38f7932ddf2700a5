"""What a failed call means for a run: another try, one request lost, the schema to blame, or the user to ask."""

from __future__ import annotations

from typing import Any

from truebench_hf.engine.retry import RequestFailed, Transient
from truebench_hf.errors import UserError
from truebench_hf.models.openai_errors import ServerError, retry_after, server_error
from truebench_hf.models.openai_options import Server
from truebench_hf.models.protocol import ChatRequest, SchemaRefused

_TRANSIENT = {408, 409, 425, 429}
_UNREACHABLE_TRIES = 6  # about 8 seconds: a wrong URL should show soon, before anything has been answered


class Unreachable(Transient):
    """No connection came about."""


def refused(error: Any, server: Server, request: ChatRequest | None) -> Exception:
    """What an `openai.APIStatusError` is to be raised as: Transient, RequestFailed, SchemaRefused or UserError.

    `request` is the chat request that it answers, where it is one.
    """
    said, where = server_error(error), error.request.url.path
    answered = f"{server.url} answered {said.status}: {said.text}"
    if said.too_long:
        return RequestFailed(f"the prompt does not fit the window: {said.text}")
    if said.prompt_refused:
        return RequestFailed(f"the server's content filter refused the prompt: {said.text}")
    if said.status in _TRANSIENT or (said.status >= 500 and said.status != 501):
        return Transient(answered, retry_after(error.response.headers))
    if said.status in (400, 422) and request and _hollow(request):
        return RequestFailed(f"the server refused a conversation with an empty answer in it: {said.text}")
    # Wordings are too many to know: whether the schema is to blame shows when it is asked again without.
    if request and request.schema and said.status in (400, 422, 501) and said.not_taken in ("", "response_format"):
        return SchemaRefused(answered)
    if said.status in (404, 405, 501) and where.endswith(("/systemone", "/decisions")):
        asked = f"{server.url} answered {where} with {said.status}: {said.text}"
        return UserError(f"{server.spec}: no decision level there: {asked}; use --judge-level checklist or rubric")
    return UserError(f"{server.spec} at {answered}; {_remedy(said, server)}")


def _hollow(request: ChatRequest) -> bool:
    # A model may well answer nothing at all, but some servers take no such message back.
    return any(message.role == "assistant" and not message.content.strip() for message in request.messages)


def unanswered(error: Exception, server: Server, has_answered: bool) -> Transient:
    """What any other `openai.APIError` is to be raised as: dropped connections, timeouts, bodies that do not validate.

    Unreachable where no connection came about, with few tries for a server that has answered nothing yet.
    """
    import httpx2

    cause = error.__cause__ or error  # the SDK itself calls nearly everything a timeout
    told = f"{server.url}: {str(cause) or type(cause).__name__}"
    if isinstance(cause, httpx2.ConnectTimeout | httpx2.ConnectError | httpx2.UnsupportedProtocol):
        return Unreachable(told, tries=None if has_answered else _UNREACHABLE_TRIES)
    return Transient(told)


def never_there(error: RequestFailed, server: Server) -> UserError:
    """What stops the run where the first requests found no server at all."""
    remedy = "start the server, or check --model-base-url/--judge-base-url and $OPENAI_BASE_URL"
    return UserError(f"{server.spec}: cannot be reached: {error}; {remedy}")


def _remedy(said: ServerError, server: Server) -> str:
    if said.not_taken:
        omit = ",".join((*server.omitted, said.not_taken))
        return f"leave the parameter out with --model-arg/--judge-arg omit={omit}"
    return f"check the model name, --model-base-url/--judge-base-url and ${server.key_env}"
