"""The Space of this metric: paste columns as JSON, read the values."""

from __future__ import annotations

from pathlib import Path

import evaluate

from truebench_hf.report.widget import metric_widget

EXAMPLE = {
    "predictions": [["yes", "no"], ["yes"]],
    "references": [["Is in French", "Has three lines"], ["Names the river"]],
}

demo = metric_widget(evaluate.load(str(Path(__file__).with_name("truebench_score.py"))), EXAMPLE)

if __name__ == "__main__":
    demo.launch()
