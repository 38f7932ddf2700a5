"""Searching a report of a whole TRUEBench in a real browser: what is found, and how little work a keystroke is.

Work is counted, not timed: the clock would measure what else the machine does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.test_page import talk
from truebench_hf.report.page import page as make
from truebench_hf.report.sections import Conversations
from truebench_hf.types import Label

pytestmark = pytest.mark.slow
COUNT = 2485  # the size of v0.6.1
SAID = {7: "Guten Morgen, Übermut", 8: "guten abend", 9: "GUTEN TAG"}
# Counts how often texts of rows are read, and how often the list is gone through.
COUNTERS = """
window.read = 0; window.shown = 0;
const own = Object.getOwnPropertyDescriptor(Node.prototype, "textContent");
Object.defineProperty(Node.prototype, "textContent", { ...own, get() { window.read += this.tagName === "DETAILS"; return own.get.call(this); } });
new MutationObserver(() => window.shown++).observe(document.getElementById("n"), { childList: true });
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    labels: list[Label | None] = ["yes", "no", None]
    rows = tuple(talk(i, labels[i % 3], said=SAID.get(i, "word " * 200)) for i in range(COUNT))
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text("".join(make("A run", [Conversations("Instances", rows)])), encoding="utf-8")
    return path


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    context = browser.new_context(offline=True)
    opened = context.new_page()
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.clock.install()
    opened.goto(report.as_uri())
    opened.evaluate(COUNTERS)
    yield opened
    context.close()
    assert faults == []


def type_in(page: Any, *texts: str) -> None:
    """The field takes these values one after the other, faster than anybody types; then the typing pauses."""
    page.evaluate(
        """texts => { for (const text of texts) {
            document.getElementById("q").value = text; document.getElementById("q").dispatchEvent(new Event("input"));
        } }""",
        list(texts),
    )
    page.clock.run_for(300)  # of the page's own time


def found(page: Any) -> list[int]:
    """The numbers of the rows on show."""
    # Nothing that asks for a layout: that would be one per row, of rows out of sight too.
    script = "rows => rows.filter(row => !row.hidden).map(row => +row.firstChild.textContent.split(' ')[1])"
    numbers: list[int] = page.locator("#rows > details").evaluate_all(script)
    assert page.inner_text("#n") == f"{len(numbers)} of {COUNT}"
    return numbers


def test_what_a_search_finds(page: Any) -> None:
    assert found(page) == list(range(COUNT))
    for text, numbers, reason in (
        ("guten", [7, 8, 9], "whatever the case, in closed rows"),
        ("ÜBERMUT", [7], "beyond ASCII too"),
        ("criterion 2484 holds", [2484], "criteria, in the last row"),
        ("no such text", [], "nothing"),
        ("", list(range(COUNT)), "all again"),
    ):
        type_in(page, text)
        assert found(page) == numbers, reason
    page.select_option("#s", "no")
    assert found(page) == list(range(1, COUNT, 3))
    type_in(page, "guten")
    assert found(page) == [7], "both together"
    page.locator("#rows > details:visible summary").first.click()
    assert page.locator("text=Guten Morgen").is_visible()


def test_no_script_but_its_own_runs_and_nothing_is_asked_for(page: Any) -> None:
    """Whatever a text of a model, or a fault of ours, might bring into it."""
    stopped: list[str] = []
    page.on("requestfailed", lambda request: stopped.append(request.failure))
    page.evaluate("""() => new Promise(done => {
        const refused = [];
        document.addEventListener("securitypolicyviolation", violated => {
            if (refused.push(violated.effectiveDirective) === 3) done(window.refused = refused.sort());
        });
        document.body.insertAdjacentHTML("beforeend", `<img src="https://evil.example/x.png"><p onclick="window.ran = 1">`);
        document.body.lastChild.click();
        const script = document.createElement("script");
        script.textContent = "window.ran = 2";
        document.body.append(script);
    })""")
    assert page.evaluate("window.refused") == ["img-src", "script-src-attr", "script-src-elem"]
    assert page.evaluate("window.ran") is None
    assert stopped == ["csp"], "by the page itself, not by the network that is away"


def test_a_word_typed_is_one_search_and_a_row_is_read_once(page: Any) -> None:
    type_in(page, "g", "gu", "gut", "gute", "guten")
    assert page.evaluate("window.shown") == 1, "not once a letter"
    assert page.evaluate("window.read") == COUNT
    type_in(page, "abend")
    assert found(page) == [8]
    assert page.evaluate("window.read") == COUNT, "the texts are kept"
