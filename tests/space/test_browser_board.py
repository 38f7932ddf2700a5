"""The leaderboard as visitors use it: they read, sort, search, open a model, go on to its conversations, and come back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.space.conftest import go, serving, settle, shoot
from tests.space.sample_runs import many_runs, real_runs

pytestmark = pytest.mark.slow
Open = Callable[..., Any]
LIVE = "#leaderboard .tb-board tbody td"
SHOWN = ".tb-board tbody tr[data-key]:not([hidden]) .model"
SHIFTS = """window.shifted = 0; new PerformanceObserver(list => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true })"""
PLACES = """() => [...document.querySelectorAll(".tb-board :is(.choices, h2, .tools, th, td)")].slice(0, 40).map(e => {
  const { x, y, width } = e.getBoundingClientRect(); return [x, y, width].map(Math.round); })"""
# Contrast (WCAG 2.1) of the text of what is shown against the first ground behind it, the least of all.
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour, under) => { canvas.clearRect(0, 0, 1, 1);
    for (const one of [under, colour]) { canvas.fillStyle = one; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const light = colour => { const [r, g, b] = colour.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const css = colour => `rgb(${colour.join()})`;
  const ground = e => e ? rgba(getComputedStyle(e).backgroundColor, css(ground(e.parentElement))) : [255, 255, 255];
  let worst = [99, ""];
  for (const e of document.querySelectorAll(".tb-board *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.getClientRects().length || e.matches(".unseen, caption, option, svg *")) continue;
    const behind = ground(e), text = rgba(getComputedStyle(e).color, css(behind));
    const [a, b] = [light(text), light(behind)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    if (ratio < worst[0]) worst = [ratio, e.outerHTML.slice(0, 120)];
  }
  return worst;
}"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The Space over six made-up runs of a release, and two real ones over the built-in sample, which are demonstrations."""
    folder = tmp_path_factory.mktemp("board")
    many_runs(real_runs(folder), 6, 200)
    with serving(["--runs", str(folder / "runs")], folder / "log.txt", limits={"REFRESH": 3600}) as url:
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


def _published(page: Any) -> None:
    page.locator(".sides-of button", has_text="Published").click()
    page.locator(".tb-board h2", has_text="TRUEBench paper").wait_for()


