"""rubric_mini: a meta-evaluation set for judges whose labels are certain by construction (paper 003, section 3).

Every answer is put together from passages written to meet or to break one rubric each, so that no annotator is needed.
Contrast pairs follow the idea of the paper's appendix D (minimal edits that turn one rubric over).
"""

from __future__ import annotations

import random
from typing import Any

from truebench_hf.benchmarks.rubric_eval.mini.assemble import COLUMNS, case_rows
from truebench_hf.benchmarks.rubric_eval.mini.cases import ALL_CASES

__all__ = ["COLUMNS", "rows"]


def rows(seed: int = 0) -> list[dict[str, Any]]:
    """All rows, one rubric judgment each, in the columns of `COLUMNS`.

    The same seed gives the same rows. Another seed changes the order of cases, checklists and edits, and which of the
    prepared names and numbers are filled in; never the wording, the counts or the balance of labels. The rows of one
    response stand together, and the responses of one instruction too.
    """
    cases = random.Random(f"order {seed}").sample(ALL_CASES, len(ALL_CASES))
    return [row for case in cases for row in case_rows(case, random.Random(f"{case.id} {seed}"))]
