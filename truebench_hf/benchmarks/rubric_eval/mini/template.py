"""The parts of a template: an instruction, an answer with gaps, and two texts for every gap."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_GAP = re.compile(r"\[\[(\w+)\]\]")


@dataclass(frozen=True)
class Slot:
    """One rubric and the two passages that decide it.

    `kind` is a rubric type of the taxonomy. Putting `yes` into the answer's gap meets `rubric`, putting `no` breaks
    it; neither changes the label of any other rubric. Passages may hold gaps of other slots. An edit in several places
    goes on in `also`, whose pairs (yes, no) fill the gaps `[[n_1]]`, `[[n_2]]` and so on.

    Of the hard split only: `trap` names what makes the rubric hard, and `measure` what a program would measure, "" where
    the rubric text and the response alone do not let it decide.
    """

    kind: str
    rubric: str
    yes: str
    no: str
    also: tuple[tuple[str, str], ...] = ()
    trap: str = ""
    measure: str = ""

    def passages(self, met: bool) -> list[str]:
        """What stands in the gaps of this slot, in their order."""
        return [yes if met else no for yes, no in ((self.yes, self.no), *self.also)]


@dataclass(frozen=True)
class Template:
    """An instruction with an answer whose gap `[[n]]` belongs to the n-th slot (counted from 1).

    `messages` are (role, text) pairs, the last one the user's. `fills` maps further gap names to alternatives, all of
    one length: the same position is taken from each, so that facts that belong together stay together.
    """

    id: str
    category: str
    language: str
    messages: tuple[tuple[str, str], ...]
    answer: str
    slots: tuple[Slot, ...]
    fills: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def fill_count(self) -> int:
        """Number of alternative fillings, 1 when nothing is to be filled."""
        return min((len(options) for options in self.fills.values()), default=1)


def conversation(entry: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The messages of an entry of a TOML file: `system` if it has one, and `ask`, a text or turns of user and assistant."""
    turns = [entry["ask"]] if isinstance(entry["ask"], str) else entry["ask"]
    messages = [("user" if number % 2 == 0 else "assistant", text) for number, text in enumerate(turns)]
    return (*([("system", entry["system"])] if "system" in entry else []), *messages)


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put `values` into the gaps of `text`, and into the gaps those values bring along. Raises KeyError on a gap
    that has no value."""
    while _GAP.search(text):
        text = _GAP.sub(lambda gap: values[gap.group(1)], text)
    return text
