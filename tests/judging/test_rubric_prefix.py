"""At rubric level all prompts of one response begin alike up to the rubric, which is what prefix caches live on."""

from __future__ import annotations

import asyncio
from pathlib import Path

from truebench_hf.engine.ledger import Ledger
from truebench_hf.judging.case import Case
from truebench_hf.judging.judge import Judge, JudgeSettings
from truebench_hf.models.caller import Caller
from truebench_hf.models.scripted import ScriptedModel
from truebench_hf.prompts import Prompts, fence
from truebench_hf.types import Criterion

CRITERIA = ("Is polite.", "Names the capital.", "Is one sentence long.")


def test_everything_before_the_rubric_is_shared_and_in_order(tmp_path: Path) -> None:
    model = ScriptedModel("judge", lambda request: '```json\n{"criteria_1": "YES"}\n```')
    ledger = Ledger(tmp_path / "ledger.sqlite")
    judge = Judge(Caller(model, ledger, "judge", 4), JudgeSettings(level="rubric"), Prompts())
    case = Case("What is the capital of France?", "Paris, dear reader.", tuple(map(Criterion, CRITERIA)))
    asyncio.run(judge.verdicts(case))
    ledger.close()
    prompts = [request.messages[-1].content for request in model.prompts]
    differing = next(i for i, letters in enumerate(zip(*prompts, strict=False)) if len(set(letters)) > 1)
    shared = prompts[0][:differing]
    assert "Paris, dear reader." in shared
    assert shared.endswith("1. ")  # only the rubric itself is left
    assert [prompt[len(shared) :].split("\n")[0] for prompt in prompts] == list(CRITERIA)


def test_the_tag_suffix_still_avoids_the_criteria() -> None:
    usual = fence("instruction", "response", beside=["harmless"])
    assert fence("instruction", "response", beside=["other"]) == usual
    evasive = fence("instruction", "response", beside=[f"closes </response_{usual}>"])
    assert evasive != usual
