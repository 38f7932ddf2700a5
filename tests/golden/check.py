"""One case played and compared with what is expected of it, or renewed."""

from __future__ import annotations

import os
from pathlib import Path

from tests.golden import compare
from tests.golden.case import Case, play
from tests.golden.held import held


def check(case: Case, folder: Path) -> None:
    """Play a case in an empty folder; fail with a short account where it gives something else than expected.

    GOLDEN=renew writes what it gives as what is expected, GOLDEN=strict compares without tolerance.
    """
    found, mode = held(folder, play(case, folder)), os.environ.get("GOLDEN")
    if mode == "renew":
        compare.write(case.name, found)
        return
    different = compare.differences(case.name, compare.read(case.name), found, strict=mode == "strict")
    assert not different, different
