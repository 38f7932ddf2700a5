"""The table of `docs/rules.md`: what rules decide of `rubric_mini`, whose labels are certain, against those labels.

python -m tests.rules.on_rubric_mini
"""

from __future__ import annotations

from collections import Counter

from truebench_hf.benchmarks.rubric_eval.data import mini_rows as rows
from truebench_hf.data.judged import Case
from truebench_hf.judging.rules.deciding import ruled, rules_of
from truebench_hf.types import Criterion

SPLITS = ("easy", "hard")
COLUMNS = ("rubrics on answers", "with rules", "decided", "of them wrong", "left open")


def counted(split: str) -> dict[str, int]:
    """Return the figures of a split by their columns."""
    counts: Counter[str] = Counter()
    for row in rows(split=split):
        criterion = Criterion(row["rubric"])
        verdict = ruled(Case("", row["response"], (criterion,)), "decide").verdicts.get(0)
        parsed = rules_of(criterion)
        counts["rubrics on answers"] += 1
        counts["with rules"] += parsed is not None
        counts["decided"] += verdict is not None
        counts["of them wrong"] += verdict is not None and verdict.label != row["label"]
        counts["left open"] += verdict is None and parsed is not None and parsed.complete
    return {column: counts[column] for column in COLUMNS}


def table() -> str:
    """Return the figures of all splits as a Markdown table."""
    lines = [f"| Split | {' | '.join(COLUMNS)} |", f"|---|{'---|' * len(COLUMNS)}"]
    lines += [f"| {split} | {' | '.join(map(str, counted(split).values()))} |" for split in SPLITS]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
