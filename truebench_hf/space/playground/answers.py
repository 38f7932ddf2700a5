"""The first mode: a prompt is answered, the answer judged by a checklist, and improved by the verdicts."""

from __future__ import annotations

from typing import Any

from truebench_hf.comparing.papers import mini
from truebench_hf.judging.rules.deciding import rules_of
from truebench_hf.space import guard, limits, steps
from truebench_hf.space.board import words
from truebench_hf.space.engine import Engine
from truebench_hf.space.look import QUIET
from truebench_hf.space.playground import desk as desks
from truebench_hf.space.playground.desk import Desk
from truebench_hf.space.playground.rounds import LEVELS, LONGEST_CRITERION, Judged, Works
from truebench_hf.space.steps import Job
from truebench_hf.types import Criterion

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
    judged = gr.State(Judged(), time_to_live=3600)
    desk = Desk(engine, answer, made, (verdicts, improved), line)
    desk.follow(prompt, limits.PROMPT, "The prompt", asks=True)
    desk.follow(answer, limits.PROMPT, "The answer", asks=False)
    desk.follow(checklist, LONGEST_CRITERION * limits.CRITERIA, "The checklist", asks=False)
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
    steps.wire_all(parts, jobs, limits.SECONDS, limits.AT_A_TIME)


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
    return prompt, checklist, "", "", guard.status(""), "", ""
