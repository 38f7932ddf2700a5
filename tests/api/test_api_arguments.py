"""What calls from Python take, and what is wrong with one is said of its arguments, of a command of its flags."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import truebench_hf
from tests.support.runs import command_here
from truebench_hf.api.face import BuildOptions
from truebench_hf.api.judge import KeptJudgeOptions
from truebench_hf.api.run import AgreementOptions
from truebench_hf.benchmarks.tick.tick import TickOptions
from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.errors import UserError, as_arguments
from truebench_hf.hub.push import MetricOptions, PublishSpaceOptions, PushOptions, ResultsOptions

ROWS = [{"id": "1", "prompt": "Greet.", "criteria": ["greets"]}]


def hello(messages: Any) -> str:
    return "Hi"


CALLS: dict[Callable[..., Any], dict[str, Any]] = {
    truebench_hf.run: {"data": ROWS, "model": hello, "judge": hello},
    truebench_hf.tick: {"data": ROWS, "model": hello, "judge": hello},
    truebench_hf.judge: {"prompt": "Hi.", "response": "Hello.", "criteria": "greets", "judge": hello},
    truebench_hf.publish_results: {"run": "."},
}
REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (truebench_hf.run, {"column": ["prompt"]}, "column='prompt': write it as name=value"),
    (truebench_hf.run, {"rules": "off", "judge": "none"}, "judge='none': what can be counted"),
    (truebench_hf.run, {"language": "DE"}, "language='DE': the data names no language"),
    (truebench_hf.run, {"data": 3}, "must be a path, a name, or rows"),
    (truebench_hf.run, {"data": []}, "holds no instances"),
    (truebench_hf.run, {"data": ["Name a colour."]}, "row 1 is a str"),
    (truebench_hf.run, {"data": {"train": ROWS, "test": ROWS}}, "several splits (train, test)"),
    (truebench_hf.run, {"model": 3}, "model=3: must be a text"),
    (truebench_hf.run, {"responses": ["Hi."]}, "give a model, or responses in its place"),
    (truebench_hf.tick, {"votes": 0}, "votes=0: must be at least 1"),
    (truebench_hf.publish_results, {}, "say where to: repo_id='ORG/RESULTS'"),
    (truebench_hf.judge, {"criteria": [{"text": "good", "wieght": 2}]}, "did you mean weight"),
    (truebench_hf.judge, {"criteria": 3}, "criteria: must be a text or a list, not a int"),
    (truebench_hf.judge, {"criteria": []}, "criteria: there are none"),
    (truebench_hf.judge, {"response": 3}, "response: must be a text or a list"),
    (truebench_hf.judge, {"response": ["a", 3]}, "response 2: response: must be a text, not a int"),
    (truebench_hf.judge, {"response": ["a", "b"], "prompt": ["a", "b", "c"]}, "prompt: 3 for 2 responses"),
    (truebench_hf.judge, {"response": ["a", "b"], "context": ["c"]}, "context: 1 for 2 responses"),
    (truebench_hf.judge, {"response": ["a"], "criteria": ["b", ["c"]]}, "criteria: some are lists and some are not"),
    (truebench_hf.judge, {"prompt": [{"role": "system", "content": "Hi."}]}, "its last message must be the user's"),
    (truebench_hf.judge, {"judge": 3}, "a model is a spec such as"),
    (truebench_hf.judge, {"judge": None, "rules": False}, "with rules='off' nothing would be decided"),
    (truebench_hf.judge, {"threshold": 2.0}, "threshold=2.0"),
    (truebench_hf.judge, {"votes": 3}, "temperature above 0"),
    (truebench_hf.judge, {"base_url": "http://localhost:1/v1"}, "base URL only goes with specs of servers"),
    (truebench_hf.judge, {"judge_arg": {"batch_size": 2}}, "takes no options here"),
    (truebench_hf.judge, {"judge": "smollm2", "calibration": "none.json"}, "calibration='none.json': cannot be read"),
]


@pytest.mark.parametrize(("call", "more", "message"), REFUSED)
def test_what_the_caller_can_fix_is_one_line_about_arguments(
    call: Callable[..., Any], more: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError) as refusal:
        call(**CALLS[call] | more)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert "--" not in str(refusal.value)


def test_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    done = command_here(
        capsys, "run", "--data", "mini", "--model", "smollm2", "--judge", "smollm2", "--column", "prompt", "--out", "x"
    )
    assert done.stderr == "truebench: --column prompt: write it as name=value\n"


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


SIGNATURES = [
    (truebench_hf.run, RunOptions, {"responses", "model_name"}),
    (truebench_hf.tick, TickOptions, set()),
    (truebench_hf.judge_agreement, AgreementOptions, set()),
    (truebench_hf.build_data, BuildOptions, set()),
    (truebench_hf.push_data, PushOptions, set()),
    (truebench_hf.publish_results, ResultsOptions, set()),
    (truebench_hf.publish_space, PublishSpaceOptions, set()),
    (truebench_hf.publish_metric, MetricOptions, set()),
    (truebench_hf.judge, KeptJudgeOptions, {"prompt", "response", "criteria", "judge", "context", "reference"}),
    (truebench_hf.Judge, KeptJudgeOptions, {"judge"}),
]


@pytest.mark.parametrize(("call", "options", "more"), SIGNATURES, ids=[call.__name__ for call, *_ in SIGNATURES])
def test_a_call_takes_the_options_of_its_command_and_no_others(call: Any, options: Any, more: set[str]) -> None:
    names = set(options.model_fields) - {"estimate"}  # a call returns a report
    assert set(inspect.signature(call).parameters) == names | more
    assert all(f"- `{name}`: " in call.__doc__ for name in names)
    required = [
        name for name, p in inspect.signature(call).parameters.items() if p.default is p.empty and name != "settings"
    ]
    with pytest.raises(TypeError, match=rf"{call.__name__}\(\): unknown argument 'modle'"):
        call(**dict.fromkeys(required, "x"), modle="y")


def test_models_may_be_objects_and_texts_several() -> None:
    parameters = inspect.signature(truebench_hf.run).parameters
    kinds = {name: parameters[name].annotation for name in ("judge", "cascade_judge", "language", "limit")}
    assert kinds == {"judge": "Models", "cascade_judge": "ModelLike | None", "language": "Texts", "limit": "int | None"}
