"""The 36 answers of facts_mini before a judge that knows which sentences have lost their support."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.judging.grounding.helpers import caller, row
from tests.support.facts import mini
from tests.support.signing import signed
from truebench_hf.judging.grounding.judge import EligibilityJudge, GroundingJudge
from truebench_hf.judging.grounding.types import UNGROUNDED, Grounding, RatingLabel, Source
from truebench_hf.judging.sentences import sentences
from truebench_hf.metrics.pass_rate import grounding
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.prompts import Prompts

ROWS = mini()
WRONG = {one["sentence"] for each in ROWS for one in each["ungrounded_sentences"]}
KINDS = ("grounded_response", "ungrounded_response", "evasive_response")


def source_of(one: dict[str, Any]) -> Source:
    system, request, document = one["system_instruction"], one["user_request"], one["context_document"]
    return Source(request, document, system)


def shown(request: ChatRequest, tag: str = "response") -> str:
    return request.messages[0].content.rpartition(f"<{tag}_")[2].partition(">\n")[2].rpartition(f"\n</{tag}_")[0]


def false_in(text: str) -> bool:
    return any(wrong in text for wrong in WRONG)


def oracle(request: ChatRequest) -> str:
    prompt = request.messages[0].content
    if "<span_" in prompt:
        return signed(prompt, excerpts=[], verdict="inaccurate" if false_in(shown(request, "span")) else "accurate")
    answer = shown(request)
    parts = [answer[start:end].strip() for start, end in sentences(answer)]
    bad = [any(part in wrong or wrong in part for wrong in WRONG) for part in parts]
    whole, pairs = "inaccurate" if any(bad) else "accurate", list(zip(parts, bad, strict=True))
    if "final_answer" in prompt:
        labelled = [{"sentence": part, "label": "inaccurate" if wrong else "accurate"} for part, wrong in pairs]
        return signed(prompt, sentences=labelled, final_answer=whole)
    if "no_rad" in prompt:
        said = [row(part, "unsupported" if wrong else "supported", part) for part, wrong in pairs]
        return signed(prompt, sentences=said)
    return signed(prompt, verdict=whole)


@pytest.mark.parametrize("template", ["json", "implicit_span", "span", "response"])
def test_each_template_finds_the_ungrounded_answers_and_their_sentences(tmp_path: Path, template: str) -> None:
    asked, _ = caller(tmp_path, oracle)
    judge = GroundingJudge(asked, template, Prompts())

    async def all_of() -> list[tuple[str, dict[str, Any], Grounding]]:
        return [(kind, one, await judge.verdict(source_of(one), one[kind])) for one in ROWS for kind in KINDS]

    for kind, one, found in asyncio.run(all_of()):
        assert found.accurate is (kind != "ungrounded_response"), (one["id"], kind, found.reason)
        listed = {wrong["sentence"] for wrong in one["ungrounded_sentences"]} if found.accurate is False else set()
        told = [unit.text for unit in found.units if unit.label in UNGROUNDED]
        if found.units:
            assert all(any(text in wrong or wrong in text for text in told) for wrong in listed), (one["id"], told)
            assert all(any(text in wrong or wrong in text for wrong in listed) for text in told), (one["id"], told)
            assert all(one[kind][unit.start : unit.end] == unit.text for unit in found.units)


def disqualified(*ratings: RatingLabel | None) -> bool:
    """Whether these ratings of the judges make an answer ineligible: only major does, and only by all."""
    labels = [rating and ("no" if rating == "major" else "yes") for rating in ratings]
    return grounding([["yes"] * len(ratings)], [labels]).ineligible == 1


def test_eligibility_by_consensus_leaves_a_lenient_judge_the_last_word(tmp_path: Path) -> None:
    evasive = {one["evasive_response"] for one in ROWS}

    def strict(request: ChatRequest) -> str:
        text = request.messages[0].content.partition("<test_response_")[2].partition(">\n")[2].partition("\n</test_")[0]
        return json.dumps({"rating": "major issues" if text in evasive else "no issues"})

    asked, _ = caller(tmp_path, strict)
    judge = EligibilityJudge(asked, "request", Prompts())
    for one in ROWS:
        for kind in KINDS:
            found = asyncio.run(judge.rate(source_of(one), one[kind], one["grounded_response"]))
            assert disqualified(found.rating, found.rating, found.rating) is (kind == "evasive_response")
            assert not disqualified(found.rating, found.rating, "minor")
