"""`truebench run`, `tick` and `metaeval` from Python, with models and data that may be objects, and without a folder.

`ajudge` and `arun` are `judge` and `run` to be awaited, in a notebook or a server: `await truebench_hf.ajudge(...)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import wraps
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from truebench_hf.api.judge import as_option, judge
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.benchmarks.tick.tick import Tick, TickOptions
from truebench_hf.benchmarks.truebench.data import JudgeGivenOptions, RunOptions
from truebench_hf.benchmarks.truebench.run import JudgeAnswers, Run
from truebench_hf.data.row_formats import check_columns
from truebench_hf.errors import UserError
from truebench_hf.options import InMemory, declared, option
from truebench_hf.results.report import Report

if TYPE_CHECKING:
    from pandas import DataFrame

P = ParamSpec("P")
T = TypeVar("T")


def _in_folder(function: Callable[..., T]) -> Callable[..., T]:
    """Return the call with models and data as options take them; without `out` its folder goes with it."""

    @wraps(function)
    def call(**values: Any) -> T:
        values = {name: _as_option(name, value) for name, value in values.items()}
        if values.get("out") is not None:
            return function(**values)
        with TemporaryDirectory(prefix="truebench-") as folder:
            return function(**values | {"out": folder})

    return call


# Python has a report in place of an estimate.
@declared(RunOptions, JudgeGivenOptions, without=("estimate", "logs", "turns"))
@_in_folder
def run(*, model: Any = None, responses: Any = None, model_name: str | None = None, **options: Any) -> Report:
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
        return Run(RunOptions(**options, model=model)).run().value
    whose = {"responses": responses, "model_name": model_name or "given responses"}
    return JudgeAnswers(JudgeGivenOptions(**options | whose)).run().value


@declared(TickOptions, without=("estimate",))
@_in_folder
def tick(**options: Any) -> Report:
    """Compare models on any prompts by checklists made for them: `truebench tick` as a call, with the same options.

    `data` is a file, a Hub id, or rows (dicts, a `datasets.Dataset`, a DataFrame) with prompt or messages; `instruction` a
    single text in its place. Models are given as in `run`; the `generator` of checklists is the judge where none is
    named. The report has `pass_rate`, `drfr` and `all_met` by model, and with `out` a folder all the rest. Raises
    UserError on what the caller can fix, TypeError on unknown options.
    """
    return Tick(TickOptions(**options)).run().value


class AgreementOptions(MetaevalOptions):
    """Which judges are held against which labels, and in which groups."""

    by: tuple[str, ...] = option((), help="Groups: some of language, category, rubric_type, dimension and split.")


@declared(AgreementOptions, by_place=("data",), without=("estimate",))
@_in_folder
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
    verdicts: Any = metaeval(MetaevalOptions(**options)).verdicts
    names = [by] if isinstance(by, str) else list(by)
    if "category" in names:
        verdicts = verdicts.rename(columns={"instruction_category": "category"})
    if strange := [name for name in names if name not in verdicts]:
        raise UserError(f"by={strange[0]!r}: the groups are category, language, rubric_type, dimension and split")
    return agreement(verdicts, ["judge", "paradigm", *names], measures=(*MEASURES, "kappa"))


def _awaited(call: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Return the call in a thread of its own, so that the event loop goes on meanwhile."""

    @wraps(call)
    async def awaited(*args: P.args, **options: P.kwargs) -> T:
        return await asyncio.to_thread(call, *args, **options)

    awaited.__name__ = awaited.__qualname__ = f"a{call.__name__}"
    return awaited


ajudge = _awaited(judge)
arun = _awaited(run)


def _as_option(name: str, value: Any) -> Any:
    """As `as_option`; data and responses in memory, too, as texts that hold them."""
    if name == "responses" and isinstance(value, list | tuple):  # of texts, too
        return InMemory(f"{len(value)} responses", value)
    if name in ("data", "responses") and not (isinstance(value, str) or hasattr(value, "__fspath__")):
        return _rows(value)
    return as_option(name, value)


def _rows(data: Any) -> InMemory:
    """Rows in memory as a text that holds them as a list of dicts; missing values of a DataFrame are None."""
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        check_columns(list(map(str, data.columns)), "data")
        data = data.astype(object).where(data.notna(), None).to_dict("records")
    if isinstance(data, Mapping):
        lists = [value if isinstance(value, list) else [] for value in data.values()]
        listed = [bool(rows) and all(isinstance(row, Mapping) for row in rows) for rows in lists]
        tables = [hasattr(value, "column_names") for value in data.values()]
        splits = all(map(max, listed, tables))
        if splits and len(data) != 1:  # a DatasetDict
            raise UserError(f"data: holds several splits ({', '.join(map(str, data))}); give one of them")
        data = next(iter(data.values())) if splits else [data]
    if not isinstance(data, Iterable):
        raise UserError(f"data: must be a path, a name, or rows; not a {type(data).__name__}")
    rows = [_plain(row) for row in data]
    if wrong := [(place, row) for place, row in enumerate(rows, 1) if not isinstance(row, Mapping)]:
        raise UserError(f"data: row {wrong[0][0]} is a {type(wrong[0][1]).__name__}; a row is a dict with its columns")
    return InMemory(f"{len(rows)} rows in memory", rows)


def _plain(value: Any) -> Any:
    """A value without the arrays in which Parquet and pandas keep lists, and without tuples."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
