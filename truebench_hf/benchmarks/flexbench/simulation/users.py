"""What simulated users are like, measured beside people: how much they write, tell and ask."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import mean

from truebench_hf.benchmarks.flexbench.conversations import Talk

MEASURES = {
    "words": "words a turn",
    "disclosure": "new content words a turn",
    "questions": "turns with a question %",
    "turns": "turns a conversation",
}
_QUESTION = re.compile(r"[?\uff1f\u061f]")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


def measured(talks: Sequence[Talk]) -> dict[str, float | None]:
    """Means over the users' turns (and over conversations): see `MEASURES`; None without any.

    What a turn discloses is counted as its words of four letters and more that nobody has used before in the
    conversation; in Chinese and Japanese every two characters are a word.
    """
    turns, told, asked = [], [], []
    for talk in talks:
        used: set[str] = set()
        for message in talk.messages:
            words = _words(message.content)
            if message.role == "user":
                turns.append(len(words))
                content = {word for word in words if len(word) > 3 or _UNSPACED.search(word) or word.isdigit()}
                told.append(len(content - used))
                asked.append(bool(_QUESTION.search(message.content)))
            used |= set(words)
    if not turns:
        return dict.fromkeys(MEASURES)
    return {
        "words": mean(turns), "disclosure": mean(told), "questions": 100 * mean(asked), "turns": len(turns) / len(talks),
    }  # fmt: skip


def _words(text: str) -> list[str]:
    found = []
    for word in re.findall(r"\w+", text.casefold()):
        parts = [word[i : i + 2] for i in range(0, len(word), 2)] if _UNSPACED.search(word) else [word]
        found += parts
    return found
