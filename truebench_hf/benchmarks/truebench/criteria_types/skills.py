"""FLASK's part: which skills count in which category (paper 000, Tables 9 to 18), and what their levels mean.

The names are the paper's. The descriptions of the levels (`skills.json`) are ours: one set for a skill in all categories,
where the paper's change a little from category to category.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from truebench_hf.report.paper import paper_rows


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill, its key in answers, and what each number from 1 on means."""

    name: str
    key: str
    levels: tuple[str, ...]


@cache
def skills_by_category() -> Mapping[str, tuple[Skill, ...]]:
    """The skills of each of the ten categories, in the paper's order."""
    levels = json.loads(Path(__file__).with_name("skills.json").read_text(encoding="utf-8"))
    return {
        row["Category"]: tuple(
            Skill(name, name.lower().replace(" ", "_"), tuple(levels[name])) for name in row["Skills"]
        )
        for row in paper_rows("truebench", "truebench_tables9-18")
    }
