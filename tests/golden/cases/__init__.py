"""All cases. Models are scripted: rules look for texts of the data, so that few depend on how prompts are worded.

Most stand as text beside this file; those in Python compute their inputs or do more than run commands.
"""

from __future__ import annotations

from pathlib import Path

from tests.golden.case import Case
from tests.golden.cases import (
    answers,
    arbitration,
    calibration,
    classifiers,
    contrast,
    exports,
    facts,
    flex,
    hub,
    large,
    prompts,
    python,
    rewards,
    space,
    stick,
)
from tests.golden.texts import read_cases

_WRITTEN = tuple(case for file in sorted(Path(__file__).parent.glob("*.yaml")) for case in read_cases(file))
COMMANDS: tuple[Case, ...] = (
    *_WRITTEN,
    *answers.CASES,
    *large.CASES,
    *calibration.CASES,
    *contrast.CASES,
    *arbitration.CASES,
    *facts.CASES,
    *flex.CASES,
    *stick.CASES,
    *prompts.CASES,
    *hub.CASES,
)
# What needs torch or Gradio, or is called from Python; half of the time, and so in a file of tests of its own.
SURFACES = (*classifiers.CASES, *python.CASES, *rewards.CASES, *space.CASES)
# What runs in an environment of its own, and is skipped without it.
ELSEWHERE = exports.CASES
CASES = (*COMMANDS, *SURFACES, *ELSEWHERE)


def case_named(name: str) -> Case:
    """The case of this name."""
    return next(case for case in CASES if case.name == name)
