"""The log of inspect and its task, of the run that `exports.yaml` exports in all other forms.

They need `inspect_ai`, whose pins collide with ours: they run in an environment of their own (`sh
tests/integrations/setup.sh`).
"""

from __future__ import annotations

from pathlib import Path

from tests.golden.case import Case
from tests.golden.texts import read_cases
from tests.integrations.test_inspect_task import python
from tests.support.runs import ROOT

(EXPORT,) = read_cases(Path(__file__).with_name("exports.yaml"))


def _inspect() -> None:
    Path("inspect").mkdir()
    python("inspect", str(ROOT / "tests/integrations/inspect_writes.py"), "inspect", folder=Path.cwd())


CASES = (Case("inspect", EXPORT.write, (_inspect,)),)
