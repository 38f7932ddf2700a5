"""The page of a metric's Space. evaluate's own widget was made for an interface that gradio no longer has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from truebench_hf.errors import MALFORMED, UserError, need


def widget_of(app: str) -> Any:
    """The page of the metric that lies beside an `app.py`, whatever a Space calls the folder of both."""
    import evaluate

    (script,) = (path for path in Path(app).parent.glob("*.py") if path.name != "app.py")
    return metric_widget(evaluate.load(str(script)))


def metric_widget(metric: Any) -> Any:
    """A gradio interface with one JSON field per column of a loaded metric, filled with its example; launched by the caller.

    What is wrong with an input is shown in words, never as a traceback.
    """
    need("space", "gradio", what="the page of a metric")
    import gradio as gr

    def compute(*texts: str) -> Any:
        try:
            columns = {name: json.loads(text) for name, text in zip(metric.example, texts, strict=True)}
            if wrong := [name for name, column in columns.items() if not isinstance(column, list)]:
                raise UserError(f'{wrong[0]}: must be a list, e.g. ["yes", "no", null]')
            return metric.compute(**columns)
        except (UserError, ValueError, *MALFORMED) as error:
            what = "" if isinstance(error, UserError) else "not JSON like that of the example: "
            raise gr.Error(f"{what}{error}", print_exception=False) from error

    return gr.Interface(
        fn=compute,
        inputs=[
            gr.Textbox(
                json.dumps(column, ensure_ascii=False, indent=1), label=f"{name} (JSON)", lines=8, max_length=200_000
            )
            for name, column in metric.example.items()
        ],
        outputs=gr.JSON(label="Values"),
        title=metric.name,
        description=metric.description,
        article=f"<pre>{metric.inputs_description.strip()}</pre>",
        concurrency_limit=1,  # a metric object keeps its columns while it computes
        flagging_mode="never",
    )
