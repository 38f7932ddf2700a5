"""`truebench run` and `truebench tick` from Python, with models and data that may be objects, and without a folder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from truebench_hf.api.judge import as_spec, as_texts
from truebench_hf.arguments import in_python
from truebench_hf.benchmarks.tick.tick import Tick, TickOptions
from truebench_hf.benchmarks.truebench.options import JudgeGivenOptions, RunOptions
from truebench_hf.benchmarks.truebench.study import JudgeAnswers, Run
from truebench_hf.data.in_memory import InMemory
from truebench_hf.data.row_formats import check_columns
from truebench_hf.errors import UserError
from truebench_hf.options import explained, from_values, signature
from truebench_hf.results.report import Report

T = TypeVar("T")


def declared(
    *options: type[Any], optional: Collection[str] = (), by_place: Sequence[str] = (), without: Sequence[str] = ()
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Give a call the options of commands for its parameters, all by name; Python has a report in place of an estimate.

    Without `out` the folder goes with the call. `without` are options that only the command has.
    """

    def declare(function: Callable[..., T]) -> Callable[..., T]:
        parameters = signature(*options, by_place=by_place, optional=optional, without=("estimate", *without))

        @in_python
        def call(*placed: Any, **named: Any) -> T:
            arguments = parameters.bind(*placed, **named).arguments  # raises TypeError on names that are none
            values = {name: as_option(name, value) for name, value in arguments.items()}
            if values.get("out") is not None:
                return function(**values)
            with TemporaryDirectory(prefix="truebench-") as folder:
                return function(**values | {"out": folder})

        call.__name__ = call.__qualname__ = function.__name__
        call.__doc__ = explained(function.__doc__ or "", *options)
        call.__signature__ = parameters  # type: ignore[attr-defined]
        return call

    return declare


@declared(RunOptions, JudgeGivenOptions, optional=("model",), without=("logs", "turns"))
def run(model: Any = None, responses: Any = None, model_name: str | None = None, **options: Any) -> Report:
    """Score a model on TRUEBench, or on data of one's own: `truebench run` as a call, with the same options.

    `data` is `mini`, a release (`v0.6.1`), a file or a Hub id; or rows: dicts, a `datasets.Dataset`, a DataFrame.
    `model` and `judge` are specs (`openai:gpt-5`), functions from messages to a text, or loaded transformers models as
    (model, tokenizer); several models in a list are judged by the same judges, and every score of the report is by model.
    `responses` are judged in place of a model's: a file, rows of id and response, or a text (or a
    list of them, one per turn) for each row of the data; `model_name` says whose they are. `out` is the run folder, in
    which a repeated call goes on; without it nothing is kept but the report. Works in a notebook too. Raises UserError
    on what the caller can fix, TypeError on unknown options.
    """
    if (model is None) == (responses is None):
        raise UserError("give a model, or responses in its place")
    if responses is None:
        return Run(from_values(RunOptions, {**options, "model": model})).run().value
    whose = {"responses": responses, "model_name": model_name or "given responses"}
    return JudgeAnswers(from_values(JudgeGivenOptions, options | whose)).run().value


@declared(TickOptions)
def tick(**options: Any) -> Report:
    """Compare models on any prompts by checklists made for them: `truebench tick` as a call, with the same options.

    `data` is a file, a Hub id, or rows (dicts, a `datasets.Dataset`, a DataFrame) with prompt or messages; `instruction` a
    single text in its place. Models are given as in `run`; the `generator` of checklists is the judge where none is
    named. The report has `pass_rate`, `drfr` and `all_met` by model, and with `out` a folder all the rest. Raises
    UserError on what the caller can fix, TypeError on unknown options.
    """
    return Tick(from_values(TickOptions, options)).run().value


def as_option(name: str, value: Any) -> Any:
    """A value as options take it: objects in memory as texts that hold them, provider options as JSON."""
    if name in ("data", "responses"):
        if name == "responses" and isinstance(value, list | tuple):  # of texts, too
            return InMemory(f"{len(value)} responses", value)
        return value if _is_file(value) else _rows(value)
    if name.endswith("_arg") and isinstance(value, Mapping):
        return as_texts(value)
    if _is_object(value):
        return as_spec(value)
    return [as_option(name, entry) for entry in value] if isinstance(value, list | tuple) else value


def _is_file(value: Any) -> bool:
    return isinstance(value, str) or hasattr(value, "__fspath__")


def _is_object(value: Any) -> bool:
    """Whether a value is a model in memory, which no option of another kind is."""
    pair = isinstance(value, tuple) and any(hasattr(part, "generate") for part in value)
    return pair or callable(value) or hasattr(value, "complete")


def _rows(data: Any) -> InMemory:
    """Rows in memory as a text that holds them as a list of dicts; missing values of a DataFrame are None."""
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        check_columns(list(map(str, data.columns)), "data")
        data = data.astype(object).where(data.notna(), None).to_dict("records")
    if isinstance(data, Mapping) and not all(_is_table(split) for split in data.values()):
        data = [data]  # one row
    elif isinstance(data, Mapping) and len(data) == 1:
        (data,) = data.values()
    elif isinstance(data, Mapping):  # a DatasetDict
        raise UserError(f"data: holds several splits ({', '.join(map(str, data))}); give one of them")
    if not isinstance(data, Iterable):
        raise UserError(f"data: must be a path, a name, or rows; not a {type(data).__name__}")
    rows = [_plain(row) for row in data]
    if wrong := [(place, row) for place, row in enumerate(rows, 1) if not isinstance(row, Mapping)]:
        raise UserError(f"data: row {wrong[0][0]} is a {type(wrong[0][1]).__name__}; a row is a dict with its columns")
    return InMemory(f"{len(rows)} rows in memory", rows)


def _is_table(value: Any) -> bool:
    rows = isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)
    return rows or hasattr(value, "column_names")


def _plain(value: Any) -> Any:
    """A value without the arrays in which Parquet and pandas keep lists, and without tuples."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
