"""The fields of Every Eval Ever 0.3 that are written here.

Field names from the project's schemas (repository evaleval/every_eval_ever, schemas/); fields that are not written are
left out.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

VERSION = "0.3.0"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
Details = dict[str, str]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


class _Form(BaseModel):
    model_config = ConfigDict(protected_namespaces=(), extra="forbid")


class ModelInfo(_Form):
    """A model or judge; `id` is DEVELOPER/NAME."""

    name: str
    id: str
    developer: str | None = None
    additional_details: Details | None = None


class JudgeConfig(_Form):
    """One judge."""

    model_info: ModelInfo
    temperature: Finite | None = None


class LlmScoring(_Form):
    """Who judged, asked how."""

    judges: Annotated[list[JudgeConfig], Field(min_length=1)]
    input_prompt: str
    aggregation_method: Literal["majority_vote", "average", "weighted_average", "median"] | None = None
    additional_details: Details | None = None


class MetricConfig(_Form):
    """What a score is. A continuous one has bounds."""

    metric_id: str
    metric_name: str
    metric_unit: str | None = None
    lower_is_better: bool
    score_type: Literal["continuous"] | None = None
    min_score: float | None = None
    max_score: float | None = None
    llm_scoring: LlmScoring | None = None
    additional_details: Details | None = None


class Uncertainty(_Form):
    """How sure a score is."""

    confidence_interval: dict[str, Finite] | None = None  # lower, upper, confidence_level
    num_samples: Count


class ScoreDetails(_Form):
    """A score."""

    score: Finite
    details: Details
    uncertainty: Uncertainty


class SourceData(_Form):
    """What was asked: a data set of the Hub (with `hf_repo`), or other data."""

    dataset_name: str
    source_type: Literal["hf_dataset", "other"]
    hf_repo: str | None = None
    samples_number: Count | None = None
    additional_details: Details | None = None


class EvaluationResult(_Form):
    """One score with what it is."""

    evaluation_result_id: str
    evaluation_name: str
    source_data: SourceData
    metric_config: MetricConfig
    score_details: ScoreDetails
    generation_config: dict[str, dict[str, float | str]] | None = None


class Detailed(_Form):
    """Where the judged responses are."""

    format: Literal["jsonl"]
    file_path: str
    hash_algorithm: Literal["sha256"]
    checksum: str
    total_rows: Count
    additional_details: Details


class Log(_Form):
    """The scores of a model."""

    schema_version: str = VERSION
    evaluation_id: str
    evaluation_timestamp: str | None = None
    retrieved_timestamp: str
    source_metadata: dict[str, str]
    eval_library: dict[str, str]
    model_info: ModelInfo
    evaluation_results: list[EvaluationResult]
    detailed_evaluation_results: Detailed | None = None


class Output(_Form):
    """What was answered."""

    raw: list[str]
    reasoning_trace: list[str] | None = None


class Turn(_Form):
    """A message of a conversation."""

    turn_idx: Count
    role: str
    content: str
    reasoning_trace: str | None = None


class InstanceRecord(_Form):
    """One judged response, or one criterion of it. A conversation has `messages`, a single turn has `output`."""

    schema_version: str = VERSION
    evaluation_id: str
    model_id: str
    evaluation_name: str
    evaluation_result_id: str
    sample_id: str
    sample_hash: str
    interaction_type: Literal["single_turn", "multi_turn"]
    input: dict[str, str | list[str]]  # raw, reference
    output: Output | None = None
    messages: Annotated[list[Turn], Field(min_length=1)] | None = None
    answer_attribution: list[dict[str, int | str | bool]]
    evaluation: dict[str, Finite | bool | int]  # score, is_correct, num_turns
    token_usage: dict[str, Count] | None = None
    error: str | None = None
    metadata: Details
