"""`truebench study refine-criteria`: the whole loop through the real command, what it refuses, and what it never loses."""

from __future__ import annotations

from pathlib import Path

from tests.support.scenarios import Scenario, scenarios


@scenarios(__file__, "refine_criteria")
def test_the_loop(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)
