"""The scores of a run as Every Eval Ever tells them: one evaluation result each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from truebench_hf.benchmarks.truebench.board import model_facts
from truebench_hf.exports.every_eval_ever.form import (
    VERSION,
    ConfidenceInterval,
    EvalLibrary,
    EvaluationResult,
    GenerationArgs,
    GenerationConfig,
    JudgeConfig,
    LlmScoring,
    Log,
    MetricConfig,
    ModelInfo,
    ScoreDetails,
    SourceData,
    SourceMetadata,
    Uncertainty,
)
from truebench_hf.exports.run import Exported, Measured
from truebench_hf.models.providers import unpinned
from truebench_hf.models.spec import without_kind
from truebench_hf.study.providers import identities

_AVERAGED = ("facts",)  # kinds in which the scores of several judges are averaged
_HERE = ("hf", "vllm", "smollm2", "hf-classifier")  # providers that run a model in our process
_LONGEST = 96  # characters of a name in a path, as on the Hub
_HUB = re.compile(r"[\w-][\w.-]*/[\w.-]+(?:@[\w./-]+)?")


def log(run: Exported, model: str, organization: str, relationship: Any, now: int) -> Log:
    """All scores of a model. `organization` tells them, `relationship` is its to the model; `now` is the Unix time."""
    info = model_info(run, model)
    return Log(
        schema_version=VERSION,
        evaluation_id=f"{run.kind}/{info.id}/{now}",
        evaluation_timestamp=run.time("finished"),
        retrieved_timestamp=str(now),
        source_metadata=SourceMetadata(
            source_name="truebench-hf", source_type="evaluation_run", source_organization_name=organization,
            evaluator_relationship=relationship,
        ),
        eval_library=EvalLibrary(name="truebench-hf", version=run.version),
        model_info=info,
        evaluation_results=[result(run, model, one) for one in run.decided(model)],
    )  # fmt: skip


def model_info(run: Exported, spec: str) -> ModelInfo:
    """A model by its spec; who developed it is told where its Hub id does."""
    _, identity = identities(run.settings).get(spec, ("", {}))
    kind = spec.partition(":")[0]
    bare = without_kind(unpinned(spec, str(identity.get("provider"))))
    developer, slash, _ = bare.partition("/")
    known = slash and _HUB.fullmatch(bare)
    details = {
        "deployment_type": "self_deployed" if kind in _HERE else "unknown",
        "model_availability": {"open": "open_weights", "closed": "closed_weights"}.get(
            model_facts(spec)["Weights"], "unknown"
        ),
        "spec": spec,
    }
    name = bare if known else f"unknown/{plain(bare)}"
    return ModelInfo(name=spec, id=name, developer=developer if known else None, additional_details=details)


def plain(text: str) -> str:
    """A text as part of a path."""
    return re.sub(r"[^\w.-]+", "-", text)[:_LONGEST].strip("-.") or "model"


def result_id(run: Exported, one: Measured) -> str:
    """The name of a score within the run; ways of measuring are told apart by their facts."""
    ways = "/".join(f"{name}={value}" for name, value in sorted(one.facts.items()) if name not in ("Data", "Judge"))
    return f"{run.kind}/{one.name}" + (f"/{ways}" if run.kind == "metaeval" and ways else "")


def result(run: Exported, model: str, one: Measured) -> EvaluationResult:
    """One score of a model."""
    value = one.score.value
    assert value is not None
    bounds: dict[str, Any] = (
        {"score_type": "continuous", "min_score": 0.0, "max_score": 1.0} if one.share and 0 <= value <= 1 else {}
    )
    return EvaluationResult(
        evaluation_result_id=result_id(run, one),
        evaluation_name=f"{run.kind}.{one.name}",
        source_data=_source(run, one),
        metric_config=MetricConfig(
            metric_id=f"truebench_hf.{run.kind}.{one.name}",
            metric_name=one.title,
            metric_unit="proportion" if one.share else None,
            lower_is_better=one.lower_is_better,
            llm_scoring=_judges(run),
            additional_details=dict(one.facts) or None,
            **bounds,
        ),
        score_details=ScoreDetails(
            score=value, details={"unscored": str(one.score.unscored)}, uncertainty=_uncertainty(one)
        ),
        generation_config=_generation(run.sampling(model)),
    )


def _source(run: Exported, one: Measured) -> SourceData:
    told: dict[str, Any] = {"additional_details": {"data_sha256": str(run.settings.get("data_sha256") or "unknown")}}
    if _HUB.fullmatch(run.data):
        return SourceData(
            dataset_name=run.data, source_type="hf_dataset", hf_repo=run.data.partition("@")[0],
            samples_number=one.score.n, **told,
        )  # fmt: skip
    return SourceData(dataset_name=run.data, source_type="other", **told)


def _uncertainty(one: Measured) -> Uncertainty:
    low_high = one.score.ci95
    interval = low_high and ConfidenceInterval(lower=low_high[0], upper=low_high[1], confidence_level=0.95)
    return Uncertainty(confidence_interval=interval or None, num_samples=one.score.n)


def _judges(run: Exported) -> LlmScoring | None:
    """Who judged; nobody where judges are what is measured, against labels."""
    if run.kind == "metaeval" or not run.judges:
        return None
    settings = run.settings
    panel = settings.get("panel") or {}
    rule = panel.get("rule") if isinstance(panel, Mapping) else None
    if run.kind in _AVERAGED and len(run.judges) > 1:
        method: Any = "average"
    else:
        method = {"majority": "majority_vote", "weighted": "weighted_average"}.get(str(rule))
    drawn = ((settings.get("judging") or {}).get("sampling") or {}).get("temperature")
    judges = [JudgeConfig(model_info=model_info(run, spec), temperature=drawn) for spec in run.judges]
    judging = settings.get("judging") or {}
    told = {name: str(judging[name]) for name in ("level", "reasoning", "votes", "threshold") if name in judging}
    if rule and method is None:
        told["panel"] = str(rule)
    return LlmScoring(
        judges=judges, input_prompt=run.prompt or "unknown", aggregation_method=method, additional_details=told or None
    )


def _generation(sampling: Mapping[str, Any]) -> GenerationConfig | None:
    known = {name: value for name, value in sampling.items() if name != "repetition_penalty"}
    other = {name: str(value) for name, value in sampling.items() if name not in known} or None
    return GenerationConfig(generation_args=GenerationArgs(**known), additional_details=other) if known else None
