"""Judging an answer as a whole, and its eligibility: what is asked, what is read, what stays undecided."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from truebench_hf.engine.ledger import Ledger
from truebench_hf.judging.grounding.eligibility import EligibilityJudge
from truebench_hf.judging.grounding.judge import GroundingJudge
from truebench_hf.judging.grounding.types import Source
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.models.scripted import Answer, ScriptedModel
from truebench_hf.prompts import Prompts

SOURCE = Source("When does it open?", "The museum opens at 9.", "Use the document alone.")
Reply = Callable[[ChatRequest], Answer]


def caller(tmp_path: Path, reply: Reply) -> Caller:
    return Caller(ScriptedModel("x", reply), Ledger(tmp_path / "ledger.sqlite"), "judge", 4)


def test_a_response_is_judged_with_the_whole_prompt_and_the_document_first(tmp_path: Path) -> None:
    asked = caller(tmp_path, lambda request: 'It opens at 9.\n```json\n{"verdict": "accurate"}\n```')
    found = asyncio.run(GroundingJudge(asked, "response", Prompts()).verdict(SOURCE, "At 9."))
    assert (found.accurate, found.reason, found.template, found.judge) == (
        True,
        "It opens at 9.",
        "response",
        "scripted:x",
    )
    (request,) = asked.model.prompts  # type: ignore[attr-defined]
    text = request.messages[0].content
    places = [text.index(part) for part in ("The museum opens", "Use the document", "When does", "At 9.", "Your task")]
    assert places == sorted(places), "the document first, so that it is read once"


def test_eligibility_shows_the_request_alone_or_the_full_prompt(tmp_path: Path) -> None:
    asked = caller(tmp_path, lambda request: 'Vague.\n```json\n{"rating": "major issues"}\n```')
    for variant, shown in (("request", False), ("full", True)):
        found = asyncio.run(EligibilityJudge(asked, variant, Prompts()).rate(SOURCE, "Early.", "At 9 sharp."))
        assert (found.rating, found.reason) == ("major", "Vague.")
        text = asked.model.prompts[-1].messages[0].content  # type: ignore[attr-defined]
        assert ("The museum opens" in text, "Use the document" in text) == (shown, shown)
        assert "At 9 sharp." in text
