"""`truebench tick` from Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from truebench_hf.api.judge import File, ModelLike
from truebench_hf.api.run import Data, Models, Pairs, kept
from truebench_hf.arguments import in_python

if TYPE_CHECKING:
    from truebench_hf.results.report import Report


class TickKeywords(TypedDict, total=False):
    """The options of `truebench tick` beside data, models, judge and out; `truebench tick --help` explains them."""

    rules: str
    prompt: Pairs
    patience: float
    engine: str
    ray_address: str | None
    limit: int | None
    seed: int
    max_tokens: int
    temperature: float
    samples: int
    structured: str
    judge_level: str | None
    threshold: float
    votes: int
    judge_temperature: float
    judge_arg: Pairs
    judge_base_url: str | None
    judge_concurrency: int
    generator: ModelLike | None
    checklists: File | None
    generator_arg: Pairs
    generator_base_url: str | None
    generator_concurrency: int
    column: Pairs
    criteria_separator: str
    model_arg: Pairs
    model_base_url: str | None
    model_concurrency: int


@in_python
def tick(
    *,
    data: Data | None = None,
    instruction: str | None = None,
    model: Models,
    judge: ModelLike,
    out: File | None = None,
    **options: Unpack[TickKeywords],
) -> Report:
    """Compare models on any prompts by checklists made for them: `truebench tick` as a call, with the same options.

    `data` is a file, a Hub id, or rows (dicts, a `datasets.Dataset`, a DataFrame) with prompt or messages; `instruction` a
    single text in its place. Models are given as in `run`; the `generator` of checklists is the judge where none is
    named. The report has `pass_rate`, `drfr` and `all_met` by model, and with `out` a folder all the rest. Raises
    UserError on what the caller can fix, TypeError on unknown options.
    """
    given: dict[str, Any] = {"model": model, "judge": judge, **options}
    given |= {name: value for name, value in (("data", data), ("instruction", instruction)) if value is not None}
    return kept(_tick, given, out)


def _tick(given: Mapping[str, Any]) -> Report:
    from truebench_hf.benchmarks.tick.tick import TickOptions, tick
    from truebench_hf.options import from_values

    return tick(from_values(TickOptions, given))
