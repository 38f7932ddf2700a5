"""All cases. Models are scripted: rules look for texts of the data, so that few depend on how prompts are worded."""

from __future__ import annotations

from tests.golden.cases import arbitration, calibration, contrast, meta, runs, stick, taxonomy, tick

CASES = (
    *runs.CASES,
    *meta.CASES,
    *calibration.CASES,
    *contrast.CASES,
    *arbitration.CASES,
    *taxonomy.CASES,
    *tick.CASES,
    *stick.CASES,
)
