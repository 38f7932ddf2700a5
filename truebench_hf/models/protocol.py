"""What every source of text looks like: one chat protocol, with typed yes/no decisions beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Protocol

from pydantic import Field, PositiveInt

from truebench_hf.errors import UserError
from truebench_hf.types import Message, Usage


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an answer is drawn. Defaults are those of TRUEBench, appendix H."""

    temperature: float = 0.0
    top_p: float = 0.98
    repetition_penalty: float = 1.0
    max_tokens: int = 4096


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One completion to be asked for. `sample` tells repeated draws of one prompt apart; `schema` is a JSON schema.

    `example` is an answer of the usual form and length, which `--estimate` reckons with. Requests to judges have one; no
    model sees it.
    """

    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    sample: int = 0
    schema: dict[str, Any] | None = None
    example: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class SamplingOptions:
    """What `--model-arg k=v` may set, for every model that writes text, in place of what a command asks for."""

    max_tokens: PositiveInt | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    repetition_penalty: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None

    @property
    def own_sampling(self) -> dict[str, Any]:
        """What is set, by name."""
        values = {name: getattr(self, name) for name in ("max_tokens", "top_p", "repetition_penalty")}
        return {name: value for name, value in values.items() if value is not None}

    def applied(self, request: ChatRequest) -> ChatRequest:
        """Return a request that is answered as these options say."""
        own = self.own_sampling
        return replace(request, sampling=replace(request.sampling, **own)) if own else request


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back: the answer without its thinking, the thinking, and whether the token limit cut it.

    `cached_tokens` are those of the input that a server took from its own cache of prefixes, which cost less. `served` is
    what the answer tells of who gave it: provider, model, system_fingerprint, or the revision of weights.
    """

    text: str
    reasoning: str = ""
    usage: Usage = Usage()
    truncated: bool = False
    cached_tokens: int = 0
    served: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class DecisionRequest:
    """Yes/no questions on one state, answered by a probability each; no text is generated."""

    state: str
    questions: tuple[str, ...]
    sample: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """P(yes) per question, in order; None where the model declined that question. `served` is that of `Completion`."""

    probabilities: tuple[float | None, ...]
    usage: Usage = Usage()
    served: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Identity:
    """What shapes a model's output besides the request: part of every ledger key."""

    provider: str
    model: str
    revision: str = ""
    options: dict[str, Any] = field(default_factory=dict)


class NoDecisions(UserError):
    """The model cannot be asked for probabilities."""


class SchemaRefused(Exception):
    """The server does not take a JSON schema."""


class ChatModel(Protocol):
    """Where text comes from. `batch` is how many requests at once it works best with; None: as many as allowed.

    A model whose answers the cache across folders may keep has a `cache_scope` too: what beside its identity tells its
    answers from those of others (the address of a server, the commit of weights; None as long as nobody can tell).
    """

    spec: str
    batch: int | None
    takes_schema: bool

    @property
    def identity(self) -> Identity:
        """What shapes its answers; the same as long as the model is used."""
        ...

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer a conversation. Raises RequestFailed, SchemaRefused or UserError."""
        ...

    async def decide(self, request: DecisionRequest) -> Decision:
        """Answer yes/no questions with probabilities. Raises RequestFailed or UserError."""
        ...

    async def close(self) -> None:
        """Give back what the model holds."""
        ...
