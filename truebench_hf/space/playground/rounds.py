"""What one click in the first mode works on: a checklist, an answer, its verdicts, and one step of improvement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from truebench_hf.benchmarks.tick.revision import Rewrite
from truebench_hf.comparing.papers import mini
from truebench_hf.judging.rules.deciding import rules_of
from truebench_hf.models.asking import Problem
from truebench_hf.space import steps, visitors
from truebench_hf.space.board import words
from truebench_hf.space.engine import Engine
from truebench_hf.space.look import QUIET
from truebench_hf.space.playground import desk as desks
from truebench_hf.space.playground import shown
from truebench_hf.space.playground.desk import Clock, Desk
from truebench_hf.space.steps import Job, Updates
from truebench_hf.types import Criterion, Verdict

LONGEST_CRITERION = 400
LEVELS = {
    "decision": "Decision: a probability per criterion",
    "cascade": "Cascade: a probability, and reasons where it is in doubt",
    "rubric": "Rubric: one call per criterion, with reasons",
    "checklist": "Checklist: one call for all, with reasons",
}


@dataclass(frozen=True)
class JudgedRound:
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

    async def draft(self) -> Updates:
        """A checklist by the model; `problem` says why there is none."""
        engine = self.desk.engine
        async for update in desks.loaded(engine, [engine.model], self.desk.cleared()):
            yield update
        self.clock.start()
        async for part in engine.checklist(self.prompt):
            if isinstance(part, int):
                yield {}, visitors.status(f"Writing a checklist: {part:,} characters so far …", "busy")
                continue
            why = " A model this small rarely keeps to the form that is asked for." if engine.small else ""
            self.problem = part.problem and f"The model wrote no checklist that can be used: {part.problem}.{why}"
            fitting = [one for one in part.questions if len(one) <= LONGEST_CRITERION]
            self.criteria = fitting[: visitors.CRITERIA]
        if self.criteria:
            self.clock.stop(f"checklist of {words.counted(len(self.criteria), 'question')}")
            yield {self.checklist: "\n".join(self.criteria)}, visitors.status(str(self.clock), "busy")

    async def write(self, tokens: float) -> Updates:
        """The model's answer."""
        async for update in desks.written(self.desk.engine, self.desk, self.clock, self.prompt, tokens):
            self.answer = update[0].get(self.desk.answer, self.answer).strip()
            yield update

    async def judge(self, level: str) -> Updates:
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
        kept = JudgedRound(self.prompt, self.answer, tuple(self.criteria), self.verdicts)
        found = shown.outcome(self.verdicts, engine.tiny)
        yield {self.judged: kept}, visitors.status(f"{found.head}. {self.clock}", found.kind)


