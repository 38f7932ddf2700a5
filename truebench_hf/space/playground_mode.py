"""What the modes of the playground have in common: texts that a visitor types, an answer, results, and work by buttons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf.models.protocol import ChatModel
from truebench_hf.report.page import rich
from truebench_hf.space import visitors
from truebench_hf.space.board import words
from truebench_hf.space.engine import Engine
from truebench_hf.space.visitors import QUIET, Updates, VisitorError, status

# A page in a frame may be refused its storage.
_KEEP = "(...texts) => { try { localStorage.setItem('%s', JSON.stringify(texts)); } catch {} }"
_KEPT = "(...texts) => { try { return JSON.parse(localStorage.getItem('%s')) ?? texts; } catch { return texts; } }"


class Mode:
    """What both modes have: texts that a visitor types, an answer, results, and work that shows how far it is."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.answer: Any = None
        self.results: tuple[Any, ...] = ()
        self.judged: Any = None  # the texts that were judged last, and what came of it

    def example_box(self, name: str, rows: Sequence[tuple[str, str, str, Any]]) -> Any:
        """Lay out what a visitor may start from: the language, the kind, the text and the id of each."""
        import gradio as gr

        choices = [
            (f"{words.column(language)} · {kind} · {' '.join(text.split())[:60]}…", str(id_))
            for language, kind, text, id_ in rows
        ]
        return gr.Dropdown(choices, value=None, label="Start from an example", elem_id=name)

    def buttons(self, label: str, name: str, line: str = "") -> None:
        """Lay out the button that a visitor is to press first, the one that stops, the line, and what is refused at once."""
        import gradio as gr

        with gr.Row():
            self.go = gr.Button(label, variant="primary", elem_id=f"{name}-start", min_width=180)
            self.stop = gr.Button("Stop", variant="stop", elem_id=f"{name}-stop", min_width=90, scale=0)
        self.line = gr.HTML(status(line), elem_id=f"{name}-line", min_height=30)
        self.refused = gr.HTML("", elem_id=f"{name}-refused")

    def answer_box(self, name: str, lines: int, value: str = "") -> None:
        """Lay out the field of the answer, which a visitor may fill as well."""
        import gradio as gr

        label = "Answer (the model's, or one of yours)"
        self.answer = gr.Textbox(value, label=label, lines=lines, max_lines=16, elem_id=name, buttons=["copy"])
        with gr.Accordion("As Markdown", open=False):
            self.rendered = gr.HTML(rich(value) or "", elem_id=f"{name}-rendered")

    def wire(
        self, app: Any, example: Any, fields: Sequence[Any], works: Mapping[Any, tuple[visitors.Work, Sequence[Any]]],
        examples: Mapping[str, tuple[str, ...]],
    ) -> None:  # fmt: skip
        """Make buttons start work on what they read, examples fill fields, and fields show and keep what is typed."""
        import gradio as gr

        outputs = [*fields, *self.results, self.judged]
        events = [
            visitors.start(button, work, inputs, outputs, self.line, fields=[example, *fields])
            for button, (work, inputs) in works.items()
        ]
        self.stop.click(None, cancels=events)
        empty = ("", status(""), *("" for _ in self.results))  # the answer, the line, results
        example.input(
            lambda name: (*examples.get(name or "", ("", "")), *empty), example, [*fields, self.line, *self.results], **QUIET
        )  # fmt: skip
        changes = [field.change for field in fields]
        results = [self.refused, self.rendered, *self.results]
        gr.on(changes, self.edited, [*fields, self.judged], results, trigger_mode="always_last", **QUIET)
        place = f"truebench-{self.answer.elem_id}"
        gr.on(changes, None, list(fields), None, js=_KEEP % place, **QUIET)
        app.load(None, list(fields), list(fields), js=_KEPT % place, **QUIET)

    def edited(self, *values: Any) -> list[Any]:
        """Return what is refused at once, the answer as HTML, and results on texts that have changed."""
        import gradio as gr

        *texts, _ = values
        try:
            results = self.at_once(*values)
            refused = ""
        except VisitorError as error:
            results, refused = ["" for _ in self.results], status(str(error), "bad")
        return [refused, rich(texts[-1] or "") or "", *(gr.skip() if part is None else part for part in results)]

    def at_once(self, *values: Any) -> list[str | None]:
        """The results there are without a model; None leaves what stands there. Raises VisitorError on too long a text."""
        raise NotImplementedError

    def busy(self, model: ChatModel, text: str = "Waiting for the model …") -> str:
        """Return the line while a model works, which may have to be loaded into this process first."""
        return status("Loading the model, which is needed once …" if self.engine.loads(model) else text, "busy")

    async def written(self, prompt: str, document: str = "") -> Updates:
        """Show the model's answer as it grows. What was there before goes, results on it included."""
        yield {self.answer: "", **dict.fromkeys(self.results, "")}, self.busy(self.engine.model)
        last = None
        async for last in self.engine.answer(prompt, document):
            yield {self.answer: last.text}, status("Writing …" if last.text else "Thinking …", "busy")
        if last is None or not last.text.strip():
            raise VisitorError("The model gave an empty answer; please try another prompt.")
        cut = ", cut off at the token limit" if last.truncated else ""
        tokens = last.usage.total(last.usage.output_tokens)
        yield {self.answer: last.text.strip()}, status(f"Answered in {tokens} tokens{cut}.")
