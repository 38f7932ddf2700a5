"""A classifier as a judge: an answer as its worst sentence, and what is undecided."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.runs import caller
from truebench_hf.judging.grounding.classifier import ClassifierJudge, Cut, worst_share
from truebench_hf.judging.grounding.types import Grounding, Passage, Source
from truebench_hf.metrics.calibration import Calibrator
from truebench_hf.models.scripted import ScriptedModel

SOURCE = Source("Where is it?", "It stands in Rome.", "Use the notice.", (Passage("p1", "It is old."),))


def scripted(shares: dict[str, float | None]) -> ScriptedModel:
    """P(supported) by what a claim holds, 0.9 for all others."""

    def share(request: Any, claim: str) -> float | None:
        return next((share for words, share in shares.items() if words in claim), 0.9)

    return ScriptedModel("classifier", lambda request: "never asked", share)


def judged(shares: dict[str, float | None], answer: str, cut: Cut | None = None) -> Grounding:
    return asyncio.run(ClassifierJudge(caller(scripted(shares)), cut).verdict(SOURCE, answer))


@each_row(__file__, "classifier", "answers")
def test_an_answer_is_its_worst_sentence(
    shares: dict[str, float | None], answer: str, accurate: bool | None, labels: list[str | None]
) -> None:
    found = judged(shares, answer)
    assert (found.accurate, [unit.label for unit in found.units]) == (accurate, labels)
    assert all(unit.text == answer[unit.start : unit.end] for unit in found.units)
    assert (found.template, found.judge) == ("classifier", "scripted:classifier")


def test_the_reason_names_the_worst_sentences_probability() -> None:
    assert judged({"Paris": 0.1}, "It is in Rome. It was in Paris.").reason == (
        "the worst sentence has P(supported) = 0.100, from 0.500 on it counts as supported"
    )
    for answer in ("It is in Rome.", "It is in Rome. It is old."):
        assert "leaves no room" in judged({"Rome": None}, answer).reason


def test_the_whole_prompt_is_the_evidence_and_sentences_are_the_claims() -> None:
    model = scripted({})
    asyncio.run(ClassifierJudge(caller(model)).verdict(SOURCE, "It is in Rome.\n- It is old."))
    (request,) = model.prompts
    assert request.state == "It stands in Rome.\n\nIt is old.\n\nUse the notice.\n\nWhere is it?"  # type: ignore[union-attr]
    assert request.questions == ("It is in Rome.", "- It is old.")  # type: ignore[union-attr]


def test_a_fitted_cut_moves_the_line() -> None:
    strict = Cut(0.95)
    assert judged({}, "It is in Rome.", strict).accurate is False
    # Log-odds of 0.9 are 2.2; less 3 they are below 0, and the calibrated probability is 0.31.
    calibrated = Cut(0.5, Calibrator("platt", slope=1.0, intercept=-3.0))
    found = judged({}, "It is in Rome.", calibrated)
    assert (found.accurate, found.units[0].reason[:20]) == (False, "P(supported) = 0.309")


def test_a_request_that_fails_is_undecided() -> None:
    from truebench_hf.engine.retry import RequestFailed

    class Down(ScriptedModel):
        async def decide(self, request: Any) -> Any:
            raise RequestFailed("it is down")

    model = Down("down", lambda request: "")
    found = asyncio.run(ClassifierJudge(caller(model)).verdict(SOURCE, "It is in Rome."))
    assert (found.accurate, found.reason) == (None, "the judge gave no answer: it is down")


@pytest.mark.parametrize(
    ("shares", "worst"), [([], None), ([0.4], 0.4), ([0.4, 0.2, 0.9], 0.2), ([0.1, None], None), ([0.0, 1.0], 0.0)]
)
def test_the_probability_of_an_answer(shares: list[float | None], worst: float | None) -> None:
    assert worst_share({(place, place + 1): share for place, share in enumerate(shares)}) == worst
