"""Contrast pairs: a response and its minimal edit that flips one rubric, confirmed by a judge (appendix D).

Paper 003 enlarges its hand-labelled reference set so: what meets a rubric is rewritten to break it, what does not
is rewritten to meet it. Its annotators confirm every pair; here a judge does, rubric by rubric, on both texts, and also
that no other rubric changed. What it does not confirm is rejected, with the reason.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.data.rubrics import RUBRIC_TYPES, Item, Rubric, judged
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import JudgeSettings
from truebench_hf.metrics.texts import edit_size
from truebench_hf.models.asking import CUT_OFF, Problem, ask
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.options import Binds, option, role
from truebench_hf.prompts import read_between
from truebench_hf.prompts import sections as case_sections
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.options import LabellingOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Message, Verdict

# Table 6 of the paper: edited responses kept after its annotators had checked them.
PAPER = {"right_to_wrong": 120, "wrong_to_right": 133}
Row = tuple[Item, Rubric]
STATUS = {
    "kept": "confirmed on both texts",
    "original_undecided": "the judge does not decide the rubric on the original",
    "original_not_confirmed": "the judge does not see the given label on the original",
    "writer_failed": "the writer gave no rewritten response",
    "unchanged": "the rewritten response is the original",
    "too_large": "the edit is larger than --max-edit",
    "rewritten_undecided": "the judge does not decide the rubric on the rewritten response",
    "not_flipped": "the judge sees the rubric unchanged",
    "others_undecided": "the judge leaves another rubric open on one of the texts",
    "others_changed": "the judge sees another rubric changed too",
}


@dataclass(frozen=True)
class Attempt:
    """One rubric of one response, and how far its pair came. Verdicts are on the whole checklist, in order."""

    item: Item
    rubric: Rubric
    before: tuple[Verdict, ...] = ()
    rewritten: str | None = None
    after: tuple[Verdict, ...] = ()
    status: str = "kept"
    detail: str = ""

    @property
    def direction(self) -> str:
        """The paper's name for the direction in which the rubric is turned: what is met is broken, or the reverse."""
        return "right_to_wrong" if self.rubric.label == "yes" else "wrong_to_right"

    @property
    def size(self) -> float | None:
        """The share of the text changed, 0 to 1; None without a rewritten text."""
        return None if self.rewritten is None else edit_size(self.item.case.response, self.rewritten)

    def rows(self, writer: str) -> list[dict[str, Any]]:
        """The two rows of a kept pair in rubric_eval columns, original first. The label of the edit is a model's."""
        item, rubric = self.item, self.rubric
        pair = f"{rubric.id}-{self.direction}"
        # easy and hard tell how arbitration went, which nobody ran on the edit
        shared = {**rubric.row, "split": "test", "instruction_id": item.instruction_id, "pair_id": pair}
        shared |= {"checklist": [c.text for c in item.case.criteria], "rubric_index": rubric.index}
        shared |= {"rubric_type": rubric.kind, "dimension": rubric.dimension, "edit_size": self.size}
        first = shared | {"id": rubric.id, "response_id": item.id, **judged([self.before[rubric.index]])}
        second = shared | {"id": f"{pair}-c", "response_id": f"{pair}-r", **judged([self.after[rubric.index]])}
        second |= {"response": self.rewritten, "response_model": writer, "label_source": "model"}
        return [first, second | {"label": "no" if rubric.label == "yes" else "yes"}]


class ContrastOptions(LabellingOptions):
    """What is rewritten, by whom, and who confirms it."""

    data: str = option(help="rubric_mini, or labelled rows in rubric_eval columns (JSONL, Parquet, folder, Hub id).")
    writer: str = role(help="Model that rewrites responses: a spec like any model's.")
    judge: str = role(help="Judge that confirms the pairs, one rubric at a time.", binds=Binds(late=True))
    max_edit: float | None = option(
        None, gt=0, lt=1, binds=True, help="Reject larger edits: share of the text changed, 0 to 1."
    )


