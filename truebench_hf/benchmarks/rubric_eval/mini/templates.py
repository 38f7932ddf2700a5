"""The templates of both splits: an instruction, an answer with gaps, and two texts for every gap.

Those of the easy split stand in easy_CATEGORY.toml, passages that meet and break each rubric beside it; the second part
of the key is the language.

    [con-en-drill]
    ask = 'What the user says', or the turns of a conversation as a list; `system` may stand beside it
    answer = 'Fire drill[[1]] at the [[place]].'  # the gap [[1]] belongs to the first rubric
    fills.place = ['rear car park', 'north gate']

    [[con-en-drill.rubrics]]
    kind = 'content_inclusion'
    rubric = 'Gives the date.'
    yes = ' on 14 March'
    no = ' next week'

Those of the hard split stand in hard_CATEGORY.toml, an answer with the edits written into it for each.

    [en-kettle]
    ask = '''What the user says''', or the turns of a conversation as a list; `system` may stand beside it
    answer = '''The van comes on [1:Monday||Friday], not on [1:Friday||Monday] as planned.'''
    rubrics = ["multi_turn_coherence | revised rule | Gives the day that holds now."]

`[1:yes||no]` is an edit of rubric 1: with its left texts the answer meets the rubric, with its right ones it breaks it.
A rubric is its type, its trap, and its text; a fourth part is what a program would measure (`words = 20`), which makes
its rows measurable. The key begins with the language. The tests hold the edits to equal length on average, and cheap
learners to chance.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from truebench_hf.data.rubrics import INSTRUCTION_CATEGORIES

_GAP = re.compile(r"\[\[(\w+)\]\]")
_EDIT = re.compile(r"\[(\d):(.*?)\|\|(.*?)\]", re.DOTALL)


@dataclass(frozen=True)
class TemplateSlot:
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
class RubricTemplate:
    """An instruction with an answer whose gap `[[n]]` belongs to the n-th slot (counted from 1).

    `messages` are (role, text) pairs, the last one the user's. `fills` maps further gap names to alternatives, all of
    one length: the same position is taken from each, so that facts that belong together stay together.
    """

    id: str
    category: str
    language: str
    messages: tuple[tuple[str, str], ...]
    answer: str
    slots: tuple[TemplateSlot, ...]
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


@cache
def templates(split: str) -> tuple[RubricTemplate, ...]:
    """The templates of a split (easy or hard), category by category."""
    folder, template = resources.files(__package__), {"easy": _easy, "hard": _hard}[split]
    return tuple(
        template(key, category, entry)
        for category in INSTRUCTION_CATEGORIES
        for key, entry in tomllib.loads((folder / f"{split}_{category}.toml").read_text(encoding="utf-8")).items()
    )


def _easy(key: str, category: str, entry: dict[str, Any]) -> RubricTemplate:
    slots = tuple(TemplateSlot(**rubric) for rubric in entry["rubrics"])
    fills = {name: tuple(options) for name, options in entry.get("fills", {}).items()}
    language = key.split("-")[1].upper()
    return RubricTemplate(key, category, language, conversation(entry), entry["answer"], slots, fills)


def _hard(key: str, category: str, entry: dict[str, Any]) -> RubricTemplate:
    edits: dict[str, list[tuple[str, str]]] = {}
    for number, yes, no in _EDIT.findall(entry["answer"]):
        edits.setdefault(number, []).append((yes, no))
    slots = []
    for i, text in enumerate(entry["rubrics"], 1):
        kind, trap, rubric, measure, *_ = [*(part.strip() for part in text.split(" | ")), ""]
        first, *also = edits[str(i)]
        slots.append(TemplateSlot(kind, rubric, *first, tuple(also), trap, measure))
    met: Counter[str] = Counter()

    def gap(edit: re.Match[str]) -> str:
        met[edit[1]] += 1
        return f"[[{edit[1]}]]" if met[edit[1]] == 1 else f"[[{edit[1]}_{met[edit[1]] - 1}]]"

    name = f"hard-{category[:3]}-{key}"
    answer = _EDIT.sub(gap, entry["answer"])
    return RubricTemplate(name, category, key[:2].upper(), conversation(entry), answer, tuple(slots))
