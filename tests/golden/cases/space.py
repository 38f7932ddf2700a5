"""The pages of the Space over three finished runs, by requests to the app: board, a model opened, explorer, judges."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

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


def _visit() -> None:
    from tests.space.visitor import launched
    from truebench_hf.space.app import serve
    from truebench_hf.space.options import SpaceOptions

    app: Any = launched(lambda: serve(SpaceOptions(runs=("runs",)), block=False))
    try:
        pages = _pages(app.local_url)
    finally:
        app.close(verbose=False)
    Path("space").mkdir()
    for name, text in pages.items():
        Path("space", name).write_text(text, encoding="utf-8")


def _pages(url: str) -> dict[str, str]:
    def got(**query: str) -> str:
        text: str = urllib.request.urlopen(f"{url}?{urlencode(query)}", timeout=60).read().decode()
        return text

    alpha, beta = re.findall(r'data-key="([^"]*)"', got(board="own"))
    addresses = {
        "board": {},
        "board_own": {"board": "own"},
        "board_own_languages": {"board": "own", "view": "Languages"},
        "board_charts": {"board": "truebench", "view": "Charts"},
        "board_judges": {"board": "metaeval"},
        "model": {"tab": "model", "model": beta},
        "model_gone": {"tab": "model", "model": "none-such"},
        "explorer": {"tab": "explorer", "run": alpha},
        "explorer_beside": {"tab": "explorer", "run": alpha, "beside": beta, "id": "q4"},
        "explorer_filtered": {"tab": "explorer", "run": beta, "language": "DE", "failed": "HAS q"},
        "explorer_markdown": {"tab": "explorer", "run": beta, "outcome": "passed", "show": "markdown"},
        "judges": {"tab": "judges"},
    }
    pages = {f"{name}.html": got(**query) for name, query in addresses.items()}
    # The styles and scripts of a page are files of their own, and all pages have the same.
    pages = {name: re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL) for name, text in pages.items()}
    pages = {name: re.sub(r"\b\d{4}-\d\d-\d\d\b", "DAY", text) for name, text in pages.items()}
    for name in ("board.json", "board.csv", f"badge.svg?model={beta}"):
        pages[name.partition("?")[0]] = urllib.request.urlopen(f"{url}api/{name}", timeout=60).read().decode()
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
