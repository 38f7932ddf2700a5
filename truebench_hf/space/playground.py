"""Tab 4: try a prompt, write a checklist, see the verdicts. Each step is a function over the shared `Bench`.

A further step (improving the answer, a grounding document) is one more function in `LEFT` or `RIGHT`: it finds in the
bench what the others show, and needs no change in them.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import escape

from truebench_hf.space import guard, steps
from truebench_hf.space.board.conversation import verdict_list
from truebench_hf.space.board.papers import mini
from truebench_hf.space.engine import Engine
from truebench_hf.space.look import QUIET
from truebench_hf.types import Verdict

_LONGEST_CRITERION = 400
_LEVELS = {
    "Decision: a probability per criterion": "decision",
    "Cascade: a probability, and reasons where it is in doubt": "cascade",
    "Rubric: one call per criterion, with reasons": "rubric",
    "Checklist: one call for all, with reasons": "checklist",
}
_PLACE = "One criterion per line, for example:\nThe answer is in English.\nIt has exactly three points."


@dataclass(frozen=True)
class Bench:
    """What the steps share: the engine, and the components that a visitor's work stands in."""

    engine: Engine
    prompt: Any
    answer: Any
    checklist: Any
    verdicts: Any


def build(engine: Engine) -> Bench:
    """Lay out the tab inside the current Blocks."""
    import gradio as gr

    bench = _bench(engine)
    examples = [(_label(row), str(row["index"])) for row in _examples()]
    shown = (
        engine.model_name
        if engine.judge_name == engine.model_name
        else f"{engine.model_name}, judge {engine.judge_name}"
    )
    gr.HTML(f"<p>Model: <b>{escape(shown)}</b>. {engine.warning} Nothing you type is kept.</p>")
    with gr.Row(elem_classes="tb-pair"):
        with gr.Column(min_width=320):
            example = gr.Dropdown(examples, value=None, label="Start from an example", elem_id="example")
            bench.prompt.render()
            for step in LEFT:
                step(bench)
            bench.answer.render()
        with gr.Column(min_width=320):
            bench.checklist.render()
            for step in RIGHT:
                step(bench)
            bench.verdicts.render()
    outputs = [bench.prompt, bench.checklist]
    example.input(_fill, example, outputs, **QUIET)
    return bench


def answer_step(bench: Bench) -> None:
    """Ask the model, and watch its answer grow. What was there before goes, verdicts on it included."""
    import gradio as gr

    most = bench.engine.options.max_tokens
    tokens = gr.Slider(16, most, value=min(256, most), step=16, label="Longest answer, in tokens")
    parts = steps.controls("Answer the prompt", "answer", primary=True)

    async def work(prompt: str, limit: float) -> AsyncGenerator[steps.Update, None]:
        asked = guard.text_within(prompt, bench.engine.options.max_prompt, "The prompt")
        yield ["", verdict_list([])], guard.status("Waiting for the model; its first use takes longer.", "busy")
        started, last = time.monotonic(), None
        async for last in bench.engine.answer(asked, int(limit)):
            yield [last.text, None], guard.status("Thinking …" if not last.text else "Writing …", "busy")
        if last is not None:
            cut = " It was cut off at the token limit." if last.truncated else ""
            facts = f"{last.usage.output_tokens} tokens in {time.monotonic() - started:.1f} s."
            yield [last.text, None], guard.status(f"Done: {facts}{cut}", "good")

    _wire(bench, parts, work, [bench.prompt, tokens], [bench.answer, bench.verdicts])


def checklist_step(bench: Bench) -> None:
    """Have the model write a checklist for the prompt."""
    parts = steps.controls("Write a checklist with the model", "draft")

    async def work(prompt: str) -> AsyncGenerator[steps.Update, None]:
        asked = guard.text_within(prompt, bench.engine.options.max_prompt, "The prompt")
        yield [None], guard.status("Waiting for the model; its first use takes longer.", "busy")
        async for part in bench.engine.checklist(asked):
            if isinstance(part, int):
                yield [None], guard.status(f"Writing a checklist: {part:,} characters so far …", "busy")
                continue
            if part.problem:
                raise guard.VisitorError(f"No checklist: {part.problem}. Please write it yourself, or try again.")
            count = len(part.questions)
            yield ["\n".join(part.questions)], guard.status(f"{count} questions: read and mend them.", "good")

    _wire(bench, parts, work, [bench.prompt], [bench.checklist])


