"""Limits for visitors, no inner text that reaches them, and work behind a button: it waits, stops, ends in time."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.error
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.space.visitor import Visitor, launched
from tests.support.corpus import each_row
from tests.support.loopback import free_port
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.judging.checklists import Checklist
from truebench_hf.space import visitors
from truebench_hf.space.engine import Engine
from truebench_hf.space.options import SpaceOptions

pytestmark = pytest.mark.slow  # a Gradio server

REFUSED = [
    # a text, whether it is a checklist, why it is refused
    ("", False, "The prompt is empty"), (None, False, "empty"), ("  \0 \n", False, "empty"), ("x" * 11, False, "the limit is 10"),
    ("", True, "The checklist is empty"), ("- \n*\n3.", True, "empty"), ("a\n" * 13, True, "the limit is 12"),
    ("x" * 401, True, "longer than 400"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "is_list", "why"), REFUSED)
def test_texts_out_of_bounds(text: str | None, is_list: bool, why: str) -> None:
    with pytest.raises(visitors.VisitorError, match=why):
        visitors.lines_within(text) if is_list else visitors.text_within(text, 10, "The prompt")


def test_half_a_character_is_no_text_for_a_model() -> None:
    assert visitors.text_within("half \ud83c", 10, "The prompt") == "half ?"
    assert visitors.lines_within("\ud83c is named") == ["? is named"]


@each_row(__file__, "cases", "list_marks")
def test_only_marks_are_taken_off_a_checklist(line: str, kept: str) -> None:
    assert visitors.lines_within(f"{line}\n\nlast") == [kept, "last"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UserError("hf:/secret/model: cannot be loaded"), "Something went wrong"),
        (RuntimeError("/home/me/token"), "Something went wrong"),
        (TimeoutError(), "took too long"),
        (RequestFailed("longer than the window of the model"), "too long for the model's window"),
        (RequestFailed("503"), "gave no answer"),
        (visitors.VisitorError("The prompt is empty."), "The prompt is empty."),
    ],
)
def test_errors_are_told_without_inner_text(error: Exception, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = visitors.message_for(error)
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

    assert asyncio.run(engine.checklist("Say hello")) == Checklist(("ok?", "fine?"), "A greeting.", others=1)
    assert not list(tmp_path.glob("*.sqlite*")), "what visitors type is not kept"
    assert not Path(":memory:").exists()


@dataclass
class Bakery:
    """Work that takes as long as the test wants: who began, who was stopped, and what lets them finish."""

    url: str = ""
    bread: Any = None
    began: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    oven: threading.Event = field(default_factory=threading.Event)
    at_work: threading.Event = field(default_factory=threading.Event)

    async def work(self, who: str) -> visitors.Updates:
        self.began.append(who)
        try:
            yield {self.bread: f"dough of {who}"}, visitors.status("Baking …", "busy")
            self.at_work.set()
            if who == "clumsy":
                raise RuntimeError("burnt at /home/baker")
            while not self.oven.is_set():
                await asyncio.sleep(0.02)
            yield {self.bread: f"bread of {who}"}, visitors.status("Done.", "good")
        finally:
            self.ended.append(who)


@pytest.fixture
def bakery(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bakery]:
    """A page with one button, one place at work and one in the queue; work may take two minutes, or as long as asked for."""
    import gradio as gr

    monkeypatch.setattr(visitors, "SECONDS", getattr(request, "param", 120.0))
    made = Bakery()
    with gr.Blocks(analytics_enabled=False) as app:
        who, made.bread = gr.Textbox(elem_id="who"), gr.Textbox(elem_id="bread")
        button, stop, line = gr.Button("Bake", elem_id="bake-start"), gr.Button(elem_id="stop"), gr.HTML(elem_id="line")
        event = visitors.start(button, made.work, [who], [made.bread], line, fields=[who])
        stop.click(None, cancels=[event])
    app.queue(max_size=1, api_open=False)
    made.url = launched(
        lambda: app.launch(server_port=free_port(), prevent_thread_lock=True, quiet=True, ssr_mode=False)[1]
    )
    yield made
    made.oven.set()
    app.close()


def visitor(bakery: Bakery, who: str) -> Visitor:
    page = Visitor(bakery.url)
    page.shown["who", "value"] = who
    return page


def begun(bakery: Bakery, who: str) -> tuple[Visitor, dict[str, Any]]:
    """A visitor whose work is under way."""
    page = visitor(bakery, who)
    (work,) = page.on("bake-start")
    page.join(work)
    assert bakery.at_work.wait(60)
    return page, work


def test_work_that_ends_by_itself(bakery: Bakery) -> None:
    bakery.oven.set()
    page = visitor(bakery, "Ada")
    assert "dough of Ada" in page.whole("bake")
    assert page.shown["bread", "value"] == "bread of Ada"
    assert page.shown["who", "interactive"] is True
    assert "Done." in page.shown["line", "value"]


@pytest.mark.parametrize(
    ("who", "bakery", "said"),
    [("clumsy", 120.0, "Something went wrong"), ("slow", 2.0, "took too long")],  # an error of ours; time is over
    indirect=["bakery"],
)
def test_work_that_fails_leaves_the_fields_open(bakery: Bakery, who: str, said: str) -> None:
    page = visitor(bakery, who)
    page.whole("bake")
    assert said in page.shown["line", "value"]
    assert "/home" not in page.shown["line", "value"]
    assert page.shown["who", "interactive"] is True
    assert bakery.ended == [who]


def test_work_is_stopped(bakery: Bakery) -> None:
    page, work = begun(bakery, "Ada")
    *_, cancel = page.on("stop")
    assert cancel["cancels"] == [work["id"]]
    page.leave(work)
    page.heard(work)
    assert bakery.ended == ["Ada"], "the work itself was not told"
    assert page.shown["who", "interactive"] is False, "until the server has let go"
    page.at_once(page.after(work))
    assert page.shown["who", "interactive"] is True
    assert "Stopped." in page.shown["line", "value"]


def test_who_waits_in_the_queue_can_leave_it_and_who_comes_late_is_turned_away(bakery: Bakery) -> None:
    first, work = begun(bakery, "Ada")
    second, third = visitor(bakery, "Ben"), visitor(bakery, "Cem")
    second.join(work)
    with pytest.raises(urllib.error.HTTPError) as refused:
        third.join(work)
    assert refused.value.code == 503  # for which the page has a message of its own
    second.leave(work)
    third.join(work)  # the place is free again
    bakery.oven.set()
    first.heard(work)
    third.heard(work)
    assert bakery.began == ["Ada", "Cem"], "who left must not be served"
