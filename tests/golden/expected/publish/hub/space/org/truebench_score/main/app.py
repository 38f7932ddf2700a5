"""The Space of this metric: paste columns as JSON, read the values."""

from __future__ import annotations

from truebench_hf.evaluate_modules.widget import widget_of

EXAMPLE = {
    "predictions": [["yes", "no"], ["yes"]],
    "references": [["Is in French", "Has three lines"], ["Names the river"]],
}
demo = widget_of(__file__, EXAMPLE)

if __name__ == "__main__":
    demo.launch()
