"""The pages as visitors use them in a browser: every tab in both themes, the table, conversations, files, no scripts at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.space.conftest import RESULTS, Served, settle, shoot
from tests.space.sample_runs import SCRIPT, changed, many_runs

pytestmark = pytest.mark.slow
TABS = {
    "?board=truebench": "Model-005", "?board=truebench&view=Charts": "Overall and size", "?tab=judges": "Published in papers",
    "?tab=explorer": "Copy link", "?tab=playground": "is kept in your browser alone", "?tab=submit": "Check the file",
    "?tab=about": "What happens to what you type",
}  # fmt: skip
# What axe-core finds, serious or worse.
FAULTS = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
  .filter(rule => ["serious", "critical"].includes(rule.impact))
  .flatMap(rule => rule.nodes.map(node => [rule.id, node.target[0], node.html.slice(0, 200)]))"""
WIDTHS = {"desktop": (1024, 1920, 1280), "phone": (360, 700, 390)}  # the last is the size of the page
NAMES = "tr[data-key]:not([hidden]) .model"
Open = Callable[..., Any]


def names(page: Any) -> list[str]:
    """The models that the table shows, in order."""
    return [str(name) for name in page.locator(NAMES).all_inner_texts()]


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_tab_shows_fits_and_keeps_nobody_out(
    space: Served, open_page: Open, axe: str, size: str, dark: bool
) -> None:
    page = open_page(space.url, size, dark)
    for number, (address, text) in enumerate(TABS.items(), 1):
        page.goto(space.url + address)
        page.get_by_text(text, exact=False).locator("visible=true").first.wait_for()
        if number == 1:
            if size == "phone":
                score = page.locator("tr[data-key] .score b").first.bounding_box()
                assert score["x"] + score["width"] <= 390, "without swiping"
            page.locator(NAMES).first.click()
            page.locator(".told .model-page").wait_for()
        settle(page)
        shoot(page, f"{size}{'_dark' if dark else ''}_{number}")
        page.evaluate(axe)
        assert page.evaluate(FAULTS) == [], address
        # Nothing may push the page wider than the window; tables scroll inside themselves.
        for width in WIDTHS[size]:
            page.set_viewport_size({"width": width, "height": 844})
            settle(page)
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 1, (address, width)


def test_sorting_searching_and_going_back(space: Served, open_page: Open) -> None:
    page = open_page(space.url + "?board=truebench&__theme=dark&__sign=secret")
    first = names(page)
    page.get_by_role("link", name="Published", exact=True).click()
    page.locator("h2", has_text="TRUEBench paper").wait_for()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark", "a frame's theme goes along"
    assert names(page)[0] == "o1"
    for text, models in (
        ("Sonnet 3.7", {"Claude-3.7-Sonnet", "Claude-3.7-Sonnet-Thinking"}),
        ("gpt4o", {"GPT-4o-2024-08-06"}),
    ):
        page.locator("#find").fill(text)
        assert set(names(page)) == models
    page.locator("#find").fill("no such model")
    assert page.locator("#found").inner_text().startswith("No model of this name")
    page.locator("#find").fill("")
    head = page.locator("th", has=page.locator("[data-sort='category:Safety']"))
    head.locator("button").click()
    assert (head.get_attribute("aria-sort"), names(page)[0]) == ("descending", "Claude-3-Sonnet-20240229")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    again = open_page(page.url, "phone")
    assert names(again) == names(page), "the address says it all"
    page.locator(NAMES, has_text="DeepSeek-V3").click()
    page.locator(".told", has_text="are not published").wait_for()
    page.get_by_role("link", name="Languages", exact=True).click()
    page.locator("th", has_text="Korean").wait_for()
    page.go_back()
    page.locator("th[aria-sort=ascending]", has_text="Safety").wait_for()
    page.locator(".told", has_text="are not published").wait_for()
    page.go_back()
    page.locator(".told").wait_for(state="detached")
    page.go_back()
    page.locator("h2", has_text="v0.6.1").wait_for()
    assert names(page) == first
    with page.expect_download() as waiting:
        page.get_by_role("link", name="CSV").click()
    assert Path(waiting.value.path()).read_text("utf-8-sig").startswith("Rank,Last rank,Model,Overall,")


def test_a_row_opens_its_model_and_two_are_compared(space: Served, open_page: Open) -> None:
    page = open_page(space.url + "?board=truebench")
    name = names(page)[1]
    link, told = page.locator(NAMES).nth(1), page.locator("tr.open + .told .model-page")
    link.press("Enter")
    told.wait_for()
    for part in ("rank", "Against the field", "Why it fails", "3 examples", "It is right."):
        assert part in told.inner_text()
    link.press("Enter")
    told.wait_for(state="detached")
    link.press("Enter")
    told.get_by_role("link", name="Open its conversations").click()
    page.locator(".explorer article", has_text="Question q").wait_for()
    page.go_back()
    told.wait_for()
    compare = page.get_by_role("button", name="Compare two models")
    assert not compare.is_visible()
    for place in (2, 1):
        page.locator("tr[data-key] input").nth(place).check()
    compare.click()
    page.locator(".versus .tb-dot").first.wait_for()
    assert page.locator("[name=run] :checked").inner_text() == name
    current = page.locator(".list [aria-current] b:not(.tb-word)")
    first = current.inner_text()
    for key in "jk":
        page.keyboard.press(key)
        page.wait_for_url(re.compile("id=.*#results"))
        assert (current.inner_text() == first) is (key == "k")
    page.goto(page.url.replace("explorer", "model").replace("run=", "model="))
    page.locator("h1", has_text=name).wait_for()


