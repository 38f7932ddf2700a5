"""`truebench run` from Python, with models and data that may be objects, and without a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar, Unpack

from truebench_hf.api.judge import File, ModelLike, as_spec, as_texts
from truebench_hf.arguments import in_python
from truebench_hf.data.in_memory import InMemory

if TYPE_CHECKING:
    from pandas import DataFrame

    from truebench_hf.results.report import Report

T = TypeVar("T")
Texts: TypeAlias = str | Sequence[str]
Pairs: TypeAlias = Mapping[str, Any] | Sequence[str]  # {"k": v}, or ["k=v"]
Models: TypeAlias = "ModelLike | Sequence[ModelLike]"
Data: TypeAlias = "File | Iterable[Mapping[str, Any]] | DataFrame"
Answers: TypeAlias = "Data | Iterable[str | Sequence[str] | None]"


class RunKeywords(TypedDict, total=False):
    """The options of `truebench run` beside data, model, judge and out; `truebench run --help` explains them."""

    patience: float
    engine: str
    ray_address: str | None
    limit: int | None
    seed: int
    rules: str
    prompt: Pairs
    structured: str
    panel: str | None
    judge_arg: Pairs
    judge_base_url: str | None
    judge_concurrency: int
    judge_level: str | None
    reasoning: bool
    protocol: str
    threshold: float | None
    calibration: File | None
    cascade_judge: ModelLike | None
    cascade_judge_arg: Pairs
    cascade_judge_base_url: str | None
    cascade_judge_concurrency: int
    rules_model: ModelLike | None
    rules_model_arg: Pairs
    rules_model_base_url: str | None
    rules_model_concurrency: int
    votes: int
    judge_temperature: float
    allow_unscored: bool
    model_arg: Pairs
    model_base_url: str | None
    model_concurrency: int
    column: Pairs
    criteria_separator: str
    criteria: File | None
    language: Texts
    category: Texts
    samples: int
    max_tokens: int
    temperature: float


@in_python
def run(
    *,
    data: Data,
    model: Models | None = None,
    judge: Models,
    out: File | None = None,
    responses: Answers | None = None,
    model_name: str | None = None,
    **options: Unpack[RunKeywords],
) -> Report:
    """Score a model on TRUEBench, or on data of one's own: `truebench run` as a call, with the same options.

    `data` is `mini`, a release (`v0.6.1`), a file or a Hub id; or rows: dicts, a `datasets.Dataset`, a DataFrame.
    `model` and `judge` are specs (`openai:gpt-5`), functions from messages to a text, or loaded transformers models as
    (model, tokenizer); several models in a list are judged by the same judges, and every score of the report is by model.
    `responses` are judged in place of a model's: a file, rows of id and response, or a text (or a
    list of them, one per turn) for each row of the data; `model_name` says whose they are. `out` is the run folder, in
    which a repeated call goes on; without it nothing is kept but the report. Works in a notebook too. Raises UserError
    on what the caller can fix, TypeError on unknown options.
    """
    from truebench_hf.errors import UserError

    if (model is None) == (responses is None):
        raise UserError("give a model, or responses in its place")
    given: dict[str, Any] = {"data": data, "judge": judge, **options}
    if responses is None:
        given |= {"model": model}
    else:
        given |= {"responses": responses, "model_name": model_name or "given responses"}
    return kept(_run, given, out)


def kept(work: Callable[[dict[str, Any]], T], given: Mapping[str, Any], out: File | None) -> T:
    """What `work` makes of the values as options take them; without `out` in a folder that goes with the call."""
    options = {name: as_option(name, value) for name, value in given.items()}
    if out is not None:
        return work({**options, "out": out})
    with TemporaryDirectory(prefix="truebench-") as folder:
        return work({**options, "out": folder})


def _run(given: Mapping[str, Any]) -> Report:
    from truebench_hf.benchmarks.truebench.options import JudgeGivenOptions, RunOptions
    from truebench_hf.benchmarks.truebench.study import JudgeAnswers, Run
    from truebench_hf.options import from_values

    if "responses" in given:
        return JudgeAnswers(from_values(JudgeGivenOptions, given)).run().value
    return Run(from_values(RunOptions, given)).run().value


def as_option(name: str, value: Any) -> Any:
    """A value as options take it: objects in memory as texts that hold them, provider options as JSON."""
    if name in ("data", "responses"):
        told = name == "responses" and isinstance(value, list | tuple)  # of texts, too
        return value if _is_file(value) else InMemory(f"{len(value)} responses", value) if told else _rows(value)
    if name.endswith("_arg") and isinstance(value, Mapping):
        return as_texts(value)
    if _is_object(value):
        return as_spec(value)
    return [as_option(name, one) for one in value] if isinstance(value, list | tuple) else value


def _is_file(value: Any) -> bool:
    return isinstance(value, str) or hasattr(value, "__fspath__")


def _is_object(value: Any) -> bool:
    """Whether a value is a model in memory, which no option of another kind is."""
    pair = isinstance(value, tuple) and any(hasattr(part, "generate") for part in value)
    return pair or callable(value) or hasattr(value, "complete")


def _rows(data: Any) -> InMemory:
    """Rows in memory as a text that holds them as a list of dicts; missing values of a DataFrame are None."""
    from truebench_hf.data.row_formats import check_columns
    from truebench_hf.errors import UserError

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
