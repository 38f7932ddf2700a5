"""The playground in a real browser: what visitors click in both modes, with a model that writes well and with the embedded one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.space import author
from tests.space.conftest import serving, settle, shoot

pytestmark = pytest.mark.slow
Open = Callable[..., Any]
ENDED = ":is(.tb-good, .tb-fail, .tb-open, .tb-bad)"
NAMELESS = """() => [...document.querySelectorAll('#by-checklist, #by-document, #mode')]
  .flatMap(part => [...part.querySelectorAll('input, textarea, select, button')])
  .filter(e => e.offsetParent && !e.labels?.length && !e.getAttribute('aria-label') && !e.closest('label')
    && !e.getAttribute('aria-labelledby') && !e.innerText?.trim() && !e.title)
  .map(e => e.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def well(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Space over a model that writes whatever it is asked for."""
    log = tmp_path_factory.mktemp("well") / "log.txt"
    with author.serving(0.1) as server, serving(["--model", "openai:demo", "--model-base-url", server], log) as url:
        yield f"{url}?tab=playground"
    assert "Traceback" not in log.read_text()


def fits(page: Any) -> None:
    """Whether no width scrolls sideways."""
    before = page.viewport_size
    for width in (360, 390, 641, 768, 1024, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        settle(page, 3)
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 1, width
    page.set_viewport_size(before)


def test_answer_improve_edit_and_come_back(well: str, open_page: Open) -> None:
    page = open_page(well)
    answer = page.locator("#answer textarea")
    page.locator("#prompt textarea").fill("Write a notice: the lift is broken. Use exactly three bullet points.")
    page.locator("#checklist textarea").fill("")
    page.locator("#guided-start").click()
    page.locator("#guided-line .tb-fail", has_text="The answer fails").wait_for()
    assert answer.input_value() == author.FIRST, "a text in a text field, whatever it holds"
    assert "Does the response name Friday?" in page.locator("#checklist textarea").input_value()
    page.locator("#verdicts .tb-no", has_text="say thank you").first.wait_for()
    page.locator("#improve-start").click()
    page.locator("#improved .tb-moved", has_text="say thank you").wait_for()
    page.locator("#guided-line .tb-good", has_text="mended, 0 broken").wait_for()
    assert answer.input_value() == author.SECOND
    assert "repaired by" in " ".join(page.locator("#improved ins").all_inner_texts())
    page.locator("#improve-start").click()
    page.locator("#guided-line", has_text="nothing to improve").wait_for()
    assert page.locator("#verdicts img, #improved img").count() == 0
    assert page.evaluate("window.broken") is None
    assert page.evaluate(NAMELESS) == []
    shoot(page, "playground_improved")
    fits(page)
    answer.press("End")
    answer.type(" And more.")
    page.locator("#verdicts .tb-none").first.wait_for()
    assert page.locator("#verdicts li", has_text="measured: 3 list items").count() == 1, "counted while one types"
    assert answer.input_value().endswith(" And more.")
    page.reload()
    page.wait_for_function("document.querySelector('#answer textarea')?.value.endsWith(' And more.')")
    assert "exactly three bullet points" in page.locator("#prompt textarea").input_value(), "texts survive a reload"
    page.locator("#prompt textarea").fill("p" * 6001)
    page.locator("#guided-refused .tb-bad", has_text="has 6,001 characters; the limit is 6,000").wait_for()
    assert page.locator("#prompt textarea").input_value() == "p" * 6001, "nothing of it is cut off in silence"
    assert page.locator("#verdicts li").count() == 0
    page.locator("#example input").click()
    page.get_by_role("option").first.click()
    page.wait_for_function("!document.querySelector('#answer textarea').value")
    page.locator("#guided-refused .tb-bad").wait_for(state="detached")
    page.locator("#prompt textarea").focus()
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "guided-start":
            break
    else:
        pytest.fail("the first button cannot be reached by keyboard")


def test_grounding_on_a_phone(well: str, open_page: Open) -> None:
    page = open_page(well, "phone", dark=True)
    page.locator("#mode").get_by_label("Grounding").check()
    assert not page.locator("#guided-start").is_visible()
    page.locator("#document textarea").fill(author.DOCUMENT)
    page.locator("#request textarea").fill("Tell me of the museum.")
    page.locator("#checked-start").click()
    page.locator("#checked-line .tb-fail").wait_for()
    page.locator("#grounding .tb-piece.tb-no").nth(1).wait_for()
    assert page.locator("#grounding .tb-piece.tb-no").count() == 2
    assert page.evaluate(NAMELESS) == []
    shoot(page, "phone_playground_grounding")
    fits(page)
    page.locator("#document textarea").fill("d" * 12_001)
    page.wait_for_function("!document.querySelector('#grounding').innerText.trim()")
    page.locator("#checked-refused .tb-bad", has_text="has 12,001 characters; the limit is 12,000").wait_for()


@pytest.mark.timeout(900)
def test_the_embedded_model(tmp_path: Path, open_page: Open) -> None:
    log = tmp_path / "log.txt"
    # One thread for the model: on a busy machine several of them wait for each other.
    with serving([], log, {"OMP_NUM_THREADS": "1"}, limits={"TOKENS": 64, "SECONDS": 600}) as url:
        page = open_page(f"{url}?tab=playground")
        page.set_default_timeout(300_000)
        page.locator("#prompt textarea").fill("Write one short sentence about tea.")
        page.locator("#checklist textarea").fill(
            f"The answer has at most 100 words.\nThe answer is about tea.\n{author.SCRIPT} ${{1+1}} {{{{x}}}}"
        )
        page.locator("#guided-start").click()
        page.locator(f"#guided-line {ENDED}").wait_for()
        verdicts = page.locator("#verdicts").inner_text()
        assert "measured:" in verdicts
        assert verdicts.count("a tiny model's guess: P(yes) = 0.") == 2
        assert f"{author.SCRIPT} ${{1+1}} {{{{x}}}}" in verdicts
        assert page.evaluate("window.broken") is None
        assert page.locator("#level").count() == 0
        shoot(page, "playground_judged")
        page.locator("#draft-start").click()
        page.locator("#guided-line .tb-busy", has_text="Writing a checklist").wait_for()
        page.locator("#guided-stop").click()
        page.locator("#guided-line", has_text="Stopped").wait_for()
        page.locator("#mode").get_by_label("Grounding").check()
        page.locator("#document textarea").fill(author.DOCUMENT)
        page.locator("#request textarea").fill("When does the museum open?")
        page.locator("#document-answer textarea").fill("It opens at nine.")
        page.locator("#grounding-start").click()
        page.locator(f"#checked-line {ENDED}").wait_for()
        assert "a tiny model's guess" in page.locator("#grounding").inner_text()
    assert "Traceback" not in log.read_text()
