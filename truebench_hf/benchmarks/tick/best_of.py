"""Best of N: N sampled answers to every instruction, scored by the model itself, and the top ones selected (section 4.2).

`stick`: the pass rate of one's own checklist. `direct`: one rating of the whole answer from 1 to 5 (appendix G.4).
`reward:MODEL`: a reward model, which is no self-selection any more. All score the same answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.tick import checklists
from truebench_hf.benchmarks.tick.best_of_results import (
    Answer,
    Sampled,
    Selecting,
    best_of_board,
    best_of_lead,
    best_of_sections,
    best_of_summary,
)
from truebench_hf.benchmarks.tick.checklists import Item, Listed
from truebench_hf.benchmarks.tick.self_judging import SelfJudging, SelfJudgingOptions, case_of, of_verdicts, opening
from truebench_hf.data.case import Case
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.ratings import rate
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import ChatRequest, Completion, Sampling
from truebench_hf.options import Binds, at_least_one, option, role
from truebench_hf.study.outcome import Outcome
from truebench_hf.types import Instance, Message, Verdict

STICK, DIRECT = "stick", "direct"


@dataclass(frozen=True, kw_only=True)
class BestOfOptions(SelfJudgingOptions):
    """How many answers are drawn, and what selects among them."""

    n: int = option(8, binds=Binds(late=True), help="How many answers are drawn per instruction.")
    by: tuple[str, ...] = option(
        (), binds=Binds(grows=True, late=True),
        help="What selects: stick (the model's own checklist; if none is named), direct (its rating from 1 to 5) or reward:REPO_OR_PATH; may "
        "be repeated, all select among the same answers."
    )  # fmt: skip
    reward: tuple[str, ...] = role(
        (), help="The same as --by reward:..., for the options of reward models.", binds=Binds(grows=True, late=True)
    )
    temperature: float = option(1.0, binds=True, help="Sampling temperature of the answers; greedy is drawn at 0.")

    def __post_init__(self) -> None:
        super().__post_init__()
        rewards = dict.fromkeys([*(name for name in self.by if name.startswith("reward:")), *self.reward])
        object.__setattr__(self, "reward", tuple(rewards))
        object.__setattr__(self, "by", tuple(dict.fromkeys((*self.by, *rewards))) or (STICK,))
        at_least_one(self, "n")
        if wrong := [spec for spec in self.reward if not spec.startswith("reward:")]:
            raise UserError(f"--reward {wrong[0]}: a reward model is reward:REPO_OR_PATH")
        for name in self.by:
            if name not in (STICK, DIRECT, *self.reward):
                raise unknown("scoring function", name, (STICK, DIRECT, "reward:REPO_OR_PATH"))
        if self.temperature == 0 and self.n > 1:
            raise UserError("--temperature 0 draws the same answer every time; give more, e.g. --temperature 1")


class BestOf(SelfJudging):
    """The answers to every instruction; `value` is the content of `scores.json`."""

    kind, unit = "best-of", "instructions"
    files = ("scores.json", "answers.jsonl", checklists.FILE)
    editable = checklists.EDITABLE
    options: BestOfOptions

    def __init__(self, options: BestOfOptions) -> None:
        super().__init__(options, by_checklist=STICK in options.by)
        used = {"generate_checklist": self.by_checklist, "rating": DIRECT in options.by or options.outside == "rating"}
        self.prompts = tuple(name for name, there in used.items() if there)

    def check(self) -> None:
        for most in (5, 10):
            check_prompts(self.prompts, self.options.prompts, most=most)

    def setup(self) -> None:
        super().setup()
        self.rater = SchemaFallback(self.insider.caller, self.options.structured)

    async def work(self, item: Item) -> Sampled:
        """Draw the answers, one checklist beside them, and have everybody score every answer."""
        by = self.options.by
        listed, (first, *drawn) = await asyncio.gather(self._listed(item), self._drawn(checklists.bare(item.instance)))
        greedy, *answers = await asyncio.gather(
            self._judged(item, listed, first, ()), *(self._judged(item, listed, one, by) for one in drawn)
        )
        return Sampled(item.instance, listed, tuple(answers), greedy)

    async def _drawn(self, instance: Instance) -> list[Completion | str]:
        """The greedy answer, and the sampled ones."""
        greedy = Sampling(0.0, max_tokens=self.options.max_tokens)
        sampled = (self.answer(instance, self.options.sampling, sample) for sample in range(self.options.n))
        return await asyncio.gather(self.answer(instance, greedy), *sampled)

    async def _listed(self, item: Item) -> Listed | None:
        return await checklists.checklist_for(self, item) if self.by_checklist else None

    async def _judged(self, item: Item, listed: Listed | None, made: Completion | str, by: Sequence[str]) -> Answer:
        """An answer with the scores it gets."""
        if isinstance(made, str):
            return Answer(None, made, outside=self.unanswered(item.instance, made))
        case = case_of(item.instance, made.text)
        others = [name for name in by if name != STICK]
        criteria = listed.criteria if listed and STICK in by else ()
        verdicts, outside, scores = await asyncio.gather(
            self.verdicts(case, criteria), self.outside(case),
            asyncio.gather(*(self._scored(item.instance, case, name) for name in others)),
        )  # fmt: skip
        inside = dict(zip(others, scores, strict=True)) | {STICK: _stick(verdicts)}
        return Answer(made.text, "", made.truncated, verdicts, {name: inside[name] for name in by}, outside)

    async def _scored(self, instance: Instance, case: Case, by: str) -> Selecting:
        """The score of an answer by direct rating or by a reward model."""
        bare = Case(case.instruction, case.response, (), case.history, case.context, case.category, benchmark="tick")
        if by == DIRECT:
            sampling = self.options.inside.sampling
            rating = await rate(self.rater, bare, self.options.prompts, 5, sampling=sampling)
            return Selecting(rating.value, "" if rating.value is not None else rating.reason)
        caller = self.caller("reward", self.options.reward.index(by) + 1)
        request = ChatRequest((*opening(instance), Message("assistant", case.response)), example="0.5")
        try:
            return Selecting(float((await caller.complete(request)).text))
        except RequestFailed as error:
            return Selecting(None, f"no reward: {error}")

    def score(self, done: Sequence[Sampled]) -> Outcome[dict[str, Any]]:
        options = self.options
        cut = sum(answer.truncated for one in done for answer in one.answers)
        result = best_of_summary(done, options.by, options.outside is not None)
        result |= {"rows_left_out": list(self.all.left_out)}
        listed = self.checklists(one.listed for one in done)
        files: dict[str, Any] = {"scores.json": result, "answers.jsonl": [one.row(options.by) for one in done]}
        return Outcome(
            result, files | listed, "STICK: best of N", best_of_sections(done, options), best_of_lead(options),
            self.notes(cut), board=best_of_board(done, options, self.setting([one.instance for one in done])),
            incomplete=result["incomplete"],
        )  # fmt: skip


def _stick(verdicts: Sequence[Verdict]) -> Selecting:
    found = of_verdicts(verdicts)
    return Selecting(found.score, found.reason)


def best_of(options: BestOfOptions) -> dict[str, Any]:
    """Draw and select answers into `options.out`. Returns the content of `scores.json`. Raises UserError."""
    return BestOf(options).run().value
