"""What the `evaluate` modules share: what a module says of itself, columns of any kind, results that JSON can hold."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError, unknown
from truebench_hf.metrics.binary import parallel

_CITATIONS = Path(__file__).parents[1] / "citations.txt"
_ARXIV = {"rubriceval": "2603.25133", "tick": "2410.03608", "facts_grounding": "2501.03200"}
_URLS = {"truebench": ("https://github.com/SamsungLabs/TRUEBench",), "flexbench": ()} | {
    name: (f"https://arxiv.org/abs/{number}",) for name, number in _ARXIV.items()
}


def information(description: str, inputs: str, columns: Sequence[str], papers: Sequence[str]) -> Any:
    """The `evaluate.MetricInfo` of a module with these columns; `inputs` describes its arguments and values.

    `papers` are keys of `citations.txt`, the one that the measure is of first. A row is kept as JSON text, which
    `Module` writes and reads: evaluate's own types refuse None in the first row, and take texts for what they look like.
    """
    import datasets
    import evaluate

    urls = [url for paper in papers for url in _URLS[paper]]
    return evaluate.MetricInfo(
        description=description,
        citation="\n\n".join(map(citation, papers)),
        inputs_description=inputs,
        features=datasets.Features({column: datasets.Value("string") for column in columns}),
        homepage=next(iter(urls), ""),
        license="Apache-2.0",
        reference_urls=urls,
    )


def citation(key: str) -> str:
    """The BibTeX entry of this key."""
    entries = _CITATIONS.read_text(encoding="utf-8").strip().split("\n\n")
    return next(entry for entry in entries if entry.partition("{")[2].startswith(f"{key},"))


class Module:
    """Stands before `evaluate.Metric` among the bases of a module, which gives `_score` in place of `_compute`.

    `_score` takes the columns as lists of plain Python values, and options; it returns the values by name, and for each
    row what is found of it. Not an `evaluate.Metric` itself: evaluate takes the first one among a module's names for the
    metric to load.
    """

    def add_batch(self, **columns: Any) -> None:
        """Add rows: a column each, of any library; `references` may be one that holds for all.

        Raises UserError, and adds none, where a column is absent, longer than the other or no column.
        """
        names = self._feature_names()  # type: ignore[attr-defined]
        _known(columns, names)
        plain_columns = _columns({name: columns.get(name) for name in names})
        super().add_batch(**{name: list(map(json.dumps, column)) for name, column in plain_columns.items()})  # type: ignore[misc]

    def add(self, **row: Any) -> None:
        """Add one row: `prediction` and `reference`, where the module has references."""
        names = self._feature_names()  # type: ignore[attr-defined]
        values = {name if name.endswith("s") else f"{name}s": value for name, value in row.items()}
        _known(values, names)
        if absent := [name.removesuffix("s") for name in names if name not in values]:
            raise UserError(f"{' and '.join(absent)} must be given, too")
        super().add(**{name: json.dumps(plain(values[name])) for name in names})  # type: ignore[misc]

    def compute(self, **arguments: Any) -> dict[str, Any] | None:
        """The values over the rows added before and those given here; with `details`, each row's as well."""
        names = self._feature_names()  # type: ignore[attr-defined]
        if getattr(self, "writer", None) is None and all(arguments.get(name) is None for name in names):
            raise UserError(f"give {' and '.join(f'{name}=' for name in names)}, or add rows before")
        try:
            return super().compute(**arguments)  # type: ignore[misc,no-any-return]
        except BaseException:
            self._let_go()
            raise

    def _compute(self, details: bool = False, **arguments: Any) -> dict[str, Any]:
        names = self._feature_names()  # type: ignore[attr-defined]
        columns = {name: [json.loads(text) for text in arguments.pop(name)] for name in names}
        score = self._score  # type: ignore[attr-defined]
        takes = inspect.signature(score).parameters
        arguments |= {"details": details} if "details" in takes else {}
        if "options" not in takes and (wrong := [name for name in arguments if name not in takes]):
            raise unknown("option", wrong[0], {*takes, "details"} - {*names})
        values, rows = score(**columns, **arguments)
        return plain(values | ({"details": list(rows)} if details else {}))  # type: ignore[no-any-return]

    def _let_go(self) -> None:
        """Close the files of rows that could not be scored, which evaluate leaves locked."""
        if getattr(self, "data", None) is None:  # refused before it was added: what was added before stays
            return
        self.data = self.buf_writer = None
        both = getattr(self, "filelocks", None) or (), getattr(self, "file_paths", None) or ()
        for lock, path in zip(*both, strict=True):
            Path(path).unlink(missing_ok=True)
            lock.release()


