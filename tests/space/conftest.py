"""A real browser, and the Space served by its own command in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.space.sample_runs import many_runs, pairs_run, real_runs
from tests.support.hub_stub import HubStub
from tests.support.loopback import free_port

CHROMIUM = Path("/usr/bin/chromium")
SHOTS = Path(__file__).parents[2] / "screenshots"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
HOME = re.compile(r"http://127\.0\.0\.1:\d+/|data:|blob:")
RESULTS = "org/results"
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@dataclass(frozen=True)
class Served:
    """A running Space: its address, the runs it shows, the Hub it writes to, and what it printed."""

    url: str
    runs: Path
    hub: HubStub
    log: Path


# Not for the whole session: Playwright keeps an event loop running, in which no test can start one of its own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not CHROMIUM.exists():
        reason = "no /usr/bin/chromium: apt-get install -y chromium fonts-noto-cjk"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    SHOTS.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The Space over two scripted runs, six made-up ones over a release, and an empty results data set on the loopback Hub."""
    from huggingface_hub import HfApi

    folder = tmp_path_factory.mktemp("space")
    runs = real_runs(folder)
    many_runs(runs, 6, 200)
    pairs_run(runs / "pairs" / "tea")
    with HubStub() as hub:
        HfApi(endpoint=hub.url, token="any").create_repo(RESULTS, repo_type="dataset")
        # One thread for the model: on a busy machine several of them wait for each other.
        environment = hub.env | {"HF_HOME": str(folder / "hf"), "OMP_NUM_THREADS": "1"}
        arguments = ["--runs", str(runs), "--results", RESULTS]
        limits = {"REFRESH": 2, "UPLOAD_MIB": 2, "PROMPT": 2000, "TOKENS": 64, "SECONDS": 600}
        with serving(arguments, folder / "log.txt", environment, limits=limits) as url:
            yield Served(url, runs, hub, folder / "log.txt")


_LIMITED = """
from truebench_hf.cli.main import main
from truebench_hf.space import visitors

vars(visitors).update({})
main()
"""


class serving:
    """`truebench space` (or a script) in a process of its own, until the block ends; with other `limits`, by name."""

    def __init__(
        self, arguments: list[str], log: Path, environment: dict[str, str] | None = None, script: Path | None = None, *,
        limits: dict[str, int] | None = None,
    ) -> None:  # fmt: skip
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/"
        program = [str(script)] if script else ["-c", _LIMITED.format(limits or {}), "space"]
        own = {"GRADIO_SERVER_PORT": str(port), "GRADIO_SERVER_NAME": "127.0.0.1"}
        command, variables = [sys.executable, *program, *arguments], os.environ | (environment or {}) | own
        with log.open("w") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out, env=variables)
        self._log, self.pid = log, self._process.pid

    def __enter__(self) -> str:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if self._process.poll() is not None:
                break
            try:
                urllib.request.urlopen(self.url, timeout=5).read()
                return self.url
            except OSError:
                time.sleep(0.3)
        self.__exit__()
        raise AssertionError(f"the Space did not start:\n{self._log.read_text()[-3000:]}")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)


@pytest.fixture
def open_page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Open an address at a size; fails afterwards when a script raised, or was refused, or asked for something outside."""
    contexts, faults = [], []

    def opened(url: str, size: str = "desktop", dark: bool = False) -> Any:
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", accept_downloads=True
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: faults.append(f"script error: {error}"))
        page.on("console", lambda line: faults.append(line.text) if "Content Security Policy" in line.text else None)
        page.on("request", lambda asked: None if HOME.match(asked.url) else faults.append(f"asked {asked.url}"))
        page.goto(url)
        page.wait_for_selector("main #results, #tabs")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not faults, faults


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core, which looks for what keeps people out of a page."""
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")


# Resolves when the page has looked the same for a number of frames.
STILL = """frames => new Promise(done => {
  let last = "", still = 0;
  const look = () => {
    const page = document.documentElement;
    const box = document.activeElement.getBoundingClientRect();
    const now = [page.scrollWidth, page.scrollHeight, page.querySelectorAll("*").length, box.x, box.y].join();
    [still, last] = now === last ? [still + 1, last] : [0, now];
    if (still < frames) requestAnimationFrame(look); else done();
  };
  document.fonts.ready.then(look);
})"""


def settle(page: Any, frames: int = 10) -> None:
    """Wait until the page has stopped growing and moving, for as many frames."""
    page.evaluate(STILL, frames)


def shoot(page: Any, name: str) -> None:
    """Leave a picture for a person to look at."""
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)
