"""Models as visitors meet them: what fails goes to the operator in one line, and to the visitor in words."""

from __future__ import annotations

from difflib import SequenceMatcher
from math import inf

from truebench_hf.engine.retry import RequestFailed, TryAgain
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import ChatModel, ChatRequest, Completion, Decision, DecisionRequest, NoDecisions
from truebench_hf.models.spec import open_model, takes_url
from truebench_hf.models.streaming import StreamedModel
from truebench_hf.options import pairs
from truebench_hf.space.board import words
from truebench_hf.space.guard import VisitorError
from truebench_hf.text import anonymous, redaction
from truebench_hf.text.terminal import warn

_QUOTED = 12  # characters in common from which an error quotes a text rather than speaks the same language
# A visitor waits: that a server is gone has to show in seconds, where a run would wait for it for minutes.
_SOON = {"attempts": "2", "connect_timeout": "3"}


def shown_name(spec: str) -> str:
    """A model's name as a visitor may see it: without who provides it, and without folders."""
    return words.model(anonymous.name(spec))


def opened(spec: str, arguments: tuple[str, ...], flag: str, base_url: str | None) -> ChatModel:
    """The model of a spec, whose server is not waited for. Raises UserError where the spec cannot be used."""
    given = pairs(arguments, flag)
    return open_model(spec, _SOON | given if takes_url(spec) else given, base_url, inf)


class SeenModel(StreamedModel):
    """A model whose failures reach the operator: to a judge they are verdicts left open, and nothing raises.

    What no other request would get round (a server that is gone, a wrong key) is a VisitorError.
    """

    failed: RequestFailed | None = None  # the last failure

    async def complete(self, request: ChatRequest) -> Completion:
        """See `ChatModel.complete`."""
        try:
            return await super().complete(request)
        except (RequestFailed, UserError) as error:
            self._tell(error, *(message.content for message in request.messages))
            raise

    async def decide(self, request: DecisionRequest) -> Decision:
        """See `ChatModel.decide`."""
        try:
            return await super().decide(request)
        except (RequestFailed, UserError) as error:
            self._tell(error, request.state, *request.questions)
            raise

    def _tell(self, error: RequestFailed | UserError, *typed: str) -> None:
        if isinstance(error, RequestFailed):
            self.failed = error
        tell(self.spec, error, *typed)


def tell(spec: str, error: RequestFailed | UserError, *typed: str) -> None:
    """Tell the operator of a failure; `typed` is what the visitor wrote. Raises VisitorError where nothing else helps."""
    _note(spec, error, typed)
    if isinstance(error, NoDecisions):
        raise VisitorError(f"{shown_name(spec)} gives no probabilities; choose a way to judge with reasons.") from error
    cause = error.__cause__
    if isinstance(error, UserError) or (isinstance(cause, TryAgain) and cause.kind == "gone"):
        raise VisitorError(
            f"{shown_name(spec)} cannot be reached or used right now. Whoever runs this page has been told; what you "
            "typed is still here."
        ) from error


def in_words(error: RequestFailed) -> VisitorError:
    """What a visitor is told of a request that failed."""
    if "window" in str(error):
        return VisitorError("The text is too long for the model's window; please shorten it.")
    return VisitorError("The model gave no answer; please try again later.")


def _note(spec: str, error: Exception, typed: tuple[str, ...]) -> None:
    """Log why there was no answer, without keys and without what the error quotes of the visitor's text."""
    said = " ".join(redaction.error(str(error)).split())[:500]
    for text in typed:
        given = " ".join(text.split())
        while (same := SequenceMatcher(None, said, given, autojunk=False).find_longest_match()).size > _QUOTED:
            said = f"{said[: same.a]}[…]{said[same.a + same.size :]}"
    warn(f"playground: {anonymous.name(spec)} gave no answer: {anonymous.text(said)}")
