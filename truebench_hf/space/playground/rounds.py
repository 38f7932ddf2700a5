"""What one click in the first mode works on: a checklist, an answer, its verdicts, and one step of improvement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import escape

from truebench_hf.comparing.papers import mini
from truebench_hf.judging.rules.deciding import rules_of
from truebench_hf.models.asking import Problem
from truebench_hf.space import steps, visitors
from truebench_hf.space.board import words
from truebench_hf.space.engine import Engine
from truebench_hf.space.playground import desk as desks
from truebench_hf.space.playground import grounding, shown
from truebench_hf.space.playground.desk import Clock, Desk
from truebench_hf.space.steps import Job, Updates
from truebench_hf.types import Criterion, Verdict

LEVELS = {
    "decision": "Decision: a probability per criterion",
    "cascade": "Cascade: a probability, and reasons where it is in doubt",
    "rubric": "Rubric: one call per criterion, with reasons",
    "checklist": "Checklist: one call for all, with reasons",
}
_SELDOM = " A model this small rarely keeps to the form that is asked for."


def level_named(engine: Engine, how: str) -> str:
    """The level of that name; the usual one where the judge is not asked at it."""
    return next((level for level in engine.levels if LEVELS[level] == how), engine.levels[0])


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
            why = _SELDOM if engine.small else ""
            self.problem = part.problem and f"The model wrote no checklist that can be used: {part.problem}.{why}"
            fitting = [text for text in part.questions if len(text) <= visitors.CRITERION]
            self.criteria = fitting[: visitors.CRITERIA]
        if self.criteria:
            self.clock.stop(f"checklist of {words.counted(len(self.criteria), 'question')}")
            yield {self.checklist: "\n".join(self.criteria)}, visitors.status(str(self.clock), "busy")

    async def write(self, tokens: float) -> Updates:
        """The model's answer."""
        async for update in desks.written(self.desk.engine, self.desk, self.clock, self.prompt, tokens):
            self.answer = update[0].get(self.desk.answer, self.answer).strip()
            yield update

    async def judge(self, how: str) -> Updates:
        """The verdicts one by one, and what they come to."""
        engine, (verdicts, _) = self.desk.engine, self.desk.results
        level = level_named(engine, how)
        page, count = shown.verdicts_html([], self.criteria), len(self.criteria)
        async for update in desks.loaded(engine, [engine.judge], {verdicts: page}):
            yield update
        self.clock.start()
        async for done in engine.verdicts(self.prompt, self.answer, self.criteria, level):
            page = shown.verdicts_html(done, self.criteria[len(done) :], engine.tiny)
            what = f"criterion {min(len(done) + 1, count)} of {count}"
            if level == "checklist":
                what = f"{words.counted(count, 'criterion', 'criteria')} in one call"
            yield {verdicts: page}, visitors.status(f"Judging {what} …", "busy")
            self.verdicts = done
        self.clock.stop("judged")
        kept = JudgedRound(self.prompt, self.answer, tuple(self.criteria), self.verdicts)
        outcome = shown.outcome(self.verdicts, engine.tiny)
        yield {self.judged: kept}, visitors.status(f"{outcome.head}. {self.clock}", outcome.kind)


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
            work.criteria = visitors.lines_within(checklist)
        else:
            async for update in work.draft():
                yield update
        async for update in work.write(tokens):
            yield update
        if not work.criteria:
            raise visitors.VisitorError(
                f"{work.clock} {work.problem} Write criteria, one a line, and press the button again."
            )
        async for update in work.judge(how):
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
        work = self._round(prompt, answer, checklist)
        yield self.desk.cleared(), visitors.status("Waiting for the model …", "busy")
        async for update in work.judge(how):
            yield update

    async def improved(self, prompt: str, checklist: str, answer: str, judged: JudgedRound, how: str = "") -> Updates:
        """One step of self-refinement: rewritten by its verdicts, which are asked for where there are none yet."""
        work, desk = self._round(prompt, answer, checklist), self.desk
        yield {desk.results[1]: ""}, visitors.status("Waiting for the model …", "busy")
        if judged.fits(work.prompt, work.answer, work.criteria):
            work.verdicts = judged.verdicts
        else:
            async for update in work.judge(how):
                yield update
        before, old = work.verdicts, work.answer
        labels = {verdict.label for verdict in before}
        if labels == {"yes"}:
            yield {}, visitors.status("All criteria are met: there is nothing to improve the answer by.", "good")
            return
        if not {"yes", "no"} & labels:
            raise visitors.VisitorError("No criterion was decided, so there is nothing to improve the answer by.")
        async for update in desks.loaded(desk.engine, [desk.engine.model], {}):
            yield update
        work.clock.start()
        async for part in desk.engine.improved(work.prompt, old, before):
            if isinstance(part, int):
                yield {}, visitors.status(f"Improving the answer: {part:,} characters so far …", "busy")
        assert not isinstance(part, int)
        if isinstance(part, Problem):
            why = _SELDOM if desk.engine.small else ""
            raise visitors.VisitorError(f"No improved answer: {part.text}.{why} The answer stays as it was.")
        if part.text.strip() == old.strip():
            raise visitors.VisitorError("The model gave the same answer again: there is nothing to compare.")
        work.clock.stop("rewritten")
        work.answer = part.text
        changed = {desk.answer: part.text, desk.made: part.text, desk.results[1]: shown.improved_html(old, part, ())}
        yield changed, visitors.status(str(work.clock), "busy")
        async for update in work.judge(how):
            yield update
        page = shown.improved_html(old, part, before, work.verdicts)
        outcome, change = shown.outcome(work.verdicts, desk.engine.tiny), shown.turned(before, work.verdicts)
        yield {desk.results[1]: page}, visitors.status(f"{outcome.head}. {change}. {work.clock}", outcome.kind)

    def _round(self, prompt: str, answer: str | None = None, checklist: str = "") -> Round:
        """What a click works on, an answer with its checklist. Raises VisitorError on texts that are too long, or absent."""
        work = Round(
            self.desk, self.checklist, self.judged, visitors.text_within(prompt, visitors.PROMPT, "The prompt")
        )
        if answer is not None:
            work.answer = visitors.text_within(answer, visitors.PROMPT, "The answer")
            work.criteria = visitors.lines_within(checklist)
        return work


