"""The whole vocabulary: instances go in, a model answers, a judge decides each criterion, functions make scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Role = Literal["system", "user", "assistant"]
Label = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """One yes/no requirement on an answer. `condition` says when it binds; None: always.

    `weight` is its points, never 0; negative ones are for a fault, which a good answer does not have.
    """

    text: str
    kind: str | None = None
    condition: str | None = None
    weight: float = 1.0
    rule: str | None = None  # what a program can measure of it, as the text of a rule (`truebench_hf.data.rules`)


@dataclass(frozen=True, slots=True)
class Turn:
    """One user message, the criteria its answer must meet (TRUEBench section 3.1), and an answer known to be right."""

    prompt: str
    criteria: tuple[Criterion, ...]
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class Instance:
    """One conversation to be had: its turns, and what it counts under ("": under nothing). `history` was said before."""

    id: str
    language: str
    category: str
    task: str
    turns: tuple[Turn, ...]
    system: str | None = None
    context: str | None = None
    history: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and calls. `output_tokens` includes those that the server told to be `reasoning_tokens`.

    `unknown_calls` are the calls for which the server sent no usable counts: what they took is not in the tokens.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    calls: int = 0
    unknown_calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in Usage.__slots__))

    @property
    def shown(self) -> tuple[str, str, str]:
        """Calls, tokens in and tokens out as people read them; see `total`."""
        return f"{self.calls:,}", self.total(self.input_tokens), self.total(self.output_tokens)

    def total(self, tokens: float) -> str:
        """A number of tokens of these calls: `1,234`, or with unknown calls `at least 1,234`, or `unknown`."""
        if self.unknown_calls and not tokens:
            return "unknown"
        return f"at least {tokens:,.0f}" if self.unknown_calls else f"{tokens:,.0f}"

    def __str__(self) -> str:
        """All of it in one line: `200 calls, 1,234 tokens in, 567 out, those of 3 of the calls unknown`."""
        calls = f"{self.calls:,} {'call' if self.calls == 1 else 'calls'}"
        counts = f"{calls}, {self.input_tokens:,} tokens in, {self.output_tokens:,} out"
        return f"{counts}, those of {self.unknown_calls:,} of the calls unknown" if self.unknown_calls else counts


@dataclass(frozen=True, slots=True)
class Response:
    """One conversation as it was had: a model message per turn. `error` says why later turns have none."""

    instance_id: str
    model: str
    messages: tuple[Message, ...]
    reasoning: tuple[str, ...] = ()
    usage: Usage = Usage()
    error: str | None = None
    truncated: tuple[int, ...] = ()  # numbers (from 1) of turns whose answer hit the token limit
    sample: int = 1  # its number (from 1) among several answers of the model to the instance

    @property
    def answers(self) -> tuple[str, ...]:
        """The model's messages, one per answered turn."""
        return tuple(message.content for message in self.messages if message.role == "assistant")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's decision on one criterion. `label` None means not judged, and `reason` says why."""

    criterion: Criterion
    label: Label | None
    reason: str = ""
    judge: str = ""
    probability: float | None = None  # P(yes), where the judge gives one
    votes: tuple[Label | None, ...] = ()
    conflicting: bool = False  # an answer of the judge gave the criterion two labels, whatever was settled
    refused: bool = field(default=False, compare=False)  # an answer could not be read; records leave this out


@dataclass(frozen=True, slots=True)
class Score:
    """A share (0 to 1), as its interval, over `n` scored units; `unscored` units are left out of it. None where n is 0."""

    value: float | None
    n: int
    unscored: int = 0
    ci95: tuple[float, float] | None = None
