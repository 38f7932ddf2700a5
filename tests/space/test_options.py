"""What `truebench space` refuses before it reads or loads anything, and what it says when it is ready."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row, options_of
from truebench_hf.errors import UserError
from truebench_hf.space.options import SpaceOptions, from_environment


@each_row(__file__, "cases", "refused_options")
def test_what_cannot_work_is_refused_at_once(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        SpaceOptions(**options_of(values))


def test_what_may_come_later_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    options = SpaceOptions(
        runs=(str(tmp_path / "empty"),), results="org/name@v1", model="openai:x", model_base_url="http://127.0.0.1:1/v1",
        judge="hf:/not/there/yet",
    )  # fmt: skip
    assert options.results == "org/name@v1"


def test_options_from_the_environment() -> None:
    given = {"TRUEBENCH_RUNS": f"., {Path(__file__).parent},", "TRUEBENCH_MODEL": ""}
    options = from_environment(given | {"TRUEBENCH_SUBMIT": "no"})
    assert options.runs == (".", str(Path(__file__).parent))
    assert (options.submit, options.model) == (False, "smollm2")


@each_row(__file__, "cases", "refused_variables")
def test_refusals_name_the_variable(values: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        from_environment(values)


def _space() -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "truebench_hf.cli.main", "space"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_the_command_says_its_address_once_and_nothing_else() -> None:
    with _space() as process:
        ready = process.stdout.readline()
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        told, problem = process.communicate(timeout=60)
    assert re.fullmatch(r"The Space is at http://127\.0\.0\.1:\d+/ \(Ctrl-C ends it\)\n", ready), ready + problem
    assert (told, problem) == ("", "truebench: stopped; the same command goes on where it was\n")
    assert process.returncode == 128 + signal.SIGTERM
