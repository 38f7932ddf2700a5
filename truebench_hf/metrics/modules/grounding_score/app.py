"""The Space of this metric: paste columns as JSON, read the values."""

from __future__ import annotations

from pathlib import Path

import evaluate

from truebench_hf.report.widget import metric_widget

EXAMPLE = {"predictions": [["yes", "yes"], ["no", "yes"]], "references": [["yes", "yes"], ["no", "no"]]}

demo = metric_widget(evaluate.load(str(Path(__file__).with_name("grounding_score.py"))), EXAMPLE)

if __name__ == "__main__":
    demo.launch()
