"""What every source of text looks like: one chat protocol, with typed yes/no decisions beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

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

    `example` is an answer of the usual form and length: what `--estimate` reckons with. Nobody else sees it.
    """

    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    sample: int = 0
    schema: dict[str, Any] | None = None
    example: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back: the answer without its thinking, the thinking, and whether the token limit cut it."""

    text: str
    reasoning: str = ""
    usage: Usage = Usage()
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class DecisionRequest:
    """Yes/no questions on one state, answered by a probability each; no text is generated."""

    state: str
    questions: tuple[str, ...]
    sample: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """P(yes) per question, in order; None where the model declined that question."""

    probabilities: tuple[float | None, ...]
    usage: Usage = Usage()


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
    """Where text comes from. `batch` is how many requests at once it works best with; None: as many as allowed."""

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
