"""Checklists as models write them: what is read, what is dropped and counted, and what is asked for again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize(
    ("text", "questions", "dropped", "why"),
    [
        (HEAD + "Is it short?\nIs it kind?", ["Is it short?", "Is it kind?"], (0, 0), "the form asked for"),
        (HEAD + "1. Is it short?\n- Is it kind?\n* **Is it long?**\n(4) Is it red?",
         ["Is it short?", "Is it kind?", "Is it long?", "Is it red?"], (0, 0), "marks of lists and emphasis"),
        (HEAD + "Is it short?\nis it  SHORT ?\nIs it kind?", ["Is it short?", "Is it kind?"], (1, 0), "a duplicate"),
        (HEAD + "Is it short, and 'kind'?\n- Is it short and kind ？", ["Is it short, and 'kind'?"], (1, 0),
         "punctuation around words makes no other question"),
        (HEAD + "Is it C?\nIs it C++?\nIs it C#?", ["Is it C?", "Is it C++?", "Is it C#?"], (0, 0), "signs that mean something"),
        (HEAD + "Is it 35?\nIs it 3.5?\nIs it -3.5?\nIs it 35%?", ["Is it 35?", "Is it 3.5?", "Is it -3.5?", "Is it 35%?"], (0, 0),
         "signs within numbers"),
        (HEAD + "Is a < b?\nIs a > b?", ["Is a < b?", "Is a > b?"], (0, 0), "relations"),
        (HEAD + "क्या वह लड़का है?\nक्या वह लड़की है?", ["क्या वह लड़का है?", "क्या वह लड़की है?"], (0, 0), "vowel signs of Hindi"),
        (HEAD + "Is it short? (YES/NO)\n- [ ] Is it kind? (yes or no)\n[x] **Is it red? [Yes/No]**",
         ["Is it short?", "Is it kind?", "Is it red?"], (0, 0), "boxes, and how it is to be answered"),
        (HEAD + "Is it short?\nIt is kind.\nThat is all!", ["Is it short?"], (0, 2), "statements are no questions"),
        (HEAD + "Is it short?\n?\n- ??", ["Is it short?"], (0, 2), "signs alone ask nothing"),
        ("**Questions:**\nIs it short?", ["Is it short?"], (0, 0), "no analysis, the heading in bold"),
        ("## Questions\nIs it short?", ["Is it short?"], (0, 0), "a heading of Markdown"),
        ("Questions:\nIs it a draft?\n\nOnce more.\nQuestions:\nIs it short?", ["Is it short?"], (0, 0), "the last list"),
        (HEAD + "응답이 영어로 쓰였는가?\n是否简短？\nهل هو قصير؟", ["응답이 영어로 쓰였는가?", "是否简短？", "هل هو قصير؟"], (0, 0),
         "question marks of other scripts"),
        (HEAD + "\n".join(f"Is it number {n}?" for n in range(40)), [f"Is it number {n}?" for n in range(40)], (0, 0),
         "however many there are, none is cut"),
        (HEAD + "Is 3 < 5? Yes.\nIs it short?", ["Is it short?"], (0, 1), "a question that is answered at once is none"),
    ],
)  # fmt: skip
def test_what_is_read(text: str, questions: list[str], dropped: tuple[int, int], why: str) -> None:
    found = read_checklist(text)
    assert isinstance(found, Checklist), why
    assert (list(found.questions), (found.duplicates, found.others)) == (questions, dropped), why


@pytest.mark.parametrize(
    ("text", "said", "why"),
    [
        ("", "no line", "nothing"),
        ("Is it short?\nIs it kind?", "no line", "questions under no heading: they may be part of the analysis"),
        ("The questions: is it short?", "no line", "a heading within a sentence"),
        (HEAD, "no line behind", "an empty list"),
        (HEAD + "It is short.", "no line behind", "no question"),
        (HEAD + "？", "no line behind", "a sign alone"),
    ],
)
def test_what_is_asked_for_again(text: str, said: str, why: str) -> None:
    found = read_checklist(text)
    assert isinstance(found, Problem), why
    assert said in found.text, why


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
