"""Built sets that several tests look at, each made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from tests.support.runs import RELEASE
from truebench_hf.loaders.export import Built, export


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Built]:
    """Return a set by its name as `export` builds it; "truebench" is the release, where it is at hand."""

    @cache
    def by_name(name: str) -> Built:
        if name == "truebench" and not RELEASE.is_file():
            pytest.skip("the real file ../shared/data/truebench is not here")
        source = str(RELEASE) if name == "truebench" else None
        return export(name, tmp_path_factory.mktemp(name) / "out", source=source)

    return by_name
