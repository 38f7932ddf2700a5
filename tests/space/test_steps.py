"""A step's buttons, line and place in the queue, as the page drives them over HTTP."""

from __future__ import annotations

import asyncio
import threading
import urllib.error
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.space.visitor import Visitor, launched
from tests.support.loopback import free_port
from truebench_hf.space import steps, visitors


@dataclass
class Bakery:
    """Work that takes as long as the test wants: who began, who was stopped, and what lets them finish."""

    url: str = ""
    bread: Any = None
    began: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    oven: threading.Event = field(default_factory=threading.Event)
    at_work: threading.Event = field(default_factory=threading.Event)

    async def work(self, who: str) -> steps.Updates:
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
def bakery(request: pytest.FixtureRequest) -> Iterator[Bakery]:
    """A page with one step, one place at work and one in the queue; work may take two minutes, or as long as asked for."""
    import gradio as gr

    found = Bakery()
    with gr.Blocks(analytics_enabled=False) as app:
        who = gr.Textbox(elem_id="who")
        found.bread = gr.Textbox(elem_id="bread")
        parts = steps.controls("Bake", "bake")
        job = steps.Job(parts.starts[0], found.work, [who], [found.bread])
        steps.wire(parts, [job], getattr(request, "param", 120.0), 1)
    steps.queued(app, max_size=1, api_open=False)
    found.url = launched(
        lambda: app.launch(server_port=free_port(), prevent_thread_lock=True, quiet=True, ssr_mode=False)[1]
    )
    yield found
    found.oven.set()
    app.close()


def begin(bakery: Bakery, who: str) -> tuple[Visitor, dict[str, Any]]:
    """A visitor who has pressed the button, and the work that is now to be asked for."""
    visitor = Visitor(bakery.url)
    visitor.shown["who", "value"] = who
    (pressed,) = visitor.on("bake-start")
    visitor.at_once(pressed)
    return visitor, visitor.after(pressed)


def buttons(visitor: Visitor) -> tuple[bool, bool]:
    """Whether start and stop can be pressed."""
    return visitor.shown["bake-start", "interactive"], visitor.shown["bake-stop", "interactive"]


def line(visitor: Visitor) -> str:
    return str(visitor.shown["bake-line", "value"])


def stop(visitor: Visitor, work: dict[str, Any]) -> None:
    """Press stop: the page runs its events in order."""
    told, cancel = visitor.on("bake-stop")
    visitor.at_once(told)
    assert cancel["cancels"] == [work["id"]]
    visitor.leave(work)
    visitor.heard(work)


def test_work_that_ends_by_itself(bakery: Bakery) -> None:
    bakery.oven.set()
    visitor = Visitor(bakery.url)
    visitor.shown["who", "value"] = "Ada"
    assert "dough of Ada" in visitor.whole("bake")
    assert visitor.shown["bread", "value"] == "bread of Ada"
    assert buttons(visitor) == (True, False)
    assert "Done." in line(visitor)


@pytest.mark.parametrize(
    ("who", "bakery", "said"),
    [("clumsy", 120.0, "Something went wrong"), ("slow", 2.0, "took too long")],  # an error of ours; time is over
    indirect=["bakery"],
)
def test_work_that_fails_leaves_the_buttons_at_rest(bakery: Bakery, who: str, said: str) -> None:
    visitor, work = begin(bakery, who)
    visitor.join(work)
    visitor.heard(work)
    visitor.at_once(visitor.after(work))
    assert said in line(visitor)
    assert "/home" not in line(visitor)
    assert buttons(visitor) == (True, False)
    assert bakery.ended == [who]


def test_work_is_stopped(bakery: Bakery) -> None:
    visitor, work = begin(bakery, "Ada")
    visitor.join(work)
    assert bakery.at_work.wait(60)
    stop(visitor, work)
    assert bakery.ended == ["Ada"], "the work itself was not told"
    assert buttons(visitor) == (False, False), "until the server has let go"
    visitor.shown["bake-line", "value"] = visitors.status("Baking …", "busy")  # a message that was on its way
    visitor.at_once(visitor.after(work))
    assert buttons(visitor) == (True, False)
    assert "Stopped." in line(visitor)


def test_a_visitor_has_one_place_however_often_work_is_asked_for(bakery: Bakery) -> None:
    first, work = begin(bakery, "Ada")
    first.join(work)
    assert bakery.at_work.wait(60)
    for _ in range(25):
        with pytest.raises(urllib.error.HTTPError) as refused:
            first.join(work)
        assert refused.value.code == 503
    second, _ = begin(bakery, "Ben")
    second.join(work)  # the only place in the queue was left for others
    with pytest.raises(urllib.error.HTTPError):
        second.join(work)  # who waits has one, too
    bakery.oven.set()
    second.heard(work)
    assert bakery.began == ["Ada", "Ben"]
    assert second.shown["bread", "value"] == "bread of Ben"
    second.join(work)  # and one again, once it is over
    second.heard(work)
    assert bakery.began == ["Ada", "Ben", "Ben"]


def test_who_waits_in_the_queue_can_leave_it_and_who_comes_late_is_turned_away(bakery: Bakery) -> None:
    first, work = begin(bakery, "Ada")
    first.join(work)
    assert bakery.at_work.wait(60)
    second, _ = begin(bakery, "Ben")
    assert buttons(second) == (False, True), "stop must work before the work has begun"
    assert "Waiting for your turn" in line(second)
    second.join(work)

    third, _ = begin(bakery, "Cem")
    with pytest.raises(urllib.error.HTTPError) as refused:
        third.join(work)
    assert refused.value.code == 503  # for which the page has a message of its own, and goes on to what comes after
    third.at_once(third.after(work))
    assert "too many visitors are waiting" in line(third)
    assert buttons(third) == (True, False)

    stop(second, work)
    second.at_once(second.after(work))
    assert "Stopped." in line(second)
    assert buttons(second) == (True, False)
    third.join(work)  # the place is free again
    bakery.oven.set()
    first.heard(work)
    third.heard(work)
    assert bakery.began == ["Ada", "Cem"], "who left must not be served"
