"""The page of a metric's Space. evaluate's own widget was made for an interface that gradio no longer has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from truebench_hf.errors import MALFORMED, UserError, need

_LONGEST = 200_000  # characters of one column: enough for a few thousand labels


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
            return metric.compute(**{c: _column(c, text) for c, text in zip(metric.example, texts, strict=True)})
        except (UserError, ValueError, *MALFORMED) as error:
            example = json.dumps(metric.example, ensure_ascii=False)  # a number stands where a list or an object should
            odd = (
                f"an entry is not built like those of the example, {example}: " if isinstance(error, MALFORMED) else ""
            )
            raise gr.Error(f"{odd}{error}", print_exception=False) from error

    return gr.Interface(
        fn=compute,
        inputs=[
            gr.Textbox(json.dumps(column, ensure_ascii=False, indent=1), label=f"{name} (JSON)", lines=8)
            for name, column in metric.example.items()
        ],
        outputs=gr.JSON(label="Values"),
        title=metric.name,
        description=metric.description,
        article=f"<pre>{metric.inputs_description.strip()}</pre>",
        concurrency_limit=1,  # a metric object keeps its columns while it computes
        flagging_mode="never",
    )


def _column(name: str, text: str) -> list[Any]:
    """A column from what a visitor typed. Raises UserError where it is too long, not JSON, or not a list."""
    if len(text) > _LONGEST:
        raise UserError(f"{name}: more than {_LONGEST:,} characters; use the library for that much")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name}: not JSON: {error}") from error
    if not isinstance(value, list):
        raise UserError(f'{name}: must be a list, e.g. ["yes", "no", null]')
    return value
