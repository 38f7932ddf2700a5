"""What the page does by itself: which line is opened, what the address keeps, and what if scripts never come."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.space.conftest import go, serving
from tests.space.sample_runs import changed, many_runs, real_runs
from truebench_hf.space.board.papers import PAPERS
from truebench_hf.space.board.table import merged

pytestmark = pytest.mark.slow
Open = Callable[..., Any]
CELL = "#leaderboard .virtual-table-viewport [role=gridcell]"
TWIN = "Model-000"
LATE = "The page's scripts could not be loaded; reload the page to search and filter"
COMING = "Search and filters are on their way"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The Space over Alpha (75.0, a figure the browser sends back as 75), Beta, and two runs whose cells read the same."""
    folder = tmp_path_factory.mktemp("front")
    runs = real_runs(folder)
    first = many_runs(runs, 1, 30) / "run000"
    second = changed(Path(shutil.copytree(first, runs / "run001")), setting="other")
    for run, said in ((first, "said by one"), (second, "said by the other")):
        file = run / "judgments.jsonl"
        file.write_text(file.read_text().replace('"Answer"', f'"{said}"'))
    with serving(["--runs", str(runs), "--refresh", "3600"], folder / "log.txt") as url:
        yield url


@pytest.fixture
def plain_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """A page whose scripts may fail, which `open_page` does not forgive."""
    contexts = []

    def opened(**how: Any) -> Any:
        contexts.append(browser.new_context(**how))
        return contexts[-1].new_page()

    yield opened
    for context in contexts:
        context.close()


def _choose(page: Any, model: str, number: int = 0) -> None:
    page.locator("#leaderboard [role=gridcell]", has_text=model).nth(number).click()


def _button(page: Any, text: str) -> Any:
    return page.locator("#open-button", has_text=text)


def test_a_line_is_known_in_every_view(url: str, open_page: Open) -> None:
    page = open_page(url)
    page.wait_for_selector(CELL)
    (kind,), _ = merged([PAPERS["truebench"].published()])
    for view, names in kind.views.items():
        page.locator("#view").get_by_label(view, exact=True).check()
        page.wait_for_function(
            "name => [...document.querySelectorAll('#leaderboard th')].some(head => head.title === name)", arg=names[-1]
        )
        for model in ("Alpha-7B", "Beta-70B"):
            _choose(page, model)
            _button(page, f"See the conversations of scripted:{model}").wait_for()
            assert page.locator("#open-button").is_enabled(), view
        _choose(page, "Claude-3.7-Sonnet-Thinking")
        _button(page, "Claude-3.7-Sonnet-Thinking is published: no conversations to show").wait_for()
        assert page.locator("#open-button").is_disabled(), view


def test_of_two_lines_that_read_the_same_the_chosen_one_is_opened(url: str, open_page: Open) -> None:
    page = open_page(url)
    page.wait_for_selector(CELL)
    said = set()
    for number in (0, 1):
        go(page, "Leaderboard")
        _choose(page, TWIN, number)
        _button(page, TWIN).click()
        if said:
            page.wait_for_function(
                "first => !document.querySelector('#left')?.innerText.includes(first)", arg=next(iter(said))
            )
        page.locator("#left", has_text="said by").wait_for()
        said |= set(re.findall(r"said by (?:one|the other)", page.locator("#left").inner_text()))
    assert said == {"said by one", "said by the other"}


def test_a_table_that_the_page_has_sorted_by_itself_opens_the_line_that_was_chosen(url: str, open_page: Open) -> None:
    page = open_page(url)
    page.wait_for_selector(CELL)
    top = "document.querySelector('#leaderboard .virtual-row[data-index=\"0\"]')?.innerText.includes('%s')"
    assert not page.evaluate(top % "Beta-70B")
    head = page.locator("#leaderboard th[title=Model]:visible").first
    head.hover()
    head.locator(".cell-menu-button").click()
    page.get_by_role("menuitem", name="Sort descending").click()
    page.wait_for_function(top % "Beta-70B")
    _choose(page, "Beta-70B")
    _button(page, "See the conversations of scripted:Beta-70B").wait_for()


