"""The way of an instance through the house: down from where it is asked for, and seldom up again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.passage import climbs, passage


@pytest.mark.slow
def test_an_instance_passes_few_rooms_and_seldom_climbs(tmp_path: Path) -> None:
    rooms = passage(tmp_path)
    assert rooms[0] == "data"
    assert {"benchmarks", "models"} <= set(rooms)
    assert (len(rooms) <= 10, climbs(rooms) <= 2) == (True, True), rooms
