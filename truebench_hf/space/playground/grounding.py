"""The second mode: a document and a request, and an answer coloured sentence by sentence by whether the document bears it out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from truebench_hf.benchmarks.facts.data import MINI, FactsItem, load
from truebench_hf.judging.grounding.types import Source
from truebench_hf.space import steps, visitors
from truebench_hf.space.engine import Engine
from truebench_hf.space.playground import desk as desks
from truebench_hf.space.playground import shown
from truebench_hf.space.playground.desk import Clock, Desk
from truebench_hf.space.steps import Job, Updates

_EXAMPLES = 6  # the shortest documents of the built-in sample
_LABELLED = (
    "<p class='tb-soft'>The judge labels every sentence of the answer: supported by the document, contradictory to it, unsupported (it "
    "is not there), or nothing to verify. Excerpts that it quotes are looked up in the document by program.</p>"
)
_GUESSED = (
    "<p class='tb-soft'>This judge writes no labels that can be read: it guesses a probability for every sentence of the "
    "answer. Beside each stands the sentence of the document that has most words in common with it, found by program.</p>"
)


def build(engine: Engine) -> None:
    """Lay out the mode inside the current Blocks."""
    import gradio as gr

    with gr.Row(elem_classes="tb-pair"):
        with gr.Column(min_width=320):
            items = _examples()
            rows = [(item.language, item.domain, item.source.request, item.id) for item in items]
            example = desks.examples("document-example", rows)
            document = gr.Textbox(
                label="Document", lines=8, max_lines=14, elem_id="document",
                placeholder="What the answer has to rest on, and nothing else.",
            )  # fmt: skip
            request = gr.Textbox(label="Request", lines=2, max_lines=6, elem_id="request")
            go, stop, line = desks.buttons("Answer and check", "checked")
            with gr.Accordion("Step by step, and settings", open=False, elem_id="document-alone"):
                with gr.Row():
                    answer_it = gr.Button("Answer", elem_id="from-document-start", min_width=140)
                    check_it = gr.Button("Check", elem_id="grounding-start", min_width=140)
                tokens = desks.longest(engine, "document-tokens")
        with gr.Column(min_width=320):
            answer = desks.answer_box("check", "document-answer", lines=6)
            gr.HTML(_GUESSED if engine.tiny else _LABELLED)
            head = gr.HTML("", elem_id="grounding-outcome")
            pieces = gr.HTML("", elem_id="grounding")
    desk = Desk(engine, answer, desks.apart("document-made"), (head, pieces), line)
    desk.follow(document, visitors.DOCUMENT, "The document", asks=True)
    desk.follow(request, visitors.PROMPT, "The request", asks=True)
    desk.follow(answer, visitors.PROMPT, "The answer", asks=False)
    desk.filled_by(example, (document, request), {item.id: (item.document, item.source.request) for item in items})

    works = GroundingWorks(desk)
    changed = [answer, desk.made, *desk.results]
    jobs = [
        Job(go, works.guided, [document, request, tokens], changed),
        Job(answer_it, works.answered, [document, request, tokens], changed),
        Job(check_it, works.checked, [document, request, answer], [*desk.results]),
    ]
    parts = steps.Controls(tuple(job.start for job in jobs), stop, line, (example, document, request, answer))
    steps.wire(parts, jobs, visitors.SECONDS, visitors.AT_A_TIME)


@dataclass(frozen=True)
class GroundingWorks:
    """What the buttons start."""

    desk: Desk

    async def guided(self, document: str, request: str, tokens: float) -> Updates:
        """An answer from the document, and whether it rests on it."""
        clock, answer = Clock(), ""
        async for update in self._write(clock, document, request, tokens):
            answer = update[0].get(self.desk.answer, answer)
            yield update
        async for update in self._check(clock, document, request, answer):
            yield update

    async def answered(self, document: str, request: str, tokens: float) -> Updates:
        """An answer alone."""
        clock = Clock()
        async for update in self._write(clock, document, request, tokens):
            yield update
        yield {}, visitors.status(str(clock))

    async def checked(self, document: str, request: str, answer: str) -> Updates:
        """A check alone."""
        async for update in self._check(Clock(), document, request, answer):
            yield update

    async def _write(self, clock: Clock, document: str, request: str, tokens: float) -> Updates:
        source = _source(document, request)
        async for update in desks.written(self.desk.engine, self.desk, clock, source.request, tokens, source.document):
            yield update

    async def _check(self, clock: Clock, document: str, request: str, answer: str) -> Updates:
        desk, engine, source = self.desk, self.desk.engine, _source(document, request)
        text = visitors.text_within(answer, visitors.PROMPT, "The answer")
        async for update in desks.loaded(engine, [engine.judge], desk.cleared()):
            yield update
        clock.start()
        async for part in engine.grounding(source.document, source.request, text):
            if isinstance(part, int):
                yield {}, visitors.status(f"Labelling the sentences: {part:,} characters so far …", "busy")
        assert not isinstance(part, int)
        clock.stop("checked")
        outcome, (head, pieces) = shown.grounding_outcome(part), desk.results
        page = {head: shown.outcome_html(outcome), pieces: shown.grounding_html(source, text, part)}
        yield page, visitors.status(f"{outcome.head}. {clock}", outcome.kind)


def _source(document: str, request: str) -> Source:
    rests_on = visitors.text_within(document, visitors.DOCUMENT, "The document")
    return Source(visitors.text_within(request, visitors.PROMPT, "The request"), rests_on)


@cache
def _examples() -> tuple[FactsItem, ...]:
    """The items with the shortest documents, so that a small model on a small machine reads them in time."""
    short = sorted(load(str(MINI)), key=lambda item: len(item.document))[:_EXAMPLES]
    return tuple(sorted(short, key=lambda item: item.language != "EN"))
