"""Self-refinement: a model answers, judges its answer, and rewrites it by that, several times over (section 4.1, G.6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from truebench_hf.benchmarks.tick import checklists
from truebench_hf.benchmarks.tick.checklists import Item, Listed
from truebench_hf.benchmarks.tick.refine_results import refine_board, refine_lead, refine_sections, refine_summary
from truebench_hf.benchmarks.tick.rewriting import Refined, Rewrite, Version, criticise, rewrite
from truebench_hf.benchmarks.tick.self_judging import SelfJudging, SelfJudgingOptions, case_of
from truebench_hf.data.case import Case
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.models.asking import Problem
from truebench_hf.models.caller import metered
from truebench_hf.options import Binds, at_least_one, option
from truebench_hf.study.outcome import Outcome

KEEP, CRITIQUES = ("last", "best"), ("checklist", "free")


@dataclass(frozen=True, kw_only=True)
class RefineOptions(SelfJudgingOptions):
    """Which model refines its answers, how often, and by what feedback."""

    iterations: int = option(4, binds=Binds(late=True), help="How often a response is rewritten at most.")
    critique: str = option(
        "checklist", binds=Binds(late=True),
        help="The feedback: checklist (its answers; ends where all are YES), or free (prose; never ends early)."
    )  # fmt: skip
    keep: str = option(
        "last", binds=Binds(late=True), help="Which version counts after an iteration: last, or best by its own score."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "iterations")
        if self.critique not in CRITIQUES:
            raise unknown("critique", self.critique, CRITIQUES)
        if self.keep not in KEEP:
            raise unknown("version to keep", self.keep, KEEP)
        if self.critique == "free":
            if self.keep == "best":
                raise UserError("--keep best goes by the own score, which --critique free does not give; leave out one")
            if self.generator or self.checklists:
                raise UserError("--critique free uses no checklist; leave out --generator and --checklists")


class Refine(SelfJudging):
    """A trace per instruction; `value` is the content of `scores.json`."""

    kind, unit = "refine", "instructions"
    files = ("scores.json", "versions.jsonl", checklists.FILE)
    editable = checklists.EDITABLE
    options: RefineOptions

    def __init__(self, options: RefineOptions) -> None:
        super().__init__(options, by_checklist=options.critique == "checklist")
        rating = ("rating",) if options.outside == "rating" else ()
        self.prompts = ("refine", "generate_checklist" if self.by_checklist else "critique", *rating)

    def check(self) -> None:
        for name in self.prompts:
            check_prompts((name,), self.options.prompts)
        check_prompts(("refine",), self.options.prompts, critique="It is too long.", questions=[])

    async def work(self, item: Item) -> Refined:
        """The first answer, and versions of it until all questions are answered YES or the iterations are used up."""
        spent, instance = metered(), checklists.bare(item.instance)
        first, listed = await asyncio.gather(self.answer(instance, self.options.sampling), self._listed(item))
        if isinstance(first, str):
            return Refined(item.instance, listed, (), first, self.unanswered(item.instance, first))
        case = case_of(item.instance, first.text)
        made = Version(0, first.text, "first", truncated=first.truncated, spent=spent)
        versions = [await self._judged(case, made, listed)]
        problem = f"no checklist: {listed.problem}" if listed and not listed.criteria else ""
        for iteration in range(1, self.options.iterations + 1):
            if problem := problem or self._no_feedback(versions[-1]):
                break
            if listed and versions[-1].passes:
                break
            spent = metered()
            made = await self._next(case, versions[-1], iteration)
            case = replace(case, response=made.text)
            made = await self._judged(case, made, listed) if made.status == "rewritten" else made
            versions.append(replace(made, spent=spent))
        return Refined(item.instance, listed, tuple(versions), problem)

    async def _listed(self, item: Item) -> Listed | None:
        return await checklists.checklist_for(self, item) if self.by_checklist else None

    async def _judged(self, case: Case, version: Version, listed: Listed | None) -> Version:
        """The version with the verdicts on it, those inside and the score outside."""
        own, outside = await asyncio.gather(self.verdicts(case, listed.criteria if listed else ()), self.outside(case))
        return replace(version, verdicts=own, outside=outside)

    def _no_feedback(self, version: Version) -> str:
        """Why a version cannot be refined by its checklist; "" where it can."""
        labels = version.inside.labels
        if not self.by_checklist or any(label in ("yes", "no") for label in labels):
            return ""
        return f"no question of the checklist was decided: {version.inside.reason}"

    async def _next(self, case: Case, before: Version, iteration: int) -> Version:
        """The version after one more iteration: where no text can be read the one before, with the verdicts on it."""
        options, model = self.options, self.caller("model")
        kept = replace(before, iteration=iteration, detail="", plan="", critique="")
        if not options.temperature and before.status in ("unchanged", "unreadable"):
            return replace(kept, status=before.status, detail="the request would be the one before")
        sample = iteration if options.temperature else 0  # at 0 equal requests have equal answers
        critique: str | Problem = ""
        if options.critique == "free":
            caller = self.caller(options.judging_role).in_role("critique")
            critique = await criticise(caller, case, options.prompts, options.sampling, sample=sample)
        if isinstance(critique, Problem):
            return _without(kept, critique)
        found = await rewrite(
            model.in_role("rewrite"), case, options.prompts, options.sampling, verdicts=before.verdicts,
            critique=critique, sample=sample,
        )  # fmt: skip
        kept = replace(kept, critique=critique)
        return _without(kept, found) if isinstance(found, Problem) else _rewritten(kept, found)

    def score(self, done: Sequence[Refined]) -> Outcome[dict[str, Any]]:
        options = self.options
        cut = sum(bool(one.versions) and one.versions[0].truncated for one in done)
        result = refine_summary(done, options)
        result |= {"rows_left_out": list(self.all.left_out)}
        listed = self.checklists(one.listed for one in done)
        files: dict[str, Any] = {"scores.json": result, "versions.jsonl": [row for one in done for row in one.rows()]}
        return Outcome(
            result, files | listed, "STICK: self-refinement", refine_sections(done, options), refine_lead(options),
            self.notes(cut, scored=self.by_checklist), board=refine_board(done, options, self.setting([one.instance for one in done])),
            incomplete=result["incomplete"],
        )  # fmt: skip


def _without(kept: Version, problem: Problem) -> Version:
    return replace(kept, status="failed" if problem.failed else "unreadable", detail=problem.text)


def _rewritten(before: Version, found: Rewrite) -> Version:
    if found.text.strip() == before.text.strip():
        return replace(before, status="unchanged", plan=found.plan)
    return replace(before, text=found.text, status="rewritten", plan=found.plan, truncated=False)


def refine(options: RefineOptions) -> dict[str, Any]:
    """Refine the answers to every instruction into `options.out`. Returns the content of `scores.json`. Raises UserError."""
    return Refine(options).run().value