def _names(page: Any) -> list[str]:
    return [str(name) for name in page.locator(SHOWN).all_inner_texts()]


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_what_is_read_at_first_is_what_stays(url: str, open_page: Open, size: str) -> None:
    page = open_page("about:blank", size)
    page.route("**/assets/**", lambda route: route.abort())  # as before Gradio's scripts have come
    page.goto(url)
    read, places = _names(page), page.evaluate(PLACES)
    assert read[0].startswith("Model-00")
    page.unroute("**/assets/**")
    page.add_init_script(SHIFTS)
    page.goto(url)
    page.wait_for_selector(LIVE)
    settle(page, 30)
    assert _names(page) == read
    moved = [
        max(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in zip(places, page.evaluate(PLACES), strict=True)
    ]
    assert max(moved) <= 1, "nothing moves when the table becomes a part of the app"
    assert page.evaluate("window.shifted") < 0.1  # what Core Web Vitals call good
    assert page.locator("#first-view").count() == 0
    if size == "phone":
        assert page.locator(".tb-board table").bounding_box()["y"] < 400


def test_sorting_searching_and_going_back(url: str, open_page: Open) -> None:
    page = open_page(url)
    page.wait_for_selector(LIVE)
    first = _names(page)
    _published(page)
    assert _names(page)[0] == "o1"
    for text, found in (
        ("Sonnet 3.7", {"Claude-3.7-Sonnet", "Claude-3.7-Sonnet-Thinking"}),
        ("gpt4o", {"GPT-4o-2024-08-06"}),
    ):
        page.locator(".find").fill(text)
        assert set(_names(page)) == found
    page.locator(".find").fill("no such model")
    assert page.locator(".found").inner_text().startswith("No model of this name")
    page.locator(".find").fill("")
    head = page.locator("th", has=page.locator("[data-sort='category:Safety']"))
    head.locator("button").click()
    assert (head.get_attribute("aria-sort"), _names(page)[0]) == ("descending", "Claude-3-Sonnet-20240229")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    page.locator(".views button", has_text="Languages").click()
    page.locator("th", has_text="Korean").wait_for()
    page.go_back()
    page.locator("th[aria-sort=ascending]", has_text="Safety").wait_for()
    again = open_page(page.url, "phone")
    again.wait_for_selector(LIVE)
    assert _names(again) == _names(page), "the address says it all"
    for _ in range(3):
        page.go_back()
    page.locator(".tb-board h2", has_text="v0.6.1").wait_for()
    assert _names(page) == first


def test_a_row_opens_its_model_and_leads_to_its_conversations(url: str, open_page: Open) -> None:
    page = open_page(url)
    page.wait_for_selector(LIVE)
    name = _names(page)[1]
    page.locator(SHOWN).nth(0).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    told = page.locator(".told .model-told")
    told.locator("h3", has_text=name).wait_for()
    text = told.inner_text()
    assert all(part in text for part in ("rank", "Against the field", "Why it fails", "3 examples", "It is right."))
    assert told.get_by_role("link", name="Model page").get_attribute("href").startswith("https://huggingface.co/org")
    page.keyboard.press("Escape")
    told.wait_for(state="detached")
    assert page.evaluate("document.activeElement.innerText") == name
    page.keyboard.press("Enter")
    told.get_by_role("link", name="Open its conversations").click()
    page.wait_for_function("location.search.includes('tab=explorer') && location.search.includes('run=hf-')")
    page.locator(".tb-explorer article", has_text="Question q").wait_for()
    page.go_back()
    told.locator("h3", has_text=name).wait_for()
    assert told.is_visible()
    for place in (0, 2, 1):  # with a third the first one goes
        page.locator("[data-pick]").nth(place).check()
    assert [box.is_checked() for box in page.locator("[data-pick]").all()[:3]] == [False, True, True]
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_function("location.search.includes('beside=hf-')")
    page.locator(".tb-explorer .versus .chart .score").first.wait_for()
    first = page.evaluate("new URLSearchParams(location.search).get('id')")
    page.keyboard.press("j")
    page.wait_for_function("first => new URLSearchParams(location.search).get('id') !== first", arg=first)
    for _ in range(20):  # a key that comes while the next conversation is on its way says nothing
        page.keyboard.press("k")
        page.wait_for_timeout(500)
        if page.evaluate("new URLSearchParams(location.search).get('id')") == first:
            break
    else:
        pytest.fail("k does not lead back to the first conversation")
    go(page, "Leaderboard")
    page.wait_for_function("location.search.includes('model=hf-')")
    assert told.is_visible()


def test_a_published_row_says_what_is_not_published_and_the_table_is_downloaded(url: str, open_page: Open) -> None:
    page = open_page(url)
    page.wait_for_selector(LIVE)
    _published(page)
    page.locator(SHOWN, has_text="DeepSeek-V3").click()
    page.locator(".told", has_text="answers, verdicts and the criteria that were missed are not published").wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download as CSV").click()
    text = Path(waiting.value.path()).read_text("utf-8-sig")
    assert text.startswith("Rank,Last rank,Model,Overall,")
    assert text.count("\n") == 1 + 32


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_view_can_be_read(url: str, open_page: Open, dark: bool) -> None:
    page = open_page(url, "desktop", dark)
    page.wait_for_selector(LIVE)
    page.locator(SHOWN).nth(0).click()
    page.locator(".told .model-told").wait_for()
    views = page.locator(".views button").all_inner_texts()
    for view in views:
        page.locator(".views button", has_text=re.compile(f"^{view}$")).click()
        page.locator(".views [aria-pressed=true]", has_text=view).wait_for()
        settle(page)
        ratio, where = page.evaluate(CONTRAST)
        assert ratio >= 4.5, (view, where)
        shoot(page, f"board_{'dark' if dark else 'light'}_{view.lower()}")
    page.locator(".drawn .points").first.wait_for()


def test_the_address_of_other_tabs_says_nothing_of_the_leaderboard(url: str, open_page: Open) -> None:
    page = open_page(url + "?__theme=dark&__sign=secret&view=Languages")
    page.wait_for_selector(LIVE)
    go(page, "About")
    page.wait_for_function("location.search === '?__theme=dark&__sign=secret&tab=about'")
    go(page, "Explorer")
    page.wait_for_function("new URLSearchParams(location.search).get('id')")
    address = page.evaluate("location.search")
    assert re.match(r"\?__theme=dark&__sign=secret&tab=explorer&run=[\w-]+&id=\w+$", address), address
    page.go_back()
    page.wait_for_function("location.search.includes('tab=about')")
    page.locator("#tabs [role=tab][aria-selected=true]", has_text="About").first.wait_for()
    go(page, "Leaderboard")
    page.wait_for_function("location.search.includes('view=Languages')")


def test_a_page_opened_at_another_tab_draws_the_leaderboard_when_it_is_chosen(url: str, open_page: Open) -> None:
    page = open_page(url + "?tab=about")
    go(page, "Leaderboard")
    page.wait_for_selector(LIVE)
    page.locator(SHOWN).nth(0).click()
    page.locator(".told .model-told").wait_for()


def test_a_page_whose_scripts_never_come_can_be_sorted_and_models_open(url: str, plain_page: Open) -> None:
    page = plain_page()
    page.route("**/assets/**", lambda route: route.abort())
    page.goto(url)
    page.locator("[data-sort='name']").click()
    assert _names(page) == sorted(_names(page))
    page.locator(SHOWN).nth(0).click()
    page.locator(".told h3").wait_for()
    page.route("**/component_server/", lambda route: route.abort())
    page.locator(SHOWN).nth(1).click()
    page.locator(".told [role=alert]", has_text="gave no answer").wait_for()
    bare = plain_page(java_script_enabled=False)
    bare.goto(url)
    assert bare.locator(".tb-board tbody tr").count() == 6
    assert "Scripts are off" in bare.locator("#first-view").inner_text()
