"""Rules through the real commands: who decided stands in the records, folders and boards keep modes apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import held
from tests.support.scenarios import Scenario, read_scenarios, scenarios
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import stage_file
from truebench_hf.hub.submission import validate


@scenarios(__file__, "rules_end_to_end")
def test_runs(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)


def staged(folder: Path) -> dict[str, Any]:
    """The row of a board of a file of judgments that goes to the Hub alone, without its run.json."""
    stage_file(validate(folder / "judgments.jsonl"), folder / "staged")
    (info,) = (folder / "staged").glob("runs/*/run.json")
    (row,) = held(info)["board"]["rows"]
    return dict(row)


def test_a_file_alone_tells_what_rules_decided_and_that_nobody_judged(tmp_path: Path) -> None:
    """It is kept apart by what its verdicts say."""
    every = read_scenarios(__file__, "rules_end_to_end")
    for number, name in enumerate(("a run, by mode", "without a judge what can be counted is decided")):
        (folder := tmp_path / str(number)).mkdir()
        every[name].play(folder)
    rows = {name: staged(tmp_path / name) for name in ("0/off", "0/decide", "1/out", "1/judged")}
    assert len({row["setting"] for row in rows.values()}) == len(rows)
    decided = [row["facts"]["Judge"].endswith("(rules decide)") for row in rows.values()]
    assert decided == [False, True, True, True], "of a run with a judge, too: that is the usual mode"
    assert "none" in rows["1/out"]["facts"]["Judge"]
    with pytest.raises(UserError, match=r"rules decided some of it, of which run.json does not tell"):
        validate(tmp_path / "0" / "decide" / "judgments.jsonl", provenance={"model": "m", "judge": "j"})
