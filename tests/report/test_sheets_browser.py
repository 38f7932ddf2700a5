"""The annotation form in a browser, as a file and by `truebench label open`: chromium, offline, by keyboard, on a phone."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.finished import finished
from truebench_hf.api.labels import ask_here
from truebench_hf.report.labels import Question, read, write
from truebench_hf.study.labelling import LabelOpenOptions

SCREENSHOTS = Path(__file__).parents[2] / "screenshots"
EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
ROWS = [
    Question(
        f"item-{number}",
        "Does the response name exactly three kinds of tea?",
        {
            "Instruction": text,
            "Response": "- Assam\n- Darjeeling\n- Ceylon\n\n" + "A long sentence that has to wrap on a phone. " * 12,
        },
        ("yes", "no", 'cannot "tell" <b>'),
    )
    for number, text in enumerate(["Écris une liste de thés.", "お茶の種類を三つ挙げてください。", EVIL, "Назови чай."])
]


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    made = browser.new_context(offline=True, accept_downloads=True)
    yield made
    made.close()


@pytest.fixture
def page(context: Any, tmp_path: Path) -> Iterator[Any]:
    write(ROWS, tmp_path, ["ann"], seed=1)
    opened = context.new_page()
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("request", lambda request: faults.append(request.url) if request.url.startswith("http") else None)
    opened.goto((tmp_path / "ann.html").as_uri())
    yield opened
    assert faults == []


def shown(page: Any) -> str:
    visible = page.locator(".item:visible")
    assert visible.count() == 1
    return str(visible.get_attribute("data-id"))


def order(page: Any) -> list[str]:
    return [str(item.get_attribute("data-id")) for item in page.locator(".item").all()]


def save(page: Any, button: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.click(button)
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.mark.slow
def test_by_keyboard_alone(page: Any, tmp_path: Path) -> None:
    """A number answers and goes on; back, next and next unanswered have keys of their own."""
    items = order(page)
    assert shown(page) == items[0]
    page.keyboard.press("1")
    assert shown(page) == items[1]
    page.keyboard.press("1")
    page.keyboard.press("Backspace")
    page.keyboard.press("2")  # a change of mind
    page.keyboard.press("n")
    page.keyboard.press("3")
    assert shown(page) == items[3], "there is no next one"
    page.keyboard.press("u")
    assert shown(page) == items[2]
    page.keyboard.press("p")
    assert shown(page) == items[1]
    assert page.text_content("#count").startswith("3 of 4")
    path = save(page, "#csv", tmp_path)
    assert path.name == "ann-answers.csv"
    found = read([path])
    assert [found.labels[item]["ann"] for item in items] == ["yes", "no", None, 'cannot "tell" <b>']


@pytest.mark.slow
def test_a_note_takes_letters_and_is_no_command(page: Any, tmp_path: Path) -> None:
    first = shown(page)
    page.click("textarea:visible")
    page.keyboard.type('=nun "u" 1,2\n茶 p')
    assert shown(page) == first
    assert page.locator("input:checked").count() == 0
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    found = read([save(page, "#csv", tmp_path)])
    assert found.notes == {(first, "ann"): '=nun "u" 1,2\n茶 p'}
    assert found.labels[first]["ann"] == "yes"


@pytest.mark.slow
def test_answers_are_kept_and_can_be_taken_back(page: Any, context: Any, tmp_path: Path) -> None:
    first = shown(page)
    page.keyboard.press("2")
    second = shown(page)
    page.locator("label:visible >> text=yes").click()  # which stays where it is
    page.reload()
    assert shown(page) == second
    assert page.text_content("#count").startswith("2 of 4")
    page.click(".clear:visible")
    page.reload()
    assert page.text_content("#count").startswith("1 of 4")
    page.click("#previous")
    assert shown(page) == first
    assert page.locator("input:checked").get_attribute("value") == "no"
    write([replace(row, question="Another question?") for row in ROWS], tmp_path / "other", ["ann"], seed=1)
    other = context.new_page()
    other.goto((tmp_path / "other" / "ann.html").as_uri())
    assert other.text_content("#count").startswith("0 of 4"), "another sheet does not find these answers"


@pytest.mark.slow
def test_text_of_the_rows_stays_text_and_every_control_has_a_name(page: Any) -> None:
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    texts = [item.text_content() for item in page.locator(".text").all()]
    assert EVIL in texts
    unnamed = page.evaluate("""[...document.querySelectorAll('button, input, textarea, progress')]
        .filter((x) => !(x.textContent.trim() || x.labels?.length || x.ariaLabel)).length""")
    assert unnamed == 0


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1200)])
def test_it_fits_the_screen(browser: Any, tmp_path: Path, scheme: Any, width: int) -> None:
    write(ROWS, tmp_path, ["ann"], seed=1)
    page = browser.new_context(viewport={"width": width, "height": 740}, color_scheme=scheme).new_page()
    page.goto((tmp_path / "ann.html").as_uri())
    for _ in ROWS:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for button in page.locator("nav button").all():
            assert button.bounding_box()["height"] >= 40  # a thumb must hit it
        page.keyboard.press("n")
    page.keyboard.press("2")
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"sheet_{scheme}_{width}.png")


@pytest.mark.slow
def test_one_answer_settles_its_group(context: Any, tmp_path: Path) -> None:
    rows = [
        replace(row, id=f"{group}-{i}", group=group, settles=("no",)) for group in "ab" for i, row in enumerate(ROWS)
    ]
    write(rows, tmp_path, ["ann"])
    page = context.new_page()
    page.goto((tmp_path / "ann.html").as_uri())
    page.keyboard.press("2")
    assert page.locator("#count").inner_text() == "4 of 8 answered or settled"
    assert shown(page) == order(page)[4], "what is settled is not asked"
    page.keyboard.press("1")
    assert page.locator("#count").inner_text() == "5 of 8 answered or settled", "a yes settles nothing but itself"
    assert shown(page) == order(page)[5]


@pytest.mark.slow
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
