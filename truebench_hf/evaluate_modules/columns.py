"""What the `evaluate` modules share: what a module says of itself, columns of any kind, results that JSON can hold."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from truebench_hf.data.row_formats import element, is_class, with_class_names
from truebench_hf.errors import UserError, unknown
from truebench_hf.metrics.binary import parallel, yes_no

_TEXTS = yaml.safe_load(Path(__file__).with_name("modules.yaml").read_text(encoding="utf-8"))


class Module:
    """Stands before `evaluate.Metric` among the bases of a module, which gives `_score`.

    `_score` takes the columns as lists of plain Python values, and options; it returns the values by name, and for each
    row what is found of it. Not an `evaluate.Metric` itself: evaluate takes the first one among a module's names for the
    metric to load. What a module says of itself stands in `modules.yaml`, with an example of its columns. Rows are kept in
    memory as they are: evaluate's own tables refuse None in the first row, and take texts for what they look like.
    """

    _added: Mapping[str, list[Any]] | None = None

    @property
    def example(self) -> dict[str, list[Any]]:
        """A few rows of each column."""
        rows_by_column: dict[str, list[Any]] = _TEXTS[type(self).__name__]["example"]
        return rows_by_column

    def _info(self) -> Any:
        import datasets
        import evaluate

        from truebench_hf.loaders.card import citations

        texts = _TEXTS[type(self).__name__]
        return evaluate.MetricInfo(
            description=texts["description"],
            citation=citations(texts["paper"]),
            inputs_description=f"\n{texts['inputs']}",
            features=datasets.Features({column: datasets.Value("string") for column in self.example}),
            homepage=texts.get("url", ""),
            license="Apache-2.0",
            reference_urls=[url for url in (texts.get("url"),) if url],
        )

    def add_batch(self, **columns: Any) -> None:
        """Add rows: a column each, of any library; `references` may be one that holds for all.

        Raises UserError, and adds none, where a column is absent, longer than the other or no column.
        """
        for name in columns:  # a module without references passes over them, as evaluate does
            if name not in (*self.example, "predictions", "references"):
                raise unknown("column", name, [*self.example])
        added = _columns({name: columns.get(name) for name in self.example})
        self._added = {name: [*(self._added or {}).get(name, ()), *column] for name, column in added.items()}

    def add(self, **row: Any) -> None:
        """Add one row: `prediction` and `reference`, where the module has references."""
        self.add_batch(**{name if name.endswith("s") else f"{name}s": [value] for name, value in row.items()})

    def compute(self, *, details: bool = False, **arguments: Any) -> dict[str, Any]:
        """The values over the rows added before and those given here; with `details`, each row's as well."""
        columns = {name: arguments.pop(name, None) for name in {**self.example, "predictions": [], "references": []}}
        if any(columns[name] is not None for name in self.example):
            self.add_batch(**columns)
        rows_by_column, self._added = self._added, None
        if rows_by_column is None:
            raise UserError(f"give {' and '.join(f'{name}=' for name in self.example)}, or add rows before")
        score = self._score  # type: ignore[attr-defined]
        takes = inspect.signature(score).parameters
        arguments |= {"details": details} if "details" in takes else {}
        if "options" not in takes and (wrong := [name for name in arguments if name not in takes]):
            raise unknown("option", wrong[0], {*takes, "details"} - {*rows_by_column})
        values, found_of_rows = score(**rows_by_column, **arguments)
        return plain(values | ({"details": list(found_of_rows)} if details else {}))  # type: ignore[no-any-return]


def label_rows(column: Iterable[Any]) -> list[list[str | None]]:
    """Rows of labels, each a list of what `yes_no` reads; one label alone is a row of one."""
    return [[yes_no(label) for label in (row if isinstance(row, list) else [row])] for row in column]


def _columns(columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Columns of plain values. Where only one is of a `ClassLabel`, its numbers mean the same in the other one."""
    parallel(**{name: () if column is not None else None for name, column in columns.items()})
    read: dict[str, list[Any]] = {}
    features = {name: _feature(column) for name, column in columns.items()}
    for name, column in columns.items():
        if name == "references" and isinstance(column, str | bool | int | float | Mapping):  # one for all, no column
            read[name] = [plain(column)] * len(read["predictions"])
        else:
            read[name] = _rows(name, column)
    classes = [feature for feature in map(element, features.values()) if is_class(feature)]
    for name, feature in features.items():
        known = classes[0] if len(classes) == 1 and not is_class(element(feature)) else feature
        read[name] = with_class_names(read[name], known)
    parallel(**read)
    return read


def plain(value: Any) -> Any:
    """A value of Python's own: None, bool, int, float, str, list or dict of them. What is missing (NaN, NA) is None.

    Texts stay as they are, whatever they look like. Raises UserError for what is neither.
    """
    if value is None or isinstance(value, bool | str):
        return value if value is None or isinstance(value, bool) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(of) for key, of in value.items()}
    for way in ("to_pylist", "tolist", "as_py"):  # Arrow; pandas, numpy and torch; Arrow's scalars
        if hasattr(value, way):
            return plain(getattr(value, way)())
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray | set | frozenset):  # a set has no order
        return [plain(item) for item in value]
    import pandas

    if pandas.api.types.is_scalar(value) and pandas.isna(value):
        return None
    if isinstance(value, int | float):
        return value
    raise UserError(
        f"{value!r:.80} is a {type(value).__name__}: give texts, numbers, True, False, None, or lists of them"
    )


def _rows(name: str, column: Any) -> list[Any]:
    """The rows of a column, or of a table, each a dict, as plain values."""
    if hasattr(column, "iterrows"):  # a table of pandas
        column = column.to_dict("records")
    listed = plain(column.to_dicts() if hasattr(column, "to_dicts") else column)  # of polars
    if not isinstance(listed, list):
        raise UserError(f"{name}: give a list, one entry a row, not {column!r:.80}")
    return listed


def _feature(column: Any) -> Any:
    """What `datasets` says of a column of its own, in the form of `row_formats`; None of any other column."""
    if not type(column).__module__.startswith("datasets."):
        return None
    import datasets

    return datasets.Features({"column": column.features}).to_dict()["column"]