def test_the_table_keeps_its_models_in_sight_and_explains_itself(space: Served, open_page: Open) -> None:
    page = open_page(space.url + "?board=truebench")
    page.set_viewport_size({"width": 700, "height": 700})
    row = page.locator("tr[data-key]").first
    before = [row.locator(part).bounding_box()["x"] for part in (".rank", ".name", ".score")]
    assert page.evaluate("document.querySelector('.frame').scrollLeft = 300") == 300
    assert [row.locator(part).bounding_box()["x"] for part in (".rank", ".name", ".score")] == before
    assert page.locator(".rank i:visible").count() > 1, "brackets"
    explained = page.locator("[popover]:visible")
    page.get_by_role("button", name="What Rank means").click()
    assert "The places that the data allow" in explained.inner_text()
    page.keyboard.press("Escape")
    explained.wait_for(state="hidden")
    page.locator("[data-sort=name]").click()
    assert page.locator(".rank i:visible").count() == 0, "brackets are of the ranks' order"


def test_rows_are_cards_on_a_phone_and_a_chosen_model_stands_out_in_charts(space: Served, open_page: Open) -> None:
    page = open_page(space.url + "?board=truebench", "phone")
    card = page.locator("tr[data-key]").first
    box = card.bounding_box()
    for part in (".rank", ".model", ".score b", ".score .tb-dot", "td[data-label]"):
        inner = card.locator(part).first.bounding_box()
        assert box["x"] <= inner["x"] <= inner["x"] + inner["width"] <= box["x"] + box["width"] <= 390, part
        assert inner["y"] < 844, "on the first screen"
    name = names(page)[2]
    page.locator(NAMES).nth(2).click()
    page.locator(".told .model-page").wait_for()
    page.get_by_role("link", name="Charts").click()
    page.locator("text.tb-out").first.wait_for()
    assert set(page.locator("text.tb-out").all_text_contents()) == {name}
    assert page.locator("text.tb-out").count() == page.locator(".plots svg").count(), "in all charts"
    other = page.get_by_label("Highlight").locator("option").nth(1).text_content()
    page.get_by_label("Highlight").select_option(index=1)  # goes at once
    page.locator("text.tb-out", has_text=other).first.wait_for()


def test_conversations_are_filtered_compared_and_passed_on(space: Served, open_page: Open) -> None:
    page = open_page(space.url + "?tab=explorer&__sign=secret&id=nowhere")
    page.get_by_text("This run has no conversation “nowhere”.").wait_for()
    page.get_by_label("Run").select_option(label="Alpha-7B")
    counted, current = page.locator(".counted b"), page.locator(".list [aria-current]")
    current.locator(".tb-no").wait_for()
    assert counted.inner_text() == "36 of 36"
    page.get_by_label("Text in a missed criterion").fill("english")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("failed=english"))
    few = counted.inner_text()
    assert few != "36 of 36"
    page.get_by_role("link", name="Next").click()
    page.wait_for_function("document.querySelectorAll('.list a')[1].ariaCurrent === 'true'")
    page.get_by_label("Compare with").select_option(label="Beta-70B")
    page.locator(".sides.two").first.wait_for()
    shown = page.locator("article").inner_text()
    assert f"{SCRIPT} ${{1+1}} {{{{x}}}} from Alpha-7B" in shown
    assert page.locator("article .tb-user").count() == page.locator("article section > .sides").count(), "once a turn"
    again = open_page(page.evaluate("location.href"), "phone")
    assert again.locator("article").inner_text().split() == shown.split(), "the address says it all"
    again.get_by_role("link", name="Copy link").click()
    link = again.locator(".bar [role=status]", has_text=re.compile("Link copied|id="))
    link.wait_for()
    assert "secret" not in link.inner_text(), "a private Space's own key is not for others"
    again.get_by_role("link", name="Markdown").click()
    again.locator("article .rich", has_text=SCRIPT).first.wait_for()
    assert [tab.evaluate("window.broken") for tab in (page, again)] == [None, None]
    page.go_back()
    page.wait_for_function("!document.querySelector('.sides.two')")
    assert counted.inner_text() == few
    page.get_by_role("link", name="Clear filters").click()
    page.wait_for_function("document.querySelector('.counted b').innerText === '36 of 36'")


