"""Through which rooms of the house an `Instance` of a scripted `truebench run` passes: down from where it is asked for.

A stay is a room whose functions receive or return the instance, one after the other; a climb is a step to a room on a
higher floor. Two are needed: up to what is asked, and up to what is scored and written.
"""

from __future__ import annotations

import sys
import threading
from itertools import groupby, pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.support.runs import ROOT, row, write_jsonl
from tests.support.stages import run
from tests.test_house import FLOOR_OF
from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.types import Instance


@pytest.mark.slow
def test_an_instance_passes_few_rooms_and_seldom_climbs(tmp_path: Path) -> None:
    rooms = passage(tmp_path)
    assert rooms[0] == "data"
    assert {"benchmarks", "models"} <= set(rooms)
    assert (len(rooms) <= 10, climbs(rooms) <= 2) == (True, True), rooms


_PACKAGE = f"{ROOT / 'truebench_hf'}/"
_TURNS = [("Name a river.", ["is short", "is true"]), ("And a city?", ["is short"])]


def passage(folder: Path) -> list[str]:
    """The rooms through which the instance of a run in an empty folder passes; each stands once for each stay."""
    data = write_jsonl(folder / "data.jsonl", [row("only", _TURNS)])
    (folder / "model.json").write_text('{"rules": [], "default": {"reply": "The Rhine."}}', encoding="utf-8")
    (folder / "judge.json").write_text('{"rules": [], "default": {"verdicts": {}}}', encoding="utf-8")
    model, judge = (f"scripted:{folder / name}.json" for name in ("model", "judge"))
    watcher = _Watcher()
    threading.setprofile(watcher)
    sys.setprofile(watcher)
    try:
        run(RunOptions(data=data, model=(model,), judge=(judge,), out=str(folder / "out")))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return [room for room, _ in groupby(watcher.rooms)]


def climbs(rooms: list[str]) -> int:
    """How often a room is followed by one on a higher floor."""
    return sum(FLOOR_OF[after] > FLOOR_OF[before] for before, after in pairwise(rooms))


class _Watcher:
    """Notes the room of every function of the house that receives or returns an instance."""

    def __init__(self) -> None:
        self.rooms: list[str] = []
        self._seen: set[FrameType] = set()

    def __call__(self, frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(_PACKAGE):
            return
        values = [value]
        if event == "call":
            if frame in self._seen:  # a coroutine that goes on is no new call
                return
            self._seen.add(frame)
            values = [frame.f_locals[name] for name in code.co_varnames[: code.co_argcount] if name in frame.f_locals]
        if any(isinstance(one, Instance) for one in values):
            self.rooms.append(code.co_filename.removeprefix(_PACKAGE).partition("/")[0].removesuffix(".py"))
