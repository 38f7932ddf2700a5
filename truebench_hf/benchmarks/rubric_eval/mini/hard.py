"""The hard split: its instructions stand in hard_CATEGORY.toml, an answer with the edits written into it for each.

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
from functools import cache
from importlib import resources
from typing import Any

from truebench_hf.benchmarks.rubric_eval.mini.template import Slot, Template, conversation
from truebench_hf.data.rubrics import INSTRUCTION_CATEGORIES

_EDIT = re.compile(r"\[(\d):(.*?)\|\|(.*?)\]", re.DOTALL)


@cache
def templates() -> tuple[Template, ...]:
    """The templates of the hard split, category by category."""
    folder = resources.files(__package__)
    return tuple(
        _template(key, category, entry)
        for category in INSTRUCTION_CATEGORIES
        for key, entry in tomllib.loads((folder / f"hard_{category}.toml").read_text(encoding="utf-8")).items()
    )


def _template(key: str, category: str, entry: dict[str, Any]) -> Template:
    edits: dict[str, list[tuple[str, str]]] = {}
    for number, yes, no in _EDIT.findall(entry["answer"]):
        edits.setdefault(number, []).append((yes, no))
    slots = [_slot(rubric, edits[str(i)]) for i, rubric in enumerate(entry["rubrics"], 1)]
    met: Counter[str] = Counter()

    def gap(edit: re.Match[str]) -> str:
        met[edit[1]] += 1
        return f"[[{edit[1]}]]" if met[edit[1]] == 1 else f"[[{edit[1]}_{met[edit[1]] - 1}]]"

    name = f"hard-{category[:3]}-{key}"
    answer = _EDIT.sub(gap, entry["answer"])
    return Template(name, category, key[:2].upper(), conversation(entry), answer, tuple(slots))


def _slot(rubric: str, edits: list[tuple[str, str]]) -> Slot:
    kind, trap, text, measure, *_ = [*(part.strip() for part in rubric.split(" | ")), ""]
    return Slot(kind, text, *edits[0], tuple(edits[1:]), trap, measure)
