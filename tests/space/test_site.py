"""The pages as they are served: every address answers with one, always as of now; results for programs; headers."""

from __future__ import annotations

import asyncio
import json
import re
import time
import urllib.request
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from tests.space.made import board_of, page, text_of
from tests.space.sample_runs import changed, many_runs
from tests.space.visitor import launched
from truebench_hf.space import pages, site, visitors
from truebench_hf.space.app import serve
from truebench_hf.space.board.store import BoardStore, Snapshot
from truebench_hf.space.options import SpaceOptions


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = many_runs(tmp_path_factory.mktemp("app") / "runs", 2, 40)
    changed(folder / "run000", name="hf:org/half \ud83c")
    return folder


@pytest.fixture(scope="module")
def url(runs: Path) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visitors, "REFRESH", 1)
        app: Any = launched(lambda: serve(SpaceOptions(runs=(str(runs),)), block=False))
        yield app.local_url
        app.close()


def _get(url: str, **headers: str) -> tuple[bytes, Message]:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=120) as answer:
        return answer.read(), answer.headers


def _page(url: str) -> str:
    return _get(url)[0].decode()


TABS = {
    "": '<section class="board">', "tab=judges": "Measured on this board", "tab=explorer": 'aria-label="List of conversations"',
    "tab=about": "What happens to what you type", "tab=playground": "<gradio-app", "tab=submit": "<gradio-app",
    "tab=playground&page=2": "<gradio-app", "tab=nothing": '<section class="board">', "tab=model": "not on the board",
}  # fmt: skip


@pytest.mark.parametrize("query", TABS)
def test_every_tab_has_an_address(url: str, query: str) -> None:
    text = _page(f"{url}?{query}")
    assert TABS[query] in text
    assert (">Skip to the results</a>" in text) is ("gradio-app" not in TABS[query])


def test_the_page_says_what_there_is_and_half_a_name_breaks_nothing(url: str) -> None:
    text = _page(url)
    assert "half ?</a>" in text
    assert text.count("<table") == 1
    assert '<html lang="en">' in text
    assert '<html lang="en" data-theme="dark">' in _page(f"{url}?__theme=dark")
    assert 'property="og:title"' in text
    published = re.search(r'href="([^"]*)">Published</a>', text)
    assert published
    assert "Claude-3.7-Sonnet-Thinking" in _page(url + published[1].replace("&amp;", "&") + "&view=Languages")


HOSTILE = {
    "a board nobody has": {"board": "../../etc/passwd"}, "script": {"view": "<script>alert(1)</script>", "model": "<script>"},
    "too long": {"group": "x" * 3000, "model": "x" * 3000}, "half a character": {"board": "\u0000", "set": "\ud83c"},
    "digits of another script": {"run": "sample", "id": "<script>", "beside": "\ud83c", "part": "٣"},
    "a page far away": {"run": "sample", "part": "9" * 500, "failed": "x" * 599}, "Gradio's own": {"deep_link": "../x", "page": "1"},
}  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE)
def test_any_address_gets_a_page(url: str, query: dict[str, str]) -> None:
    address = urlencode(query, errors="surrogatepass")
    for tab in ("leaderboard", "judges", "explorer", "model", "about"):
        text = _page(f"{url}?tab={tab}&{address}").partition("<main>")[2].partition("</main>")[0]
        assert "<script>" not in text
        assert 'id="results"' in text
    assert _page(f"{url}api/board.csv?{address}").startswith("\ufeffRank,Last rank,Model,Overall,")
    assert json.loads(_page(f"{url}api/board.json?{address}"))["board"] == "TRUEBench"
    assert "no result" in _page(f"{url}api/badge.svg?{address}")
    assert _page(f"{url}?%ff=%fe&&={quote('x')}")


@pytest.mark.parametrize("path", ["", "?tab=playground", "config", "api/board.json", "assets/nothing.js"])
def test_browsers_are_told_that_nothing_comes_from_elsewhere(url: str, path: str) -> None:
    try:
        headers = _get(url + path)[1]
    except urllib.error.HTTPError as error:
        headers = error.headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "strict-origin-when-cross-origin"
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert "http" not in headers["Content-Security-Policy"].replace("https://huggingface.co", ""), "no host but ours"
    assert policy["frame-ancestors"] == "'self' https://huggingface.co", "where the Hub shows Spaces"


