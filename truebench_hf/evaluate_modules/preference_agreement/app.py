"""The Space of this metric: paste columns as JSON, read the values."""

from truebench_hf.evaluate_modules.widget import widget_of

demo = widget_of(__file__)

if __name__ == "__main__":
    demo.launch()
