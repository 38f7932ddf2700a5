"""What `run`, `tick`, `judge` and the calls of the Hub take by name: the options of their commands, and nothing else."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import truebench_hf
from truebench_hf.api.face import BuildOptions
from truebench_hf.api.judge import KeptJudgeOptions
from truebench_hf.api.run import AgreementOptions
from truebench_hf.benchmarks.tick.tick import TickOptions
from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.hub.options import MetricOptions, PublishSpaceOptions, PushOptions, ResultsOptions

CALLS = [
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


@pytest.mark.parametrize(("call", "options", "more"), CALLS, ids=[call.__name__ for call, *_ in CALLS])
def test_a_call_takes_the_options_of_its_command_and_explains_them(call: Any, options: Any, more: set[str]) -> None:
    names = set(options.model_fields) - {"estimate"}  # a call returns a report
    assert set(inspect.signature(call).parameters) == names | more
    assert all(f"- `{name}`: " in call.__doc__ for name in names)


@pytest.mark.parametrize("call", [call for call, *_ in CALLS], ids=[call.__name__ for call, *_ in CALLS])
def test_a_slip_of_the_pen_is_refused(call: Any) -> None:
    required = [
        name for name, p in inspect.signature(call).parameters.items() if p.default is p.empty and name != "settings"
    ]
    with pytest.raises(TypeError, match="modle"):
        call(**dict.fromkeys(required, "x"), modle="y")


def test_models_may_be_objects_and_texts_several() -> None:
    parameters = inspect.signature(truebench_hf.run).parameters
    kinds = {name: parameters[name].annotation for name in ("judge", "cascade_judge", "language", "limit")}
    assert kinds == {"judge": "Models", "cascade_judge": "ModelLike | None", "language": "Texts", "limit": "int | None"}
