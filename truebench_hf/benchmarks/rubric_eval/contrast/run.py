"""Contrast pairs: a response and its minimal edit that turns one rubric over, confirmed by a judge (appendix D).

Paper 003 enlarges its hand-labelled reference set this way: what meets a rubric is rewritten to break it, what does not
is rewritten to meet it. Its annotators confirm every pair; here a judge does, rubric by rubric, on both texts, and also
that no other rubric changed. What it does not confirm is rejected, with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.contrast.options import ContrastOptions
from truebench_hf.benchmarks.rubric_eval.contrast.output import summary, write
from truebench_hf.benchmarks.rubric_eval.contrast.pairs import Attempt, doubt_edit, doubt_flip, doubt_original
from truebench_hf.benchmarks.rubric_eval.contrast.rewriting import edit_size, rewrite
from truebench_hf.benchmarks.rubric_eval.identities import FREE, identities, reached
from truebench_hf.benchmarks.rubric_eval.model_pool import ModelPool
from truebench_hf.engine.folder import RunFolder
from truebench_hf.engine.pool import bounded
from truebench_hf.engine.progress import progress
from truebench_hf.engine.sample import sample
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import Judge
from truebench_hf.judging.rehearsal import rehearse, rehearse_all
from truebench_hf.models.asking import Problem
from truebench_hf.models.caller import Caller
from truebench_hf.types import Verdict


@dataclass(frozen=True)
class _Work:
    """One response and the rubrics of it that are to be turned over."""

    item: data.Item
    rubrics: tuple[data.Rubric, ...]


def contrast(options: ContrastOptions) -> dict[str, Any]:
    """Make contrast pairs from labelled rows and write them into `options.out`. Returns the content of contrast.json.

    Raises UserError on options, data or models that cannot be used.
    """
    rows = data.load(options.data)
    items = data.items(rows)
    chosen, unlabelled = _chosen(items, options)
    pool = ModelPool((options.writer, options.judge), options.model_arg, options.patience)
    rehearse(options.settings, options.prompts)
    for kind, breaking in (("", True), ("quantity_limit", False)):
        rehearse_all(("contrast",), options.prompts, kind=kind, breaking=breaking)
    settings = _settings(options, items) | identities(pool.models) | reached(options)
    folder = RunFolder(options.out, settings, FREE, options.prompts.replaced)
    writer = pool.caller(folder.ledger, "writer", options.writer, options.concurrency)
    judge = Judge(
        pool.caller(folder.ledger, "judge", options.judge, options.concurrency), options.settings, options.prompts
    )
    try:
        with progress({"pairs": sum(len(work.rubrics) for work in chosen)}) as step:
            attempts = asyncio.run(_all(options, pool, writer, judge, chosen, step))
        result = summary(attempts, unlabelled, folder.usage()["total"])
        sources = {str(row["id"]): str(row.get("label_source") or "") for row in rows if "id" in row}
        write(folder, attempts, options.writer, sources, result)
        folder.finish()
        return result
    finally:
        folder.ledger.close()


def _chosen(items: Sequence[data.Item], options: ContrastOptions) -> tuple[list[_Work], int]:
    """The rows to try, by response, and how many have no label. A limit keeps types and labels in proportion."""
    every = [(item, rubric) for item in items for rubric in item.rubrics]
    labelled = [(item, rubric) for item, rubric in every if rubric.label in ("yes", "no")]
    if not labelled:
        raise UserError(f"--data {options.data}: holds no labelled rows; a label says which way to turn a rubric")
    labelled = sample(
        labelled, options.limit, lambda row: row[1].id,
        lambda row: (row[1].kind, row[1].label, row[0].language, row[0].category), options.seed,
    )  # fmt: skip
    by_item: dict[str, tuple[data.Item, list[data.Rubric]]] = {}
    for item, rubric in labelled:
        by_item.setdefault(item.id, (item, []))[1].append(rubric)
    return [_Work(item, tuple(rubrics)) for item, rubrics in by_item.values()], sum(r.label is None for _, r in every)


def _settings(options: ContrastOptions, items: Sequence[data.Item]) -> dict[str, Any]:
    names = (
        "data", "writer", "judge", "limit", "seed", "max_edit", "judge_level", "threshold", "structured", "max_tokens",
        "temperature", "judge_max_tokens",
    )  # fmt: skip
    prompts = ("contrast", "rubric", "repair", "decision", "decision_question")
    hashes = {name: options.prompts.hash(name) for name in prompts}
    settings = {name: getattr(options, name) for name in names}
    return settings | {"selection_sha256": data.data_hash(items), "prompts": hashes}


async def _all(
    options: ContrastOptions, pool: ModelPool, writer: Caller, judge: Judge, chosen: Sequence[_Work], step: Any
) -> list[Attempt]:
    """Every attempt, in the order of the data."""

    async def work(one: _Work) -> tuple[str, list[Attempt]]:
        before = await judge.verdicts(one.item.case)
        attempts = await asyncio.gather(*(_attempt(options, writer, judge, one.item, r, before) for r in one.rubrics))
        for _ in attempts:
            step("pairs")
        return one.item.id, attempts

    limit = 2 * max(writer.concurrency, judge.caller.concurrency)
    try:
        done = {name: attempts async for name, attempts in bounded(chosen, work, limit)}
    finally:
        await pool.close()
    return [attempt for one in chosen for attempt in done[one.item.id]]


async def _attempt(
    options: ContrastOptions, writer: Caller, judge: Judge, item: data.Item, rubric: data.Rubric,
    before: tuple[Verdict, ...],
) -> Attempt:  # fmt: skip
    """Judge the original, rewrite, judge the rewritten text; the first doubt ends it, before further calls are spent."""
    attempt = Attempt(item, rubric, "kept", before=before)
    if doubt := doubt_original(rubric, before):
        return replace(attempt, fate=doubt[0], detail=doubt[1])
    made = await rewrite(
        writer, options.prompts, options.sampling, item.case, rubric.index, rubric.kind, attempt.breaking
    )
    if isinstance(made, Problem):
        return replace(attempt, fate="writer_failed", detail=made.text)
    size = edit_size(item.case.response, made)
    attempt = replace(attempt, rewritten=made, size=size)
    if doubt := doubt_edit(item.case.response, made, size, options.max_edit):
        return replace(attempt, fate=doubt[0], detail=doubt[1])
    after = await judge.verdicts(replace(item.case, response=made))
    attempt = replace(attempt, after=after)
    if doubt := doubt_flip(rubric, before, after):
        return replace(attempt, fate=doubt[0], detail=doubt[1])
    return attempt
