"""An option given twice: joined, several, or refused, but never the last one alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.runs import script
from tests.support.scenarios import Scenario, scenarios
from truebench_hf.errors import UserError


@scenarios(__file__, "given_twice")
def test_what_is_given_twice(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)


def test_columns_of_several_turns_are_joined_turn_by_turn(tmp_path: Path) -> None:
    roles = {"model": script(tmp_path / "model.json", []), "judge": script(tmp_path / "judge.json", [])}
    turns = {"turns": [{"prompt": "a"}, {"prompt": "b"}]}
    rows: list[dict[str, Any]] = [turns | {"c": [["1"], ["2"]], "d": [["3"], []]}]
    joined = {"criteria": ["c", "d"]}
    report = truebench_hf.run(data=rows, column=joined, allow_unscored=True, **roles)
    assert [[v.criterion.text for v in turn] for turn in report.judged[0].verdicts] == [["1", "3"], ["2"]]
    with pytest.raises(UserError, match="field 'd' must be a list of lists of texts, one list for each of the 2 turns"):
        truebench_hf.run(data=[rows[0] | {"d": ["3"]}], column=joined, **roles)
