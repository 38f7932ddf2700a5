"""What RubricEval asks of the prompts: a shared prefix at rubric level, order of calls, notes per category."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.support.runs import caller
from truebench_hf.benchmarks.rubric_eval.data import items, load
from truebench_hf.data.judged import Case
from truebench_hf.judging.judge import CriteriaJudge, JudgeSettings
from truebench_hf.models.protocol import ChatRequest, DecisionRequest
from truebench_hf.models.scripted import ScriptedModel, verdicts
from truebench_hf.prompts import Prompts, sections
from truebench_hf.types import Criterion

CASES = {item.category: item.case for item in items(load("rubric_mini"))}


def asked(level: str, *cases: Case, reasoning: bool = True) -> list[str]:
    """The prompts of all cases, judged at the same time, in the order in which the model got them."""
    model = ScriptedModel("judge", lambda request: verdicts(request.messages[0].content, {}))
    judge = CriteriaJudge(caller(model), JudgeSettings(level=level, reasoning=reasoning), Prompts())

    async def everything() -> None:
        await asyncio.gather(*map(judge.verdicts, cases))

    asyncio.run(everything())
    return [request.messages[0].content for request in model.prompts if isinstance(request, ChatRequest)]


@pytest.mark.parametrize("category", CASES)
@pytest.mark.parametrize("reasoning", [True, False])
def test_rubrics_of_one_response_share_all_that_comes_before_them(category: str, reasoning: bool) -> None:
    case = CASES[category]
    prompts = asked("rubric", case, reasoning=reasoning)
    assert len(prompts) == len(case.criteria) > 1
    befores, afters = set(), set()
    for prompt, criterion in zip(prompts, case.criteria, strict=True):
        before, _, after = prompt.partition(f"1. {criterion.text}\n</criteria_")
        assert len(after) < 700  # nothing but the form of the answer follows the rubric
        befores.add(before)
        afters.add(after)
    assert len(befores) == len(afters) == 1


def test_calls_of_one_response_go_out_together_and_in_order() -> None:
    first, second = CASES["system"], CASES["multi_turn"]
    texts = [criterion.text for case in (first, second) for criterion in case.criteria]
    prompts = asked("rubric", first, second)
    assert [next(text for text in texts if f"1. {text}\n</criteria_" in prompt) for prompt in prompts] == texts


@pytest.mark.parametrize(
    ("category", "words"),
    [
        ("compositional", "branch"),  # its logic
        ("multi_turn", "earlier turns"),  # the history
        ("system", "system message sets"),  # standing rules
    ],
)
def test_each_category_has_its_note_at_every_level(category: str, words: str) -> None:
    case = CASES[category]
    plain = Case(case.instruction, case.response, case.criteria, case.history, case.context)
    prompts = Prompts()
    for name in ("checklist", "rubric", "decision"):
        with_note, without = (
            prompts.render(name, **sections(shown), structured=False, reasoning=True) for shown in (case, plain)
        )
        # Earlier turns are mentioned to everybody at checklist level, so the difference is what counts.
        assert len(with_note) > len(without) + 40, name
        assert words in with_note, name


def test_the_system_message_is_shown_at_every_level() -> None:
    case = CASES["system"]
    assert case.history[0].role == "system"
    model = ScriptedModel("judge", lambda request: verdicts(request.messages[0].content, {}))
    asyncio.run(CriteriaJudge(caller(model), JudgeSettings(level="decision"), Prompts()).verdicts(case))
    (decision,) = (request for request in model.prompts if isinstance(request, DecisionRequest))
    for prompt in [*asked("checklist", case)[:1], *asked("rubric", case)[:1], decision.state]:
        assert f"[system_{sections(case)['tag']}]\n{case.history[0].content}" in prompt


@pytest.mark.parametrize("category", CASES)
@pytest.mark.parametrize("form", [(s, r) for s in (True, False) for r in (True, False)])
@pytest.mark.parametrize("variant", [{}, {"checklist": "plain", "rubric": "plain"}])
def test_one_criterion_is_judged_by_the_rules_of_many(
    category: str, form: tuple[bool, bool], variant: dict[str, str]
) -> None:
    # Else a gap between granularities (RubricEval, Table 3) would measure the rules and not the granularity.
    case = replace(
        CASES[category], criteria=CASES[category].criteria[:1], reference="An answer.", benchmark="truebench"
    )
    values = sections(case) | {"structured": form[0], "reasoning": form[1]}
    both = (Prompts(variant).render(name, **values).partition("\n") for name in ("checklist", "rubric"))
    (opening, _, one), (other, _, many) = both
    assert one == many
    assert (opening == other) == bool(variant), "the opening says how many criteria there are"


def test_what_a_criterion_rests_on_is_a_note_behind_it_at_every_level() -> None:
    case = Case("Write a poem, then translate it.", "Roses.", (Criterion("Is it translated?", None, "Is it\na poem?"),))
    shown = "Is it translated? (It rests on this: Is it a poem?)"
    model = ScriptedModel("judge", lambda request: verdicts(request.messages[0].content, {}))
    asyncio.run(CriteriaJudge(caller(model), JudgeSettings(level="decision"), Prompts()).verdicts(case))
    (decision,) = (request for request in model.prompts if isinstance(request, DecisionRequest))
    assert decision.questions[0].endswith(shown)
    for level in ("checklist", "rubric"):
        assert f"1. {shown}\n</criteria_" in asked(level, case)[0]
