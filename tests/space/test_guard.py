"""Limits for visitors, and that no inner text reaches them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from truebench_hf.errors import UserError
from truebench_hf.judging.checklists import Checklist
from truebench_hf.models.protocol import DecisionRequest
from truebench_hf.models.scripted import ScriptedModel
from truebench_hf.space import visitors
from truebench_hf.space.engine import Engine
from truebench_hf.space.options import SpaceOptions


@pytest.mark.parametrize(
    ("text", "why"), [("", "empty"), (None, "empty"), ("  \0 \n", "empty"), ("x" * 11, "the limit is 10")]
)
def test_texts_out_of_bounds(text: str | None, why: str) -> None:
    with pytest.raises(visitors.VisitorError, match=why):
        visitors.text_within(text, 10, "The prompt")


def test_half_a_character_is_no_text_for_a_model() -> None:
    assert visitors.text_within("half \ud83c", 10, "The prompt") == "half ?"
    assert visitors.lines_within("\ud83c is named", 2, 30) == ["? is named"]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("- one", "one"), ("  * two ", "two"), ("• three", "three"), ("3. four", "four"), ("12) five", "five"),
        ("-5 °C is stated", "-5 °C is stated"),  # a minus, not a mark
        ("3.5 km is stated", "3.5 km is stated"),
        ("**Title** stands first", "**Title** stands first"),
        ("*emphasis* is used", "*emphasis* is used"),
        ("2024. That year is named", "2024. That year is named"),  # no list is that long
        ("- 3. is named", "3. is named"),  # one mark, the rest is content
        ("a - b", "a - b"),
    ],
)  # fmt: skip
def test_only_marks_are_taken_off_a_checklist(line: str, kept: str) -> None:
    assert visitors.lines_within(f"{line}\n\nlast", 2, 30) == [kept, "last"]


def test_checklists_out_of_bounds() -> None:
    for text, why in (
        ("", "empty"),
        ("- \n*\n3.", "empty"),
        ("a\nb\nc\nd", "the limit is 3"),
        ("x" * 11, "longer than 10"),
    ):
        with pytest.raises(visitors.VisitorError, match=why):
            visitors.lines_within(text, 3, 10)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UserError("hf:/secret/model: cannot be loaded"), "Something went wrong"),
        (RuntimeError("/home/me/token"), "Something went wrong"),
        (TimeoutError(), "took too long"),
        (visitors.VisitorError("The prompt is empty."), "The prompt is empty."),
    ],
)
def test_errors_are_told_without_inner_text(error: Exception, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = visitors.told(error)
    assert said in told
    assert "secret" not in told
    assert "/home" not in told
    log = capsys.readouterr().err
    assert ("RuntimeError" in log) is isinstance(error, RuntimeError)  # the operator reads it
    assert (log == "space: hf:model: cannot be loaded\n") is isinstance(error, UserError)  # and can mend this


def test_status_lines_are_escaped_and_spoken() -> None:
    assert "&lt;b&gt;" in visitors.status("<b>", "bad")
    assert 'role="alert"' in visitors.status("x", "bad")
    assert 'role="status"' in visitors.status("x")


def test_time_is_limited_and_the_source_closed() -> None:
    closed = []

    async def slow() -> AsyncGenerator[int, None]:
        try:
            yield 1
            await asyncio.sleep(30)
            yield 2
        finally:
            closed.append(True)

    got: list[int] = []

    async def read() -> None:
        async for item in visitors.within(slow(), 0.1):
            got.append(item)  # noqa: PERF401  (what came before the error counts)

    with pytest.raises(TimeoutError):
        asyncio.run(read())
    assert got == [1]
    assert closed == [True]


def test_an_engine_opens_nothing_before_its_first_use() -> None:
    engine = Engine(SpaceOptions(model="hf:/no/such/folder"))
    assert engine.model_name == "folder"
    assert engine.levels[0] == "rubric"
    assert not engine.tiny
    assert not engine.small
    assert "model" not in vars(engine)


LIST = "A greeting.\nQuestions:\n1. ok?\n2) fine?\nThat is all."


def test_verdicts_come_one_by_one_and_all_at_once_at_checklist_level(tmp_path: Path) -> None:
    rules = [{"contains": "tea", "probability": 0.9}, {"contains": "<criteria", "verdicts": {"German": "FAIL"}}]
    script = tmp_path / "rules.json"
    script.write_text(json.dumps({"rules": rules, "default": {"reply": LIST, "probability": 0.2}}))
    engine = Engine(SpaceOptions(model=f"scripted:{script}"))

    async def judged(level: str) -> list[list[str | None]]:
        return [[v.label for v in done] async for done in engine.verdicts("p", "a", ["tea", "In German"], level)]

    assert asyncio.run(judged("decision")) == [["yes"], ["yes", "no"]]
    assert asyncio.run(judged("checklist")) == [["yes", "no"]]
    # In doubt at 0.2, and handed on to the judge that writes, one criterion at a time.
    assert asyncio.run(judged("cascade")) == [["yes"], ["yes", "no"]]

    async def written() -> list[int | Checklist]:
        return [part async for part in engine.checklist("Say hello")]

    assert asyncio.run(written()) == [len(LIST), Checklist(("ok?", "fine?"), "A greeting.", others=1)]
    assert not list(tmp_path.glob("*.sqlite*")), "what visitors type is not kept"
    assert not Path(":memory:").exists()


def test_decisions_see_one_criterion_at_a_time() -> None:
    asked: list[tuple[str, ...]] = []

    def probability(request: DecisionRequest, question: str) -> float:
        asked.append(request.questions)
        return 0.9

    engine = Engine(SpaceOptions(model="scripted:x"))
    engine.model = ScriptedModel("x", lambda request: "", probability)

    async def judged() -> int:
        return len([done async for done in engine.verdicts("p", "a", ["one", "two"], "decision")])

    assert asyncio.run(judged()) == 2
    assert [len(questions) for questions in asked] == [1, 1]
