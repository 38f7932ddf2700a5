"""All cases. Models are scripted: rules look for texts of the data, so that few depend on how prompts are worded."""

from __future__ import annotations

from tests.golden.cases import (
    answers,
    arbitration,
    calibration,
    checklists,
    classifiers,
    compare,
    contrast,
    criteria,
    exports,
    facts,
    flex,
    hub,
    large,
    meta,
    pairs,
    prompts,
    python,
    refinement,
    rewards,
    ruled,
    runs,
    space,
    standings,
    stick,
    taxonomy,
    tick,
)  # fmt: skip

COMMANDS = (
    *runs.CASES,
    *answers.CASES,
    *large.CASES,
    *exports.CASES,
    *standings.CASES,
    *meta.CASES,
    *calibration.CASES,
    *contrast.CASES,
    *criteria.CASES,
    *arbitration.CASES,
    *taxonomy.CASES,
    *tick.CASES,
    *pairs.CASES,
    *facts.CASES,
    *flex.CASES,
    *checklists.CASES,
    *stick.CASES,
    *compare.CASES,
    *refinement.CASES,
    *ruled.CASES,
    *prompts.CASES,
    *hub.CASES,
)
# What needs torch or Gradio, or is called from Python; half of the time, and so in a file of tests of its own.
SURFACES = (*classifiers.CASES, *python.CASES, *rewards.CASES, *space.CASES)
# What runs in an environment of its own, and is skipped without it.
ELSEWHERE = exports.ELSEWHERE
CASES = (*COMMANDS, *SURFACES, *ELSEWHERE)
