"""The tables printed in the FACTS Grounding paper, as reference rows; always shown as the paper's."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from truebench_hf.metrics.ranks import self_preference
from truebench_hf.report import paper

UNADJUSTED, FINAL = 5, 6  # tables of scores before and after disqualification
JUDGES = ("Gemini 1.5 Pro", "GPT-4o", "Claude 3.5 Sonnet")
SPLITS = {"Open": 860, "Blind": 859}  # prompts of each
REPORTED_SELF_PREFERENCE = 3.23  # section 4, "mean increase"; how it was formed is not said


def paper_rows(table: int) -> list[dict[str, Any]]:
    """The rows of table 2, 4, 5 or 6, keyed by column. Raises KeyError for a table we lack."""
    return paper.paper_rows("facts", f"facts_table{table}")


def paper_scores(table: int) -> dict[str, dict[tuple[str, str], float]]:
    """Of table 5 or 6 the scores in percent by model, and by (split, judge)."""
    columns = [(split, judge) for split in SPLITS for judge in JUDGES]
    rows = paper_rows(table)
    return {
        row["Response Model"]: {(split, judge): row[f"{split}/{judge}"] for split, judge in columns} for row in rows
    }


def paper_self_preference() -> tuple[float, float]:
    """The mean self-preference of its judges by its final and by its unadjusted scores, in points, as ours is made.

    A judge's own model is the one of its name, the others are the eight other models.
    """
    return _preference(FINAL), _preference(UNADJUSTED)


def _preference(table: int) -> float:
    scores: dict[str, dict[str, float | None]] = {
        model: {judge: fmean(row[split, judge] for split in SPLITS) for judge in JUDGES}
        for model, row in paper_scores(table).items()
    }
    return fmean(self_preference(scores, judge, [judge]).preference or 0.0 for judge in JUDGES)