_PLACE = "One criterion per line, for example:\nThe answer is in English.\nIt has exactly three points."
_ONE_LEVEL = (
    "<p class='tb-soft'>The judge is asked for a probability per criterion. On a sample of rubrics (rubric_mini) this model "
    "wrote no verdict that could be read, so judging with reasons is not offered; its probabilities are at chance.</p>"
)


def build(engine: Engine) -> None:
    """Lay out the mode inside the current Blocks."""
    import gradio as gr

    who = (
        "a model this small seldom writes one that can be used" if engine.small else "left empty, the model writes one"
    )
    with gr.Row(elem_classes="tb-pair"):
        with gr.Column(min_width=320):
            example = desks.examples(
                "example",
                [(row["language"], row["category"], row["input"][0], str(row["index"])) for row in _examples()],
            )
            prompt = gr.Textbox(
                label="Prompt", lines=3, max_lines=12, elem_id="prompt",
                placeholder="Ask for something with conditions that can be checked.",
            )  # fmt: skip
            checklist = gr.Textbox(
                label=f"Checklist ({who})", lines=4, max_lines=12, placeholder=_PLACE, elem_id="checklist"
            )
            go, stop, line = desks.buttons("Answer and judge", "guided")
            with gr.Accordion("Step by step, and settings", open=False, elem_id="alone"):
                with gr.Row():
                    draft = gr.Button("Write a checklist", elem_id="draft-start", min_width=140)
                    answer_it = gr.Button("Answer", elem_id="answer-start", min_width=140)
                    judge_it = gr.Button("Judge", elem_id="judge-start", min_width=140)
                tokens, how, names = desks.longest(engine, "tokens"), [], [LEVELS[level] for level in engine.levels]
                if len(names) > 1:
                    how = [gr.Radio(names, value=names[0], label="How the judge is asked", elem_id="level")]
                else:
                    gr.HTML(_ONE_LEVEL)
        with gr.Column(min_width=320):
            answer = desks.answer_box("judge", "answer", lines=7)
            verdicts = gr.HTML("", elem_id="verdicts")
            improve = gr.Button("Improve the answer by its verdicts", elem_id="improve-start", min_width=200)
            improved = gr.HTML("", elem_id="improved")
    desk = Desk(engine, answer, desks.apart("made"), (verdicts, improved), line)
    judged = gr.State(JudgedRound(), time_to_live=3600)
    desk.follow(prompt, visitors.PROMPT, "The prompt", asks=True)
    desk.follow(answer, visitors.PROMPT, "The answer", asks=False)
    desk.follow(checklist, visitors.CRITERION * visitors.CRITERIA, "The checklist", asks=False)
    texts = {str(row["index"]): (row["input"][0], "\n".join(row["criteria"][0])) for row in mini()}
    desk.filled_by(example, (prompt, checklist), texts)

    works = Works(desk, checklist, judged)
    shared, everything = [prompt, checklist], [answer, desk.made, checklist, *desk.results, judged]
    jobs = [
        Job(go, works.guided, [*shared, tokens, *how], everything),
        Job(draft, works.drafted, [prompt], [checklist, *desk.results]),
        Job(answer_it, works.answered, [prompt, tokens], [answer, desk.made, *desk.results]),
        Job(judge_it, works.decided, [*shared, answer, *how], [*desk.results, judged]),
        Job(improve, works.improved, [*shared, answer, judged, *how], everything),
    ]
    parts = steps.Controls(tuple(job.start for job in jobs), stop, line, (example, prompt, checklist, answer))
    steps.wire(parts, jobs, visitors.SECONDS, visitors.AT_A_TIME)


