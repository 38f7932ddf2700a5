"""Judges held against labels of one's own, from Python: `truebench metaeval` on a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truebench_hf.api.run import declared
from truebench_hf.benchmarks.rubric_eval.metaeval.options import MetaevalOptions
from truebench_hf.benchmarks.rubric_eval.metaeval.study import metaeval
from truebench_hf.errors import UserError
from truebench_hf.options import from_values, option

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, kw_only=True)
class AgreementOptions(MetaevalOptions):
    """Which judges are held against which labels, and in which groups."""

    by: tuple[str, ...] = option((), help="Groups: some of language, category, rubric_type, dimension and split.")


@declared(AgreementOptions, by_place=("data",))
def judge_agreement(**options: Any) -> DataFrame:
    """How well judges agree with labels of your own: a row per judge and paradigm, or `by` group besides.

    `data` has the columns prompt, response, criterion and label (1 or 0, true or false, yes or no), and category, language
    and cluster where they are known: a DataFrame, a `datasets.Dataset`, dicts, a file or a Hub id. Judges are given as in
    `run`. The columns are counts (n decided, undecided, unlabelled rows ...) and a `Score` (value, n, unscored, ci95) of
    each measure: balanced_accuracy, balanced_accuracy_strict, macro_f1, accuracy, tpr, tnr and kappa. With `out` a folder
    all else that `truebench metaeval` writes is kept. Raises UserError on what the caller can fix, TypeError on unknown
    options.
    """
    from truebench_hf.metrics.agreement import MEASURES, agreement

    by = options.pop("by", ())
    verdicts: Any = metaeval(from_values(MetaevalOptions, options)).verdicts
    groups = {"category": "instruction_category"}
    names = [groups.get(name, name) for name in ([by] if isinstance(by, str) else by)]
    if strange := [name for name in names if name not in verdicts]:
        raise UserError(f"by={strange[0]!r}: the groups are category, language, rubric_type, dimension and split")
    return agreement(verdicts, ["judge", "paradigm", *names], measures=(*MEASURES, "kappa"))
