"""TRUEBench as a task of inspect: `inspect eval truebench_hf/truebench --model ... --model-role grader=...`.

Data, prompts, judge and scores are those of `truebench run`; models, engine and log are inspect's. Its entry point loads
this module, which alone needs inspect (extra `inspect`).
"""

from truebench_hf.inspect_task.scorer import criteria
from truebench_hf.inspect_task.task import truebench, turns

__all__ = ["criteria", "truebench", "turns"]
