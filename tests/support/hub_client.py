"""Processes of real Hub clients against the stub, each with an empty cache and an empty working directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from . import forked
from .hub_stub import HubStub


class HubClient:
    """Runs code or the command `truebench` in fresh processes against one stub; `folder` holds their directories."""

    def __init__(self, hub: HubStub, folder: Path) -> None:
        self.hub = hub
        self.folder = folder
        self.processes = 0

    def process(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run Python with these arguments; a variable set to an empty text is absent in effect."""
        here, environment = self._fresh(env)
        return subprocess.run(
            [sys.executable, *arguments], cwd=here, env=environment, capture_output=True, text=True, timeout=120
        )

    def truebench(self, *arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
        """Run the command `truebench`."""
        return forked.truebench([str(argument) for argument in arguments], *self._fresh(env))

    def _fresh(self, env: dict[str, str]) -> tuple[Path, dict[str, str]]:
        self.processes += 1
        here = self.folder / f"process{self.processes}"
        here.mkdir()
        return here, {**os.environ, **self.hub.env, "HF_HOME": str(here / "home"), **env}

    def value(self, code: str, **env: str) -> Any:
        """The value that `code` prints as JSON on its last line."""
        done = self.process("-c", textwrap.dedent(code), **env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])
