"""The pages of the Space over three finished runs, by requests to the app: board, a model opened, explorer, judges."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import rows, scripts
from tests.support.runs import row

# Of twelve instances Alpha fails three and Beta seven, of which the judge leaves one open.
FAILED = {"Alpha-7B": (1, 2, 3), "Beta-70B": (1, 3, 4, 5, 6, 8, 9)}
SCRIPT = "<script>window.broken = 1</script>"


def _write() -> None:
    rows("data", [
        row(f"q{n}", [(f"Ask q{n}. in **bold**", [f"has q{n}.", "is kind"])], language="DE" if n % 2 else "EN",
            category="Translation" if n % 3 else "Safety")
        for n in range(12)
    ])  # fmt: skip
    for name, failed in FAILED.items():
        replies = [{"contains": f"q{n}.", "reply": f"{name} is wrong on q{n}. {SCRIPT}"} for n in failed]
        scripts({name: [*replies, {"contains": "Ask", "reply": f"{name} is *right*."}]})
    down = {"contains": ["Beta-70B is wrong", "q9."], "error": "judge out of order"}
    wrong = [{"contains": [f"is wrong on q{n}."], "verdicts": {f"has q{n}.": "FAIL"}} for n in range(12)]
    scripts({"judge": [down, *wrong, {"contains": "<criteria", "verdicts": {}}]})


class _Visitor:
    """Asks a running Space for its pages."""

    def __init__(self, url: str) -> None:
        self._url = url
        parts = json.loads(self.get("config"))["components"]
        self._parts = {part["props"].get("elem_id"): part["id"] for part in parts}

    def get(self, path: str) -> str:
        text: str = urllib.request.urlopen(self._url + path, timeout=60).read().decode()
        return text

    def ask(self, part: str, function: str, **asked: str) -> str:
        """Call a function of the server as the page's script does."""
        body = {"data": asked, "component_id": self._parts[part], "fn_name": function, "session_hash": "golden"}
        address, kind = f"{self._url}gradio_api/component_server/", {"Content-Type": "application/json"}
        answer = urllib.request.urlopen(urllib.request.Request(address, json.dumps(body).encode(), kind), timeout=60)
        text: str = json.loads(answer.read())
        return text


def _visit() -> None:
    from tests.space.visitor import launched
    from truebench_hf.space.app import serve
    from truebench_hf.space.options import SpaceOptions

    app: Any = launched(lambda: serve(SpaceOptions(runs=("runs",)), block=False))
    try:
        pages = _pages(_Visitor(app.local_url))
    finally:
        app.close(verbose=False)
    Path("space").mkdir()
    for name, text in pages.items():
        Path("space", name).write_text(text, encoding="utf-8")


def _pages(visitor: _Visitor) -> dict[str, str]:
    own = visitor.ask("leaderboard", "show_board", board="own")
    alpha, beta = re.findall(r'data-key="([^"]*)"', own)
    asked: dict[str, tuple[str, str, dict[str, str]]] = {
        "board": ("leaderboard", "show_board", {}),
        "board_chart": ("leaderboard", "show_board", {"board": "own", "view": "Chart"}),
        "board_own_languages": ("leaderboard", "show_board", {"board": "own", "view": "Languages"}),
        "board_judges": ("leaderboard", "show_board", {"board": "metaeval"}),
        "model": ("leaderboard", "open_model", {"board": "own", "model": beta}),
        "model_gone": ("leaderboard", "open_model", {"board": "own", "model": "none-such"}),
        "explorer": ("explorer-page", "show_conversations", {"run": alpha}),
        "explorer_beside": ("explorer-page", "show_conversations", {"run": alpha, "beside": beta, "id": "q4"}),
        "explorer_filtered": ("explorer-page", "show_conversations", {"run": beta, "language": "DE", "failed": "HAS q"}),
        "explorer_markdown": ("explorer-page", "show_conversations", {"run": beta, "outcome": "passed", "show": "markdown"}),
        "judges": ("judges-page", "show_judges", {}),
    }  # fmt: skip
    pages = {f"{name}.html": visitor.ask(part, function, **query) for name, (part, function, query) in asked.items()}
    # What stands in the page before Gradio has drawn it.
    pages["first_view.html"] = visitor.get("?board=own").partition("<gradio-app")[0]
    pages["table.csv"] = visitor.ask("leaderboard", "table_csv", board="own")
    return pages


_RUN = "run --data data.jsonl --model scripted:{0}.json --judge scripted:judge.json --out runs/{0} --allow-unscored"
CASES = (
    Case(
        "space", _write,
        (
            *(_RUN.format(name) for name in FAILED),
            "metaeval --data rubric_mini --limit 12 --judge scripted:judge.json --paradigms rubric --out runs/judges",
            _visit,
        ),
    ),
)  # fmt: skip
