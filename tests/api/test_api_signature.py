"""What `run` and `judge` take by name is what their options and `Judge` take: declared for editors, held together here."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import Field, fields
from typing import Any

import pytest

import truebench_hf
from truebench_hf.api.agreement import MetaevalKeywords
from truebench_hf.api.judge import Judge, JudgeKeywords
from truebench_hf.api.run import RunKeywords
from truebench_hf.api.tick import TickKeywords
from truebench_hf.benchmarks.rubric_eval.metaeval.options import MetaevalOptions
from truebench_hf.benchmarks.tick.tick import TickOptions
from truebench_hf.benchmarks.truebench.options import RunOptions

# Texts on the command line for which Python has a better form.
SPECIAL = {"calibration": "File | None", "prompt": "Pairs"}
SPECIAL |= {"column": "Pairs", "criteria": "File | None", "checklists": "File | None"}


def as_python(field: Field[Any]) -> str:
    """The type of an option as a caller in Python gives it."""
    name, kind = field.name, str(field.type)
    if name in SPECIAL:
        return SPECIAL[name]
    if name.endswith("_arg"):
        return "Pairs"
    if field.metadata.get("role"):
        return {"str": "ModelLike", "str | None": "ModelLike | None"}.get(kind, "Models")
    return "Texts" if kind == "tuple[str, ...]" else kind


def declared(keywords: Any) -> dict[str, str]:
    return {name: getattr(kind, "__forward_arg__", kind) for name, kind in keywords.__annotations__.items()}


@pytest.mark.parametrize(
    ("call", "keywords", "options", "more"),
    [
        (truebench_hf.run, RunKeywords, RunOptions, {"responses", "model_name"}),
        (truebench_hf.tick, TickKeywords, TickOptions, set()),
        (truebench_hf.judge_agreement, MetaevalKeywords, MetaevalOptions, {"by"}),
    ],
    ids=["run", "tick", "judge_agreement"],
)
def test_a_call_takes_the_options_of_its_command(call: Any, keywords: Any, options: Any, more: set[str]) -> None:
    own = set(inspect.signature(call).parameters) - {"options"} | {"estimate"}  # a call returns a report
    expected = {field.name: as_python(field) for field in fields(options) if field.name not in own}
    text = "\n".join(f"    {name}: {kind}" for name, kind in expected.items())
    assert declared(keywords) == expected, f"{keywords.__name__} should be\n{text}"
    assert own <= {field.name for field in fields(options)} | more


def test_judge_takes_the_settings_of_a_judge_to_keep() -> None:
    parameters = list(inspect.signature(Judge.__init__).parameters.values())[2:]
    assert declared(JudgeKeywords) == {parameter.name: parameter.annotation for parameter in parameters}


def words(signature: inspect.Signature) -> Iterator[str]:
    for name, parameter in signature.parameters.items():
        if parameter.kind != parameter.VAR_KEYWORD:
            yield name


@pytest.mark.parametrize(
    "offered",
    [truebench_hf.judge, truebench_hf.run, truebench_hf.tick, truebench_hf.judge_agreement],
    ids=["judge", "run", "tick", "judge_agreement"],
)
def test_a_slip_of_the_pen_is_refused(offered: Any) -> None:
    given = dict.fromkeys(set(words(inspect.signature(offered))) - {"responses", "model_name"}, "x")
    with pytest.raises(TypeError, match="modle"):
        offered(**given, modle="y")