@dataclass(frozen=True)
class Works:
    """What the buttons start."""

    desk: Desk
    checklist: Any
    judged: Any

    async def guided(self, prompt: str, checklist: str, tokens: float, how: str = "") -> Updates:
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
            raise visitors.VisitorError(
                f"{work.clock} {work.problem} Write criteria, one a line, and press the button again."
            )
        async for update in work.judge(self._level(how)):
            yield update

    async def drafted(self, prompt: str) -> Updates:
        """A checklist alone."""
        work = self._round(prompt)
        async for update in work.draft():
            yield update
        if not work.criteria:
            raise visitors.VisitorError(f"{work.problem} Please write it yourself, or try again.")
        yield {}, visitors.status(f"{work.clock} Read and mend them.")

    async def answered(self, prompt: str, tokens: float) -> Updates:
        """An answer alone."""
        work = self._round(prompt)
        async for update in work.write(tokens):
            yield update
        yield {}, visitors.status(str(work.clock))

    async def decided(self, prompt: str, checklist: str, answer: str, how: str = "") -> Updates:
        """Verdicts alone."""
        work = self._round(prompt, answer)
        work.criteria = self._criteria(checklist)
        yield self.desk.cleared(), visitors.status("Waiting for the model …", "busy")
        async for update in work.judge(self._level(how)):
            yield update

    async def improved(self, prompt: str, checklist: str, answer: str, judged: JudgedRound, how: str = "") -> Updates:
        """One step of self-refinement: rewritten by its verdicts, which are asked for where there are none yet."""
        work, desk = self._round(prompt, answer), self.desk
        work.criteria = self._criteria(checklist)
        yield {desk.results[1]: ""}, visitors.status("Waiting for the model …", "busy")
        if judged.fits(work.prompt, work.answer, work.criteria):
            work.verdicts = judged.verdicts
        else:
            async for update in work.judge(self._level(how)):
                yield update
        before, old = work.verdicts, work.answer
        labels = {verdict.label for verdict in before}
        if labels == {"yes"}:
            yield {}, visitors.status("All criteria are met: there is nothing to improve the answer by.", "good")
            return
        if not {"yes", "no"} & labels:
            raise visitors.VisitorError("No criterion was decided, so there is nothing to improve the answer by.")
        rewrite = None
        async for update in desks.loaded(desk.engine, [desk.engine.model], {}):
            yield update
        work.clock.start()
        async for part in desk.engine.improved(work.prompt, old, before):
            if isinstance(part, int):
                yield {}, visitors.status(f"Improving the answer: {part:,} characters so far …", "busy")
            else:
                rewrite = _readable(part, old, desk.engine.small)
        assert rewrite is not None
        work.clock.stop("rewritten")
        work.answer = rewrite.text
        page = shown.improved_html(old, rewrite, ())
        yield (
            {desk.answer: rewrite.text, desk.made: rewrite.text, desk.results[1]: page},
            visitors.status(str(work.clock), "busy"),
        )
        async for update in work.judge(self._level(how)):
            yield update
        page = shown.improved_html(old, rewrite, before, work.verdicts)
        found, change = shown.outcome(work.verdicts, desk.engine.tiny), shown.turned(before, work.verdicts)
        yield {desk.results[1]: page}, visitors.status(f"{found.head}. {change}. {work.clock}", found.kind)

    def _round(self, prompt: str, answer: str | None = None) -> Round:
        most = visitors.PROMPT
        asked = visitors.text_within(prompt, most, "The prompt")
        given = "" if answer is None else visitors.text_within(answer, most, "The answer")
        return Round(self.desk, self.checklist, self.judged, asked, given)

    def _criteria(self, checklist: str) -> list[str]:
        return visitors.lines_within(checklist, visitors.CRITERIA, LONGEST_CRITERION)

    def _level(self, how: str) -> str:
        """The level of that name; the usual one where the judge is not asked at it."""
        levels = self.desk.engine.levels
        return next((level for level in levels if LEVELS[level] == how), levels[0])


def _readable(part: Rewrite | Problem, old: str, small: bool) -> Rewrite:
    if isinstance(part, Problem):
        why = " A model this small rarely keeps to the form that is asked for." if small else ""
        raise visitors.VisitorError(f"No improved answer: {part.text}.{why} The answer stays as it was.")
    if part.text.strip() == old.strip():
        raise visitors.VisitorError("The model gave the same answer again: there is nothing to compare.")
    return part


def _judging(done: int, count: int, level: str) -> str:
    what = (
        f"{words.counted(count, 'criterion', 'criteria')} in one call"
        if level == "checklist"
        else f"criterion {min(done + 1, count)} of {count}"
    )
    return visitors.status(f"Judging {what} …", "busy")


_PLACE = "One criterion per line, for example:\nThe answer is in English.\nIt has exactly three points."
_CHECKLIST, _SELDOM = "Checklist ({})", "a model this small seldom writes one that can be used"
_ONE_LEVEL = (
    "<p class='tb-soft'>The judge is asked for a probability per criterion. On a sample of rubrics (rubric_mini) this model "
    "wrote no verdict that could be read, so judging with reasons is not offered; its probabilities are at chance.</p>"
)


