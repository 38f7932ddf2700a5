"""What holds for every test: no secret that another one has made known is masked in it."""

from __future__ import annotations

import gc
import os

os.environ["TRUEBENCH_CACHE"] = "off"  # no test gets what another one was answered

import pytest
from hypothesis import settings

from truebench_hf.text import redaction

if "PYTEST_XDIST_WORKER" in os.environ:
    # Read when torch is first imported: workers that share the processors only wait for each other's threads.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# As `models.loading` has it, whichever test imports torch first: threads that spin make a busy machine many times slower.
os.environ.setdefault("GOMP_SPINCOUNT", "5000")

# The clock would tell of the machine, and of what an example imports.
settings.register_profile("unhurried", max_examples=40, deadline=None)
settings.load_profile("unhurried")

gc.disable()  # nothing of what is imported is garbage


def pytest_collection_finish() -> None:
    """What is there now stays: the collector need not look through it again and again."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_learned", ())