def _examples() -> list[dict[str, Any]]:
    """A single-turn instance of each language in the built-in sample: the one of which most can be measured."""
    best: dict[str, tuple[int, dict[str, Any]]] = {}
    for row in (row for row in mini() if len(row["input"]) == 1):
        count = sum((rules := rules_of(Criterion(text))) is not None and rules.complete for text in row["criteria"][0])
        if row["language"] not in best or count > best[row["language"]][0]:
            best[row["language"]] = (count, row)
    return [row for _, row in sorted(best.values(), key=lambda pair: pair[1]["language"] != "EN")]


_MODES = ("Answer and judge", "Grounding")


def build_tab(engine: Engine) -> None:
    """Lay out the tab inside the current Blocks."""
    import gradio as gr

    same = engine.judge_name == engine.model_name
    names = engine.model_name if same else f"{engine.model_name}, judge {engine.judge_name}"
    who, what = ("It is", "answers and verdicts") if same else ("The judge is", "verdicts")
    if not engine.tiny:
        who, what = "The model is", "answers"
    notes = [f"{who} tiny: its {what} show how things work, and mean little."] if engine.tiny or engine.small else []
    if engine.options.rules == "decide":
        notes.append(f"What a program can count is measured, the rest is {'its guess' if engine.tiny else 'judged'}.")
    gr.HTML(f"<p>Model: <b>{escape(names)}</b>. {' '.join(notes)} Nothing you type is kept.</p>")
    # Which mode is shown is a matter of the style sheet: both stay as they are, and nothing is asked of the server.
    gr.Radio(list(_MODES), value=_MODES[0], label="What to try", elem_id="mode", interactive=True)
    with gr.Column(elem_id="by-checklist"):
        build(engine)
    with gr.Column(elem_id="by-document"):
        grounding.build(engine)
