"""What is reached by other ways than commands gives what it gave: the Python API, rewards, the Space; and a classifier."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.case import Case
from tests.golden.cases import ELSEWHERE, SURFACES
from tests.golden.check import check


@pytest.mark.parametrize("case", SURFACES, ids=lambda case: case.name)
def test_what_users_get_is_what_it_was(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case", ELSEWHERE, ids=lambda case: case.name)
def test_what_a_neighbour_writes_is_what_it_was(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
