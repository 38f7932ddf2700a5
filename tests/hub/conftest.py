"""A Hub on the loopback, the real clients on it, and two scripted runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.runs import script
from truebench_hf import run
from truebench_hf.benchmarks.truebench import data
from truebench_hf.hub.layout import read_table
from truebench_hf.loaders.export import export

ADDRESS = "http://10.0.0.4:8000/v1"


@pytest.fixture
def hub() -> Iterator[HubStub]:
    with HubStub() as running:
        yield running


@pytest.fixture
def client(hub: HubStub, tmp_path: Path) -> HubClient:
    return HubClient(hub, tmp_path)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs: `whole` over mini, where the server of one answer was down, and `part` over three instances."""
    folder = tmp_path_factory.mktemp("secret-folder")
    rules = [{"contains": data.load("mini")[0].turns[0].prompt[:40], "error": f"the server at {ADDRESS} is down"}]
    model = script(folder / "tea-model.json", rules, {"reply": "Answer 🍵."})
    judge = script(folder / "judge.json", [{"contains": "<criteria", "verdicts": {"sentence": "FAIL"}}])
    for name, limit in (("whole", None), ("part", 3)):
        run(data="mini", model=model, judge=judge, judge_level="checklist", out=str(folder / name), limit=limit)
    return folder


@pytest.fixture(scope="session")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in sample as a built set."""
    return export("truebench_mini", tmp_path_factory.mktemp("built") / "mini").folder


def headline(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The row of a run's table that has its main score."""
    return next(row for row in rows if row["main"])


def table(repo: Path) -> list[dict[str, Any]]:
    """The rows of all tables in a results data set."""
    return [row for file in sorted(repo.glob("runs/*/scores.parquet")) for row in read_table(file)]
