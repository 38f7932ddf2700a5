"""A run as Every Eval Ever keeps results: `data/BENCHMARK/DEVELOPER/MODEL/UUID.json`, and `UUID_samples.jsonl` beside it.

The first holds the scores of a model. The second has a record for each judged response, and one for each of its criteria,
whose text, label and reason stand in `metadata`. `is_correct` is a plain yes or no, so that what is undecided has no
record; it is counted instead. Field names from the project's schemas (repository evaleval/every_eval_ever, schemas/).
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.results import model_facts
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.integrations.finished_run import (
    AnsweredInstance,
    Exported,
    MeasuredScores,
    groups_of,
    put,
    put_lines,
    references_of,
)
from truebench_hf.models.providers import unpinned
from truebench_hf.models.spec import without_kind
from truebench_hf.study.notes import identities
from truebench_hf.text.terminal import how_many

VERSION = "0.3.0"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
_CRITERIA = {"truebench": "truebench.drfr", "tick": "tick.drfr"}  # the score that single criteria count under
_AVERAGED = ("facts",)  # kinds in which the scores of several judges are averaged
_HERE = ("hf", "vllm", "smollm2", "hf-classifier")  # providers that run a model in our process
_LONGEST = 96  # characters of a name in a path, as on the Hub
_HUB = re.compile(r"[\w-][\w.-]*/[\w.-]+(?:@[\w./-]+)?")
_ABOUT = (
    "turn", "criterion_number", "criterion", "kind", "condition", "weight", "label", "reason", "judge", "probability",
)  # fmt: skip


def write(run: Exported, out: Path, organization: str, relationship: str) -> dict[Path, str]:
    """Write the files of every model below `out`; return what each holds. The same run gives the same names."""
    written: dict[Path, str] = {}
    for model in run.scores:
        if not run.decided(model):
            continue
        log = scores_of(run, model, organization, relationship)
        folder = Path("data", plain(run.kind), *map(plain, log["model_info"]["id"].split("/")))
        # In the form that is asked for (a UUID of version 4), and the same for the same results.
        scores = [[measured.name, measured.score.value] for measured in run.decided(model)]
        name = str(uuid.UUID(hex=digest(canonical([run.kind, model, run.settings, scores]))[:32], version=4))
        rows, undecided = records(log, run.responses.get(model, ()), _CRITERIA.get(run.kind, ""))
        if rows:
            samples = folder / f"{name}_samples.jsonl"
            put_lines(out / samples, rows)
            log["detailed_evaluation_results"] = {
                "format": "jsonl", "file_path": samples.as_posix(), "hash_algorithm": "sha256",
                "checksum": digest((out / samples).read_bytes()), "total_rows": len(rows), "additional_details": undecided,
            }  # fmt: skip
            left_out = sum(map(int, undecided.values()))
            open_ = f", {left_out} undecided left out" if left_out else ""
            written[out / samples] = how_many(len(rows), "record") + open_
        put(out / folder / f"{name}.json", json.dumps(log, ensure_ascii=False, indent=1) + "\n")
        without_value = len(run.scores[model]) - len(run.decided(model))
        open_ = f", {without_value} left out (nothing was decided)" if without_value else ""
        written[out / folder / f"{name}.json"] = how_many(len(log["evaluation_results"]), "score") + open_
    if not written:
        raise UserError(
            f"{run.where}: nothing of it was decided, so there is no score to tell; --to csv tells what is open"
        )
    if silent := [model for model in run.scores if not run.decided(model)]:
        written[out] = f"no file for {', '.join(silent)}: nothing was decided"
    return written


def plain(text: str) -> str:
    """A text as part of a path."""
    return re.sub(r"[^\w.-]+", "-", text)[:_LONGEST].strip("-.") or "model"


def scores_of(run: Exported, model: str, organization: str, relationship: str) -> dict[str, Any]:
    """All scores of a model. `organization` tells them, `relationship` is its to the model."""
    info, now = model_info(run, model), int(time.time())
    log: dict[str, Any] = _without_unknown({
        "schema_version": VERSION,
        "evaluation_id": f"{run.kind}/{info['id']}/{now}",
        "evaluation_timestamp": run.time("finished"),
        "retrieved_timestamp": str(now),
        "source_metadata": {
            "source_name": "truebench-hf",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": relationship,
        },
        "eval_library": {"name": "truebench-hf", "version": run.version},
        "model_info": info,
        "evaluation_results": [_result(run, model, measured) for measured in run.decided(model)],
    })  # fmt: skip
    return log


def _without_unknown(value: Any) -> Any:
    """The same without the fields that nothing is known for."""
    if isinstance(value, list):
        return [_without_unknown(inner) for inner in value]
    if isinstance(value, dict):
        return {name: _without_unknown(inner) for name, inner in value.items() if inner is not None}
    return value


def model_info(run: Exported, spec: str) -> dict[str, Any]:
    """A model by its spec (`id` is DEVELOPER/NAME); who developed it is told where its Hub id does."""
    _, identity = identities(run.settings).get(spec, ("", {}))
    bare = without_kind(unpinned(spec, str(identity.get("provider"))))
    developer, slash, _ = bare.partition("/")
    on_hub = bool(slash and _HUB.fullmatch(bare))
    availability = {"open": "open_weights", "closed": "closed_weights"}
    details = {
        "deployment_type": "self_deployed" if spec.partition(":")[0] in _HERE else "unknown",
        "model_availability": availability.get(model_facts(spec)["Weights"], "unknown"),
        "spec": spec,
    }
    name = bare if on_hub else f"unknown/{plain(bare)}"
    return {"name": spec, "id": name, "developer": developer if on_hub else None, "additional_details": details}


def _result(run: Exported, model: str, measured: MeasuredScores) -> dict[str, Any]:
    score, name = measured.score, f"{run.kind}.{measured.name}"
    bounded = measured.share and score.value is not None and 0 <= score.value <= 1
    interval = score.ci95 and {"lower": score.ci95[0], "upper": score.ci95[1], "confidence_level": 0.95}
    # Ways of measuring are told apart by their facts.
    ways = "/".join(f"{way}={value}" for way, value in sorted(measured.facts.items()) if way not in ("Data", "Judge"))
    details = {"data_sha256": str(run.settings.get("data_sha256") or "unknown")}
    source: dict[str, Any] = {"dataset_name": run.data, "source_type": "other", "additional_details": details}
    if _HUB.fullmatch(run.data):
        source |= {"source_type": "hf_dataset", "hf_repo": run.data.partition("@")[0], "samples_number": score.n}
    arguments, config = run.sampling(model), None
    others = {name: str(arguments.pop(name)) for name in ("repetition_penalty",) if name in arguments}
    if arguments:
        config = {"generation_args": arguments} | ({"additional_details": others} if others else {})
    return {
        "evaluation_result_id": f"{run.kind}/{measured.name}" + (f"/{ways}" if run.kind == "metaeval" and ways else ""),
        "evaluation_name": name,
        "source_data": source,
        "metric_config": {
            "metric_id": f"truebench_hf.{name}",
            "metric_name": measured.title,
            "metric_unit": "proportion" if measured.share else None,
            "lower_is_better": measured.lower_is_better,
            **({"score_type": "continuous", "min_score": 0.0, "max_score": 1.0} if bounded else {}),
            "llm_scoring": _judges(run),
            "additional_details": dict(measured.facts) or None,
        },
        "score_details": {
            "score": score.value,
            "details": {"unscored": str(score.unscored)},
            "uncertainty": {"confidence_interval": interval or None, "num_samples": score.n},
        },
        "generation_config": config,
    }


def _judges(run: Exported) -> dict[str, Any] | None:
    """Who judged; nobody where judges are what is measured, against labels."""
    if run.kind == "metaeval" or not run.judges:
        return None
    rule, judging = (run.settings.get("panel") or {}).get("rule"), run.settings.get("judging") or {}
    method = {"majority": "majority_vote", "weighted": "weighted_average"}.get(str(rule))
    if run.kind in _AVERAGED and len(run.judges) > 1:
        method = "average"
    details = {name: str(judging[name]) for name in ("level", "reasoning", "votes", "threshold") if name in judging}
    if rule and method is None:
        details["panel"] = str(rule)
    temperature = (judging.get("sampling") or {}).get("temperature")
    return {
        "judges": [{"model_info": model_info(run, spec), "temperature": temperature} for spec in run.judges],
        "input_prompt": run.prompt or "unknown",
        "aggregation_method": method,
        "additional_details": details or None,
    }


def records(
    log: Mapping[str, Any], responses: Sequence[AnsweredInstance], criteria_of: str
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The records of all responses, and how many responses and criteria have none because nobody decided them.

    Those of responses count under the first score of the log, those of single criteria under the one whose name is
    `criteria_of`, or else under the first as well.
    """
    main, *others = log["evaluation_results"]
    part = next((result for result in (main, *others) if result["evaluation_name"] == criteria_of), main)
    rows: list[dict[str, Any]] = []
    counts = dict.fromkeys(("responses_without_record", "criteria_without_record"), 0)
    for answered in responses:
        shared: dict[str, Any] = _without_unknown(_shared(log, answered))
        about = {"record": "response", "score": "as is: is_correct where it is 1"}
        scored = [("responses_without_record", main, answered.score, about)]
        for row in answered.judged.rows():
            about = {"record": "criterion"} | {name: str(row[name]) for name in _ABOUT if row[name] not in (None, "")}
            scored.append(("criteria_without_record", part, row["met"], about))
        for unknown, result, score, about in scored:
            if score is None:
                counts[unknown] += 1
                continue
            names = {name: result[name] for name in ("evaluation_name", "evaluation_result_id")}
            evaluation = shared["evaluation"] | {"score": float(score), "is_correct": score == 1}
            rows.append(shared | names | {"evaluation": evaluation, "metadata": shared["metadata"] | about})
    return rows, {name: str(count) for name, count in counts.items()}


