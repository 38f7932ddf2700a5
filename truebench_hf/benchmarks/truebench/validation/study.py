"""`truebench study validate`: whether the criteria of a benchmark, or its instructions, can be used as they are.

Abstract: a model looks at every instance with its criteria, before any response is judged, for errors, for demands that
go too far and for conditions that no criterion covers, and proposes changes (paper 000, section 3.4). With `--ablation`
it is itself measured, on rows whose defects are known (section 5.2).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench.options import InstanceOptions
from truebench_hf.benchmarks.truebench.validation.ablation import (
    RELEASE,
    SUBSETS,
    Edited,
    Validated,
    ablation,
    ablation_sections,
    as_json,
    board,
    edited_rows,
    read_edits,
)
from truebench_hf.benchmarks.truebench.validation.findings import WORK_LIST, lines, sections, work_list
from truebench_hf.benchmarks.truebench.validation.validator import (
    ASPECTS,
    PROMPT_KINDS,
    SAMPLING,
    Kind,
    Validation,
    kinds,
    validate_instance,
    validate_prompt,
)
from truebench_hf.data.usable import unusable
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import at_least_one, option, role
from truebench_hf.study.items import Items
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.options import PromptOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study

STAGES = ("criteria", "prompt")


@dataclass(frozen=True, kw_only=True)
class ValidateCriteriaOptions(InstanceOptions, PromptOptions):
    """What is validated, by whom, and what for."""

    validator: str = role(help="Who validates: a model spec.")
    stage: str = option(
        "criteria", binds=True, panel="Method",
        help="criteria, or prompt: the instructions themselves (productivity domain, fit to their task, clarity).",
    )  # fmt: skip
    ablation: str | None = option(
        None, binds=True, panel="Method",
        help=f"Measure the validator on known defects, under all 8 sets of aspects (Table 3): {RELEASE} for the edits of 300 of its "
        "rows that come with this package, or a JSONL file of edits to --data.",
    )  # fmt: skip
    max_tokens: int = option(SAMPLING.max_tokens, binds=True, panel="Method", help="Token limit of one answer.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "max_tokens")
        if self.stage not in STAGES:
            raise unknown("stage", self.stage, STAGES)
        if self.ablation and self.stage == "prompt":
            raise UserError("--ablation is about criteria; leave out --stage prompt")

    @property
    def subsets(self) -> tuple[tuple[str, ...], ...]:
        """The sets of aspects that the validator is asked under; of instructions there is one, without any."""
        return SUBSETS if self.ablation else ((),) if self.stage == "prompt" else (tuple(ASPECTS),)

    @property
    def looked(self) -> tuple[Kind, ...]:
        """The kinds of defects in the report."""
        return PROMPT_KINDS if self.stage == "prompt" else kinds(tuple(ASPECTS))


class ValidateCriteria(Study[ValidateCriteriaOptions, Edited, Validated, dict[str, Any]]):
    """Every instance, or every row with a known defect, validated once; `value` is the content of `validation.json`."""

    kind, unit = "criteria-validation", "instances"
    files = ("validation.json", "validations.jsonl", WORK_LIST)
    editable = {WORK_LIST: ""}  # noqa: RUF012

    def __init__(self, options: ValidateCriteriaOptions) -> None:
        super().__init__(options)
        self.prompts = (f"validate_{options.stage}",)

    def items(self) -> Items[Edited]:
        """The instances of the languages and categories asked for; for the ablation those that have an edit."""
        options = self.options
        every = data.load(
            options.data,
            options.column,
            options.criteria,
            options.criteria_separator,
            judged=options.stage == "criteria",
        )
        chosen = data.select(every, options.language, options.category)
        rows = [Edited(instance, "unedited") for instance in chosen]
        if options.ablation:
            rows = edited_rows(chosen, read_edits(options.ablation))
            if not rows:
                raise UserError(f"--data {options.data}: has none of the rows of --ablation {options.ablation}")
        return Items(
            rows, lambda row: row.instance.id, None,
            lambda row: (*([row.edit] if options.ablation else []), row.instance.language, row.instance.category),
            size=lambda row: len(row.instance.turns), left_out=unusable(chosen),
        )  # fmt: skip

    def check(self) -> None:
        check_prompts(self.prompts, self.options.prompts)

    def setup(self) -> None:
        self.schemas = SchemaFallback(self.caller("validator"))

    async def work(self, row: Edited) -> Validated:
        found = await asyncio.gather(*(self._validated(row, aspects) for aspects in self.options.subsets))
        return Validated(row, dict(zip(self.options.subsets, found, strict=True)))

    async def _validated(self, row: Edited, aspects: tuple[str, ...]) -> Validation:
        options, sampling = self.options, Sampling(max_tokens=self.options.max_tokens)
        if options.stage == "prompt":
            return await validate_prompt(self.schemas, row.instance, options.prompts, sampling=sampling)
        return await validate_instance(self.schemas, row.instance, options.prompts, aspects, sampling=sampling)

    def score(self, done: Sequence[Validated]) -> Outcome[dict[str, Any]]:
        options, rows = self.options, [one.edited for one in done]
        shown, looked = sections(done, options.looked), options.looked
        result: dict[str, Any] = {
            "instances": len(done),
            "labels": {label: sum(one.found.label == label for one in done) for label in ("FAIL", "PASS")},
            "undecided": {one.edited.instance.id: one.found.problem for one in done if one.found.label is None},
            "instances_with": {kind: sum(bool(one.found.of(kind)) for one in done) for kind in looked},
            "findings": {kind: sum(len(one.found.of(kind)) for one in done) for kind in looked},
        }
        place = None
        if options.ablation:
            found = ablation(done)
            result |= {"ablation": as_json(found, rows)}
            shown = [*ablation_sections(found, rows), *shown]
            place = board(found[-1], self.provenance)
        open_ = sum(one.label is None for row in done for one in row.by_aspects.values())
        files = {
            "validation.json": result,
            "validations.jsonl": lines(done, bool(options.ablation)),
            WORK_LIST: work_list(done),
        }
        return Outcome(
            result, files, f"TRUEBench: {'criteria' if options.stage == 'criteria' else 'instructions'} validated", shown,
            lead=f"by {options.validator}", notes=weak_judges([options.validator]), board=place, incomplete=open_,
            facts={"Validator": options.validator, "Stage": options.stage},
        )  # fmt: skip


def validate(options: ValidateCriteriaOptions) -> dict[str, Any]:
    """Validate criteria or instructions; `truebench study validate` in Python. Returns validation.json. Raises UserError."""
    return ValidateCriteria(options).run().value
