"""Pages that were laid out before new results came: each of them brings itself up to date as it opens."""

from __future__ import annotations

import time
import urllib.request
from pathlib import Path
from typing import Any

from tests.space.sample_runs import changed, many_runs
from tests.space.visitor import Visitor
from truebench_hf.space.app import serve
from truebench_hf.space.board.runs import slug
from truebench_hf.space.options import SpaceOptions


def _models(visitor: Visitor) -> list[str]:
    (opening,) = (e for e in visitor.events.values() if [act for _, act in e["targets"]] == ["load"])
    visitor.at_once(opening)
    models = [row[1] for row in visitor.shown["leaderboard", "value"]["data"]]
    # What opens a line's run follows the lines.
    keys = visitor.shown["leaderboard-keys", "value"].split()
    assert [slug(model) in key for key, model in zip(keys, models, strict=True)] == [True] * len(models)
    return models[:2]


def test_the_page_carries_what_a_window_shows_and_half_a_name_breaks_nothing(tmp_path: Path) -> None:
    runs = many_runs(tmp_path / "runs", 1, 30)
    changed(runs / "run000", name="hf:org/half \ud83c")
    app: Any = serve(SpaceOptions(runs=(str(runs),), refresh=3600, port=0), block=False)
    try:
        page = urllib.request.urlopen(app.local_url, timeout=30).read().decode()
    finally:
        app.close()
    view = page.partition("<gradio-app")[0]
    assert "hf:org/half ?</td>" in view
    assert view.count("<tr") == 1 + 25, "of one measured and 32 published results"


def test_every_page_that_opens_late_gets_the_new_results(tmp_path: Path) -> None:
    runs = many_runs(tmp_path / "runs", 1, 30)
    app: Any = serve(SpaceOptions(runs=(str(runs),), refresh=1, port=0), block=False)
    try:
        first, second, third = (Visitor(app.local_url) for _ in range(3))
        assert _models(first)[1] == "o1", "one measured run, then the paper's"
        later = changed(many_runs(tmp_path / "more", 1, 30) / "run000", name="hf:org/Later-9B")
        later.rename(runs / "run001")
        end = time.monotonic() + 120
        while "hf:org/Later-9B" not in _models(second):
            assert time.monotonic() < end, "the board looks for new results every second"
            time.sleep(0.2)
        assert "hf:org/Later-9B" in _models(third), "its page is as old as the second's, which came first"
        assert "hf:org/Later-9B" in [row[1] for row in Visitor(app.local_url).shown["leaderboard", "value"]["data"]]
    finally:
        app.close()