def _known(columns: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise UserError for a name that is no column; a module without references passes over them, as evaluate does."""
    for name in columns:
        if name not in (*names, "predictions", "references"):
            raise unknown("column", name, names)


def _columns(columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Columns of plain values. Where only one is of a `ClassLabel`, its numbers mean the same in the other one."""
    parallel(**{name: () if column is not None else None for name, column in columns.items()})
    read = {name: rows(name, column) for name, column in columns.items() if not _for_all(name, column)}
    length = len(next(iter(read.values())))
    read |= {name: [plain(column)] * length for name, column in columns.items() if name not in read}
    classes = {name: class_names(column) for name, column in columns.items()}
    named = [names for names in classes.values() if names]
    if len(named) == 1:
        read = {name: column if classes[name] else classed(column, named[0]) for name, column in read.items()}
    parallel(**read)
    return {name: read[name] for name in columns}


def _for_all(name: str, column: Any) -> bool:
    """Whether it is one reference, and no column of them."""
    return name == "references" and isinstance(column, str | bool | int | float | Mapping)


# How each library spells "as plain Python": Arrow; pandas, polars, datasets; numpy, torch, jax; Arrow's scalars; TensorFlow.
_WAYS = ("to_pylist", "to_list", "tolist", "as_py", "numpy")


def plain(value: Any) -> Any:
    """A value of Python's own: None, bool, int, float, str, list or dict of them. What is missing (NaN, NA) is None.

    Texts stay as they are, whatever they look like. Raises UserError for what is neither.
    """
    if value is None or isinstance(value, bool):
        return value
    for kind in (str, int):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    if isinstance(value, Mapping):
        return {str(key): plain(of) for key, of in value.items()}
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas; NaT says of itself that it is a date
        return None
    for way in _WAYS:
        if callable(convert := getattr(value, way, None)):
            return plain(convert())
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray | set | frozenset):  # a set has no order
        return [plain(item) for item in value]
    raise UserError(
        f"{value!r:.80} is a {type(value).__name__}: give texts, numbers, True, False, None, or lists of them"
    )


def rows(name: str, column: Any) -> list[Any]:
    """The rows of a column (or of a table, each a dict) as plain values, with the names of its `ClassLabel`s for ints.

    Raises UserError where it is one value and no column.
    """
    if hasattr(column, "columns"):  # a table: of polars, Arrow, else pandas
        by_row = getattr(column, "to_dicts", None) or getattr(column, "to_pylist", None)
        listed = plain(by_row() if by_row else column.to_dict("records"))
    else:
        listed = plain(column)
    if not isinstance(listed, list):
        raise UserError(f"{name}: give a list, one entry a row, not {column!r:.80}")
    feature = getattr(column, "features", None)
    return [named(row, feature) for row in listed]


def named(value: Any, feature: Any) -> Any:
    """A plain value with the names of the classes in place of their numbers, wherever `feature` holds a `ClassLabel`.

    -1 is how `datasets` spells a label that is missing.
    """
    if value is None or feature is None:
        return value
    if isinstance(feature, Mapping) and isinstance(value, Mapping):
        return {key: named(of, feature.get(key)) for key, of in value.items()}
    if isinstance(value, list):
        return [named(item, _inner(feature)) for item in value]
    return classed(value, feature.names) if hasattr(feature, "names") else value


def classed(value: Any, names: list[str]) -> Any:
    """The name of a class for its number, deep in lists; None for -1. What is no number stays. Raises UserError."""
    if isinstance(value, list):
        return [classed(item, names) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if value == -1:
        return None
    if value not in range(len(names)):
        raise UserError(
            f"label {value!r} is not one of the classes: {', '.join(f'{n} {c}' for n, c in enumerate(names))}"
        )
    return names[int(value)]


def class_names(column: Any) -> list[str] | None:
    """The names of the classes where a column is one of `ClassLabel`s, or of lists of them; else None."""
    feature = getattr(column, "features", None)
    while feature is not None and not isinstance(feature, Mapping):
        if hasattr(feature, "names"):
            return list(feature.names)
        feature = _inner(feature)
    return None


def _inner(feature: Any) -> Any:
    """What a feature of lists holds; None where it is none."""
    return feature[0] if isinstance(feature, list) and feature else getattr(feature, "feature", None)
