"""The Space of this metric: paste columns as JSON, read the values."""

from __future__ import annotations

from pathlib import Path

import evaluate

from truebench_hf.report.widget import metric_widget

EXAMPLE = {
    "predictions": [{"asks dates": "yes", "new dates": "no"}],
    "references": [{"asks dates": None, "new dates": "asks dates"}],
}

demo = metric_widget(evaluate.load(str(Path(__file__).with_name("flexeval.py"))), EXAMPLE)

if __name__ == "__main__":
    demo.launch()