def build(engine: Engine) -> None:
    """Lay out the mode inside the current Blocks."""
    import gradio as gr

    with gr.Row(elem_classes="tb-pair"):
        with gr.Column(min_width=320):
            example = gr.Dropdown(_choices(), value=None, label="Start from an example", elem_id="example")
            prompt = gr.Textbox(
                label="Prompt", lines=3, max_lines=12, elem_id="prompt",
                placeholder="Ask for something with conditions that can be checked.",
            )  # fmt: skip
            checklist = gr.Textbox(
                label=_CHECKLIST.format(_SELDOM if engine.small else "left empty, the model writes one"), lines=4,
                max_lines=12, placeholder=_PLACE, elem_id="checklist",
            )  # fmt: skip
            go, stop, line = desks.buttons("Answer and judge", "guided")
            (draft, answer_it, judge_it), tokens, level = _alone(engine)
        with gr.Column(min_width=320):
            answer = desks.answer_box("judge", "answer", lines=7)
            verdicts = gr.HTML("", elem_id="verdicts")
            improve = gr.Button("Improve the answer by its verdicts", elem_id="improve-start", min_width=200)
            improved = gr.HTML("", elem_id="improved")
    made = desks.apart("made")
    judged = gr.State(JudgedRound(), time_to_live=3600)
    desk = Desk(engine, answer, made, (verdicts, improved), line)
    desk.follow(prompt, visitors.PROMPT, "The prompt", asks=True)
    desk.follow(answer, visitors.PROMPT, "The answer", asks=False)
    desk.follow(checklist, LONGEST_CRITERION * visitors.CRITERIA, "The checklist", asks=False)
    filled = [prompt, checklist, answer, made, line, *desk.results]
    example.input(_fill, example, filled, **QUIET)

    works = Works(desk, checklist, judged)
    shared, how = [prompt, checklist], [level] if level is not None else []
    everything = [answer, made, checklist, *desk.results, judged]
    jobs = [
        Job(go, works.guided, [*shared, tokens, *how], everything),
        Job(draft, works.drafted, [prompt], [checklist, *desk.results]),
        Job(answer_it, works.answered, [prompt, tokens], [answer, made, *desk.results]),
        Job(judge_it, works.decided, [*shared, answer, *how], [*desk.results, judged]),
        Job(improve, works.improved, [*shared, answer, judged, *how], everything),
    ]
    parts = steps.Controls(tuple(job.start for job in jobs), stop, line, (example, prompt, checklist, answer))
    steps.wire(parts, jobs, visitors.SECONDS, visitors.AT_A_TIME)


def _alone(engine: Engine) -> tuple[tuple[Any, ...], Any, Any | None]:
    """The steps one by one, how long an answer may be, and how the judge is asked."""
    import gradio as gr

    single = (("Write a checklist", "draft"), ("Answer", "answer"), ("Judge", "judge"))
    with gr.Accordion("Step by step, and settings", open=False, elem_id="alone"):
        with gr.Row():
            made = tuple(gr.Button(label, elem_id=f"{name}-start", min_width=140) for label, name in single)
        return made, desks.longest(engine, "tokens"), _level_choice(engine)


def _level_choice(engine: Engine) -> Any | None:
    """How the judge is asked, where there is a choice."""
    import gradio as gr

    if len(engine.levels) == 1:
        gr.HTML(_ONE_LEVEL)
        return None
    names = [LEVELS[level] for level in engine.levels]
    return gr.Radio(names, value=names[0], label="How the judge is asked", elem_id="level")


def _examples() -> list[dict[str, Any]]:
    """A single-turn instance of each language in the built-in sample: the one of which most can be measured."""
    best: dict[str, tuple[int, dict[str, Any]]] = {}
    for row in mini():
        if len(row["input"]) > 1:
            continue
        count = sum((rules := rules_of(Criterion(text))) is not None and rules.complete for text in row["criteria"][0])
        if row["language"] not in best or count > best[row["language"]][0]:
            best[row["language"]] = (count, row)
    return [row for _, row in sorted(best.values(), key=lambda pair: pair[1]["language"] != "EN")]


def _choices() -> list[tuple[str, str]]:
    return [(_label(row), str(row["index"])) for row in _examples()]


def _label(row: dict[str, Any]) -> str:
    return f"{words.column(row['language'])} · {row['category']} · {' '.join(row['input'][0].split())[:60]}…"


def _fill(index: str | None) -> tuple[str, ...]:
    """The example's prompt and checklist; all that belonged to what was there before is cleared."""
    row = next((row for row in mini() if str(row["index"]) == index), None)
    prompt, checklist = ("", "") if row is None else (row["input"][0], "\n".join(row["criteria"][0]))
    return prompt, checklist, "", "", visitors.status(""), "", ""