def test_a_page_is_compressed_and_small(url: str) -> None:
    body, headers = _get(url, **{"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] == "gzip"
    assert len(body) < 40_000, "all of a first view"


def test_a_page_that_opens_late_has_the_new_results(url: str, runs: Path, tmp_path: Path) -> None:
    later = changed(many_runs(tmp_path / "more", 1, 30) / "run000", name="hf:org/Later-9B")
    later.rename(runs / "run009")
    end = time.monotonic() + 120
    while "Later-9B</a>" not in _page(url):
        assert time.monotonic() < end, "the board looks for new results every second"
        time.sleep(0.2)


def test_programs_are_told_who_leads_and_what_the_judge_says(url: str) -> None:
    client = Client(url, verbose=False)
    listed = client.view_api(return_format="dict", print_info=False)
    assert set(listed["named_endpoints"]) == {"/who_leads", "/judge_answer"}
    leads = client.predict("truebench", "", api_name="/who_leads")
    assert (leads["board"], leads["rows"][0]["rank"], bool(leads["lead"])) == ("TRUEBench", 1, True)
    for criteria, why in (("", "The checklist is empty"), ("x\n" * 13, "the limit is 12")):
        with pytest.raises(AppError, match=why):
            client.predict("Say hello.", "Hello.", criteria, api_name="/judge_answer")


@pytest.mark.slow
def test_programs_are_told_the_same_over_mcp(url: str) -> None:
    mcp = pytest.importorskip("mcp", reason="pip install 'truebench-hf[mcp]'")
    http = pytest.importorskip("mcp.client.streamable_http")

    async def tools() -> tuple[list[str], Any, Any]:
        async with (
            http.streamablehttp_client(f"{url}gradio_api/mcp/") as (read, write, _),
            mcp.ClientSession(read, write) as session,
        ):
            await session.initialize()
            names = [tool.name for tool in (await session.list_tools()).tools]
            leads = await session.call_tool("who_leads", {"board_id": "truebench", "group": ""})
            texts = {"prompt": "Say hello.", "answer": "Hello.", "criteria": ""}
            return names, leads, await session.call_tool("judge_answer", texts)

    names, leads, refused = asyncio.run(tools())
    assert names == ["who_leads", "judge_answer"], "and nothing that belongs to the pages"
    assert "'rank': 1" in leads.content[0].text
    assert (refused.isError, refused.content[0].text) == (True, "The checklist is empty: write one criterion per line.")


def test_about_tells_what_the_board_holds(tmp_path: Path) -> None:
    board = board_of(many_runs(tmp_path, 2, 20))
    text = text_of(page(board, tab="about"))
    assert "Results Published Measured Submitted TRUEBench 32 2 0 Judges 50 0 0" in text
    assert re.search(r"Sources last read: [\d-]+ [\d:]+ UTC", text)
    markup = site.about(Snapshot((), (), stale="Since 04:00 UTC it is out of reach."), "org/results@v2", "org/space")
    for part in (
        "last read: not yet. Since 04:00 UTC it is out of reach.", "huggingface.co/datasets/org/results/tree/v2",
        "huggingface.co/spaces/org/space/tree/main/truebench_hf/prompts",
    ):  # fmt: skip
        assert part in markup


def test_every_paper_can_be_cited() -> None:
    text, cited = pages.read("about.md"), page(BoardStore(), tab="about").partition('<pre id="bibtex"')[2]
    for paper in ("TRUEBench", "RubricEval", "TICK", "FACTS Grounding", "FlexBench"):
        [line] = [line for line in text.splitlines() if f"**{paper}**" in line]
        address = re.search(r"\]\((https://[^)]+)\)", line)
        assert address, "a link to the paper"
        assert address[1] in cited, "and the same where it is cited"
        assert paper in cited
    assert "VERSION" not in cited
