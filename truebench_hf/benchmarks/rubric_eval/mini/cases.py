"""All constructed cases, in the order of their categories."""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.mini import (
    compositional_en,
    compositional_world,
    constrained_en,
    constrained_world,
    multi_turn_en,
    multi_turn_world,
    system_en,
    system_world,
)
from truebench_hf.benchmarks.rubric_eval.mini.case import Case

ALL_CASES: tuple[Case, ...] = (
    *constrained_en.CASES,
    *constrained_world.CASES,
    *compositional_en.CASES,
    *compositional_world.CASES,
    *multi_turn_en.CASES,
    *multi_turn_world.CASES,
    *system_en.CASES,
    *system_world.CASES,
)
