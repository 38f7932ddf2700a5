"""Instruction-following evaluation on the Hugging Face stack: five papers, one system.

`judge(...)` says whether a response meets criteria, `run(...)` scores a model, `tick(...)` compares models on any
prompts, `judge_agreement(...)` holds judges against labels, `checklist_reward(...)` trains a model, `build_data`,
`push_data` and `publish_*` put things on the Hub; nothing heavy is imported before it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truebench_hf.api import publishing
from truebench_hf.api.agreement import judge_agreement
from truebench_hf.api.awaited import ajudge, arun
from truebench_hf.api.judge import Judge, judge, model
from truebench_hf.api.judgment import Judgment
from truebench_hf.api.run import run
from truebench_hf.api.tick import tick
from truebench_hf.arguments import in_python
from truebench_hf.errors import UserError
from truebench_hf.integrations.rewards import checklist_reward
from truebench_hf.types import Criterion, Message
from truebench_hf.version import __version__ as __version__

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

__all__ = (
    "Criterion", "Judge", "Judgment", "Message", "UserError", "ajudge", "arun", "build_data", "check_results", "checklist_reward", "judge", "judge_agreement", "load", "metric",
    "model", "publish_metric", "publish_results", "publish_space", "push_data", "run", "tick",
)  # fmt: skip
# As commands they speak of flags.
build_data, push_data = in_python(publishing.build_data), in_python(publishing.push_data)
publish_results, check_results = in_python(publishing.publish_results), in_python(publishing.check_results)
publish_space, publish_metric = in_python(publishing.publish_space), in_python(publishing.publish_metric)


@in_python
def load(
    name: str,
    config: str | None = None,
    split: str | None = None,
    *,
    source: str | PathLike[str] | None = None,
    columns: Mapping[str, str] | None = None,
    strict: bool = False,
    streaming: bool = False,
    data_files: Any = None,
    data_dir: str | PathLike[str] | None = None,
) -> Any:
    """The rows of a data set of `truebench data list`: a `datasets.Dataset`, or without `split` a `DatasetDict`.

    `config` is by default the first of the set (`all`); `DE` and `german` are `de`. `split` may be a slice
    (`test[:10]`); with `streaming` rows come as they are asked for, in an `IterableDataset`. `source` (a path, a Hub id
    or a release), or `data_files` or `data_dir` as in `datasets`, is where rows come from that are not built in;
    `columns` maps the columns of `truebench` and `rubric_eval` to the file's. Rows that cannot be used are left out,
    and a warning in the log counts them; `strict` raises UserError on the first, as does a name that is not there.
    """
    from truebench_hf.loaders.prepare import Reading
    from truebench_hf.loaders.prepare import load as load_rows

    given = Reading(source, columns=columns or {}, strict=strict, data_files=data_files, data_dir=data_dir)
    return load_rows(name, config, split, given, streaming)


def metric(name: str) -> str:
    """The folder of one of the `evaluate` modules, for `evaluate.load(truebench_hf.metric("rubric_agreement"))`.

    Works without network. Raises UserError on an unknown name.
    """
    from truebench_hf.evaluate_modules import module_folder

    return str(module_folder(name))
