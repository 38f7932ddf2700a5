"""Work behind a button: it waits for its turn, can be stopped, ends in time, and leaves the fields open, as the page drives it."""

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
from truebench_hf.space import visitors


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
