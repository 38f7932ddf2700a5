"""Contrast pairs: a response and its minimal edit that turns one rubric over, confirmed by a judge (appendix D).

Paper 003 enlarges its hand-labelled reference set this way: what meets a rubric is rewritten to break it, what does not
is rewritten to meet it. Its annotators confirm every pair; here a judge does, rubric by rubric, on both texts, and also
that no other rubric changed. What it does not confirm is rejected, with the reason.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.contrast.pairs import (
    MEANING,
    Attempt,
    object_to_edit,
    object_to_flip,
    object_to_original,
    pair_rows,
    rejected_row,
)
from truebench_hf.benchmarks.rubric_eval.contrast.rewriting import edit_size, rewrite
from truebench_hf.benchmarks.rubric_eval.rubric_types import RUBRIC_TYPES
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import JudgeSettings
from truebench_hf.judging.rehearsal import rehearse_all
from truebench_hf.models.asking import Problem
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import Binds, option, role
from truebench_hf.report.sections import Grid
from truebench_hf.study.items import Items
from truebench_hf.study.options import LabellingOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study

# Table 6 of the paper: edited responses kept after its annotators had checked them.
PAPER = {"right_to_wrong": 120, "wrong_to_right": 133}
Row = tuple[data.Item, data.Rubric]


@dataclass(frozen=True, kw_only=True)
class ContrastOptions(LabellingOptions):
    """What is rewritten, by whom, and who confirms it."""

    data: str = option(help="rubric_mini, or labelled rows in rubric_eval columns (JSONL, Parquet, folder, Hub id).")
    writer: str = role(help="Model that rewrites responses: a spec like any model's.")
    judge: str = role(help="Judge that confirms the pairs, one rubric at a time.", binds=Binds(late=True))
    max_edit: float | None = option(None, binds=True, help="Reject larger edits: share of the text changed, 0 to 1.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_edit is not None and not 0 < self.max_edit < 1:
            raise UserError(f"--max-edit {self.max_edit}: lies between 0 and 1")

    @property
    def settings(self) -> JudgeSettings:
        """How the judge decides: every rubric alone, with reasons."""
        return JudgeSettings(
            level="decision" if self.decides(self.judge) else "rubric", threshold=self.threshold,
            structured=self.structured, sampling=Sampling(max_tokens=self.judge_max_tokens),
        )  # fmt: skip


class Contrast(Study[ContrastOptions, Row, Attempt, dict[str, Any]]):
    """Attempts at pairs, one per labelled row; `value` is the content of `contrast.json`."""

    kind = "contrast"
    files = ("contrast.json", "pairs.jsonl", "rejected.jsonl")
    prompts = ("contrast",)
    unit = "pairs"

    def items(self) -> Items[Row]:
        """The labelled rows; a sample keeps types and labels in proportion."""
        every = [(item, rubric) for item in data.items(data.load(self.options.data)) for rubric in item.rubrics]
        self.unlabelled = sum(rubric.label is None for _, rubric in every)
        labelled = [(item, rubric) for item, rubric in every if rubric.label in ("yes", "no")]
        if not labelled:
            raise UserError(
                f"--data {self.options.data}: holds no labelled rows; a label says which way to turn a rubric"
            )
        return Items(
            labelled, lambda row: row[1].id, lambda row: [row[1].id, data.content(row[0])],
            lambda row: (row[1].kind, row[1].label, row[0].language, row[0].category),
        )  # fmt: skip

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.settings]

    def check(self) -> None:
        for kind, breaking in (("", True), ("quantity_limit", False)):
            rehearse_all(("contrast",), self.options.prompts, kind=kind, breaking=breaking)

    def setup(self) -> None:
        self.writer, self.confirming = self.caller("writer"), self.judge(self.options.settings)

    async def work(self, row: Row) -> Attempt:
        """Judge the original, rewrite, judge the rewritten text; an objection ends it before further calls are spent."""
        item, rubric = row
        before = await self.confirming.verdicts(item.case)
        attempt = Attempt(item, rubric, before=before)
        if why := object_to_original(rubric, before):
            return replace(attempt, status=why[0], detail=why[1])
        options = self.options
        made = await rewrite(
            self.writer, options.prompts, options.sampling, item.case, rubric.index, rubric.kind, attempt.breaking
        )
        if isinstance(made, Problem):
            return replace(attempt, status="writer_failed", detail=made.text)
        size = edit_size(item.case.response, made)
        attempt = replace(attempt, rewritten=made, size=size)
        if why := object_to_edit(item.case.response, made, size, options.max_edit):
            return replace(attempt, status=why[0], detail=why[1])
        after = await self.confirming.verdicts(replace(item.case, response=made))
        why = object_to_flip(rubric, before, after) or ("kept", "")
        return replace(attempt, after=after, status=why[0], detail=why[1])

    def score(self, done: Sequence[Attempt]) -> Outcome[dict[str, Any]]:
        result = summary(done, self.unlabelled, self.provenance["usage"])
        kept = [attempt for attempt in done if attempt.status == "kept"]
        files = {
            "pairs.jsonl": (row for attempt in kept for row in pair_rows(attempt, self.options.writer)),
            "rejected.jsonl": map(rejected_row, (attempt for attempt in done if attempt.status != "kept")),
            "contrast.json": result,
        }
        return Outcome(result, files, "RubricEval: contrast pairs", sections(result))


def summary(attempts: Sequence[Attempt], unlabelled: int, usage: Mapping[str, Any]) -> dict[str, Any]:
    """What was kept and why not, by direction and rubric type, and the sizes of the kept edits (shares of the text)."""
    counts = Counter(attempt.status for attempt in attempts)
    sizes = [attempt.size for attempt in attempts if attempt.status == "kept" and attempt.size is not None]
    kinds = sorted({attempt.rubric.kind or "" for attempt in attempts}, key=[*RUBRIC_TYPES, ""].index)
    return {
        "attempts": len(attempts),
        "unlabelled_rows_left_out": unlabelled,
        "status": {status: {"n": counts[status], "meaning": meaning} for status, meaning in MEANING.items()},
        "by_direction": {
            name: {**_kept(a for a in attempts if a.direction == name), "paper_table_6": PAPER[name]} for name in PAPER
        },
        "by_type": {kind: _kept(a for a in attempts if (a.rubric.kind or "") == kind) for kind in kinds},
        "edit_size": {"min": min(sizes), "median": statistics.median(sizes), "max": max(sizes)} if sizes else None,
        "usage": dict(usage),
    }


def _kept(attempts: Iterable[Attempt]) -> dict[str, int]:
    found = list(attempts)
    return {"attempts": len(found), "kept": sum(attempt.status == "kept" for attempt in found)}


def sections(result: Mapping[str, Any]) -> list[Grid]:
    """Pairs by direction and rubric type beside the paper's counts, and why attempts were no pairs."""
    rows = [
        (name, found["attempts"], found["kept"], found["paper_table_6"])
        for name, found in result["by_direction"].items()
    ]
    rows += [(name or "(no type)", found["attempts"], found["kept"], "") for name, found in result["by_type"].items()]
    rows.append(("all", result["attempts"], result["status"]["kept"]["n"], sum(PAPER.values())))
    why = [(status, found["n"], found["meaning"]) for status, found in result["status"].items() if found["n"]]
    size, note = result["edit_size"], ""
    if size:
        note = (
            f"Edit size of kept pairs: median {size['median']:.2f}, {size['min']:.2f} to {size['max']:.2f} of the text."
        )
    return [
        _grid("Pairs", ("", "attempts", "kept", "paper: Table 6"), rows),
        _grid("Attempts", ("", "n", ""), why, note),
    ]


def _grid(title: str, header: tuple[str, ...], rows: Iterable[Sequence[object]], note: str = "") -> Grid:
    return Grid(title, header, tuple(tuple(map(str, row)) for row in rows), note=note)


def contrast(options: ContrastOptions) -> dict[str, Any]:
    """Make contrast pairs from labelled rows and write them into `options.out`. Returns the content of contrast.json.

    Raises UserError on options, data or models that cannot be used.
    """
    return Contrast(options).run().value
