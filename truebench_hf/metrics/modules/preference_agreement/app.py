"""The Space of this metric: paste columns as JSON, read the values."""

from __future__ import annotations

from pathlib import Path

import evaluate

from truebench_hf.report.widget import metric_widget

EXAMPLE = {"predictions": ["win", "tie", "loss"], "references": ["win", "win", None]}

demo = metric_widget(evaluate.load(str(Path(__file__).with_name("preference_agreement.py"))), EXAMPLE)

if __name__ == "__main__":
    demo.launch()
