"""The Space as a visitor meets it: every tab at desktop and phone width, links, downloads, submissions, hostile text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.space.conftest import RESULTS, Served, came, go, settle, shoot
from tests.space.sample_runs import SCRIPT, changed, many_runs

pytestmark = pytest.mark.slow
TABS = {
    "Leaderboard": "built-in sample",
    "Trust in judges": "Published in papers",
    "Explorer": "Copy link",
    "Playground": "is kept in your browser alone",
    "Submit": "Check the file",
    "About": "What happens to what you type",
}
# Serious faults of Gradio's own markup, by rule and selector, with the reason why they are left. None as of axe-core 4.12;
# 4.14 finds label-content-name-mismatch at "#upload .upload-container": gr.File gives its button another name than it shows.
GRADIOS: dict[tuple[str, str], str] = {}
# What axe-core finds, serious or worse: ours, and which of those listed.
FAULTS = """async listed => {
  const ours = [], theirs = [];
  for (const rule of (await axe.run(document, { resultTypes: ["violations"] })).violations) {
    if (!["serious", "critical"].includes(rule.impact)) continue;
    for (const { target, html } of rule.nodes) {
      const known = listed.find(([id, where]) => id === rule.id && document.querySelector(target[0])?.matches(where));
      if (known) theirs.push(known); else ours.push([rule.id, target[0], html.slice(0, 200)]);
    }
  }
  return [ours, theirs];
}"""
WIDTHS = {"desktop": (1024, 1920, 1280), "phone": (360, 700, 390)}  # the last is the size of the page
CELL = "#leaderboard .tb-board tbody td"
Open = Callable[..., Any]


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_tab_shows_fits_and_keeps_nobody_out(
    space: Served, open_page: Open, axe: str, size: str, dark: bool
) -> None:
    page = open_page(space.url, size, dark)
    page.wait_for_selector(CELL)
    page.locator(".tb-board .model").first.click()
    page.locator(".model-told").wait_for()
    page.evaluate(axe)
    assert page.evaluate("document.body.classList.contains('dark')") is dark
    seen = set()
    for number, (tab, text) in enumerate(TABS.items(), 1):
        go(page, tab)
        page.get_by_text(text, exact=False).locator("visible=true").first.wait_for()
        settle(page)
        shoot(page, f"{size}{'_dark' if dark else ''}_{number}_{tab.lower()}")
        ours, theirs = page.evaluate(FAULTS, [list(one) for one in GRADIOS])
        assert ours == [], tab
        seen |= {tuple(one) for one in theirs}
        # Nothing may push the page wider than the window; tables scroll inside themselves.
        for width in WIDTHS[size]:
            page.set_viewport_size({"width": width, "height": 844})
            settle(page)
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 1, (tab, width)
    assert seen == set(GRADIOS), "a fault that Gradio has mended leaves the table"


def test_the_playground_works_from_the_keyboard(space: Served, open_page: Open) -> None:
    page = open_page(space.url + "?tab=playground")
    page.get_by_label("Prompt", exact=True).wait_for()
    page.locator("#prompt textarea").focus()
    seen = set()
    for _ in range(14):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.closest('[id]')?.id || ''"))
    assert {"checklist", "guided-start"} <= seen, seen


def test_conversations_are_filtered_compared_and_passed_on(space: Served, open_page: Open) -> None:
    page = open_page(space.url + "?tab=explorer&__sign=secret&id=nowhere")
    page.get_by_text("This run has no conversation “nowhere”.").wait_for()
    page.locator(".tb-explorer .list a").first.click()
    counted, current = page.locator(".tb-explorer .counted b"), page.locator(".tb-explorer [aria-current]")
    current.locator(".tb-no").wait_for()
    assert counted.inner_text() == "36 of 36"
    page.get_by_label("Text in a criterion that was missed").fill("english")
    page.wait_for_function("location.search.includes('failed=english')")
    page.wait_for_function("!document.querySelector('.counted b').innerText.startsWith('36')")
    few = counted.inner_text()
    assert page.evaluate("document.activeElement.name") == "failed", "who types goes on typing"
    page.get_by_role("button", name="Next").click()
    page.wait_for_function("document.querySelectorAll('.list a')[1].ariaCurrent === 'true'")
    assert page.evaluate("document.activeElement.name") == "next", "the next one is a stroke away"
    page.get_by_label("Compare with").select_option(label="Beta-70B")
    page.locator(".sides.two mark", has_text="Alpha-7B").first.wait_for()
    shoot(page, "explorer_compared")
    shown = page.locator("article").inner_text()
    assert f"{SCRIPT} ${{1+1}} {{{{x}}}} from Alpha-7B" in shown
    assert page.locator("article .tb-user").count() == page.locator("article section > .sides").count(), "once a turn"
    address = page.evaluate("location.href")
    again = open_page(address, "phone")
    again.locator(".sides.two mark").first.wait_for()
    assert again.locator("article").inner_text() == shown, "the address says it all"
    again.get_by_role("button", name="Copy link").click()
    link = again.locator("[data-copied]", has_text="Link copied").or_(again.locator("[data-copied]", has_text="id="))
    link.wait_for()
    assert "secret" not in link.inner_text(), "a private Space's own key is not for others"
    shoot(again, "phone_explorer_compared")
    again.get_by_role("button", name="Markdown").click()
    again.locator("article .rich", has_text=SCRIPT).first.wait_for()
    assert [one.evaluate("window.broken") for one in (page, again)] == [None, None]
    for _ in range(2):
        page.go_back()
    page.wait_for_function("document.querySelectorAll('.list a')[0].ariaCurrent === 'true'")
    assert counted.inner_text() == few
    current.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement === document.querySelectorAll('.list a')[1]")
    page.get_by_role("button", name="Clear filters").click()
    page.wait_for_function("document.querySelector('.counted b').innerText === '36 of 36'")


def test_good_and_broken_files(space: Served, open_page: Open, tmp_path: Path) -> None:
    good = space.runs / "Alpha-7B" / "judgments.jsonl"
    lines = good.read_text().splitlines()
    row = json.loads(lines[4]) | {"passed": True}
    cases = {
        "lies.jsonl": ("\n".join([*lines[:4], json.dumps(row)]), "line 5"),  # says passed, its verdicts say no
        "broken.jsonl": ("{", "line 1"),
        "empty.jsonl": ("\n", "no judged instances"),
    }
    page = open_page(space.url + "?tab=submit")
    for name, (content, said) in cases.items():
        (tmp_path / name).write_text(content)
        _upload(page, tmp_path / name)
        page.locator("#check-start").click()
        page.locator("#check-line .tb-bad", has_text=said).wait_for()
        assert str(tmp_path) not in page.content()
        assert "Traceback" not in page.content()
    _upload(page, good)
    page.locator("#check-start").click()
    page.locator("#check-line .tb-good").wait_for()
    page.locator("#checked", has_text="scripted").wait_for()
    shoot(page, "submit_checked")
    page.locator("#queue-start").click()
    address = f"{space.hub.url}/datasets/{RESULTS}/discussions/1"
    page.locator("#queue-line .tb-good", has_text="Queued").wait_for()
    assert page.locator("#queue-line").get_by_role("link").get_attribute("href") == address
    waiting = page.locator("#submissions li", has_text="waiting")
    waiting.wait_for()
    assert waiting.get_by_role("link").get_attribute("href") == address
    pulls = space.hub.pulls("dataset", RESULTS)
    assert len(pulls) == 1
    files = space.hub.files("dataset", RESULTS, "refs/pr/1")
    assert any(name.endswith("judgments.jsonl") for name in files)
    assert not any(name.startswith("runs/") for name in space.hub.files("dataset", RESULTS))


def test_a_file_that_is_too_large_or_of_another_kind_is_refused(space: Served, open_page: Open, tmp_path: Path) -> None:
    page = open_page(space.url + "?tab=submit")
    large, other = tmp_path / "large.jsonl", tmp_path / "page.html"
    large.write_bytes(b" " * (2 * 2**20 + 1))
    other.write_text("<h1>no</h1>")
    page.locator("#upload input[type=file]").set_input_files(large)
    page.get_by_text(re.compile("exceeds? the maximum|too large", re.I)).first.wait_for()
    page.locator("#upload input[type=file]").set_input_files(other)
    page.locator("#check-start").click()
    page.locator("#check-line .tb-bad").wait_for()
    assert "Traceback" not in page.content()


def test_new_results_come_in_without_a_restart(space: Served, open_page: Open, tmp_path: Path) -> None:
    from huggingface_hub import HfApi

    page = open_page(space.url)
    page.wait_for_selector(CELL)
    assert "Gamma-9B" not in page.content()
    run = changed(many_runs(tmp_path / "new", 1, 30) / "run000", name="hf:org/Gamma-9B")
    api = HfApi(endpoint=space.hub.url, token="any")
    api.upload_folder(repo_id=RESULTS, repo_type="dataset", folder_path=run, path_in_repo="runs/gamma")
    for _ in range(30):
        page.get_by_role("button", name="Refresh").click()
        if came(page, "document.querySelector('#leaderboard')?.innerText.includes('Gamma-9B')", 1000):
            break
    assert "Gamma-9B" in page.locator("#leaderboard").inner_text(), "the only run over a release comes first"
    go(page, "Explorer")
    page.locator("select[name=run] option", has_text="Gamma-9B").wait_for(state="attached")


def _upload(page: Any, file: Path) -> None:
    remove = page.locator("#upload button[aria-label*='lear'], #upload button[aria-label*='emove']")
    if remove.count():
        remove.first.click()
    page.locator("#upload input[type=file]").set_input_files(file)
    page.locator("#upload", has_text=file.stem).wait_for()
