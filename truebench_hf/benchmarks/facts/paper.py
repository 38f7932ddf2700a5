"""The tables printed in the FACTS Grounding paper, as reference rows; always shown as the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from truebench_hf.metrics.ranks import self_preference
from truebench_hf.report import table as reports
from truebench_hf.report.table import PUBLISHED, Column, Table
from truebench_hf.types import Score

UNADJUSTED, FINAL = 5, 6  # tables of scores before and after disqualification
JUDGES = ("Gemini 1.5 Pro", "GPT-4o", "Claude 3.5 Sonnet")
SPLITS = {"Open": 860, "Blind": 859}  # prompts of each
REPORTED_SELF_PREFERENCE = 3.23  # section 4, "mean increase"; how it was formed is not said


def paper_rows(table: int) -> list[dict[str, Any]]:
    """Return the rows of table 2, 4, 5 or 6, keyed by column. Raises KeyError for a table we lack."""
    return reports.paper_rows("facts", f"facts_table{table}")


def paper_scores(table: int) -> dict[str, dict[tuple[str, str], float]]:
    """Return the scores of table 5 or 6, in percent, by model, and by (split, judge)."""
    columns = [(split, judge) for split in SPLITS for judge in JUDGES]
    rows = paper_rows(table)
    return {
        row["Response Model"]: {(split, judge): row[f"{split}/{judge}"] for split, judge in columns} for row in rows
    }


def paper_self_preference() -> tuple[float, float]:
    """Return the mean self-preference of its judges by its final and by its unadjusted scores, in points, formed as ours.

    A judge's own model is the one of its name, the others are the eight other models.
    """
    means = []
    for table in (FINAL, UNADJUSTED):
        scores: dict[str, dict[str, float | None]] = {
            model: {judge: fmean(row[split, judge] for split in SPLITS) for judge in JUDGES}
            for model, row in paper_scores(table).items()
        }
        means.append(fmean(self_preference(scores, judge, [judge]).preference or 0.0 for judge in JUDGES))
    return means[0], means[1]


def published_self_preference() -> list[dict[str, Any]]:
    """Return the paper's rows of a table of self-preference: as we form it of its tables, and as it reports it."""
    final, unadjusted = paper_self_preference()
    return [
        {"judge": "ours, on its tables 6 and 5", "by": "model", "final": Score(final / 100, 0),
         "unadjusted": Score(unadjusted / 100, 0), PUBLISHED: True},
        {"judge": "as it reports it", "final": Score(REPORTED_SELF_PREFERENCE / 100, 0), PUBLISHED: True},
    ]  # fmt: skip


def published_scores() -> Table:
    """Return the paper's table 6."""
    rows = paper_rows(FINAL)
    names = [name for name in rows[0] if f"{name}/ci95" in rows[0]]
    columns = [Column("model", "Model"), Column("rank", "rank", "count")]
    columns += [Column(name, name, "score", digits=1) for name in names]
    published = []
    for row in rows:
        scores = {}
        for name in names:
            value, half = row[name], row[f"{name}/ci95"]
            scores[name] = Score(value / 100, 0, 0, ((value - half) / 100, (value + half) / 100))
        published.append({"model": row["Response Model"], "rank": row["Fused Rank"], PUBLISHED: True, **scores})
    note = "On its own two splits, by its three judges; Wald intervals. For reference, not for comparison."
    return Table("paper", columns, published, "The paper's table 6", note, printed=False)


def published_agreement(table: int, measures: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows of table 2 or 4; `measures` are the paper's columns by our names."""
    return [
        {"judge": row["Judge Model"], "template": row["Prompt Template"], "chosen": "chosen" if row["Chosen"] else "",
         **{name: Score(row[title] / 100, 0) for name, title in measures.items()}, PUBLISHED: True}
        for row in paper_rows(table)
    ]  # fmt: skip
