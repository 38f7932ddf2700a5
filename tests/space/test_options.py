"""What `truebench space` refuses before it reads or loads anything, and what it says when it is ready."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from truebench_hf.errors import UserError
from truebench_hf.space.options import SpaceOptions, check_address, from_environment


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"port": 99999}, "--port 99999: must be at most 65535"),
        ({"port": -1}, "--port -1"),
        ({"max_tokens": 8}, "--max-tokens 8: must be at least 32"),  # the slider of the playground begins at 16
        ({"max_queue": 0}, "--max-queue 0: must be at least 1"),
        ({"max_upload_mb": 0}, "--max-upload-mb 0"),
        ({"runs": ("/no/such/folder",)}, "--runs /no/such/folder: no such folder"),
        ({"runs": ("",)}, "--runs : no such folder"),  # not the folder that we happen to be in
        ({"runs": (__file__,)}, "no such folder"),  # a file
        ({"results": "noslash"}, "--results noslash: write it as"),
        ({"results": "a/b/c"}, "--results a/b/c"),
        ({"results": "org/name@"}, "--results org/name@: write it as ORG/NAME or"),
        ({"results": "org/--"}, "--results org/--"),  # the Hub's own rules
        ({"model": "opnai:x"}, "unknown --model spec 'opnai:x': did you mean openai:MODEL"),
        ({"model": "openai:"}, "unknown --model spec"),
        ({"model": "smollm2:x"}, "unknown --model spec"),
        ({"judge": "hf-classifier:x"}, "unknown --judge spec 'hf-classifier:x'"),  # it decides no criteria
        ({"max_document": 0}, "--max-document 0"),
        (
            {"model": "hf:x", "model_base_url": "http://here"},
            "--model-base-url http://here: only goes with specs of servers such as openai:",
        ),
        ({"model_arg": ("temperature",)}, "--model-arg temperature: write it as name=value"),
        ({"judge": "gpt-5"}, "unknown --judge spec 'gpt-5'"),
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
        judge="hf:/not/there/yet", port=0, max_tokens=32,
    )  # fmt: skip
    assert options.results == "org/name@v1"


def test_options_from_the_environment() -> None:
    given = {"TRUEBENCH_RUNS": f"., {Path(__file__).parent},", "TRUEBENCH_MAX_TOKENS": "99", "TRUEBENCH_MODEL": ""}
    options = from_environment(given | {"TRUEBENCH_SUBMIT": "no", "TRUEBENCH_WARM": "yes"})
    assert options.warm
    assert options.runs == (".", str(Path(__file__).parent))
    assert (options.max_tokens, options.submit, options.model) == (99, False, "smollm2")
    assert options.host == "0.0.0.0"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"TRUEBENCH_PORT": "x"}, "TRUEBENCH_PORT=x: must be a number"),
        ({"TRUEBENCH_SUBMIT": "maybe"}, "TRUEBENCH_SUBMIT=maybe: must be yes or no"),  # it was taken for yes
        ({"TRUEBENCH_RUNS": "/no/such"}, "TRUEBENCH_RUNS /no/such: no such folder"),  # the variable, not a flag
        ({"TRUEBENCH_JUDGE": "gpt-5"}, "unknown TRUEBENCH_JUDGE spec 'gpt-5'"),
        ({"TRUEBENCH_JUDGE_BASE_URL": "http://x"}, "TRUEBENCH_JUDGE_BASE_URL and TRUEBENCH_JUDGE_ARG only go with"),
    ],
)
def test_refusals_name_the_variable(given: dict[str, str], said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        from_environment(given)


def test_an_address_that_cannot_be_had() -> None:
    check_address("127.0.0.1", 0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=rf"--port {port}: .* on 127\.0\.0\.1; give another one, or 0 for any"):
            check_address("127.0.0.1", port)
    check_address("127.0.0.1", port)
    for host in ("192.0.2.1", "no such host", "a..b"):  # of nobody; of no form; not even encodable
        with pytest.raises(UserError, match=f"--host {re.escape(host)}: .*127.0.0.1"):
            check_address(host, 0)


def _space(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "truebench_hf.cli.main", "space", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_command_says_in_one_line_that_a_port_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, _space("--port", str(taken.getsockname()[1])) as process:
        told, problem = process.communicate(timeout=60)
    assert (process.returncode, told) == (2, "")
    assert problem.startswith("truebench: --port ")
    assert problem.count("\n") == 1


@pytest.mark.slow
def test_the_command_says_its_address_once_and_nothing_else() -> None:
    with _space("--port", "0") as process:
        assert process.stdout is not None
        ready = process.stdout.readline()
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        told, problem = process.communicate(timeout=60)
    assert re.fullmatch(r"The Space is at http://127\.0\.0\.1:\d+/ \(Ctrl-C ends it\)\n", ready), ready + problem
    assert (told, problem) == ("", "truebench: stopped; the same command goes on where it was\n")
    assert process.returncode == 128 + signal.SIGTERM


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_is_told_before_the_first_visitor_with_warm(tmp_path: Path) -> None:
    with _space("--port", "0", "--warm", "--model", f"hf:{tmp_path}") as process:
        told, problem = process.communicate(timeout=180)
    assert (process.returncode, told) == (2, "")
    assert problem.startswith(f"truebench: hf:{tmp_path}: ")
    assert problem.count("\n") == 1
