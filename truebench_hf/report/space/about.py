"""Tab 6: protocol, data, limits, and how to cite."""

from __future__ import annotations

from pathlib import Path

from truebench_hf import __version__

_CITATION = f"""@software{{truebench_hf,
  title   = {{truebench_hf: instruction-following evaluation on the Hugging Face stack}},
  version = {{{__version__}}},
  note    = {{Implements TRUEBench, RubricEval, TICK, FACTS Grounding and FlexBench; cite the paper you use as well}}
}}"""


def build() -> None:
    """Lay out the tab inside the current Blocks."""
    import gradio as gr

    gr.Markdown(Path(__file__).with_name("about.md").read_text("utf-8"))
    gr.Textbox(_CITATION, label="Citation", interactive=False, lines=6, buttons=["copy"], elem_classes="tb-mono")
