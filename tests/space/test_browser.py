"""The Space as a visitor meets it: every tab at desktop and phone width, links, downloads, submissions, hostile text."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.space.conftest import RESULTS, Served, came, go, settle, shoot
from tests.space.sample_runs import SCRIPT, changed, many_runs

pytestmark = pytest.mark.slow
TABS = {
    "Leaderboard": "TRUEBench paper",
    "Judges": "gpt-oss-120b",
    "Explorer": "Link to this view",
    "Playground": "Judge the answer",
    "Submit": "Check the file",
    "About": "What happens to what you type",
}
# Serious faults of Gradio's own markup, by rule and selector, with the reason why they are left.
GRADIOS = {
    ("label-content-name-mismatch", "#upload .upload-container"): "gr.File gives its button another name than it shows",
    ("label-title-only", ".tb-table .search-input"): "gr.Dataframe names its search by a title alone",
}
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
    assert {"answer-start", "answer", "checklist"} & seen >= {"answer-start"}, seen


def test_a_link_opens_the_same_view_and_script_text_stays_text(space: Served, open_page: Open) -> None:
    page = open_page(space.url + "?tab=explorer")
    page.locator("#left .tb-assistant").first.wait_for()
    page.locator("#failed textarea, #failed input").fill("english")
    page.wait_for_function("document.querySelector('#instances')?.innerText.includes('passed') === false")
    page.locator("#ahead").click()
    page.wait_for_function("new URLSearchParams(location.search).get('id') === '12' || location.search.includes('id=')")
    page.locator("#other input").click()
    page.get_by_role("option").filter(has_text="Beta").click()
    page.locator("#right .tb-assistant").first.wait_for()
    page.wait_for_function("location.search.includes('with=')")
    shoot(page, "explorer_compared")
    address = page.locator("#link textarea, #link input").input_value()
    assert re.search(r"\?tab=explorer&run=scripted-alpha-7b-json-\w{8}&id=\d+&with=scripted-beta", address), address
    shown = re.sub(r"^(\d+\.\d+s\s+)+", "", page.locator("#left").inner_text())
    assert SCRIPT in shown
    assert "${1+1} {{x}} from Alpha-7B" in shown
    again = open_page(address, "phone")
    again.locator("#right .tb-assistant").first.wait_for()
    again.wait_for_function("document.querySelector('#left')?.innerText.includes('Alpha')")
    # Gradio's clock stands there for a moment.
    assert re.sub(r"^(\d+\.\d+s\s+)+", "", again.locator("#left").inner_text()) == shown
    shoot(again, "phone_explorer_compared")
    assert page.evaluate("window.broken") is None
    assert again.evaluate("window.broken") is None


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
        page.get_by_role("button", name="Look for new results").click()
        if came(page, "document.querySelector('#leaderboard')?.innerText.includes('Gamma-9B')", 1000):
            break
    assert "Gamma-9B" in page.locator("#leaderboard").inner_text(), "the only run over a release comes first"
    go(page, "Explorer")
    page.locator("#run input").click()
    page.get_by_role("option").filter(has_text="Gamma-9B").wait_for()


def test_playground_refuses_too_much_and_too_little(space: Served, open_page: Open) -> None:
    page = open_page(space.url + "?tab=playground")
    page.locator("#answer-start").click()
    page.locator("#answer-line .tb-bad", has_text="The prompt is empty").wait_for()
    page.locator("#prompt textarea").fill("Hello")
    page.locator("#answer textarea").fill("Hi")
    page.locator("#checklist textarea").fill("\n".join(f"Criterion {i}" for i in range(13)))
    page.locator("#judge-start").click()
    page.locator("#judge-line .tb-bad", has_text="the limit is 12").wait_for()
    # The page's own limit can be got round; the server's cannot.
    page.evaluate("document.querySelector('#prompt textarea').removeAttribute('maxlength')")
    page.locator("#prompt textarea").fill("x" * 2001)
    page.locator("#answer-start").click()
    page.locator("#answer-line .tb-bad").wait_for()
    assert page.locator("#answer textarea").input_value() == "Hi", "what was refused has changed nothing"


@pytest.mark.timeout(900)
def test_playground_with_the_embedded_model(space: Served, open_page: Open) -> None:
    page = open_page(space.url + "?tab=playground")
    page.set_default_timeout(300_000)
    page.locator("#prompt textarea").fill(f"Write one short sentence about tea. {SCRIPT}")
    page.locator("#answer-start").click()
    page.locator("#answer-line .tb-good").wait_for()
    answer = page.locator("#answer textarea").input_value()
    assert len(answer) > 10
    page.locator("#checklist textarea").fill(
        f"The answer is about tea.\nThe answer is in German.\n{SCRIPT} ${{1+1}} {{{{x}}}}"
    )
    page.locator("#judge-start").click()
    page.locator("#judge-line .tb-good").wait_for()
    assert page.locator("#verdicts li").count() == 3
    assert "P(yes) = 0." in page.locator("#verdicts").inner_text()
    assert f"{SCRIPT} ${{1+1}} {{{{x}}}}" in page.locator("#verdicts").inner_text()
    shoot(page, "playground_judged")
    assert page.evaluate("window.broken") is None
    page.set_viewport_size({"width": 390, "height": 844})
    settle(page)
    shoot(page, "phone_playground_judged")
    page.locator("#draft-start").click()
    page.locator("#draft-line .tb-good, #draft-line .tb-bad").wait_for()


@pytest.mark.timeout(900)
def test_playground_is_stopped(space: Served, open_page: Open) -> None:
    page = open_page(space.url + "?tab=playground")
    page.set_default_timeout(300_000)
    page.locator("#prompt textarea").fill("Write a very long story about a ship.")
    page.locator("#checklist textarea").fill("\n".join(f"It names number {i}." for i in range(12)))
    page.locator("#answer textarea").fill("A ship sailed. " * 60)
    page.get_by_label("Rubric: one call per criterion, with reasons").check()
    page.locator("#judge-start").click()
    page.locator("#judge-line .tb-busy", has_text="Judging criterion").wait_for()
    page.locator("#judge-stop").click()
    page.locator("#judge-line", has_text="Stopped").wait_for()
    started = time.monotonic()
    page.locator("#answer-start").click()
    page.locator("#answer-line .tb-good").wait_for()
    assert time.monotonic() - started < 240  # on a busy machine; twelve criteria would hold the machine far longer


def _upload(page: Any, file: Path) -> None:
    remove = page.locator("#upload button[aria-label*='lear'], #upload button[aria-label*='emove']")
    if remove.count():
        remove.first.click()
    page.locator("#upload input[type=file]").set_input_files(file)
    page.locator("#upload", has_text=file.stem).wait_for()
