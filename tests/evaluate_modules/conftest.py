"""The modules, each loaded once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import truebench_hf


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the modules keep their rows."""
    return tmp_path_factory.mktemp("rows")


@pytest.fixture(scope="module")
def load(folder: Path) -> Callable[..., Any]:
    """Load a module by its name: once, but for those with options."""
    import evaluate

    def loaded(name: str, **options: Any) -> Any:
        return evaluate.load(truebench_hf.metric(name), cache_dir=str(folder / name), **options)

    kept = cache(loaded)
    return lambda name, **options: loaded(name, **options) if options else kept(name)