def test_pairs_side_by_side_by_keys_and_in_the_direction_of_their_writing(
    space: Served, open_page: Open, axe: str
) -> None:
    page = open_page(space.url + "?tab=explorer")
    page.get_by_label("Run").select_option(label="pair_judge · tea")
    answers = page.locator(".tb-answers .tb-assistant")
    answers.nth(1).wait_for()
    boxes = [answer.bounding_box() for answer in answers.all()]
    assert (len(boxes), boxes[0]["y"], boxes[0]["x"] < boxes[1]["x"]) == (2, boxes[1]["y"], True)
    assert page.evaluate("window.broken") is None
    page.keyboard.press("j")
    page.wait_for_url(re.compile("id=arabic"))
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.matches('article')"), "into the conversation"
    said = page.locator("article .tb-said", has_text="الشاي").first
    assert said.evaluate("e => getComputedStyle(e).direction") == "rtl"
    assert page.locator(".list .first", has_text="الشاي").evaluate("e => getComputedStyle(e).direction") == "rtl"
    page.evaluate(axe)
    assert page.evaluate(FAULTS) == []
    shoot(page, "pairs")
    narrow = open_page(page.url, "phone")
    first, second = (narrow.locator(".tb-answers .tb-assistant").nth(n).bounding_box() for n in range(2))
    assert (first["x"], first["y"] < second["y"]) == (second["x"], True), "one below the other"


def test_a_page_without_scripts_can_be_read_and_gone_through(space: Served, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(space.url + "?board=truebench")
    assert page.locator("tbody tr").count() == 6
    for place in (0, 1):
        page.locator("tr[data-key] input").nth(place).check()
    page.get_by_role("button", name="Compare two models").click()
    page.locator(".versus .tb-dot").first.wait_for()
    page.go_back()
    page.locator(NAMES).first.click()
    page.locator("main .model-page", has_text="Why it fails").wait_for()
    page.get_by_role("link", name="Open its conversations").click()
    page.get_by_label("Outcome").select_option("passed")
    page.get_by_role("button", name="Show").click()
    page.locator(".list .tb-yes").first.wait_for()
    assert page.locator(".list .tb-no").count() == 0
    context.close()


def test_good_and_broken_files(space: Served, open_page: Open, tmp_path: Path) -> None:
    good = space.runs / "Alpha-7B" / "judgments.jsonl"
    lines = good.read_text().splitlines()
    row = json.loads(lines[4]) | {"passed": True}
    cases = {
        "lies.jsonl": ("\n".join([*lines[:4], json.dumps(row)]), "line 5"),  # says passed, its verdicts say no
        "broken.jsonl": ("{", "line 1"),
        "empty.jsonl": ("\n", "no judged instances"),
        "page.html": ("<h1>no</h1>", ""),
    }
    page = open_page(space.url + "?tab=submit")
    for name, (content, problem) in cases.items():
        (tmp_path / name).write_text(content)
        _upload(page, tmp_path / name)
        page.locator("#check-start").click()
        page.locator("#check-line .tb-bad", has_text=problem).wait_for()
    _upload(page, good)
    page.locator("#check-start").click()
    page.locator("#check-line .tb-good").wait_for()
    page.locator("#checked", has_text="75.0").wait_for()
    assert len(space.hub.pulls("dataset", RESULTS)) == 0
    page.locator("#queue-start").click()
    page.locator("#queue-line a", has_text="/discussions/1").wait_for()
    page.locator("#submissions .tb-open", has_text="waiting").wait_for()
    assert len(space.hub.pulls("dataset", RESULTS)) == 1
    large = tmp_path / "large.jsonl"
    large.write_bytes(b" " * (2 * 2**20 + 1))
    _upload(page, large)
    page.get_by_text(re.compile("exceeds? the maximum|too large", re.I)).first.wait_for()
    assert "Traceback" not in page.content()


def test_new_results_come_in_without_a_restart(space: Served, open_page: Open, tmp_path: Path) -> None:
    from huggingface_hub import HfApi

    page = open_page(space.url + "?board=truebench")
    assert "Gamma-9B" not in page.content()
    run = changed(many_runs(tmp_path / "new", 1, 30) / "run000", name="hf:org/Gamma-9B")
    api = HfApi(endpoint=space.hub.url, token="any")
    api.upload_folder(repo_id=RESULTS, repo_type="dataset", folder_path=run, path_in_repo="runs/gamma")
    for _ in range(60):
        page.get_by_role("link", name="Refresh").click()
        page.wait_for_timeout(500)
        if "Gamma-9B" in page.locator("table").inner_text():
            break
    assert "Gamma-9B" in page.locator("table").inner_text()


def _upload(page: Any, file: Path) -> None:
    remove = page.locator("#upload button[aria-label*='lear'], #upload button[aria-label*='emove']")
    if remove.count():
        remove.first.click()
    page.locator("#upload input[type=file]").set_input_files(file)
    if file.stat().st_size < 2**20 and file.suffix == ".jsonl":
        page.locator("#upload", has_text=file.stem).wait_for()
