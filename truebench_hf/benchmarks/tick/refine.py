"""Self-refinement: a model answers, judges its answer, and rewrites it by that, several times over (section 4.1, G.6)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from truebench_hf.benchmarks.tick import checklists
from truebench_hf.benchmarks.tick.checklists import Item, Listed
from truebench_hf.benchmarks.tick.refine_results import (
    Refined,
    Version,
    refine_board,
    refine_lead,
    refine_sections,
    refine_summary,
)
from truebench_hf.benchmarks.tick.self_judging import (
    SelfJudging,
    SelfJudgingOptions,
    case_of,
)
from truebench_hf.data.case import Case
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.case import one_line, sections
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.metrics.pass_rate import outcome
from truebench_hf.models.asking import CUT_OFF, Problem, ask
from truebench_hf.models.caller import Caller, metered
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.options import Binds, at_least_one, option
from truebench_hf.prompts import Prompts
from truebench_hf.study.outcome import Outcome
from truebench_hf.types import Message, Verdict

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
        first, listed = await asyncio.gather(self.answer(instance, self.options.sampling), self.listed(item))
        if isinstance(first, str):
            return Refined(item.instance, listed, (), first, self.unanswered(item.instance, first))
        case = case_of(item.instance, first.text)
        version = Version(0, first.text, "first", truncated=first.truncated, spent=spent)
        versions = [await self._judged(case, version, listed)]
        problem = f"no checklist: {listed.problem}" if listed and not listed.criteria else ""
        for iteration in range(1, self.options.iterations + 1):
            if problem := problem or self._no_feedback(versions[-1]):
                break
            if listed and versions[-1].passes:
                break
            spent = metered()
            version = await self._next(case, versions[-1], iteration)
            case = replace(case, response=version.text)
            version = await self._judged(case, version, listed) if version.status == "rewritten" else version
            versions.append(replace(version, spent=spent))
        return Refined(item.instance, listed, tuple(versions), problem)

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
        rewritten = await rewrite(
            model.in_role("rewrite"), case, options.prompts, options.sampling, verdicts=before.verdicts,
            critique=critique, sample=sample,
        )  # fmt: skip
        kept = replace(kept, critique=critique)
        return _without(kept, rewritten) if isinstance(rewritten, Problem) else _rewritten(kept, rewritten)

    def score(self, done: Sequence[Refined]) -> Outcome[dict[str, Any]]:
        options = self.options
        cut = sum(bool(refined.versions) and refined.versions[0].truncated for refined in done)
        result = refine_summary(done, options)
        return self.outcome(
            done, result, {"versions.jsonl": [row for refined in done for row in refined.rows()]}, title="STICK: self-refinement",
            sections=refine_sections(done, options, result), lead=refine_lead(options),
            notes=self.notes(cut, scored=self.by_checklist), board=refine_board(done, options, self.setting(done)),
        )  # fmt: skip


def _without(kept: Version, problem: Problem) -> Version:
    return replace(kept, status="failed" if problem.failed else "unreadable", detail=problem.text)


def _rewritten(before: Version, rewriting: Rewrite) -> Version:
    if rewriting.text.strip() == before.text.strip():
        return replace(before, status="unchanged", plan=rewriting.plan)
    return replace(before, text=rewriting.text, status="rewritten", plan=rewriting.plan, truncated=False)


def refine(options: RefineOptions) -> dict[str, Any]:
    """Refine the answers to every instruction into `options.out`. Returns the content of `scores.json`. Raises UserError."""
    return Refine(options).run().value


_ANSWERS = {"yes": "YES", "no": "NO"}
_PLAN = re.compile(r"^[\W_]*plan\b\W*", re.IGNORECASE)
_EXAMPLE = "Mend what was answered NO, keep the rest as it is. " * 6


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A new response, and the plan that came before it."""

    text: str
    plan: str = ""


