"""Data sets, metrics and publishing as Python calls them: errors speak of arguments, as commands they speak of flags."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from truebench_hf.api import publishing
from truebench_hf.arguments import in_python
from truebench_hf.options import as_call

build_data = as_call(publishing.BuildOptions, publishing.build_data, "name", "out")
push_data = as_call(publishing.PushOptions, publishing.push_data, "folder", "repo_id")
publish_results = as_call(publishing.ResultsOptions, publishing.publish_results, "run", "repo_id")
publish_space = as_call(publishing.PublishSpaceOptions, publishing.publish_space, "repo_id", "folder")
publish_metric = as_call(publishing.MetricOptions, publishing.publish_metric, "name", "repo_id")
check_results = in_python(publishing.check_results)


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

    reading = Reading(source, columns=columns or {}, strict=strict, data_files=data_files, data_dir=data_dir)
    return load_rows(name, config, split, reading, streaming)


def metric(name: str) -> str:
    """The folder of one of the `evaluate` modules, for `evaluate.load(truebench_hf.metric("rubric_agreement"))`.

    Works without network. Raises UserError on an unknown name.
    """
    from truebench_hf.evaluate_modules import module_folder

    return str(module_folder(name))
