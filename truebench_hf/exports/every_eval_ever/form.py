"""The fields of Every Eval Ever 0.3 that are written and read here, with the rules its own validator keeps.

Field names from the project's schemas (repository evaleval/every_eval_ever, schemas/ and validator/); what is not used
here is left out, and ignored in files of others.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

VERSION = "0.3.0"
_ROUNDING = 1e-6  # by which a mean may be out of bounds
Details = dict[str, str]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


class _Form(BaseModel):
    model_config = ConfigDict(protected_namespaces=())

    def as_json(self) -> dict[str, Any]:
        """What is told, without what is not."""
        return self.model_dump(mode="json", exclude_none=True)


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
    weight: Finite | None = None


class LlmScoring(_Form):
    """Who judged, asked how."""

    judges: Annotated[list[JudgeConfig], Field(min_length=1)]
    input_prompt: str
    aggregation_method: Literal["majority_vote", "average", "weighted_average", "median"] | None = None
    additional_details: Details | None = None


class MetricConfig(_Form):
    """What a score is. A continuous one has bounds, one of levels their names."""

    evaluation_description: str | None = None
    metric_id: str | None = None
    metric_name: str | None = None
    metric_unit: str | None = None
    lower_is_better: bool
    score_type: Literal["binary", "continuous", "levels"] | None = None
    level_names: list[str] | None = None
    has_unknown_level: bool | None = None
    min_score: float | str | None = None  # "Infinity" and "-Infinity" are written so
    max_score: float | str | None = None
    llm_scoring: LlmScoring | None = None
    additional_details: Details | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.score_type == "continuous" and (self.min_score is None or self.max_score is None):
            raise ValueError("a continuous score needs min_score and max_score")
        if self.score_type == "levels" and (self.level_names is None or self.has_unknown_level is None):
            raise ValueError("a score of levels needs level_names and has_unknown_level")
        return self


class ConfidenceInterval(_Form):
    """An interval."""

    lower: Finite
    upper: Finite
    confidence_level: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.lower > self.upper:
            raise ValueError(f"goes from {self.lower:g} to {self.upper:g}")
        return self


class Uncertainty(_Form):
    """How sure a score is."""

    confidence_interval: ConfidenceInterval | None = None
    num_samples: Count | None = None


class ScoreDetails(_Form):
    """A score."""

    score: Finite
    details: Details | None = None
    uncertainty: Uncertainty | None = None


class SourceData(_Form):
    """What was asked: a data set of the Hub (with `hf_repo`), a URL, or other data."""

    dataset_name: str
    source_type: Literal["hf_dataset", "url", "other"]
    hf_repo: str | None = None
    samples_number: Count | None = None
    url: list[str] | None = None
    additional_details: Details | None = None


class GenerationArgs(_Form):
    """How answers were drawn."""

    temperature: Finite | None = None
    top_p: Finite | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None


class GenerationConfig(_Form):
    """The same, with what has no field."""

    generation_args: GenerationArgs | None = None
    additional_details: Details | None = None


class EvaluationResult(_Form):
    """One score with what it is."""

    evaluation_result_id: str | None = None
    evaluation_name: str
    source_data: SourceData
    metric_config: MetricConfig
    score_details: ScoreDetails
    generation_config: GenerationConfig | None = None

    @model_validator(mode="after")
    def _within(self) -> Self:
        score, metric = self.score_details.score, self.metric_config
        least, most = metric.min_score, metric.max_score
        unknown = score == -1 and metric.has_unknown_level
        if least is None or most is None or unknown or float(least) - _ROUNDING <= score <= float(most) + _ROUNDING:
            return self
        raise ValueError(f"score {score:g} is not within its min_score {least} and max_score {most}")


class SourceMetadata(_Form):
    """Who tells it."""

    source_name: str | None = None
    source_type: Literal["documentation", "evaluation_run"]
    source_organization_name: str
    evaluator_relationship: Literal["first_party", "third_party", "collaborative", "other"]
    additional_details: Details | None = None


class EvalLibrary(_Form):
    """What it was made with."""

    name: str
    version: str


class Detailed(_Form):
    """Where the judged responses are."""

    format: Literal["jsonl"]
    file_path: str
    hash_algorithm: Literal["sha256"] | None = None
    checksum: str | None = None
    total_rows: Count | None = None
    additional_details: Details | None = None


class Log(_Form):
    """The scores of a model."""

    schema_version: str
    evaluation_id: str
    evaluation_timestamp: str | None = None
    retrieved_timestamp: str
    source_metadata: SourceMetadata
    eval_library: EvalLibrary
    model_info: ModelInfo
    evaluation_results: list[EvaluationResult]
    detailed_evaluation_results: Any = None  # of others, in whatever form


class Input(_Form):
    """What was asked."""

    raw: str
    reference: list[str]


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


class Attribution(_Form):
    """Which text was judged."""

    turn_idx: Count
    source: str
    extracted_value: str
    extraction_method: str
    is_terminal: bool


class Evaluation(_Form):
    """The outcome of one record."""

    score: Finite
    is_correct: bool
    num_turns: Annotated[int, Field(ge=1)] | None = None


class TokenUsage(_Form):
    """Tokens of the answer."""

    input_tokens: Count
    output_tokens: Count
    total_tokens: Count
    reasoning_tokens: Count | None = None


class InstanceRecord(_Form):
    """One judged response, or one criterion of it. A conversation has `messages`, a single turn has `output`."""

    schema_version: str
    evaluation_id: str
    model_id: str
    evaluation_name: str
    evaluation_result_id: str
    sample_id: str
    sample_hash: str
    interaction_type: Literal["single_turn", "multi_turn"]
    input: Input
    output: Output | None = None
    messages: Annotated[list[Turn], Field(min_length=1)] | None = None
    answer_attribution: list[Attribution]
    evaluation: Evaluation
    token_usage: TokenUsage | None = None
    error: str | None = None
    metadata: Details | None = None
