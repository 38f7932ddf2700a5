"""What it cost to read the labels of a model's answers: how many only a later answer gave, and how many none did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass
class ReadingCost:
    """Counts over the labels that one part of a study asked a model for.

    `again` labels were read only after the model was told what was wrong with an answer, `unread` ones in none of its
    answers, `unsigned` ones in an object without the id that was asked for. Of yes/no questions `yes` and `other` count
    the labels, and `open` those that are unread. `thinking` counts answers by (with a JSON schema, with reasoning).

    All follow from the answers alone: what the ledger replays is counted as it was when it was asked.
    """

    labels: int = 0
    again: int = 0
    unread: int = 0
    unsigned: int = 0
    yes: int = 0
    other: int = 0
    open: int = 0
    thinking: Counter[tuple[bool, bool]] = field(default_factory=Counter)

    def add(
        self, answer: Any, offered_labels: Mapping[str, Iterable[object]], outcomes: Sequence[bool | None] | None = None
    ) -> None:
        """Count what a question came to, which offered these labels under each key. What failed was never read.

        `answer` is what the judge stated in the end (`judging.signed.SignedAnswer`), `outcomes` are its yes/no questions, None where unread; by default the keys on which yes is offered.
        """
        if answer.failed:
            return
        read = len(answer.labels)
        self.labels += len(offered_labels)
        self.again += read if answer.asks > 1 else 0
        self.unread += len(offered_labels) - read
        self.unsigned += 0 if answer.signed else read
        if outcomes is None:
            keys = [key for key, offered in offered_labels.items() if any(map(_is_yes, offered))]
            outcomes = [_is_yes(answer.labels[key]) if key in answer.labels else None for key in keys]
        self.yes += outcomes.count(True)
        self.other += outcomes.count(False)
        self.open += outcomes.count(None)

    @property
    def share_of_yes(self) -> tuple[float, float] | None:
        """The share of yes had all unread labels been no, and had they been yes; None without yes/no questions."""
        total = self.yes + self.other + self.open
        return (self.yes / total, (self.yes + self.open) / total) if total else None

    def __add__(self, more: ReadingCost) -> ReadingCost:
        return ReadingCost(*(getattr(self, part.name) + getattr(more, part.name) for part in fields(self)))


def _is_yes(label: object) -> bool:
    return label is True or label == "yes"  # a rating of 1 equals True
