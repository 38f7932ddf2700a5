"""The Space's first page with 200 models and 3,000 instances, over the barest page that Gradio can make.

`make bench`, or `python -m tests.bench`. Wall times of a page depend on the machine; what we add to Gradio does not.
"""

from __future__ import annotations

import statistics
import tempfile
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
    "ours, to read": "#first-view td",
    "ours, to use": "#leaderboard .virtual-table-viewport [role=gridcell]",
}
_LOADS = 7


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
            browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
            seconds: dict[str, list[float]] = {page: [] for page in _WHERE}
            for _ in range(_LOADS):
                for page, where in _WHERE.items():
                    seconds[page].append(_seconds(browser, bare if page == "bare Gradio" else ours, where))
    print(f"{'page':<16}{'seconds':>9}{'over bare':>11}   median of {_LOADS} loads")
    base = statistics.median(seconds["bare Gradio"])
    for page, values in seconds.items():
        middle = statistics.median(values)
        print(f"{page:<16}{middle:>9.2f}{middle / base:>11.2f}")


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
