"""The front door in Python: `judge`, `Judge`, `model`, `run` and `tick`, as `truebench_hf` offers them."""
