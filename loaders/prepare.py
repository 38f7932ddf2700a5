"""The corpora by name, and what runs their builders: rows in memory, one by one, or on disk.

Nothing stays in a cache that could go stale.
"""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.data import slug
from truebench_hf.data.catalogue import entry
from truebench_hf.errors import UserError, in_python, unknown
from truebench_hf.loaders import checklists, facts, flexbench, rubric_eval, training, truebench
from truebench_hf.loaders.builders import Builder, Data
from truebench_hf.loaders.card import data_file
from truebench_hf.loaders.rows import BATCH, Stored

_LOG = logging.getLogger(__name__)
_BUILDERS: dict[str, type[Builder]] = {
    builder.NAME: builder
    for builder in (
        truebench.TrueBench, truebench.TrueBenchMini, rubric_eval.RubricEval, rubric_eval.RubricMini,
        facts.FactsGrounding, facts.FactsMini, flexbench.FlexBench, checklists.Checklists, checklists.ChecklistsMini,
        training.Training,
    )
}  # fmt: skip


def corpus(name: str) -> type[Builder]:
    """Return the builder of this name in the catalogue, in any case. Raises UserError with the nearest names."""
    return _BUILDERS[entry(name).name]


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
) -> Any:
    """The rows of a data set of `truebench data list`: a `datasets.Dataset`, or without `split` a `DatasetDict`.

    `config` is by default the first of the set (`all`); `DE` and `german` are `de`. `split` may be a slice
    (`test[:10]`); with `streaming` rows come as they are asked for, in an `IterableDataset`. `source` (a path, a Hub id
    or a release) is where rows come from that are not built in; `columns` maps the columns of `truebench` and
    `rubric_eval` to the file's. Rows that cannot be used are left out, and a warning in the log counts them; `strict`
    raises UserError on the first, as does a name that is not there.
    """
    chosen: dict[str, Any] = {"source": source, "columns": columns, "strict": strict}
    if "split" in corpus(name).TAKES and split:
        chosen["split"] = re.split(r"\W", str(split))[0]
    with tempfile.TemporaryDirectory(prefix="truebench-") as cache, errors():
        builder = _builder(name, config, chosen, cache)
        if streaming:
            if "[" in str(split):
                remedy = "give the split, and .take(10) of what comes back"
                raise UserError(f"split {str(split)!r}: a stream has no slices; {remedy}")
            streams = builder.as_streaming_dataset()
            _check(split, list(streams))
            return streams if split is None else streams[str(split)]
        builder.download_and_prepare()
        if builder.left_out:
            _LOG.warning("%s", builder.left_out)
        if not any(info.num_examples for info in builder.info.splits.values()):
            raise UserError(f"{name}: the source holds nothing for the configuration {builder.config.name}")
        _check(split, list(builder.info.splits))
        try:
            return builder.as_dataset(split, in_memory=True)
        except (ValueError, AssertionError) as error:
            raise UserError(f"split {str(split)!r}: {error}; write it as test[:10] or test[:10%]") from error


def build(name: str, folder: Path, source: Mapping[str, Any]) -> tuple[Data, list[Builder]]:
    """Every configuration of a data set as Parquet in a folder: those of the builder, and the parts of the first.

    Beside them the builders that made them. Parts come in the order of their columns, then by name; each keeps the order
    of the rows. However large the source is, only some rows of it are in memory at a time.
    """
    kind, data, builders = corpus(name), dict[str, dict[str, Stored]](), []
    for config in kind.PREPARED:
        with tempfile.TemporaryDirectory(prefix="truebench-", dir=folder) as cache, errors():
            builder = _builder(name, config, source, cache, writer_batch_size=BATCH)
            builder.download_and_prepare(f"{cache}/made", file_format="parquet", max_shard_size=1 << 60)
            builders.append(builder)
            splits = builder.info.splits
            filled = [split for split in splits if splits[split].num_examples]
            if not filled and kind.SPARSE and data:
                continue
            data[config] = {}
            for split in filled or list(splits)[:1]:
                place = folder / data_file(config, split)
                place.parent.mkdir(parents=True, exist_ok=True)
                path = Path(cache, "made", f"{builder.dataset_name}-{split}.parquet")
                data[config][split] = Stored(path.rename(place))
    first = data[kind.PREPARED[0]]
    for column in kind.PARTS:
        values: dict[str, dict[str, set[str]]] = {}  # part -> split -> its values there: no split is empty
        for split, table in first.items():
            for value in table.column(column):
                values.setdefault(slug(value), {}).setdefault(split, set()).add(value)
        for part in sorted(values.keys() - {""}):
            held = values[part].items()
            data[part] = {s: first[s].part(column, names, folder / data_file(part, s)) for s, names in held}
    return data, builders


def _builder(name: str, config: str | None, source: Mapping[str, Any], cache: str, **more: Any) -> Builder:
    options = {key: value for key, value in source.items() if value}
    return corpus(name)(cache, config_name=config, **options, **more)


def _check(split: Any, names: list[str]) -> None:
    for name in re.findall(r"(?:^|\+)\s*(\w+)", "" if split is None else str(split)):
        if name not in (*names, "all"):
            raise unknown("split", name, names)


@contextmanager
def errors() -> Iterator[None]:
    """What row functions find wrong as it is, without what datasets wraps around it; and none of its progress bars."""
    import datasets
    from datasets.exceptions import DatasetGenerationError

    before = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    except DatasetGenerationError as error:
        if isinstance(error.__cause__, UserError):
            raise error.__cause__ from None
        raise
    finally:
        if not before:
            datasets.enable_progress_bars()
