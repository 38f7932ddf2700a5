"""`truebench label open` in a real browser, on a phone: by keyboard, with texts from right to left, in the dark."""

from __future__ import annotations

import json
import queue
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.finished import finished
from truebench_hf.api.labels import ask_here
from truebench_hf.study.labelling import LabelOpenOptions

pytestmark = pytest.mark.slow
EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
SCREENSHOTS = Path(__file__).parents[2] / "screenshots"


def test_a_run_is_labelled_in_the_browser(browser: Any, tmp_path: Path) -> None:
    run = finished(
        tmp_path / "run", "m", {"a": True, "b": False, "c": True}, asks={"a": EVIL, "b": "اكتب ثلاثة أنواع من الشاي."}
    )
    told, taken = queue.Queue[str](), queue.Queue[Any]()
    options = LabelOpenOptions(folder=run, annotator="eva")
    threading.Thread(target=lambda: taken.put(ask_here(options, told.put)), daemon=True).start()
    address = next(word for word in told.get(timeout=60).split() if word.startswith("http://"))
    page = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme="dark").new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(address)
    assert page.locator(".item:visible").count() == 1
    ids = [item.get_attribute("data-id") for item in page.locator(".item").all()]
    with page.expect_response(lambda reply: reply.request.method == "POST" and reply.ok):
        page.keyboard.press("1")
    with page.expect_response(lambda reply: reply.request.method == "POST" and reply.ok):
        page.keyboard.press("2")
    page.reload()
    assert page.locator("#count").inner_text() == "2 of 3 answered", "the command has kept them"
    assert page.locator(".item:visible").get_attribute("data-id") == ids[2], "the first that is open"
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
    page.keyboard.press("p")
    page.keyboard.press("p")
    arabic = page.locator(".text", has_text="ثلاثة").first
    assert arabic.get_attribute("dir") == "auto"
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "label_open_dark_360.png")
    page.click("#done")
    page.wait_for_selector("text=Your answers are taken in")
    report = taken.get(timeout=60).value
    assert report.bias_corrected["labels"] == 2
    rows = [json.loads(line) for line in (Path(run) / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["id"]: row["label"] for row in rows if row["label"]} == {ids[0]: "yes", ids[1]: "no"}
    assert page.evaluate("window.hacked") is None
    assert faults == []