def _shared(log: Mapping[str, Any], answered: AnsweredInstance) -> dict[str, Any]:
    """What all records of a response have: a single turn with its output, or a conversation with its messages."""
    instance, response, messages = answered.judged.instance, answered.judged.response, answered.messages
    references, usage = references_of(instance), answered.usage
    instance_texts = "\n\n".join(message.content for message in messages if message.role == "user")
    single = len(instance.turns) == 1 and len(messages) <= 2 and all(message.role != "system" for message in messages)
    places = [number for number, message in enumerate(messages) if message.role == "assistant"]
    if single:
        thinking = [text for text in response.reasoning if text]
        exchange: dict[str, Any] = {"output": {"raw": list(response.answers), "reasoning_trace": thinking or None}}
    else:
        # What was said before the first turn is the data's: the model's own answers are the last ones.
        thoughts = dict(zip(places[-len(response.reasoning) :], response.reasoning, strict=False))
        turns = [
            {"turn_idx": number, "role": message.role, "content": message.content,
             "reasoning_trace": thoughts.get(number) or None}
            for number, message in enumerate(messages)
        ]  # fmt: skip
        exchange = {"messages": turns}
    attribution = {  # which text was judged: the last answer
        "turn_idx": 0 if single else max(places, default=0),
        "source": "output.raw" if single else f"messages[{max(places, default=0)}].content",
        "extracted_value": response.answers[-1] if response.answers else None,
        "extraction_method": "llm_judge",
        "is_terminal": True,
    }
    return {
        "schema_version": VERSION,
        "evaluation_id": log["evaluation_id"],
        "model_id": log["model_info"]["id"],
        "sample_id": answered.judged.name,
        "sample_hash": digest(canonical([instance_texts, references])),
        "interaction_type": "single_turn" if single else "multi_turn",
        "input": {"raw": instance_texts, "reference": references},
        **exchange,
        "answer_attribution": [attribution] if response.answers else [],
        "evaluation": {} if single else {"num_turns": len(instance.turns)},
        "token_usage": usage if usage and usage["total_tokens"] else None,
        "error": response.error,
        "metadata": groups_of(instance),
    }
