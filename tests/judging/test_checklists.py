"""Checklists as models write them: what is read, what is dropped and counted, and what is asked for again."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.support.corpus import each_row
from truebench_hf.data.judged import Case
from truebench_hf.engine.ledger import Calls
from truebench_hf.judging.checklists import Checklist, generate_checklist, read_checklist
from truebench_hf.models.asking import Problem
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.models.scripted import ScriptedModel
from truebench_hf.prompts import Prompts
from truebench_hf.types import Message

HEAD = "Analysis: a task.\nQuestions:\n"


@each_row(__file__, "checklists", "read")
def test_what_is_read(text: str, questions: list[str], dropped: list[int]) -> None:
    found = read_checklist(text)
    assert isinstance(found, Checklist)
    assert (list(found.questions), [found.duplicates, found.others]) == (questions, dropped)


@each_row(__file__, "checklists", "again")
def test_what_is_asked_for_again(text: str, said: str) -> None:
    found = read_checklist(text)
    assert isinstance(found, Problem)
    assert said in found.text


@given(st.text(), st.lists(st.text()))
def test_no_text_breaks_the_reader_and_every_line_is_accounted_for(head: str, lines: list[str]) -> None:
    text = f"{head}\nQuestions:\n" + "\n".join(lines)
    found = read_checklist(text)
    if isinstance(found, Checklist):
        assert found.questions
        assert len(set(found.questions)) == len(found.questions)
        assert all(question.strip() == question and "\n" not in question for question in found.questions)


def test_an_empty_answer_is_asked_again_and_the_response_is_not_shown(tmp_path: Path) -> None:
    seen: list[ChatRequest] = []

    def reply(request: ChatRequest) -> str:
        seen.append(request)
        return "I cannot." if len(seen) < 3 else HEAD + "Is it short?"

    caller = Caller(ScriptedModel("x", reply), Calls(tmp_path / "ledger.sqlite"), "generator", 1)
    case = Case("Say hello.", "A SECRET RESPONSE", (), (Message("user", "Be brief from now on."),))
    found = asyncio.run(generate_checklist(caller, case, Prompts(), language="Korean"))
    assert found.questions == ("Is it short?",)
    prompt = seen[0].messages[0].content
    assert "Say hello." in prompt
    assert "Be brief from now on." in prompt
    assert "SECRET" not in prompt
    assert "Write the questions in Korean" in prompt
    assert "no line `Questions:`" in seen[1].messages[-1].content
    never = Caller(ScriptedModel("y", lambda request: "No."), Calls(tmp_path / "other.sqlite"), "generator", 1)
    none = asyncio.run(generate_checklist(never, case, Prompts()))
    assert (none.questions, none.problem) == ((), "it has no line `Questions:`")
