"""The Space of a metric: paste columns as JSON, read the values. Publishing puts this file beside the metric."""

from truebench_hf.evaluate_modules.widget import widget_of

demo = widget_of(__file__)

if __name__ == "__main__":
    demo.launch()
