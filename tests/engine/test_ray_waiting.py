"""A cluster that has no room is waited for, but not in silence."""

from __future__ import annotations

import threading

import pytest

from truebench_hf.engine import ray_waiting
from truebench_hf.engine.ray_waiting import told_if_silent


def test_who_waits_long_is_told_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    told = threading.Event()

    def warn(text: str) -> None:
        said.append(text)
        told.set()

    monkeypatch.setattr(ray_waiting, "_SILENT", 0.0)
    monkeypatch.setattr(ray_waiting, "_resources", lambda: ({"CPU": 4.0, "GPU": 2.0}, {"CPU": 1.0}))
    monkeypatch.setattr(ray_waiting, "warn", warn)
    with told_if_silent(2, 1):
        assert told.wait(30)
    assert said == [
        "--engine ray: no answer for 0 s; 1 of 4 processors are free, of which a worker takes 2; 0 of 2 GPUs are free, "
        "of which a worker takes 1; it goes on waiting"
    ]
