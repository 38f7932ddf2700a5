"""All cases. Models are scripted: rules look for texts of the data, so that few depend on how prompts are worded."""

from __future__ import annotations

from tests.golden.cases import (
    arbitration,
    calibration,
    checklists,
    compare,
    contrast,
    criteria,
    facts,
    flex,
    meta,
    pairs,
    refinement,
    ruled,
    runs,
    standings,
    stick,
    taxonomy,
    tick,
)  # fmt: skip

CASES = (
    *runs.CASES,
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
)
