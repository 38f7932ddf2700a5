"""Tab 4: an answer is written, judged and improved in the first mode, and held against a document in the second."""

from __future__ import annotations

from markupsafe import escape

from truebench_hf.space.engine import Engine
from truebench_hf.space.playground import grounding, rounds

_MODES = ("Answer and judge", "Grounding")


def build(engine: Engine) -> None:
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
        rounds.build(engine)
    with gr.Column(elem_id="by-document"):
        grounding.build(engine)