async def rewrite(
    caller: Caller, case: Case, prompts: Prompts, sampling: Sampling, *, verdicts: Sequence[Verdict] = (),
    critique: str = "", sample: int = 0,
) -> Rewrite | Problem:  # fmt: skip
    """The response of a case, rewritten by the verdicts on its checklist or by a critique of it.

    An answer without a readable response is asked again, but not one that was cut off within it: it would end at the
    same limit. What is cut off behind the closing tag is no part of the response.
    """
    questions = [
        {"text": one_line(verdict.criterion), "answer": _answer(verdict), "reason": _reason(verdict)}
        for verdict in verdicts
    ]
    beside = [text for question in questions for text in question.values()]
    values = sections(_unaided(case), beside=[*beside, critique])
    open_ = any(outcome(verdict.label) not in _ANSWERS for verdict in verdicts)
    text = prompts.render("refine", **values, questions=questions, critique=critique, undecided=open_)
    tag = f"answer_{values['tag']}"

    def read(answer: str, truncated: bool) -> Rewrite | Problem:
        parsed = read_rewrite(answer, tag)
        return Problem(CUT_OFF, final=True) if truncated and isinstance(parsed, Problem) else parsed

    def repair(problem: str) -> str:
        return (
            f"Your answer cannot be used: {problem}. Give your plan, then the whole new response once between <{tag}> and "
            f"</{tag}>, in the form asked for above."
        )

    # Another text than before, since what follows on a rewritten response has to be reckoned with.
    example = f"Plan: {_EXAMPLE}\n<{tag}>\n{case.response} And so on.\n</{tag}>"
    request = ChatRequest((Message("user", text),), sampling, sample, example=example)
    return await ask(caller, request, read, repair)


def read_rewrite(answer: str, tag: str) -> Rewrite | Problem:
    """The one text between `<tag>` and `</tag>`, and what stands before it; a Problem where there is none, or several.

    Both tags stand once, or as often as the same text is given again. What stands behind them is no part of it. A text
    that is the plan once more is no response.
    """
    opened, closed = answer.count(f"<{tag}>"), answer.count(f"</{tag}>")
    if not opened:
        return Problem(f"it has no <{tag}>")
    if not closed:
        return Problem(f"<{tag}> is never closed")
    texts = [text.strip("\r\n") for text in re.findall(rf"<{tag}>(.*?)</{tag}>", answer, re.DOTALL)]
    if not opened == closed == len(texts) or len(set(texts)) > 1:
        return Problem(f"<{tag}> and </{tag}> stand more than once, and not around one and the same text")
    plan = answer.partition(f"<{tag}>")[0].strip()
    if not texts[0].strip():
        return Problem("there is no text between the tags")
    if plan and _folded(plan) == _folded(texts[0]):
        return Problem("what stands between the tags is the plan, not the new response")
    return Rewrite(texts[0], plan)


async def criticise(
    caller: Caller, case: Case, prompts: Prompts, sampling: Sampling, *, sample: int = 0
) -> str | Problem:
    """A critique of the response of a case, in prose. One that was cut off at the token limit is used as it is."""
    text = prompts.render("critique", **sections(_unaided(case)))
    request = ChatRequest((Message("user", text),), sampling, sample, example=_EXAMPLE * 3)

    def read(answer: str, truncated: bool) -> str | Problem:
        return answer.strip() or Problem("the critique is empty", final=truncated)

    return await ask(caller, request, read, lambda problem: "Your answer is empty. Write the critique.")


def _unaided(case: Case) -> Case:
    """The case without what the data knows of right answers."""
    return replace(case, criteria=(), reference=None)


def _answer(verdict: Verdict) -> str:
    """YES where the response is as it should be; that a fault is there is said as what it is."""
    counted = outcome(verdict.label, verdict.criterion.weight)
    word = _ANSWERS.get(counted or "", "OPEN")
    if verdict.criterion.weight > 0 or word == "OPEN":
        return word
    return "NO: the fault is there, and has to go" if word == "NO" else "YES: the fault is not there, as it should be"


def _reason(verdict: Verdict) -> str:
    """The judge's reason in a line; a probability is none, nor is why nothing was decided."""
    if verdict.label is None or verdict.probability is not None:
        return ""
    return " ".join(verdict.reason.split())


def _folded(text: str) -> str:
    """What a plan and its copy have in common that differ in heading, case, blanks and signs."""
    return "".join(filter(str.isalnum, _PLAN.sub("", text).casefold()))
