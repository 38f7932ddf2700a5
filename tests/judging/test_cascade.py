"""The cascade: what is handed on, what it costs, who is asked, and where its points and its calibration come from."""

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
from truebench_hf.metrics.choosing import First, Second, cheapest, curve, frontier
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


FITTED = Calibrated("scripted:a", Calibrator("platt", 2.0, -0.5), 0.45, (0.3, 0.7))


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


# --- cost and balanced accuracy -------------------------------------------------------------------------------------

# Four rows, two calls of the reasoning judge. The decision judge errs on the two in the middle, the other on none.
P = [0.1, 0.6, 0.4, 0.9]
GOLD = ["no", "no", "yes", "yes"]
FIRST = First(calls=2, tokens=20.0)
SECOND = Second(["no", "no", "yes", "yes"], ["x", "x", "y", "y"], {"x": 100.0, "y": 50.0})


def test_the_curve_by_hand() -> None:
    points = curve(P, GOLD, FIRST, SECOND, threshold=0.5)
    alone = [point for point in points if point.low is None and point.high is not None]
    # At a threshold alone at best three of four are right: 0.75, between 0.1 and 0.4 or between 0.6 and 0.9.
    assert max(point.balanced_accuracy or 0 for point in alone) == 0.75
    assert {(point.calls, point.tokens) for point in alone} == {(2, 20.0)}, "only the decision judge is paid for"
    assert [point.balanced_accuracy for point in alone if point.high == 0.5] == [0.5], (
        "the threshold itself is among them"
    )
    middle = [point for point in points if point.low == 0.4 and point.high == 0.6]
    assert [(p.handed_on, p.calls, p.tokens, p.balanced_accuracy) for p in middle] == [(0.5, 4, 170.0, 1.0)]
    everything = next(point for point in points if (point.low, point.high) == (0.0, 1.0))
    assert (everything.handed_on, everything.balanced_accuracy) == (1.0, 1.0)
    (reasoning,) = [point for point in points if point.high is None]
    shown = (reasoning.low, reasoning.handed_on, reasoning.calls, reasoning.tokens, reasoning.balanced_accuracy)
    assert shown == (None, 1.0, 2, 150.0, 1.0), "the decision judge is not asked then"


def test_a_band_hands_something_on_and_has_two_ends() -> None:
    for p in (P, [0.5] * 4, [0.5, 0.5, 0.4, 0.9], [None, 0.1, 0.9, 0.9]):
        for point in curve(p, GOLD, FIRST, SECOND, threshold=0.5):
            if point.low is not None:
                assert point.high is not None
                assert point.low < point.high
                assert point.handed_on > 0


def test_the_frontier_gets_dearer_and_better_and_its_cheapest_good_point_is_chosen() -> None:
    second = Second([*SECOND.labels, "no", "yes"], [*SECOND.calls, "z", "z"], {**SECOND.tokens, "z": 100.0})
    points = curve([*P, 0.05, 0.95], [*GOLD, "no", "yes"], FIRST, second, threshold=0.5)
    edge = frontier(points)
    assert [(point.tokens, round(point.balanced_accuracy or 0, 6)) for point in edge] == [(20, 0.833333), (170, 1.0)]
    best = cheapest(points)
    assert best is not None
    assert (best.tokens, round(best.handed_on, 6)) == (170, 0.333333), "of equals the one that asks for less"
    free = cheapest(points, tolerance=0.25)
    assert free is not None
    assert free.low is None, "within the tolerance a threshold alone is cheaper"


def test_where_all_would_be_handed_on_the_reasoning_judge_alone_is_cheaper() -> None:
    best = cheapest(curve(P, GOLD, FIRST, SECOND, threshold=0.5))
    assert best is not None
    assert (best.low, best.high, best.tokens) == (None, None, 150.0)


@pytest.mark.parametrize(
    ("first", "tokens"),
    [
        (First(2, 0.0), {"x": 100.0, "y": 50.0}),  # the decision server counts none
        (First(2, 20.0), {"x": 0.0, "y": 0.0}),  # the reasoning server counts none
    ],
)
def test_cost_is_calls_where_a_judge_reports_no_tokens(first: First, tokens: dict[str, float]) -> None:
    points = curve(P, GOLD, first, Second(SECOND.labels, SECOND.calls, tokens), threshold=0.5)
    assert {point.tokens for point in points} == {None}
    assert all(point.cost == point.calls for point in points)
    assert [point.cost for point in frontier(points)] == [2], "both judges take two calls for two responses"


def test_undecided_rows_count_as_wrong_and_rows_without_probability_are_handed_on() -> None:
    p = [None, 0.1, 0.9, 0.45]  # between 0.4 and 0.5 the last one is handed on, too
    for label, balanced in ((None, 0.75), ("no", 1.0)):
        second = Second([label, "no", "yes", "yes"], ["x", "x", "y", "y"], {"x": 1.0, "y": 1.0})
        points = curve(p, GOLD, FIRST, second, threshold=0.5)
        narrow = min((point for point in points if point.low is not None), key=lambda point: point.handed_on)
        assert (narrow.handed_on, narrow.calls, narrow.balanced_accuracy) == (0.5, 4, balanced)
        alone = next(point for point in points if point.low is None and point.high == 0.5)
        assert alone.balanced_accuracy == 0.5, "without a probability a row stays open, and 0.45 is a no"


@pytest.mark.parametrize("gold", [["yes"] * 4, ["no"] * 4, [None] * 4, []])  # one class, no label, nothing at all
def test_without_both_labels_there_is_no_best(gold: list[str | None]) -> None:
    n = len(gold)
    points = curve(P[:n], gold, FIRST, Second(SECOND.labels[:n], SECOND.calls[:n], SECOND.tokens), threshold=0.5)
    assert all(point.balanced_accuracy is None for point in points)
    assert cheapest(points) is None
