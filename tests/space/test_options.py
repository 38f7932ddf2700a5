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

from truebench_hf.errors import UserError
from truebench_hf.space.options import SpaceOptions, from_environment


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"runs": ("/no/such/folder",)}, "--runs /no/such/folder: no such folder"),
        ({"runs": ("",)}, "--runs : no such folder"),  # not the folder that we happen to be in
        ({"runs": (__file__,)}, "no such folder"),  # a file
        ({"results": "noslash"}, "--results noslash: write it as"),
        ({"results": "org/name@"}, "--results org/name@: write it as ORG/NAME or"),
        ({"results": "org/--"}, "--results org/--"),  # the Hub's own rules
        ({"model": "opnai:x"}, "unknown --model spec 'opnai:x': did you mean openai:MODEL"),
        ({"model": "smollm2:x"}, "unknown --model spec"),
        ({"judge": "hf-classifier:x"}, "unknown --judge spec 'hf-classifier:x'"),  # it decides no criteria
        (
            {"model": "hf:x", "model_base_url": "http://here"},
            "--model-base-url http://here: only goes with specs of servers such as openai:",
        ),
        ({"model_arg": ("temperature",)}, "--model-arg temperature: write it as name=value"),
        ({"judge_arg": ("a=b",)}, "only go with --judge"),  # it would be passed over in silence
    ],
)
def test_what_cannot_work_is_refused_at_once(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        SpaceOptions(**given)


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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"TRUEBENCH_SUBMIT": "maybe"}, "TRUEBENCH_SUBMIT=maybe: must be yes or no"),  # it was taken for yes
        ({"TRUEBENCH_RUNS": "/no/such"}, "TRUEBENCH_RUNS /no/such: no such folder"),  # the variable, not a flag
        ({"TRUEBENCH_JUDGE": "gpt-5"}, "unknown TRUEBENCH_JUDGE spec 'gpt-5'"),
        ({"TRUEBENCH_JUDGE_BASE_URL": "http://x"}, "TRUEBENCH_JUDGE_BASE_URL and TRUEBENCH_JUDGE_ARG only go with"),
    ],
)
def test_refusals_name_the_variable(given: dict[str, str], said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        from_environment(given)


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