def test_a_line_that_is_no_longer_shown_cannot_be_opened(url: str, open_page: Open) -> None:
    page = open_page(url)
    page.wait_for_selector(CELL)
    _choose(page, "Beta-70B")
    _button(page, "Beta-70B").wait_for()
    page.locator("#show").get_by_label("Published", exact=True).check()
    page.wait_for_function("!document.querySelector('#leaderboard')?.innerText.includes('Beta-70B')")
    _button(page, "Choose a model's line").wait_for()
    assert page.locator("#open-button").is_disabled()
    # The first line of what is shown now is not the first of what was shown then.
    _choose(page, "o1")
    _button(page, "o1 is published: no conversations to show").wait_for()


def test_the_address_keeps_what_it_does_not_set(url: str, open_page: Open) -> None:
    page = open_page(url + "?__theme=dark&__sign=secret")
    page.wait_for_selector(CELL)
    go(page, "About")
    page.wait_for_function("location.search === '?__theme=dark&__sign=secret&tab=about'")
    go(page, "Explorer")
    page.wait_for_function("new URLSearchParams(location.search).get('id')")
    link = page.locator("#link textarea, #link input")
    page.wait_for_function("document.querySelector('#link textarea, #link input').value.includes('id=')")
    assert re.search(r"/\?__theme=dark&tab=explorer&run=[\w-]+&id=\w+$", link.input_value())
    assert "__sign=secret" in page.evaluate("location.search")
    assert "secret" not in link.input_value(), "a private Space's own key is not for others"
    page.locator("#other input").click()
    page.get_by_role("option").filter(has_text="Beta").click()
    page.wait_for_function("location.search.includes('with=')")
    page.locator("#other input").click()
    page.get_by_role("option", name="none").click()
    page.wait_for_function("!location.search.includes('with=')")
    go(page, "Judges")
    page.wait_for_function("location.search === '?__theme=dark&__sign=secret&tab=judges'")


def test_the_page_opens_though_one_script_never_comes(url: str, plain_page: Open) -> None:
    page = plain_page()
    missing = _script_of_radios()
    page.route(f"**/{missing}", lambda route: route.abort())
    page.goto(url)
    page.wait_for_selector("#tabs [role=tab]", state="attached")
    page.locator("#first-view").wait_for(state="detached", timeout=20_000)
    page.locator(CELL).first.wait_for()  # visible, too
    assert page.locator("#view input").count() == 0, "else nothing was missing"
    _choose(page, "Beta-70B")
    _button(page, "See the conversations of scripted:Beta-70B").wait_for()
    go(page, "About")
    page.get_by_text("What happens to what you type").first.wait_for()


def test_a_page_whose_scripts_never_come_says_so(url: str, plain_page: Open) -> None:
    page = plain_page()
    page.clock.install()
    page.route("**/assets/**", lambda route: route.abort())
    page.goto(url)
    wait = page.locator("#first-view .wait").first
    assert wait.inner_text() == COMING
    page.clock.run_for(14_000)
    assert wait.inner_text() == COMING
    page.clock.run_for(2_000)
    assert wait.inner_text() == LATE
    assert page.locator("#first-view tbody tr").count() > 20, "the table can still be read"


def test_a_page_without_scripts_says_so(url: str, plain_page: Open) -> None:
    page = plain_page(java_script_enabled=False)
    page.goto(url)
    assert page.locator("#first-view .wait").first.inner_text().strip() == LATE


def _script_of_radios() -> str:
    import gradio

    assets = Path(gradio.__file__).parent / "templates" / "frontend" / "assets"
    (found,) = (
        f for f in assets.glob("Index-*.js") if 'type="radio"' in (text := f.read_text()) and "checkbox" not in text
    )
    return found.name
