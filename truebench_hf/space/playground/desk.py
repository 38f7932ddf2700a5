"""What both modes are made of: fields whose edits clear what depends on them, and waiting for a model that is loaded."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from truebench_hf.models.protocol import ChatModel
from truebench_hf.space import steps, visitors
from truebench_hf.space.board import words
from truebench_hf.space.engine import Engine
from truebench_hf.space.look import QUIET
from truebench_hf.space.steps import Updates

_EDITED = Path(__file__).with_name("edited.js").read_text("utf-8")
# An answer that the model gave to what stood there before goes; one that a visitor wrote, or has edited, stays.
_ITS_ANSWER = ', made && made === answer ? "" : answer'


@dataclass(frozen=True)
class Desk:
    """The components of a mode. `made` holds the last answer as the model gave it; `results` are two, cleared together."""

    engine: Engine
    answer: Any
    made: Any
    results: tuple[Any, Any]
    line: Any

    def follow(self, part: Any, limit: int, what: str, *, asks: bool) -> None:
        """Clear what no longer fits once `part` is edited: results, and where it `asks` for it the model's answer."""
        outputs = [self.line, *self.results, *([self.answer] if asks else [])]
        values = {
            "name": part.elem_id, "line": self.line.elem_id, "limit": limit, "what": json.dumps(what), "none": json.dumps(visitors.status("")),
            "nothing": f"[{', '.join(['as'] * len(outputs))}]", "answer": _ITS_ANSWER if asks else "",
        }  # fmt: skip
        part.change(None, [part, self.made, self.answer], outputs, js=_EDITED % values, **QUIET)

    def filled_by(self, example: Any, fields: tuple[Any, Any], texts: Mapping[str, tuple[str, str]]) -> None:
        """Fill two fields from the example that is chosen; all that belonged to what was there before is cleared."""

        def fill(name: str | None) -> tuple[str, ...]:
            return *texts.get(name or "", ("", "")), "", "", visitors.status(""), "", ""

        example.input(fill, example, [*fields, self.answer, self.made, self.line, *self.results], **QUIET)

    def cleared(self) -> dict[Any, Any]:
        """An update without results."""
        return dict.fromkeys(self.results, "")


@dataclass
class Clock:
    """How long each part of some work took, without what a model takes to load."""

    parts: list[str] = field(default_factory=list)
    _began: float = 0.0

    def start(self) -> None:
        """Begin to count."""
        self._began = time.monotonic()

    def stop(self, what: str, more: str = "") -> None:
        """Note how long it took."""
        self.parts.append(f"{what} in {time.monotonic() - self._began:.1f} s{more}")

    def __str__(self) -> str:
        text = ", ".join(self.parts)
        return f"{text[:1].upper()}{text[1:]}."


async def loaded(engine: Engine, models: Sequence[ChatModel], parts: dict[Any, Any]) -> Updates:
    """Show `parts` and wait until the models are loaded, where they are run in this process."""
    if engine.loads(*models):
        yield parts, visitors.status("Loading the model, which is needed once …", "busy")
        await engine.ready(*models)
    yield parts, visitors.status("Waiting for the model …", "busy")


async def written(engine: Engine, desk: Desk, clock: Clock, prompt: str, tokens: float, document: str = "") -> Updates:
    """The model's answer as it grows. What was there before goes, results on it included."""
    async for update in loaded(engine, [engine.model], {desk.answer: "", desk.made: "", **desk.cleared()}):
        yield update
    clock.start()
    last = None
    async for last in engine.answer(prompt, int(tokens), document):
        line = visitors.status("Writing …" if last.text else "Thinking …", "busy")
        yield {desk.answer: last.text, desk.made: last.text}, line
    if last is None or not last.text.strip():
        raise visitors.VisitorError("The model gave an empty answer; please try another prompt, or more tokens.")
    cut = ", cut off at the token limit" if last.truncated else ""
    clock.stop("answered", f" ({last.usage.total(last.usage.output_tokens)} tokens{cut})")
    yield {}, visitors.status(str(clock), "busy")


def examples(name: str, rows: Sequence[tuple[str, str, str, str]]) -> Any:
    """What a visitor may start from: of each its language, its kind, its text, and its id."""
    import gradio as gr

    choices = [
        (f"{words.column(language)} · {kind} · {' '.join(text.split())[:60]}…", id_)
        for language, kind, text, id_ in rows
    ]
    return gr.Dropdown(choices, value=None, label="Start from an example", elem_id=name)


def longest(engine: Engine, name: str) -> Any:
    """A slider for the longest answer."""
    import gradio as gr

    most = visitors.TOKENS
    return gr.Slider(16, most, value=min(256, most), step=16, label="Longest answer, in tokens", elem_id=name)


def buttons(label: str, name: str) -> tuple[Any, Any, Any]:
    """The button that a visitor is to press first, the one that stops, and the line."""
    parts = steps.controls(label, name, primary=True)
    return parts.starts[0], parts.stop, parts.line


def answer_box(what: str, name: str, lines: int) -> Any:
    """The field of the answer, which a visitor may fill as well; `what` is to be done with it."""
    import gradio as gr

    label = f"Answer (edit it, or paste one of your own, and {what})"
    return gr.Textbox(label=label, lines=lines, max_lines=16, elem_id=name, buttons=["copy"])


def apart(name: str) -> Any:
    """A text that the page keeps and does not show: the last answer as the model gave it."""
    import gradio as gr

    return gr.Textbox("", label="The model's own answer", elem_id=name, elem_classes="tb-apart")
