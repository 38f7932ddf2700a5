"""Waiting for the workers of a Ray cluster."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from truebench_hf.text.terminal import warn

_SILENT = 120.0  # seconds without any answer after which it is told what the cluster has free


@contextmanager
def told_if_silent(cpus: float, gpus: int) -> Iterator[threading.Event]:
    """Say what workers that take so much may be waiting for, where the event is not set for long."""
    answered = threading.Event()

    def look() -> None:
        if not answered.is_set():
            warn(f"--engine ray: no answer for {_SILENT:g} s; {_free(cpus, gpus)}; it goes on waiting")

    timer = threading.Timer(_SILENT, look)
    timer.daemon = True
    timer.start()
    try:
        yield answered
    finally:
        timer.cancel()


def _free(cpus: float, gpus: int) -> str:
    """What a worker needs, and what is free: little is, too, while a worker loads its model."""
    there, free = _resources()
    parts = [("processors", "CPU", cpus), *([("GPUs", "GPU", gpus)] if gpus else [])]
    return "; ".join(
        f"{free.get(key, 0):g} of {there.get(key, 0):g} {name} are free, of which a worker takes {need:g}"
        for name, key, need in parts
    )


def _resources() -> tuple[dict[str, float], dict[str, float]]:
    """What the cluster has, and what of it is free."""
    import ray

    return ray.cluster_resources(), ray.available_resources()
