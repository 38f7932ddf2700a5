"""What one click in the first mode works on: a checklist, an answer, its verdicts, and one step of improvement."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any

from truebench_hf.benchmarks.tick.rewriting import Rewrite
from truebench_hf.models.asking import Problem
from truebench_hf.space import guard, limits
from truebench_hf.space.board import words
from truebench_hf.space.playground import desk as desks
from truebench_hf.space.playground import shown
from truebench_hf.space.playground.desk import Clock, Desk, Shown
from truebench_hf.types import Verdict

LONGEST_CRITERION = 400
LEVELS = {
    "decision": "Decision: a probability per criterion",
    "cascade": "Cascade: a probability, and reasons where it is in doubt",
    "rubric": "Rubric: one call per criterion, with reasons",
    "checklist": "Checklist: one call for all, with reasons",
}


@dataclass(frozen=True)
class Judged:
    """What the last verdicts are on, so that they are used again only for the same."""

    prompt: str = ""
    answer: str = ""
    criteria: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    def fits(self, prompt: str, answer: str, criteria: Sequence[str]) -> bool:
        """Whether they are on these texts."""
        return (self.prompt, self.answer, self.criteria) == (prompt, answer, tuple(criteria))


@dataclass
class Round:
    """What one click works on. Each step shows what it makes, and leaves it here for the next."""

    desk: Desk
    checklist: Any
    judged: Any
    prompt: str
    answer: str = ""
    criteria: list[str] = field(default_factory=list)
    verdicts: tuple[Verdict, ...] = ()
    problem: str = ""
    clock: Clock = field(default_factory=Clock)

    async def draft(self) -> AsyncGenerator[Shown, None]:
        """A checklist by the model; `problem` says why there is none."""
        engine = self.desk.engine
        async for update in desks.loaded(engine, [engine.model], self.desk.cleared()):
            yield update
        self.clock.start()
        async for part in engine.checklist(self.prompt):
            if isinstance(part, int):
                yield {}, guard.status(f"Writing a checklist: {part:,} characters so far …", "busy")
                continue
            why = " A model this small rarely keeps to the form that is asked for." if engine.small else ""
            self.problem = part.problem and f"The model wrote no checklist that can be used: {part.problem}.{why}"
            fitting = [one for one in part.questions if len(one) <= LONGEST_CRITERION]
            self.criteria = fitting[: limits.CRITERIA]
        if self.criteria:
            self.clock.stop(f"checklist of {words.counted(len(self.criteria), 'question')}")
            yield {self.checklist: "\n".join(self.criteria)}, guard.status(str(self.clock), "busy")

    async def write(self, tokens: float) -> AsyncGenerator[Shown, None]:
        """The model's answer."""
        async for update in desks.written(self.desk.engine, self.desk, self.clock, self.prompt, tokens):
            self.answer = update[0].get(self.desk.answer, self.answer).strip()
            yield update

    async def judge(self, level: str) -> AsyncGenerator[Shown, None]:
        """The verdicts one by one, and what they come to."""
        engine, (verdicts, _) = self.desk.engine, self.desk.results
        page = shown.verdicts_html([], self.criteria)
        async for update in desks.loaded(engine, [engine.judge], {verdicts: page}):
            yield update
        self.clock.start()
        async for done in engine.verdicts(self.prompt, self.answer, self.criteria, level):
            waiting = self.criteria[len(done) :]
            page = shown.verdicts_html(done, waiting, engine.tiny)
            yield {verdicts: page}, _judging(len(done), len(self.criteria), level)
            self.verdicts = done
        self.clock.stop("judged")
        kept = Judged(self.prompt, self.answer, tuple(self.criteria), self.verdicts)
        found = shown.outcome(self.verdicts, engine.tiny)
        yield {self.judged: kept}, guard.status(f"{found.head}. {self.clock}", found.kind)


