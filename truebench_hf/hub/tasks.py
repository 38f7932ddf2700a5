"""The tasks of a release that a benchmark's eval.yaml promises: the whole of it, each language, each category."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from truebench_hf.benchmarks.truebench.data import slug
from truebench_hf.results.report import Report
from truebench_hf.types import Score

ALL = "all"
# By release and task: the `data_hash` of its instances, so that a run tells what it is over.
PARTS: Mapping[str, Mapping[str, str]] = json.loads(Path(__file__).with_name("release_parts.json").read_text("utf-8"))


def task_of(digest: str) -> tuple[str, str] | None:
    """(release, task) of the data with this hash; None where it is neither a whole release nor one of its tasks."""
    return next(((release, task) for release, of in PARTS.items() for task, its in of.items() if its == digest), None)


def scores_of(task: str, report: Report) -> dict[str, Score]:
    """The scores by task that a run over one of them gives: over the whole, those of every task."""
    scores = {task: report.scores["overall"]}
    if task == ALL:
        groups = (report.scores.get(name, {}) for name in ("by_language", "by_category"))
        scores |= {slug(name): score for group in groups if isinstance(group, Mapping) for name, score in group.items()}
    return {name: score for name, score in scores.items() if isinstance(score, Score) and score.value is not None}
