"""The front door in Python: `judge`, `Judge`, `model` and `run`, as `truebench_hf` offers them."""
