"""The stages of a TRUEBench run with short names: what they return, without their outcome."""

from __future__ import annotations

from truebench_hf.benchmarks.truebench.data import GenerateOptions, JudgeGivenOptions, RunOptions
from truebench_hf.benchmarks.truebench.run import Generate, JudgeAnswers, Run
from truebench_hf.results.report import Report


def run(options: RunOptions) -> Report:
    """Answer and judge in one pass."""
    return Run(options).run().value


def generate(options: GenerateOptions) -> int:
    """Write only the answers. Returns how many failed."""
    return Generate(options).run().value


def judge(options: JudgeGivenOptions) -> Report:
    """Judge the answers that `generate` left in the folder."""
    return JudgeAnswers(options).run().value
