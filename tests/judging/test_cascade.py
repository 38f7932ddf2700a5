"""The cascade: what is handed on, who is asked, and where its calibration comes from. Panels: ballots, ties, weights."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row
from truebench_hf.data.judged import Case
from truebench_hf.engine.ledger import Calls
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import (
    Calibrated,
    CriteriaJudge,
    JudgeSettings,
    NoJudge,
    Panel,
    calibration_json,
    combine,
    majority,
    read_calibration,
)
from truebench_hf.metrics.calibration import Calibrator
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, DecisionRequest, Sampling
from truebench_hf.models.scripted import ScriptedModel, verdicts
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Label, Verdict

CASE = Case("Name a river.", "The Rhine.", tuple(map(Criterion, ("sure yes", "sure no", "doubt one", "doubt two"))))
SHARES = {"sure yes": 0.95, "sure no": 0.05, "doubt one": 0.5, "doubt two": 0.6}


def share(request: DecisionRequest, question: str) -> float | None:
    return next(p for name, p in SHARES.items() if name in question)


def passes_one(request: ChatRequest) -> str:
    return verdicts(request.messages[0].content, {"one": "PASS"}, default="FAIL")


def judged(
    first: ScriptedModel, second: ScriptedModel | None = None, **settings: Any
) -> tuple[tuple[Verdict, ...], list[Label | None], dict[str, int]]:
    """The verdicts, their labels, and how many calls the ledger has in each role."""
    ledger = Calls(Path(":memory:"))
    rest = [Caller(second, ledger, "cascade", 4)] if second else []
    settings = {"level": "cascade", **settings}
    judge = CriteriaJudge(Caller(first, ledger, "judge", 4), JudgeSettings(**settings), Prompts(), *rest)
    found = asyncio.run(judge.verdicts(CASE))
    calls = {role: usage.calls for role, usage in ledger.usage()["total"].items()}
    return found, [verdict.label for verdict in found], calls


def test_only_the_doubtful_rest_is_handed_on() -> None:
    model = ScriptedModel("both", passes_one, share)
    found, labels, calls = judged(model)
    assert (labels, calls) == (["yes", "no", "yes", "no"], {"judge": 1, "cascade": 2})
    assert [verdict.criterion.text for verdict in found] == list(SHARES)
    texts = [r.messages[0].content for r in model.prompts if isinstance(r, ChatRequest)]
    assert ["doubt one" in text for text in texts] == [True, False], "each doubtful criterion in a call of its own"
    assert not any("sure yes" in text for text in texts)
    assert [verdict.probability for verdict in found[:2]] == [0.95, 0.05]
    assert found[2].reason.startswith("handed on (P(yes) = 0.500")


def test_another_judge_gets_the_rest_and_a_sure_one_costs_no_second_call() -> None:
    first, second = ScriptedModel("first", passes_one, share), ScriptedModel("second", passes_one)
    found, labels, calls = judged(first, second)
    assert (labels, calls) == (["yes", "no", "yes", "no"], {"judge": 1, "cascade": 2})
    assert [verdict.judge for verdict in found] == ["scripted:first"] * 2 + ["scripted:second"] * 2
    assert not any(isinstance(request, ChatRequest) for request in first.prompts)
    _, labels, calls = judged(ScriptedModel("sure", passes_one, lambda r, q: 0.99))
    assert (labels, calls) == (["yes"] * 4, {"judge": 1})


def broken(request: DecisionRequest, question: str) -> float | None:
    raise RequestFailed("the decision server is away")


# Typed decisions may be declined one by one, or fail as a whole.
@pytest.mark.parametrize(
    ("probability", "reason"), [(lambda r, q: None, "declined"), (broken, "the decision server is away")]
)
def test_what_the_first_judge_cannot_decide_is_handed_on(probability: Any, reason: str) -> None:
    found, labels, _ = judged(ScriptedModel("both", passes_one, probability))
    assert labels == ["no", "no", "yes", "no"]
    assert reason in found[0].reason


def test_what_the_second_judge_leaves_open_stays_open_with_both_reasons() -> None:
    found, labels, _ = judged(ScriptedModel("both", lambda r: "no idea", share))
    assert labels == ["yes", "no", None, None]
    assert "P(yes) = 0.500" in found[2].reason
    assert "no JSON object" in found[2].reason


def test_a_calibrator_moves_what_is_doubtful() -> None:
    # Log-odds times 10: 0.6 becomes 0.983, 0.5 stays.
    calibrator = Calibrator("temperature", slope=10)
    found, labels, calls = judged(ScriptedModel("both", passes_one, share), calibrator=calibrator)
    assert (labels, calls) == (["yes", "no", "yes", "yes"], {"judge": 1, "cascade": 1})
    assert found[3].probability == pytest.approx(0.983, abs=0.001)


def test_votes_are_drawn_by_the_second_judge_alone() -> None:
    warm = Sampling(temperature=1.0)
    found, _, calls = judged(ScriptedModel("both", passes_one, share), votes=3, sampling=warm)
    assert [verdict.votes for verdict in found] == [(), (), ("yes",) * 3, ("no",) * 3]
    assert calls == {"judge": 1, "cascade": 6}
    with pytest.raises(UserError, match="temperature above 0"):
        JudgeSettings(level="cascade", votes=3)


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
        (None, "truebench study calibrate"),
    ],
)
def test_a_calibration_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, Any] | None, shown: str) -> None:
    if change is not None:
        (tmp_path / "c.json").write_text(json.dumps(calibration_json(FITTED, Prompts()) | change))
    with pytest.raises(UserError, match=shown):
        read_calibration(str(tmp_path / "c.json"), "scripted:a", Prompts())


# --- panels (`panels.yaml`) -----------------------------------------------------------------------------------------


def ballots(labels: list[Label | None]) -> list[Verdict]:
    return [Verdict(Criterion("c"), label, f"reason {i}", f"judge{i}", 0.9) for i, label in enumerate(labels)]


@each_row(__file__, "panels", "rules")
def test_rules(rule: str, weights: list[float], labels: list[Label | None], expected: Label | None) -> None:
    verdict = combine(ballots(labels), rule, weights)
    assert (verdict.label, verdict.votes, verdict.probability) == (expected, tuple(labels), None)


def test_the_reason_is_that_of_a_judge_who_agrees() -> None:
    verdict = combine(ballots(["no", "yes", "yes"]))
    assert (verdict.reason, verdict.judge) == ("reason 1", "judge0 + judge1 + judge2 (majority)")


@each_row(__file__, "panels", "undecided")
def test_an_undecided_panel_says_why(rule: str, labels: list[Label | None], said: str) -> None:
    assert combine(ballots(labels), rule).reason == said


@each_row(__file__, "panels", "refused")
def test_panels_that_make_no_sense(members: int, rule: str, weights: list[float], said: str) -> None:
    with pytest.raises(UserError, match=said):
        Panel([NoJudge()] * members, rule, weights)


@each_row(__file__, "panels", "votes")
def test_votes_of_one_judge(labels: list[Label | None], expected: Label | None, because: str) -> None:
    verdict = majority(ballots(labels))
    assert (verdict.label, verdict.reason, verdict.votes) == (expected, because, tuple(labels))