def verdict_step(bench: Bench) -> None:
    """Judge the answer criterion by criterion."""
    import gradio as gr

    first = next(name for name, level in _LEVELS.items() if level == bench.engine.default_level)
    level = gr.Radio(list(_LEVELS), value=first, label="How the judge is asked", elem_id="level")
    parts = steps.controls("Judge the answer", "judge", primary=True)
    limits = bench.engine.options

    async def work(prompt: str, answer: str, checklist: str, how: str) -> AsyncGenerator[steps.Update, None]:
        asked = guard.text_within(prompt, limits.max_prompt, "The prompt")
        given = guard.text_within(answer, limits.max_prompt, "The answer")
        criteria = guard.lines_within(checklist, limits.max_criteria, _LONGEST_CRITERION)
        kind = _LEVELS.get(how, "decision")
        yield [verdict_list([], criteria)], _judging(0, len(criteria), kind)
        async for done in bench.engine.verdicts(asked, given, criteria, kind):
            page, whole = verdict_list(done, criteria[len(done) :]), len(done) == len(criteria)
            yield [page], guard.status(_summary(done), "good") if whole else _judging(len(done), len(criteria), kind)

    inputs = [bench.prompt, bench.answer, bench.checklist, level]
    _wire(bench, parts, work, inputs, [bench.verdicts])


LEFT: tuple[Callable[[Bench], None], ...] = (answer_step,)
RIGHT: tuple[Callable[[Bench], None], ...] = (checklist_step, verdict_step)


def _bench(engine: Engine) -> Bench:
    import gradio as gr

    limits = engine.options
    prompt = gr.Textbox(
        label="Prompt", lines=6, max_lines=12, max_length=limits.max_prompt, elem_id="prompt", render=False,
        placeholder="Ask for something with conditions that can be checked.",
    )  # fmt: skip
    answer = gr.Textbox(
        label="Answer (edit it, or paste one of your own)", lines=8, max_lines=16, max_length=limits.max_prompt,
        elem_id="answer", render=False, buttons=["copy"],
    )  # fmt: skip
    checklist = gr.Textbox(
        label=f"Checklist (up to {limits.max_criteria} lines)", lines=6, max_lines=12, placeholder=_PLACE,
        max_length=(_LONGEST_CRITERION + 1) * limits.max_criteria, elem_id="checklist", render=False,
    )  # fmt: skip
    return Bench(engine, prompt, answer, checklist, gr.HTML(verdict_list([]), elem_id="verdicts", render=False))


def _wire(bench: Bench, parts: steps.Controls, work: steps.Work, inputs: list[Any], outputs: list[Any]) -> None:
    limits = bench.engine.options
    steps.wire(parts, work, inputs, outputs, limits.max_seconds, limits.concurrency)


def _examples() -> list[dict[str, Any]]:
    """The first single-turn instance of each language in the built-in sample."""
    first: dict[str, dict[str, Any]] = {}
    for row in mini():
        if len(row["input"]) == 1:
            first.setdefault(row["language"], row)
    return list(first.values())


def _label(row: dict[str, Any]) -> str:
    return f"{row['language']} · {row['category']} · {' '.join(row['input'][0].split())[:60]}…"


def _fill(index: str | None) -> tuple[str, str]:
    row = next((row for row in _examples() if str(row["index"]) == index), None)
    return ("", "") if row is None else (row["input"][0], "\n".join(row["criteria"][0]))


def _judging(done: int, count: int, level: str) -> str:
    what = f"all {count} criteria in one call" if level == "checklist" else f"criterion {done + 1} of {count}"
    return guard.status(f"Judging {what} …", "busy")


def _summary(verdicts: Sequence[Verdict]) -> str:
    labels = [verdict.label for verdict in verdicts]
    met, missed = labels.count("yes"), labels.count("no")
    undecided = len(labels) - met - missed
    outcome = "The answer fails" if missed else "Left open" if undecided else "The answer passes"
    rest = f", {undecided} not decided" if undecided else ""
    return f"{outcome}: {met} of {len(labels)} criteria met, {missed} not met{rest}."
