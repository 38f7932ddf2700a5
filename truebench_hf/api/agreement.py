"""Judges held against labels of one's own, from Python: `truebench metaeval` on a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from truebench_hf.api.judge import File
from truebench_hf.api.run import Data, Models, Pairs, kept
from truebench_hf.arguments import in_python
from truebench_hf.errors import UserError

if TYPE_CHECKING:
    from pandas import DataFrame


class MetaevalKeywords(TypedDict, total=False):
    """The options of `truebench metaeval` beside data, judge and out; `truebench metaeval --help` explains them."""

    paradigms: str
    threshold: float | None
    calibration: File | None
    votes: int
    judge_temperature: float
    reworded: bool
    attacks: bool
    attacks_each: int | None
    panel: str | None
    with_published: bool
    structured: str
    rules: str
    prompt: Pairs
    limit: int | None
    seed: int
    patience: float
    engine: str
    ray_address: str | None
    judge_arg: Pairs
    judge_base_url: str | None
    judge_concurrency: int


@in_python
def judge_agreement(
    data: Data, *, judge: Models, by: Sequence[str] = (), out: File | None = None, **options: Unpack[MetaevalKeywords]
) -> DataFrame:
    """How well judges agree with labels of your own: a row per judge and paradigm, or `by` group besides.

    `data` has the columns prompt, response, criterion and label (1 or 0, true or false, yes or no), and category, language
    and cluster where they are known: a DataFrame, a `datasets.Dataset`, dicts, a file or a Hub id. Judges are given as in
    `run`; `by` are some of language, instruction_category, rubric_type, dimension and split. The columns are counts (n
    decided, undecided, unlabelled rows ...) and a `Score` (value, n, unscored, ci95) of each measure: balanced_accuracy,
    balanced_accuracy_strict, macro_f1, accuracy, tpr, tnr and kappa. With `out` a folder all else that `truebench metaeval`
    writes is kept. Raises UserError on what the caller can fix, TypeError on unknown options.
    """
    from truebench_hf.metrics.agreement import MEASURES, agreement

    verdicts = kept(_verdicts, {"data": data, "judge": judge, **options}, out)
    groups = {"category": "instruction_category"}
    names = [groups.get(name, name) for name in by]
    if strange := [name for name in names if name not in verdicts]:
        raise UserError(f"by={strange[0]!r}: the groups are category, language, rubric_type, dimension and split")
    return agreement(verdicts, ["judge", "paradigm", *names], measures=(*MEASURES, "kappa"))


def _verdicts(given: Mapping[str, Any]) -> Any:
    from truebench_hf.benchmarks.rubric_eval.metaeval.options import MetaevalOptions
    from truebench_hf.benchmarks.rubric_eval.metaeval.study import metaeval
    from truebench_hf.options import from_values

    return metaeval(from_values(MetaevalOptions, given)).verdicts
