"""The Space's leaderboard with 200 models and 3,000 instances: seconds until it can be read, its size, and a stroke in the search.

`make bench`, or `python -m tests.bench`. Wall times of a page depend on the machine.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from tests.space.conftest import CHROMIUM, FLAGS, serving
from tests.space.sample_runs import many_runs

_LOADS = 7
# Milliseconds until the table is laid out again after a stroke in the search.
_TYPED = """text => {
  const field = document.getElementById("find"), begun = performance.now();
  field.value = text;
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  document.querySelector("table").getBoundingClientRect();
  return performance.now() - begun;
}"""
_READ = 'performance.getEntriesByName("first-contentful-paint")[0]?.startTime / 1000'
_SIZE = 'performance.getEntriesByType("navigation")[0].transferSize / 1000'


def main() -> None:
    """Print a line: median seconds until the page is painted, kilobytes on the wire, milliseconds of a stroke."""
    if not CHROMIUM.exists():
        print(f"first page: left out, no {CHROMIUM}")
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        runs = many_runs(Path(name) / "runs", 200, 3000)
        with serving(["--runs", str(runs)], Path(name) / "log.txt", limits={"REFRESH": 3600}) as url:
            browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
            seconds = []
            for _ in range(_LOADS):
                page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
                page.goto(url)
                page.wait_for_function(_READ)
                seconds.append(page.evaluate(_READ))
            size, strokes = page.evaluate(_SIZE), [page.evaluate(_TYPED, "Model-150 70b"[:n]) for n in range(1, 14)]
            print(
                f"first page: {statistics.median(seconds):.2f} s of {_LOADS} loads, {size:.0f} kB, a stroke in the search "
                f"{statistics.median(strokes):.0f} ms"
            )
