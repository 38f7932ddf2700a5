"""The page as it is served: it carries the leaderboard of the address, always as of now; its server functions are public."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from tests.space.sample_runs import changed, many_runs
from tests.space.visitor import launched
from truebench_hf.space import visitors
from truebench_hf.space.app import serve
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


def _page(url: str) -> str:
    text: str = urllib.request.urlopen(url, timeout=120).read().decode()
    return text


def _asked(url: str, function: str, data: Any, of: str = "leaderboard") -> Any:
    config = json.loads(_page(f"{url}config"))
    (part,) = (one["id"] for one in config["components"] if one["props"].get("elem_id") == of)
    body = {"data": data, "component_id": part, "fn_name": function, "session_hash": "x"}
    request = urllib.request.Request(
        f"{url}gradio_api/component_server/", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    return json.loads(urllib.request.urlopen(request, timeout=120).read())


def test_the_page_carries_the_table_once_and_half_a_name_breaks_nothing(url: str) -> None:
    page = _page(url)
    view, _, rest = page.partition("<gradio-app")
    assert "half ?</button>" in view
    assert view.count("<table") == 1
    assert "half ?" not in rest, "the table is drawn and sent once"
    assert "og:image" not in page, "the picture that Gradio would show of a link"
    assert ">half ?</button>" not in _page(f"{url}?tab=about"), "another tab was asked for"
    assert "Claude-3.7-Sonnet-Thinking" in _page(f"{url}?group={_groups(page)['Published']}&view=Languages")


def _groups(page: str) -> dict[str, str]:
    """First word of a heading, or of a side of the board, -> the id of the first group there."""
    folded = re.findall(r"<summary>(\w+).*?data-go=\"group=(\w+)\"", page, re.DOTALL)
    sides = re.findall(r"data-go=\"group=(\w+)\" aria-pressed=\"\w+\">(\w+)<", page)
    return dict(folded) | {name: group for group, name in sides}


@pytest.mark.parametrize("query", ["tab=explorer&page=2", "pag%65=x", "page=&page=1", "deep_link=../x", "%ff=%fe&&="])
def test_any_address_opens_the_page(url: str, query: str) -> None:
    assert "<gradio-app" in _page(f"{url}?{query}"), "Gradio reads some of it, too"


@pytest.mark.parametrize("path", ["", "config", "api/board.json", "assets/nothing.js", "gradio_api/queue/data"])
def test_browsers_are_told_that_nothing_comes_from_elsewhere(url: str, path: str) -> None:
    try:
        headers = urllib.request.urlopen(url + path, timeout=120).headers
    except urllib.error.HTTPError as error:
        headers = error.headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "strict-origin-when-cross-origin"
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert "http" not in headers["Content-Security-Policy"].replace("https://huggingface.co", ""), "no host but ours"
    assert policy["frame-ancestors"] == "'self' https://huggingface.co", "where the Hub shows Spaces"


def test_what_the_server_answers_is_compressed(url: str) -> None:
    for path in ("", "config"):
        request = urllib.request.Request(f"{url}{path}", headers={"Accept-Encoding": "gzip"})
        assert urllib.request.urlopen(request, timeout=120).headers["Content-Encoding"] == "gzip"


def test_every_page_that_opens_late_has_the_new_results(url: str, runs: Path, tmp_path: Path) -> None:
    later = changed(many_runs(tmp_path / "more", 1, 30) / "run000", name="hf:org/Later-9B")
    later.rename(runs / "run009")
    end = time.monotonic() + 120
    while "Later-9B</button>" not in _page(url):
        assert time.monotonic() < end, "the board looks for new results every second"
        time.sleep(0.2)
    assert "Later-9B</button>" in _asked(url, "show_board", {})


HOSTILE = [
    None, 3, [], "x", {"board": 7, "group": ["a"], "view": None, "model": {"x": 1}}, {"board": "../../etc/passwd"},
    {"view": "<script>alert(1)</script>", "model": "<script>"}, {"group": "x" * 100_000, "model": "x" * 100_000},
    {"board": "\u0000", "view": "\ud83c", "style": ["average"]}, [[[]]], {"__class__": "x"},
    {"set": "\ud83c", "judge": ["x"], "run": "sample", "id": "\ud83c<script>", "beside": "\ud83c", "language": "\udfff", "part": "٣"},
    {"run": ["sample"], "id": 3, "part": -1, "show": ["markdown"], "near": {}}, {"run": "sample", "part": "9" * 500, "failed": "x" * 599},
]  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_server_functions_answer_anything_with_a_board(url: str, data: Any) -> None:
    board = _asked(url, "show_board", data)
    assert 'data-board="truebench"' in board
    assert "<script>" not in board
    assert _asked(url, "open_model", data) == "<p>This result is not on the board, or no longer.</p>"
    assert _asked(url, "table_csv", data).startswith("Rank,Last rank,Model,Overall,")
    judges = _asked(url, "show_judges", data, "judges-page")
    assert "Published in papers" in judges
    conversations = _asked(url, "show_conversations", data, "explorer-page")
    assert 'aria-label="List of conversations"' in conversations
    assert "<script>" not in judges + conversations


def test_programs_are_told_who_leads_and_what_the_judge_says(url: str) -> None:
    client = Client(url, verbose=False)
    leads = client.predict("truebench", "", api_name="/who_leads")
    assert (leads["board"], leads["rows"][0]["rank"], bool(leads["lead"])) == ("TRUEBench", 1, True)
    for criteria, why in (("", "The checklist is empty"), ("x\n" * 13, "the limit is 12")):
        with pytest.raises(AppError, match=why):
            client.predict("Say hello.", "Hello.", criteria, api_name="/judge_answer")