@dataclass(frozen=True)
class Works:
    """What the buttons start."""

    desk: Desk
    checklist: Any
    judged: Any

    async def guided(self, prompt: str, checklist: str, tokens: float, how: str = "") -> AsyncGenerator[Shown, None]:
        """All of it: a checklist where there is none, an answer, and its verdicts."""
        work = self._round(prompt)
        if (checklist or "").strip():
            work.criteria = self._criteria(checklist)
        else:
            async for update in work.draft():
                yield update
        async for update in work.write(tokens):
            yield update
        if not work.criteria:
            raise guard.VisitorError(
                f"{work.clock} {work.problem} Write criteria, one a line, and press the button again."
            )
        async for update in work.judge(self._level(how)):
            yield update

    async def drafted(self, prompt: str) -> AsyncGenerator[Shown, None]:
        """A checklist alone."""
        work = self._round(prompt)
        async for update in work.draft():
            yield update
        if not work.criteria:
            raise guard.VisitorError(f"{work.problem} Please write it yourself, or try again.")
        yield {}, guard.status(f"{work.clock} Read and mend them.")

    async def answered(self, prompt: str, tokens: float) -> AsyncGenerator[Shown, None]:
        """An answer alone."""
        work = self._round(prompt)
        async for update in work.write(tokens):
            yield update
        yield {}, guard.status(str(work.clock))

    async def decided(self, prompt: str, checklist: str, answer: str, how: str = "") -> AsyncGenerator[Shown, None]:
        """Verdicts alone."""
        work = self._round(prompt, answer)
        work.criteria = self._criteria(checklist)
        yield self.desk.cleared(), guard.status("Waiting for the model …", "busy")
        async for update in work.judge(self._level(how)):
            yield update

    async def improved(
        self, prompt: str, checklist: str, answer: str, judged: Judged, how: str = ""
    ) -> AsyncGenerator[Shown, None]:
        """One step of self-refinement: rewritten by its verdicts, which are asked for where there are none yet."""
        work, desk = self._round(prompt, answer), self.desk
        work.criteria = self._criteria(checklist)
        yield {desk.results[1]: ""}, guard.status("Waiting for the model …", "busy")
        if judged.fits(work.prompt, work.answer, work.criteria):
            work.verdicts = judged.verdicts
        else:
            async for update in work.judge(self._level(how)):
                yield update
        before, old = work.verdicts, work.answer
        labels = {verdict.label for verdict in before}
        if labels == {"yes"}:
            yield {}, guard.status("All criteria are met: there is nothing to improve the answer by.", "good")
            return
        if not {"yes", "no"} & labels:
            raise guard.VisitorError("No criterion was decided, so there is nothing to improve the answer by.")
        rewrite = None
        async for update in desks.loaded(desk.engine, [desk.engine.model], {}):
            yield update
        work.clock.start()
        async for part in desk.engine.improved(work.prompt, old, before):
            if isinstance(part, int):
                yield {}, guard.status(f"Improving the answer: {part:,} characters so far …", "busy")
            else:
                rewrite = _readable(part, old, desk.engine.small)
        assert rewrite is not None
        work.clock.stop("rewritten")
        work.answer = rewrite.text
        page = shown.improved_html(old, rewrite, ())
        yield (
            {desk.answer: rewrite.text, desk.made: rewrite.text, desk.results[1]: page},
            guard.status(str(work.clock), "busy"),
        )
        async for update in work.judge(self._level(how)):
            yield update
        page = shown.improved_html(old, rewrite, before, work.verdicts)
        found, change = shown.outcome(work.verdicts, desk.engine.tiny), shown.turned(before, work.verdicts)
        yield {desk.results[1]: page}, guard.status(f"{found.head}. {change}. {work.clock}", found.kind)

    def _round(self, prompt: str, answer: str | None = None) -> Round:
        most = limits.PROMPT
        asked = guard.text_within(prompt, most, "The prompt")
        given = "" if answer is None else guard.text_within(answer, most, "The answer")
        return Round(self.desk, self.checklist, self.judged, asked, given)

    def _criteria(self, checklist: str) -> list[str]:
        return guard.lines_within(checklist, limits.CRITERIA, LONGEST_CRITERION)

    def _level(self, how: str) -> str:
        """The level of that name; the usual one where the judge is not asked at it."""
        levels = self.desk.engine.levels
        return next((level for level in levels if LEVELS[level] == how), levels[0])


def _readable(part: Rewrite | Problem, old: str, small: bool) -> Rewrite:
    if isinstance(part, Problem):
        why = " A model this small rarely keeps to the form that is asked for." if small else ""
        raise guard.VisitorError(f"No improved answer: {part.text}.{why} The answer stays as it was.")
    if part.text.strip() == old.strip():
        raise guard.VisitorError("The model gave the same answer again: there is nothing to compare.")
    return part


def _judging(done: int, count: int, level: str) -> str:
    what = (
        f"{words.counted(count, 'criterion', 'criteria')} in one call"
        if level == "checklist"
        else f"criterion {min(done + 1, count)} of {count}"
    )
    return guard.status(f"Judging {what} …", "busy")
