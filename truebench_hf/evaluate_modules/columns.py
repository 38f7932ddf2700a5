"""What the `evaluate` modules share: what a module says of itself, columns of any kind, results that JSON can hold."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError, unknown
from truebench_hf.evaluate_modules import plain
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
        made = _columns({name: columns.get(name) for name in names})
        super().add_batch(**{name: list(map(json.dumps, column)) for name, column in made.items()})  # type: ignore[misc]

    def add(self, **row: Any) -> None:
        """Add one row: `prediction` and `reference`, where the module has references."""
        names = self._feature_names()  # type: ignore[attr-defined]
        given = {name if name.endswith("s") else f"{name}s": value for name, value in row.items()}
        _known(given, names)
        if absent := [name.removesuffix("s") for name in names if name not in given]:
            raise UserError(f"{' and '.join(absent)} must be given, too")
        super().add(**{name: json.dumps(plain.plain(given[name])) for name in names})  # type: ignore[misc]

    def compute(self, **given: Any) -> dict[str, Any] | None:
        """The values over the rows added before and those given here; with `details`, each row's as well."""
        names = self._feature_names()  # type: ignore[attr-defined]
        if getattr(self, "writer", None) is None and all(given.get(name) is None for name in names):
            raise UserError(f"give {' and '.join(f'{name}=' for name in names)}, or add rows before")
        try:
            return super().compute(**given)  # type: ignore[misc,no-any-return]
        except BaseException:
            self._let_go()
            raise

    def _compute(self, details: bool = False, **given: Any) -> dict[str, Any]:
        names = self._feature_names()  # type: ignore[attr-defined]
        columns = {name: [json.loads(text) for text in given.pop(name)] for name in names}
        score = self._score  # type: ignore[attr-defined]
        takes = inspect.signature(score).parameters
        given |= {"details": details} if "details" in takes else {}
        if not any(one.kind is one.VAR_KEYWORD for one in takes.values()):
            for name in given:
                if name not in takes:
                    raise unknown("option", name, {*takes, "details"} - {*names})
        values, rows = score(**columns, **given)
        return plain.plain(values | ({"details": list(rows)} if details else {}))  # type: ignore[no-any-return]

    def _let_go(self) -> None:
        """Close the files of rows that could not be scored, which evaluate leaves locked."""
        if getattr(self, "data", None) is None:  # refused before it was added: what was added before stays
            return
        self.data = self.buf_writer = None
        for lock, path in zip(
            getattr(self, "filelocks", None) or (), getattr(self, "file_paths", None) or (), strict=True
        ):
            Path(path).unlink(missing_ok=True)
            lock.release()


def _known(given: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise UserError for a name that is no column; a module without references passes over them, as evaluate does."""
    for name in given:
        if name not in (*names, "predictions", "references"):
            raise unknown("column", name, names)


def _columns(given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Columns of plain values. Where only one is of a `ClassLabel`, its numbers mean the same in the other one."""
    parallel(**{name: () if column is not None else None for name, column in given.items()})
    found = {name: plain.rows(name, column) for name, column in given.items() if not _for_all(name, column)}
    length = len(next(iter(found.values())))
    found |= {name: [plain.plain(column)] * length for name, column in given.items() if name not in found}
    classes = {name: plain.class_names(column) for name, column in given.items()}
    named = [names for names in classes.values() if names]
    if len(named) == 1:
        found = {name: column if classes[name] else plain.classed(column, named[0]) for name, column in found.items()}
    parallel(**found)
    return {name: found[name] for name in given}


def _for_all(name: str, column: Any) -> bool:
    return name == "references" and plain.single(column)
