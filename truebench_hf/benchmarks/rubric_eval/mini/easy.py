"""The easy split: its templates stand in easy_CATEGORY.toml, passages that meet and break each rubric beside it.

    [con-en-drill]
    ask = 'What the user says', or the turns of a conversation as a list; `system` may stand beside it
    answer = 'Fire drill[[1]] at the [[place]].'  # the gap [[1]] belongs to the first rubric
    fills.place = ['rear car park', 'north gate']

    [[con-en-drill.rubrics]]
    kind = 'content_inclusion'
    rubric = 'Gives the date.'
    yes = ' on 14 March'
    no = ' next week'

The second part of the key is the language.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from truebench_hf.benchmarks.rubric_eval.mini.template import Slot, Template, conversation
from truebench_hf.data.rubrics import INSTRUCTION_CATEGORIES


@cache
def templates() -> tuple[Template, ...]:
    """The templates of the easy split, category by category."""
    folder = resources.files(__package__)
    return tuple(
        _template(key, category, entry)
        for category in INSTRUCTION_CATEGORIES
        for key, entry in tomllib.loads((folder / f"easy_{category}.toml").read_text(encoding="utf-8")).items()
    )


def _template(key: str, category: str, entry: dict[str, Any]) -> Template:
    slots = tuple(Slot(**rubric) for rubric in entry["rubrics"])
    fills = {name: tuple(options) for name, options in entry.get("fills", {}).items()}
    language = key.split("-")[1].upper()
    return Template(key, category, language, conversation(entry), entry["answer"], slots, fills)
