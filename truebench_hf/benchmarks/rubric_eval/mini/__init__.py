"""rubric_mini: a meta-evaluation set for judges whose labels are certain by construction (paper 003, section 3).

Every answer is put together from passages written to meet or to break one rubric each, so that no annotator is needed.
Contrast pairs follow the idea of the paper's appendix D (minimal edits that turn one rubric over). Two splits: `easy`,
and `hard`, whose edits leave length, position and single words alike (see `templates`).
"""

from __future__ import annotations

import copy
import random
from functools import cache
from typing import Any

from truebench_hf.benchmarks.rubric_eval.mini.assemble import COLUMNS, template_rows
from truebench_hf.benchmarks.rubric_eval.mini.templates import templates

__all__ = ["COLUMNS", "SPLITS", "rows"]

SPLITS = ("easy", "hard")


def rows(seed: int = 0, split: str = "easy") -> list[dict[str, Any]]:
    """All rows of a split, one rubric judgment each, in the columns of `COLUMNS`.

    The same seed gives the same rows. Another seed changes the order of templates, checklists and edits, and which of the
    prepared names and numbers are filled in; never the wording, the counts or the balance of labels. The rows of one
    response stand together, and the responses of one instruction too.
    """
    return copy.deepcopy(_made(seed, split))  # rows that the caller may change


@cache
def _made(seed: int, split: str) -> list[dict[str, Any]]:
    drawn = random.Random(f"order {seed}").sample(templates(split), len(templates(split)))
    return [row for one in drawn for row in template_rows(one, random.Random(f"{one.id} {seed}"))]
