"""What it cost to read the labels of a model's answers: how many only a later answer gave, and how many none did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field


@dataclass
class ReadingCost:
    """Counts over the labels that one part of a study asked a model for.

    `later` labels were read only after the model was told what was wrong with an answer, `unread` ones in none of its
    answers, `unsigned` ones in an object without the id that was asked for. Of yes/no questions `yes` and `other` count
    the labels, and `open` those that are unread. `thinking` counts answers by (with a JSON schema, with reasoning).

    All follow from the answers alone: what the ledger replays is counted as it was when it was asked.
    """

    labels: int = 0
    later: int = 0
    unread: int = 0
    unsigned: int = 0
    yes: int = 0
    other: int = 0
    open: int = 0
    thinking: Counter[tuple[bool, bool]] = field(default_factory=Counter)

    def add(self, labels: Sequence[object], offered: Collection[object], answers: int, *, signed: bool = True) -> None:
        """Count what a question came to after so many answers: its labels out of those `offered`, None where unread."""
        read = [label for label in labels if label is not None]
        self.labels += len(labels)
        self.later += len(read) if answers > 1 else 0
        self.unread += len(labels) - len(read)
        self.unsigned += 0 if signed else len(read)
        if any(map(_is_yes, offered)):
            yes = sum(map(_is_yes, read))
            self.yes += yes
            self.other += len(read) - yes
            self.open += len(labels) - len(read)

    @property
    def share_of_yes(self) -> tuple[float, float] | None:
        """The share of yes had all unread labels been no, and had they been yes; None without yes/no questions."""
        total = self.yes + self.other + self.open
        return (self.yes / total, (self.yes + self.open) / total) if total else None

    def __add__(self, more: ReadingCost) -> ReadingCost:
        names = ("labels", "later", "unread", "unsigned", "yes", "other", "open")
        return ReadingCost(
            *(getattr(self, name) + getattr(more, name) for name in names), self.thinking + more.thinking
        )


def _is_yes(label: object) -> bool:
    return label is True or label == "yes"  # a rating of 1 equals True
