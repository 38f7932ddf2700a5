"""The playground: an answer judged by a checklist and improved, and an answer held against its document."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import yaml
from markupsafe import escape

from truebench_hf.benchmarks.facts.data import MINI, FactsItem, load
from truebench_hf.data import catalogue, jsonl
from truebench_hf.data.judged import Case
from truebench_hf.judging.grounding.types import Source
from truebench_hf.judging.rules.deciding import ruled, rules_of
from truebench_hf.models.asking import Problem
from truebench_hf.space import playground_html as html
from truebench_hf.space import visitors
from truebench_hf.space.engine import Engine
from truebench_hf.space.pages import read
from truebench_hf.space.playground_mode import Mode
from truebench_hf.space.visitors import Updates, VisitorError, lines_within, status, text_within
from truebench_hf.text.terminal import how_many
from truebench_hf.types import Criterion, Verdict

Judged = tuple[tuple[str, ...], tuple[Verdict, ...]]  # what was judged: the prompt, the answer, criteria; and verdicts
_MODES = ("Answer and judge", "Grounding")
_DOCUMENTS = 6  # examples: the shortest documents of the built-in sample, which a small model reads in time
_TEXTS: dict[str, Any] = yaml.safe_load(read("playground.yaml"))
LEVELS: dict[str, str] = _TEXTS["levels"]
_NOTES: dict[str, str] = _TEXTS["notes"]


def build_tab(engine: Engine, app: Any) -> None:
    """Lay out the tab inside the current Blocks, which are those of `app`."""
    import gradio as gr

    same = engine.judge_name == engine.model_name
    names = engine.model_name if same else f"{engine.model_name}, judge {engine.judge_name}"
    who, what = ("It is", "answers and verdicts") if same else ("The judge is", "verdicts")
    if not engine.tiny:
        who, what = "The model is", "answers"
    notes = [f"{who} tiny: its {what} show how things work, and mean little."] if engine.tiny or engine.small else []
    if engine.options.rules == "decide":
        notes.append(f"What a program can count is measured, the rest is {'its guess' if engine.tiny else 'judged'}.")
    gr.HTML(f"<p>Model: <b>{escape(names)}</b>. {' '.join(notes)} What you type is kept in your browser alone.</p>")
    # Which mode is shown is a matter of the style sheet: both stay as they are, and nothing is asked of the server.
    gr.Radio(list(_MODES), value=_MODES[0], label="What to try", elem_id="mode", interactive=True)
    with gr.Column(elem_id="by-checklist"):
        ChecklistMode(engine, app)
    with gr.Column(elem_id="by-document"):
        GroundingMode(engine, app)


class ChecklistMode(Mode):
    """A prompt, a checklist and an answer: verdicts on it, and one step of self-refinement by them (paper 004, section 4.1)."""

    def __init__(self, engine: Engine, app: Any) -> None:
        import gradio as gr

        super().__init__(engine)
        recorded, verdicts = recorded_example(engine.options.rules)
        who = "a model this small seldom writes one" if engine.small else "left empty, the model writes one"
        rows = _prompts()
        with gr.Row(elem_classes="tb-pair"):
            with gr.Column(min_width=320):
                example = self.example_box(
                    "example", [(r["language"], r["category"], r["input"][0], r["index"]) for r in rows]
                )
                self.prompt = gr.Textbox(
                    recorded[0], label="Prompt", lines=3, max_lines=12, elem_id="prompt",
                    placeholder="Ask for something with conditions that can be checked.",
                )  # fmt: skip
                self.checklist = gr.Textbox(
                    "\n".join(recorded[2:]), label=f"Checklist ({who})", lines=4, max_lines=12, placeholder=_NOTES["criteria"],
                    elem_id="checklist",
                )  # fmt: skip
                self.buttons("Answer and judge", "guided", _NOTES["recorded"])
                draft = gr.Button("Write a checklist", elem_id="draft-start", min_width=140)
            with gr.Column(min_width=320):
                self.answer_box("answer", 7, recorded[1])
                self.verdicts = gr.HTML(html.verdicts_html(verdicts), elem_id="verdicts")
                with gr.Row():
                    judge_it = gr.Button("Judge this answer", elem_id="judge-start", min_width=140)
                    improve = gr.Button("Improve it by its verdicts", elem_id="improve-start", min_width=140)
                how = self._levels()
                self.improved = gr.HTML("", elem_id="improved")
        self.results = (self.verdicts, self.improved)
        self.judged = gr.State((recorded, verdicts), time_to_live=3600)
        fields = [self.prompt, self.checklist, self.answer]
        works: dict[Any, tuple[visitors.Work, Sequence[Any]]] = {
            self.go: (self.guided, [self.prompt, self.checklist, *how]),
            draft: (self.drafted, [self.prompt]),
            judge_it: (self.decided, [*fields, *how]),
            improve: (self.improve, [*fields, self.judged, *how]),
        }
        texts = {str(row["index"]): (row["input"][0], "\n".join(row["criteria"][0])) for row in rows}
        self.wire(app, example, fields, works, texts)

    def _levels(self) -> list[Any]:
        """Lay out the choice of how the judge is asked, where there is one."""
        import gradio as gr

        names = [LEVELS[level] for level in self.engine.levels]
        if len(names) == 1:
            gr.HTML(_NOTES["one_level"], elem_classes="tb-soft")
            return []
        return [gr.Radio(names, value=names[0], label="How the judge is asked", elem_id="level")]

    def at_once(self, *values: Any) -> list[str | None]:
        """What a program can count in what stands there, with the criteria that it cannot."""
        prompt, checklist, answer, judged = values
        texts = tuple(visitors.sendable(text) for text in (prompt, answer))
        for text, what in zip(texts, ("The prompt", "The answer"), strict=True):
            visitors.check_length(text, visitors.PROMPT, what)
        criteria = lines_within(checklist) if (checklist or "").strip() else []
        if (*texts, *criteria) == judged[0]:
            return [None, None]
        outcome = ruled(Case(texts[0], texts[1], tuple(map(Criterion, criteria))), self.engine.options.rules)
        measured, rest = list(outcome.verdicts.values()), [criterion.text for criterion in outcome.rest.criteria]
        return [html.verdicts_html(measured, rest) if measured else "", ""]

    async def guided(self, prompt: str, checklist: str, how: str = "") -> Updates:
        """All of it: a checklist where there is none, an answer, and its verdicts."""
        request = text_within(prompt, visitors.PROMPT, "The prompt")
        criteria = lines_within(checklist) if (checklist or "").strip() else []
        problem = answer = ""
        try:
            if not criteria:
                async for update in self.drafted(request):
                    criteria = update[0].get(self.checklist, "\n".join(criteria)).splitlines()
                    yield update
        except _NoChecklist as error:  # the answer is there all the same
            problem = str(error)
        async for update in self.written(request):
            answer = update[0].get(self.answer, answer)
            yield update
        if problem:
            raise VisitorError(f"{problem} Write criteria, one a line, and press the button again.")
        async for update in self._judge((request, answer, *criteria), how):
            yield update

    async def drafted(self, prompt: str) -> Updates:
        """A checklist by the model."""
        request = text_within(prompt, visitors.PROMPT, "The prompt")
        yield dict.fromkeys(self.results, ""), self.busy(self.engine.model, "Writing a checklist …")
        part = await self.engine.checklist(request)
        fitting = [text for text in part.questions if len(text) <= visitors.CRITERION][: visitors.CRITERIA]
        if not fitting:
            why = f" {_NOTES['seldom']}" if self.engine.small else ""
            raise _NoChecklist(f"The model wrote no checklist that can be used: {part.problem}.{why}")
        yield {self.checklist: "\n".join(fitting)}, status(f"A checklist of {how_many(len(fitting), 'question')}.")

    async def decided(self, prompt: str, checklist: str, answer: str, how: str = "") -> Updates:
        """Verdicts alone."""
        texts = _texts(prompt, checklist, answer)
        yield dict.fromkeys(self.results, ""), self.busy(self.engine.judge)
        async for update in self._judge(texts, how):
            yield update

    async def improve(self, prompt: str, checklist: str, answer: str, judged: Judged, how: str = "") -> Updates:
        """One step of self-refinement: rewritten by its verdicts, which are asked for where there are none yet."""
        request, old, *criteria = texts = _texts(prompt, checklist, answer)
        yield {self.improved: ""}, self.busy(self.engine.judge)
        if judged[0] != texts or not judged[1]:
            async for update in self._judge(texts, how):
                judged = update[0].get(self.judged, judged)
                yield update
        before = judged[1]
        labels = {verdict.label for verdict in before}
        if labels == {"yes"}:
            yield {}, status("All criteria are met: there is nothing to improve the answer by.", "good")
            return
        if not {"yes", "no"} & labels:
            raise VisitorError("No criterion was decided, so there is nothing to improve the answer by.")
        yield {}, self.busy(self.engine.model, "Improving the answer …")
        part = await self.engine.improved(request, old, before)
        if isinstance(part, Problem):
            why = f" {_NOTES['seldom']}" if self.engine.small else ""
            raise VisitorError(f"No improved answer: {part.text}.{why} The answer stays as it was.")
        if part.text.strip() == old:
            raise VisitorError("The model gave the same answer again: there is nothing to compare.")
        yield {self.answer: part.text.strip(), self.improved: html.improved_html(old, part, ())}, status("Rewritten.")
        async for update in self._judge((request, part.text.strip(), *criteria), how):
            judged = update[0].get(self.judged, judged)
            yield update
        outcome, change = html.outcome(judged[1], self.engine.tiny), html.turned(before, judged[1])
        page = html.improved_html(old, part, before, judged[1])
        yield {self.improved: page}, status(f"{outcome.head}. {change}.", outcome.kind)

    async def _judge(self, texts: tuple[str, ...], how: str) -> Updates:
        """The verdicts one by one, and what they come to."""
        prompt, answer, *criteria = texts
        level, count, done = level_named(self.engine, how), len(criteria), tuple[Verdict, ...]()
        waiting = {self.verdicts: html.verdicts_html([], criteria), self.judged: (texts, ())}
        yield waiting, self.busy(self.engine.judge)
        async for done in self.engine.verdicts(prompt, answer, criteria, level):
            what = f"criterion {min(len(done) + 1, count)} of {count}"
            if level == "checklist":
                what = f"{how_many(count, 'criterion', 'criteria')} in one call"
            page = html.verdicts_html(done, criteria[len(done) :], self.engine.tiny)
            yield {self.verdicts: page}, status(f"Judging {what} …", "busy")
        outcome = html.outcome(done, self.engine.tiny)
        yield {self.judged: (texts, done)}, status(f"{outcome.head}. {outcome.more}", outcome.kind)


class GroundingMode(Mode):
    """A document and a request: an answer coloured sentence by sentence by whether the document bears it out (paper 003)."""

    def __init__(self, engine: Engine, app: Any) -> None:
        import gradio as gr

        super().__init__(engine)
        items = _documents()
        with gr.Row(elem_classes="tb-pair"):
            with gr.Column(min_width=320):
                rows = [(item.language, item.domain, item.source.request, item.id) for item in items]
                example = self.example_box("document-example", rows)
                document = gr.Textbox(
                    label="Document", lines=8, max_lines=14, elem_id="document",
                    placeholder="What the answer has to rest on, and nothing else.",
                )  # fmt: skip
                request = gr.Textbox(label="Request", lines=2, max_lines=6, elem_id="request")
                self.buttons("Answer and check", "checked")
                check_it = gr.Button("Check this answer", elem_id="grounding-start", min_width=140)
            with gr.Column(min_width=320):
                self.answer_box("document-answer", 6)
                gr.HTML(_NOTES["guessed" if engine.tiny else "labelled"], elem_classes="tb-soft")
                self.results = gr.HTML("", elem_id="grounding-outcome"), gr.HTML("", elem_id="grounding")
        self.judged = gr.State(((), ()), time_to_live=3600)
        works: dict[Any, tuple[visitors.Work, Sequence[Any]]] = {
            self.go: (self.guided, [document, request]),
            check_it: (self.checked, [document, request, self.answer]),
        }
        texts = {item.id: (item.document, item.source.request) for item in items}
        self.wire(app, example, [document, request, self.answer], works, texts)

    def at_once(self, *values: Any) -> list[str | None]:
        """Nothing, as only a judge can tell; results on other texts go."""
        *fields, judged = values
        texts = tuple(map(visitors.sendable, fields))
        limits = {"The document": visitors.DOCUMENT, "The request": visitors.PROMPT, "The answer": visitors.PROMPT}
        for text, (what, limit) in zip(texts, limits.items(), strict=True):
            visitors.check_length(text, limit, what)
        return [None, None] if texts == judged[0] else ["", ""]

    async def guided(self, document: str, request: str) -> Updates:
        """An answer from the document, and whether it rests on it."""
        source, answer = _source(document, request), ""
        async for update in self.written(source.request, source.document):
            answer = update[0].get(self.answer, answer)
            yield update
        async for update in self.checked(document, request, answer):
            yield update

    async def checked(self, document: str, request: str, answer: str) -> Updates:
        """A check alone."""
        source = _source(document, request)
        text = text_within(answer, visitors.PROMPT, "The answer")
        begun = dict.fromkeys(self.results, "") | {self.judged: ((source.document, source.request, text), ())}
        yield begun, self.busy(self.engine.judge, "Labelling the sentences …")
        grounding = await self.engine.grounding(source.document, source.request, text)
        outcome, (head, pieces) = html.grounding_outcome(grounding), self.results
        page = {head: html.outcome_html(outcome), pieces: html.grounding_html(source, text, grounding)}
        yield page, status(f"{outcome.head}.", outcome.kind)


class _NoChecklist(VisitorError):
    """The model wrote no checklist."""


def level_named(engine: Engine, how: str) -> str:
    """The level of that name; the usual one where the judge is not asked at it."""
    return next((level for level in engine.levels if LEVELS[level] == how), engine.levels[0])


@cache
def recorded_example(rules: str) -> tuple[tuple[str, ...], tuple[Verdict, ...]]:
    """The example that the page opens with, the prompt, the answer and criteria, and its verdicts.

    What can be counted is counted, unless rules are off; the rest was decided by people, as the file says.
    """
    verdicts = [Verdict(Criterion(v["criterion"]), v["label"], v["reason"], "people") for v in _TEXTS["verdicts"]]
    case = Case(_TEXTS["prompt"], _TEXTS["answer"].strip(), tuple(verdict.criterion for verdict in verdicts))
    measured = ruled(case, rules).verdicts
    texts = (case.instruction, case.response, *(criterion.text for criterion in case.criteria))
    return texts, tuple(measured.get(place, verdict) for place, verdict in enumerate(verdicts))


def _texts(prompt: str, checklist: str, answer: str) -> tuple[str, ...]:
    """What is judged. Raises VisitorError on texts that are too long, or absent."""
    request = text_within(prompt, visitors.PROMPT, "The prompt")
    return request, text_within(answer, visitors.PROMPT, "The answer"), *lines_within(checklist)


def _source(document: str, request: str) -> Source:
    rests_on = text_within(document, visitors.DOCUMENT, "The document")
    return Source(text_within(request, visitors.PROMPT, "The request"), rests_on)


@cache
def _prompts() -> list[dict[str, Any]]:
    """A single-turn instance of each language in the built-in sample: the one of which most can be measured."""

    def countable(row: dict[str, Any]) -> int:
        return sum((rules := rules_of(Criterion(text))) is not None and rules.complete for text in row["criteria"][0])

    rows = [row for _, row in jsonl.read(catalogue.MINI) if len(row["input"]) == 1]
    best: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=countable, reverse=True):
        best.setdefault(row["language"], row)
    return sorted(best.values(), key=lambda row: (row["language"] != "EN", row["language"]))


@cache
def _documents() -> tuple[FactsItem, ...]:
    short = sorted(load(str(MINI)), key=lambda item: len(item.document))[:_DOCUMENTS]
    return tuple(sorted(short, key=lambda item: item.language != "EN"))
