"""The Space's first page with 200 models and 3,000 instances, over the barest page that Gradio can make; and what a visitor
does there: opening a model, typing in the search.

`make bench`, or `python -m tests.bench`. Wall times of a page depend on the machine; what we add to Gradio does not.
"""

from __future__ import annotations

import statistics
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.space.conftest import CHROMIUM, FLAGS, serving
from tests.space.sample_runs import many_runs

_BARE = """import os
import gradio as gr
with gr.Blocks(analytics_enabled=False) as app:
    gr.HTML('<p id="there">Hello</p>')
app.launch(server_port=int(os.environ["TRUEBENCH_PORT"]), quiet=True, ssr_mode=False, share=False)
"""
_WHERE = {
    "bare Gradio": "#there",
    "ours, to read": ".tb-board td",
    "ours, to use": ".tb-board[data-live] td",
    "ours, other tabs": "#leaderboard .tb-board td",
}
_LOADS = 7
# What the page has once the server has read the answers of all runs; it is not measured while it does.
_RESTING, _PATIENCE = b"style=average", 300.0  # seconds
# Milliseconds from a click on a row to the model being told of, and from a stroke to the table being drawn again.
_OPENED = """place => new Promise(done => {
  const row = document.querySelectorAll(".tb-board tbody tr[data-key]")[place], begun = performance.now();
  row.querySelector(".model").click();
  const look = () => row.nextElementSibling?.querySelector(".model-told")
    ? done(performance.now() - begun) : requestAnimationFrame(look);
  look();
})"""
_TYPED = """text => new Promise(done => {
  const input = document.querySelector(".tb-board .find"), begun = performance.now();
  input.value = text;
  input.dispatchEvent(new InputEvent("input", { bubbles: true }));
  document.querySelector(".tb-board table").getBoundingClientRect();  // what follows is drawn
  done(performance.now() - begun);
})"""


def main() -> None:
    """Print one table: page, median seconds until it is there, over bare Gradio."""
    if not CHROMIUM.exists():
        print(f"first page: left out, no {CHROMIUM}")
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bare.py").write_text(_BARE)
        runs = many_runs(folder / "runs", 200, 3000)
        with (
            serving([], folder / "bare.txt", script=folder / "bare.py") as bare,
            serving(["--runs", str(runs), "--refresh", "3600"], folder / "ours.txt") as ours,
            sync_playwright() as playwright,
        ):
            _rest(ours)
            browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
            seconds: dict[str, list[float]] = {page: [] for page in _WHERE}
            for _ in range(_LOADS):
                for page, where in _WHERE.items():
                    seconds[page].append(_seconds(browser, bare if page == "bare Gradio" else ours, where))
            acts = _acts(browser, ours)
    print(f"{'page':<16}{'seconds':>9}{'over bare':>11}   median of {_LOADS} loads")
    base = statistics.median(seconds["bare Gradio"])
    for page, values in seconds.items():
        middle = statistics.median(values)
        print(f"{page:<16}{middle:>9.2f}{middle / base:>11.2f}")
    for act, (values, work) in acts.items():
        told = f"the slowest {max(values):.0f}, of {len(values)}; {work:.0f} ms of the page's own processor time"
        print(f"{act:<25}{statistics.median(values):>7.0f} ms, {told}")


def _rest(url: str) -> None:
    end = time.monotonic() + _PATIENCE
    while _RESTING not in urllib.request.urlopen(url, timeout=60).read() and time.monotonic() < end:
        time.sleep(1)


def _acts(browser: Any, url: str) -> dict[str, tuple[list[float], float]]:
    """Milliseconds of what a visitor does, by its name, and how long the page's main thread ran for one on average, which
    other work on the machine hardly changes."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(url)
    page.wait_for_selector(".tb-board[data-live]")
    clock = page.context.new_cdp_session(page)
    clock.send("Performance.enable", {"timeDomain": "threadTicks"})

    def measured(act: str, arguments: Sequence[object]) -> tuple[list[float], float]:
        before = _worked(clock)
        found = [page.evaluate(act, argument) for argument in arguments]
        return found, 1000 * (_worked(clock) - before) / len(found)

    strokes = ["Model-150 70b"[:n] for n in range(1, 14)]
    done = {
        "opening a model": measured(_OPENED, range(0, 200, 15)),
        "a stroke in the search": measured(_TYPED, [*strokes, *strokes[::-1], ""]),
    }
    page.close()
    return done


def _worked(clock: Any) -> float:
    """Seconds that the page's main thread has run."""
    told: float = {one["name"]: one["value"] for one in clock.send("Performance.getMetrics")["metrics"]}["TaskDuration"]
    return told


def _seconds(browser: Any, url: str, where: str) -> float:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(
        f"""const watch = () => {{
          const part = document.querySelector("{where}");
          const shown = part?.getBoundingClientRect().height && getComputedStyle(part).visibility === "visible";
          requestAnimationFrame(() => {{ if (shown) window.seen = performance.now(); else watch(); }});
        }}; watch();"""
    )
    page.goto(url)
    page.wait_for_function("window.seen")
    seen: float = page.evaluate("window.seen / 1000")
    context.close()
    return seen
