"""What it cost to read a judge's labels: counted for each caller, told at the end of a run."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import Protocol


class ReadAnswer(Protocol):
    """What a judge stated in the end (see `judging.signed.SignedAnswer`)."""

    @property
    def labels(self) -> Sized:
        """The labels that were read."""

    @property
    def signed(self) -> bool:
        """Whether they stood in an object with the tag of the prompt."""
        ...

    @property
    def asks(self) -> int:
        """How many answers it took."""
        ...

    @property
    def failed(self) -> bool:
        """Whether the request failed, so that there was no answer."""
        ...


@dataclass
class ReadingCost:
    """Of the `labels` that were asked for: read from a later answer than the first, unread, and read without the tag."""

    labels: int = 0
    again: int = 0
    unread: int = 0
    unsigned: int = 0

    def add(self, answer: ReadAnswer, asked: int) -> None:
        """Count an answer to a question about so many labels. Requests that failed were never read."""
        read = len(answer.labels)
        self.labels += asked
        self.again += read if answer.asks > 1 else 0
        self.unread += 0 if answer.failed else asked - read
        self.unsigned += 0 if answer.signed else read
