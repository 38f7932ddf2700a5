"""A process that holds a ledger with a hundred answers until it is killed."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.runs import ROOT

_CODE = """
import sys, time
from pathlib import Path
from truebench_hf.engine.ledger import Calls
from truebench_hf.types import Usage
ledger = Calls(Path(sys.argv[1]))
for number in range(100):
    ledger.put(f"key{number}", "model", "{}", {"text": f"answer {number}"}, Usage(1, 2, 0, 1))
print("committed", flush=True)
time.sleep(600)
"""


@contextlib.contextmanager
def held_by_another(path: Path) -> Iterator[None]:
    """The ledger at `path` is in use within the block, and its process killed behind it."""
    with subprocess.Popen([sys.executable, "-c", _CODE, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True) as one:
        try:
            assert one.stdout is not None
            assert one.stdout.readline() == "committed\n"
            yield
        finally:
            one.kill()
