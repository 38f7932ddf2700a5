"""The cascade: what is handed on, who is asked, and where its calibration comes from."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from truebench_hf.data.judged import Case
from truebench_hf.engine.ledger import Calls
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import (
    CASCADE_BAND,
    LEVELS,
    Calibrated,
    CriteriaJudge,
    JudgeSettings,
    calibration_json,
    prompts_used,
    read_calibration,
)
from truebench_hf.metrics.calibration import Calibrator
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, DecisionRequest, Sampling
from truebench_hf.models.scripted import ScriptedModel, verdicts
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Verdict

CASE = Case("Name a river.", "The Rhine.", tuple(map(Criterion, ("sure yes", "sure no", "doubt one", "doubt two"))))
SHARES = {"sure yes": 0.95, "sure no": 0.05, "doubt one": 0.5, "doubt two": 0.6}


def share(request: DecisionRequest, question: str) -> float | None:
    return next(p for name, p in SHARES.items() if name in question)


def passes_one(request: ChatRequest) -> str:
    return verdicts(request.messages[0].content, {"one": "PASS"}, default="FAIL")


def judged(
    first: ScriptedModel, tmp_path: Path, second: ScriptedModel | None = None, **settings: Any
) -> tuple[tuple[Verdict, ...], dict[str, int]]:
    """The verdicts, and how many calls the ledger has in each role."""
    ledger = Calls(tmp_path / "ledger.sqlite")
    rest = [Caller(second, ledger, "cascade", 4)] if second else []
    judge = CriteriaJudge(
        Caller(first, ledger, "judge", 4), JudgeSettings(level="cascade", **settings), Prompts(), *rest
    )
    try:
        made = asyncio.run(judge.verdicts(CASE))
        return made, {role: usage.calls for role, usage in ledger.usage()["total"].items()}
    finally:
        ledger.close()


def test_only_the_doubtful_rest_is_handed_on(tmp_path: Path) -> None:
    model = ScriptedModel("both", passes_one, share)
    made, calls = judged(model, tmp_path)
    assert [verdict.label for verdict in made] == ["yes", "no", "yes", "no"]
    assert [verdict.criterion.text for verdict in made] == list(SHARES)
    assert calls == {"judge": 1, "cascade": 2}
    texts = [r.messages[0].content for r in model.prompts if isinstance(r, ChatRequest)]
    assert ["doubt one" in text for text in texts] == [True, False], "each doubtful criterion in a call of its own"
    assert not any("sure yes" in text for text in texts)
    assert [verdict.probability for verdict in made[:2]] == [0.95, 0.05]
    assert made[2].reason.startswith("handed on (P(yes) = 0.500")


def test_a_judge_that_is_sure_costs_no_second_call(tmp_path: Path) -> None:
    made, calls = judged(ScriptedModel("sure", passes_one, lambda r, q: 0.99), tmp_path)
    assert [verdict.label for verdict in made] == ["yes"] * 4
    assert calls == {"judge": 1}


def test_another_judge_gets_the_rest(tmp_path: Path) -> None:
    first, second = ScriptedModel("first", passes_one, share), ScriptedModel("second", passes_one)
    made, calls = judged(first, tmp_path, second)
    assert [verdict.label for verdict in made] == ["yes", "no", "yes", "no"]
    assert [verdict.judge for verdict in made] == ["scripted:first"] * 2 + ["scripted:second"] * 2
    assert calls == {"judge": 1, "cascade": 2}
    assert not any(isinstance(request, ChatRequest) for request in first.prompts)


def broken(request: DecisionRequest, question: str) -> float | None:
    raise RequestFailed("the decision server is away")


@pytest.mark.parametrize(
    ("probability", "reason"),
    [
        (lambda r, q: None, "declined"),  # typed decisions may be declined one by one
        (broken, "the decision server is away"),  # or fail as a whole
    ],
)
def test_what_the_first_judge_cannot_decide_is_handed_on(tmp_path: Path, probability: Any, reason: str) -> None:
    made, _ = judged(ScriptedModel("both", passes_one, probability), tmp_path)
    assert [verdict.label for verdict in made] == ["no", "no", "yes", "no"]
    assert reason in made[0].reason


def test_what_the_second_judge_leaves_open_stays_open_with_both_reasons(tmp_path: Path) -> None:
    made, _ = judged(ScriptedModel("both", lambda r: "no idea", share), tmp_path)
    assert [verdict.label for verdict in made] == ["yes", "no", None, None]
    assert "P(yes) = 0.500" in made[2].reason
    assert "no JSON object" in made[2].reason


def test_a_calibrator_moves_what_is_doubtful(tmp_path: Path) -> None:
    # Log-odds times 10: 0.6 becomes 0.983, 0.5 stays.
    calibrator = Calibrator("temperature", slope=10)
    made, calls = judged(ScriptedModel("both", passes_one, share), tmp_path, calibrator=calibrator)
    assert [verdict.label for verdict in made] == ["yes", "no", "yes", "yes"]
    assert made[3].probability == pytest.approx(0.983, abs=0.001)
    assert calls == {"judge": 1, "cascade": 1}


def test_votes_are_drawn_by_the_second_judge_alone(tmp_path: Path) -> None:
    warm = Sampling(temperature=1.0)
    made, calls = judged(ScriptedModel("both", passes_one, share), tmp_path, votes=3, sampling=warm)
    assert [verdict.votes for verdict in made] == [(), (), ("yes",) * 3, ("no",) * 3]
    assert calls == {"judge": 1, "cascade": 6}
    with pytest.raises(UserError, match="temperature above 0"):
        JudgeSettings(level="cascade", votes=3)


def test_the_settings_name_the_band_that_is_used() -> None:
    assert JudgeSettings(level="cascade").band == CASCADE_BAND
    assert JudgeSettings(level="decision").band is None
    assert "cascade" in LEVELS


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"level": "checklist"}, {"checklist", "repair"}),
        ({"level": "decision"}, {"decision", "decision_question"}),
        ({"level": "cascade"}, {"decision", "decision_question", "rubric", "repair"}),
    ],
)
def test_a_run_notes_every_prompt_that_shaped_it(settings: dict[str, str], names: set[str]) -> None:
    assert set(prompts_used(JudgeSettings(**settings))) == names  # type: ignore[arg-type]


# --- calibration files ----------------------------------------------------------------------------------------------


FITTED = Calibrated("scripted:a", Calibrator("platt", 2.0, -0.5), 0.45)


def test_a_calibration_comes_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "calibration.json").write_text(json.dumps(calibration_json(FITTED, Prompts())))
    assert read_calibration(str(tmp_path / "calibration.json"), "scripted:a", Prompts()) == FITTED
    assert read_calibration(str(tmp_path), "scripted:a", Prompts()) == FITTED, "the folder will do"


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"judge": "scripted:b"}, "fitted for the judge scripted:b"),  # another judge's probabilities
        ({"prompts": {"decision": "0" * 64}}, "other prompts than now"),  # asked in other words
        ({"threshold": "high"}, "cannot be read"),
        ({"calibrator": {"kind": "spline"}}, "unknown calibrator"),
        ({"calibrator": None}, "not a calibrator"),
    ],
)
def test_a_calibration_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, Any], shown: str) -> None:
    (tmp_path / "c.json").write_text(json.dumps(calibration_json(FITTED, Prompts()) | change))
    with pytest.raises(UserError, match=shown):
        read_calibration(str(tmp_path / "c.json"), "scripted:a", Prompts())


def test_a_missing_calibration_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="truebench study calibrate"):
        read_calibration(str(tmp_path / "none.json"), "scripted:a", Prompts())