class Contrast(Study[ContrastOptions, Row, Attempt, dict[str, Table]]):
    """Attempts at pairs, one per labelled row; `value` are the tables by name."""

    kind, unit, prompts = "contrast", "pairs", ("contrast",)
    files = ("pairs.jsonl", "rejected.jsonl")
    unforeseen = "Which edits succeed is not known: second looks of the judge may come on top."

    def items(self) -> Items[Row]:
        """The labelled rows; a sample keeps types and labels in proportion."""
        pairs = [(item, rubric) for item in data.items(data.load(self.options.data)) for rubric in item.rubrics]
        labelled = [(item, rubric) for item, rubric in pairs if rubric.label in ("yes", "no")]
        self.unlabelled = len(pairs) - len(labelled)
        if not labelled:
            raise UserError(f"--data {self.options.data}: no row has a label, without which a rubric cannot be turned")
        return Items(
            labelled, lambda row: row[1].id, lambda row: [row[1].id, data.content(row[0])],
            lambda row: (row[1].kind, row[1].label, row[0].language, row[0].category),
        )  # fmt: skip

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.judging(self.options.judge, "rubric")]

    def trial_values(self) -> Sequence[Mapping[str, Any]]:
        return ({"kind": "", "breaking": True}, {"kind": "quantity_limit", "breaking": False})

    async def work(self, row: Row) -> Attempt:
        """Judge the original, rewrite, judge the rewritten text; no call is spent on what is rejected already."""
        attempt, judge, (item, rubric) = Attempt(*row), self.judge(self.judge_settings()[0]), row

        def rejected(status: str, detail: str = "") -> Attempt:
            return replace(attempt, status=status, detail=detail)

        attempt = replace(attempt, before=await judge.verdicts(item.case))
        target = attempt.before[rubric.index]
        if target.label != rubric.label:
            return rejected("original_undecided" if target.label is None else "original_not_confirmed", target.reason)
        rewritten = await self._rewritten(attempt)
        if isinstance(rewritten, Problem):
            return rejected("writer_failed", rewritten.text)
        attempt = replace(attempt, rewritten=rewritten)
        if rewritten.strip() == item.case.response.strip():
            return rejected("unchanged")
        size, most = attempt.size or 0.0, self.options.max_edit
        if most is not None and size > most:
            return rejected("too_large", f"{size:.2f} of the text")
        attempt = replace(attempt, after=await judge.verdicts(replace(item.case, response=rewritten)))
        target = attempt.after[rubric.index]
        if target.label in (None, rubric.label):
            return rejected("not_flipped" if target.label else "rewritten_undecided", target.reason)
        pairs = list(zip(attempt.before, attempt.after, strict=True))
        others = [*pairs[: rubric.index], *pairs[rubric.index + 1 :]]
        if undecided := [was.criterion.text for was, now in others if None in (was.label, now.label)]:
            return rejected("others_undecided", "; ".join(undecided))
        if changed := [was.criterion.text for was, now in others if was.label != now.label]:
            return rejected("others_changed", "; ".join(changed))
        return attempt

    async def _rewritten(self, attempt: Attempt) -> str | Problem:
        """The response, edited to break (or else to meet) the rubric, and changed in little else."""
        values, kind = case_sections(attempt.item.case), RUBRIC_TYPES.get(attempt.rubric.kind or "")
        others = list(values["criteria"])
        rubric, tag = others.pop(attempt.rubric.index), f"rewritten_{values['tag']}"
        prompt = self.options.prompts.render(
            "contrast", **values, breaking=attempt.rubric.label == "yes", rubric=rubric, kind=kind.name if kind else "",
            definition=kind.definition if kind else "", others=others,
        )  # fmt: skip

        def read(text: str, truncated: bool) -> str | Problem:
            if truncated:  # asking again would end at the same limit
                return Problem(CUT_OFF, final=True)
            return read_between(text, tag) or Problem("no rewritten response was found between its tags")

        def repair(problem: str) -> str:
            return f"I found no rewritten response. Give all of it between <{tag}> and </{tag}>."

        example = f"<{tag}>\n{values['response']}\n</{tag}>"
        request = ChatRequest((Message("user", prompt),), self.options.sampling, example=example)
        return await ask(self.caller("writer"), request, read, repair, who="the writer")

    def score(self, done: Sequence[Attempt]) -> Outcome[dict[str, Table]]:
        rejected = [
            {
                "id": attempt.rubric.id, "rubric": attempt.rubric.text, "rubric_type": attempt.rubric.kind,
                **{name: getattr(attempt, name) for name in ("status", "detail", "direction", "rewritten")},
                "edit_size": attempt.size,
            }
            for attempt in done if attempt.status != "kept"
        ]  # fmt: skip
        kept = [row for attempt in done if attempt.status == "kept" for row in attempt.rows(self.options.writer)]
        counts = Counter(attempt.status for attempt in done)
        rows = [{"status": status, "n": counts[status], "meaning": meaning} for status, meaning in STATUS.items()]
        columns = (Column("status", "status"), Column("n", "n", "count"), Column("meaning", "meaning", "prose"))
        tables = [_pairs(done), Table("attempts", columns, rows, "What became of the attempts")]
        return Outcome(
            {table.name: table for table in tables}, title="RubricEval: contrast pairs", tables=tables,
            items={"pairs.jsonl": kept, "rejected.jsonl": rejected},
            notes=[f"Rows without a label, left out: {self.unlabelled}."] if self.unlabelled else [],
        )  # fmt: skip


def _pairs(attempts: Sequence[Attempt]) -> Table:
    """Attempts and pairs by direction and rubric type beside the paper's counts, and how much of the text was changed."""
    groups: dict[str, list[Attempt]] = {name: [] for name in (*PAPER, *RUBRIC_TYPES, "(no type)", "all")}
    for attempt in attempts:
        for name in (attempt.direction, attempt.rubric.kind or "(no type)", "all"):
            groups[name].append(attempt)
    paper, rows = {**PAPER, "all": sum(PAPER.values())}, list[dict[str, Any]]()
    for name in [name for name, tried in groups.items() if tried or name in paper]:
        sizes = [attempt.size for attempt in groups[name] if attempt.status == "kept" and attempt.size is not None]
        row = {"group": name, "attempts": len(groups[name]), "kept": len(sizes), "paper": paper.get(name)}
        spread = {"least": min(sizes), "median": statistics.median(sizes), "most": max(sizes)} if sizes else {}
        rows.append(row | spread)
    columns = (
        Column("group", ""), Column("attempts", "attempts", "count"), Column("kept", "kept", "count"),
        Column("paper", "paper: Table 6", "count"), Column("median", "median edit", "number", "Share of the text changed.", digits=1),
        Column("least", "least", "number", digits=1, minor=1), Column("most", "most", "number", digits=1, minor=1),
    )  # fmt: skip
    return Table("pairs", columns, rows, "Pairs")


def contrast(options: ContrastOptions) -> dict[str, Table]:
    """Write contrast pairs of labelled rows into `options.out`. Returns the tables by name. Raises UserError."""
    return Contrast(options).run().value
