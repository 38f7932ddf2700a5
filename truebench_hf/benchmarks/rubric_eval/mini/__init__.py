"""rubric_mini: a meta-evaluation set for judges whose labels are certain by construction (paper 003, section 3).

Every answer is put together from passages written to meet or to break one rubric each, so that no annotator is needed.
Contrast pairs follow the idea of the paper's appendix D (minimal edits that turn one rubric over). Two splits: `easy`,
and `hard`, whose edits leave length, position and single words alike (see `hard`).
"""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

from truebench_hf.benchmarks.rubric_eval.mini import (
    compositional_en,
    compositional_world,
    constrained_en,
    constrained_world,
    hard,
    multi_turn_en,
    multi_turn_world,
    system_en,
    system_world,
)
from truebench_hf.benchmarks.rubric_eval.mini.assemble import COLUMNS, template_rows
from truebench_hf.benchmarks.rubric_eval.mini.template import Template

__all__ = ["COLUMNS", "SPLITS", "TEMPLATES", "rows"]

SPLITS = ("easy", "hard")

TEMPLATES: tuple[Template, ...] = (
    *constrained_en.TEMPLATES,
    *constrained_world.TEMPLATES,
    *compositional_en.TEMPLATES,
    *compositional_world.TEMPLATES,
    *multi_turn_en.TEMPLATES,
    *multi_turn_world.TEMPLATES,
    *system_en.TEMPLATES,
    *system_world.TEMPLATES,
)


def rows(seed: int = 0, split: str = "easy") -> list[dict[str, Any]]:
    """All rows of a split, one rubric judgment each, in the columns of `COLUMNS`.

    The same seed gives the same rows. Another seed changes the order of templates, checklists and edits, and which of the
    prepared names and numbers are filled in; never the wording, the counts or the balance of labels. The rows of one
    response stand together, and the responses of one instruction too.
    """
    found: list[dict[str, Any]] = json.loads(_made(seed, split))  # of their own for every caller
    return found


@cache
def _made(seed: int, split: str) -> str:
    templates = {"easy": TEMPLATES, "hard": hard.templates()}[split]
    drawn = random.Random(f"order {seed}").sample(templates, len(templates))
    return json.dumps([row for one in drawn for row in template_rows(one, random.Random(f"{one.id} {seed}"))])
