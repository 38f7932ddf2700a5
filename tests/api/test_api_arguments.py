"""What is wrong with a call from Python is said of its arguments, what is wrong with a command of its flags."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.runs import command_here
from truebench_hf.errors import UserError, as_arguments

ROWS = [{"id": "1", "prompt": "Greet.", "criteria": ["greets"]}]
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any], str]] = {
    "a column": (truebench_hf.run, {"column": ["prompt"]}, "column='prompt': write it as name=value"),
    "a number": (truebench_hf.run, {"max_tokens": 0}, "max_tokens=0: must be at least 1"),
    "an option of two words": (
        truebench_hf.run,
        {"rules": "off", "judge": "none"},
        "judge='none': what can be counted",
    ),
    "a language": (truebench_hf.run, {"language": "DE"}, "language='DE': the data names no language"),
    "tick": (truebench_hf.tick, {"votes": 0}, "votes=0: must be at least 1"),
    "the hub": (truebench_hf.publish_results, {}, "say where to: repo_id='ORG/RESULTS'"),
}


@pytest.mark.parametrize("name", CALLS)
def test_python(name: str, tmp_path: Path) -> None:
    function, more, told = CALLS[name]
    given: dict[str, Any] = {"data": ROWS, "model": lambda messages: "Hi", "judge": lambda messages: "Hi", **more}
    with pytest.raises(UserError) as caught:
        function(tmp_path) if function is truebench_hf.publish_results else function(**given)
    assert told in str(caught.value)
    assert "--" not in str(caught.value)


def test_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    done = command_here(
        capsys, "run", "--data", "mini", "--model", "smollm2", "--judge", "smollm2", "--column", "prompt", "--out", "x"
    )
    assert done.stderr == "truebench: --column prompt: write it as name=value\n"


def test_a_judge_in_python(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^calibration='.*none': cannot be read"):
        truebench_hf.Judge("smollm2", calibration=tmp_path / "none")


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        ("--data a/b.jsonl: no such file", "data='a/b.jsonl': no such file"),
        ("--column a=b:c: has no use", "column='a=b:c': has no use"),
        ("--name-one and --name-two only go with --panel", "name_one= and name_two= only go with panel="),
        (
            "--judge none: with --rules off, say; leave out --rules",
            "judge='none': with rules='off', say; leave out rules=",
        ),
        ("--no-reasoning goes with --judge-level rubric", "reasoning=False goes with judge_level='rubric'"),
        ("run `truebench judge --out x` first", "run `truebench judge --out x` first"),  # is to be typed
        ("a--b -- c", "a--b -- c"),
    ],
)
def test_flags_as_arguments(flags: str, arguments: str) -> None:
    assert as_arguments(flags) == arguments
