"""`truebench study compare-criteria`: the same responses judged by four types of criteria, and held against people.

Abstract: TRUEBench's claim that a checklist agrees with people better than ratings do, on responses, data and a judge of
one's own (paper 000, section 5.1, appendices C.3 and E, Figures 7 and 8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench.criteria_types import people as raters
from truebench_hf.benchmarks.truebench.criteria_types.options import CompareCriteriaOptions
from truebench_hf.benchmarks.truebench.criteria_types.people import response_id
from truebench_hf.benchmarks.truebench.criteria_types.results import FILES, outcome
from truebench_hf.benchmarks.truebench.criteria_types.scores import Row
from truebench_hf.benchmarks.truebench.criteria_types.skills import skills_by_category
from truebench_hf.benchmarks.truebench.criteria_types.ways import WAYS, Asked, rated
from truebench_hf.benchmarks.truebench.several import Answered, answered
from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.judging.judge import JUDGE_SAMPLING, Judge, JudgeSettings
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.conversation import converse
from truebench_hf.report import labels
from truebench_hf.study.items import Items
from truebench_hf.study.options import numbered
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Instance, Response


class CompareCriteria(Study[CompareCriteriaOptions, Answered, list[Row], dict[str, Any]]):
    """Every response to every instance, by every type of criteria; `value` is the content of `scores.json`."""

    kind, unit = raters.KIND, "instances"
    files = FILES
    prompts = tuple(way.prompt for way in WAYS.values() if way.prompt)

    def items(self) -> Items[Answered]:
        """The instances; of one that is sampled all responses are."""
        options = self.options
        every = data.load(
            options.data, options.column, options.criteria, options.criteria_separator, judged=self._needs_criteria()
        )
        chosen = data.select(every, options.language, options.category)
        if options.types == ("flask",) and not any(i.category in skills_by_category() for i in chosen):
            raise UserError(
                f"--type flask: no instance has one of the categories that the paper names skills for: "
                f"{', '.join(skills_by_category())}; give the data a column category, or name other types"
            )
        items, self.models = answered(options, chosen)
        return items

    def _needs_criteria(self) -> bool:
        return bool({"biggen", "checklist"} & set(self.options.types))

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.judging(self.options.judge, "checklist")]

    def check(self) -> None:
        check_prompts(self.prompts, self.options.prompts, self.options.structured)
        if labels.read_rows(Path(self.options.out) / labels.FILE, raters.OPTIONS):
            need("stats", "sklearn", what="comparing with raters")  # kappa: better missed before anything is paid for

    def setup(self) -> None:
        # One model, however many types: together they ask it no more at a time than the option allows.
        judge = self.caller("judge")
        self.asked = {name: self._asked(judge.in_role(name)) for name in self.options.types}

    def _asked(self, caller: Caller) -> Asked:
        options = self.options
        return Asked(
            SchemaFallback(caller, options.structured), options.prompts, JUDGE_SAMPLING,
            Judge(caller, self.judge_settings()[0], options.prompts),
        )  # fmt: skip

    async def work(self, one: Answered) -> list[Row]:
        """The responses that are given and those made here, each judged in every way."""
        made = await asyncio.gather(
            *(self._made(one.instance, n, name) for n, name in enumerate(numbered(self.options.model), 1))
        )
        responses = [*one.given, *made]
        return list(await asyncio.gather(*(self._row(one.instance, response) for response in responses)))

    async def _made(self, instance: Instance, number: int, name: str) -> Response:
        part = "model" if len(self.options.model) == 1 else f"model {name}"
        response = await converse(instance, self.caller("model", number, part), self.options.sampling)
        return replace(response, model=str(name))

    async def _row(self, instance: Instance, response: Response) -> Row:
        found = await asyncio.gather(*(rated(WAYS[t], asked, instance, response) for t, asked in self.asked.items()))
        return Row(instance, response, response_id(instance, response), dict(zip(self.asked, found, strict=True)))

    def score(self, done: Sequence[list[Row]]) -> Outcome[dict[str, Any]]:
        rows = [row for several in done for row in several]
        options, usage = self.options, self.folder.usage()["total"]
        return outcome(Path(options.out), rows, self.models, str(options.judge), usage, options.seed)


def compare_criteria(options: CompareCriteriaOptions) -> dict[str, Any]:
    """Judge responses by four types of criteria. Returns the content of scores.json. Raises UserError."""
    return CompareCriteria(options).run().value
