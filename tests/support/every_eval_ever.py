"""The rules of Every Eval Ever 0.3, written out by hand from its schemas and validator, apart from the code under test."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_LOG = {
    "schema_version", "evaluation_id", "evaluation_timestamp", "retrieved_timestamp", "source_metadata", "eval_library",
    "model_info", "evaluation_results", "detailed_evaluation_results",
}  # fmt: skip
_NEEDED = _LOG - {"evaluation_timestamp", "detailed_evaluation_results"}
_RESULT = {
    "evaluation_result_id", "evaluation_name", "source_data", "evaluation_timestamp", "metric_config", "score_details",
    "generation_config",
}  # fmt: skip
_ROW = {
    "schema_version", "evaluation_id", "model_id", "evaluation_name", "evaluation_result_id", "sample_id", "sample_hash",
    "interaction_type", "input", "output", "messages", "answer_attribution", "evaluation", "token_usage", "performance",
    "error", "metadata",
}  # fmt: skip
_ARGS = {"temperature", "top_p", "top_k", "max_tokens", "reasoning", "prompt_template"}


def checked(root: Path) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """(scores, records) of every model below a folder, each held against the rules."""
    found = []
    for file in sorted(path for path in root.rglob("*.json") if path.is_file()):
        place = file.relative_to(root).as_posix()
        assert re.fullmatch(rf"data/[^/]+/[^/]+/[^/]+/{_UUID}\.json", place), place
        assert not re.search(r'[<>:"\\|?*\x00-\x1f]', place)
        log = json.loads(file.read_text("utf-8"), parse_constant=lambda text: 1 / 0)
        samples = file.with_name(f"{file.stem}_samples.jsonl")
        rows = [json.loads(line) for line in samples.read_text("utf-8").splitlines()] if samples.exists() else []
        _log(log, place, rows)
        for row in rows:
            _row(row, log)
        found.append((log, rows))
    return found


def _log(log: dict[str, Any], place: str, rows: list[dict[str, Any]]) -> None:
    assert set(log) >= _NEEDED
    assert set(log) <= _LOG
    assert log["schema_version"] == "0.3.0"
    assert log["retrieved_timestamp"].isdigit(), "Unix time, as a text"
    assert log["evaluation_id"].endswith(f"/{log['model_info']['id']}/{log['retrieved_timestamp']}")
    source = log["source_metadata"]
    assert source["source_type"] in ("documentation", "evaluation_run")
    assert source["evaluator_relationship"] in ("first_party", "third_party", "collaborative", "other")
    assert source["source_organization_name"]
    assert {"name", "version"} <= set(log["eval_library"])
    _model(log["model_info"])
    assert place.split("/")[2:4] == log["model_info"]["id"].split("/")
    ids = [one["evaluation_result_id"] for one in log["evaluation_results"]]
    assert len(set(ids)) == len(ids) > 0
    for one in log["evaluation_results"]:
        _result(one)
    detail = log.get("detailed_evaluation_results")
    assert bool(detail) == bool(rows)
    if detail:
        assert (detail["format"], detail["total_rows"]) == ("jsonl", len(rows))
        assert detail["file_path"] == place.removesuffix(".json") + "_samples.jsonl"
        _texts(detail["additional_details"])


def _model(info: dict[str, Any]) -> None:
    assert info["name"]
    assert info["id"].count("/") == 1
    details = info["additional_details"]
    _texts(details)
    assert details["deployment_type"] in ("self_deployed", "externally_managed", "unknown")
    assert details["model_availability"] in ("open_weights", "closed_weights", "unknown")


def _result(one: dict[str, Any]) -> None:
    assert set(one) <= _RESULT
    assert one["source_data"]["source_type"] in ("url", "hf_dataset", "other")
    assert one["source_data"]["dataset_name"]
    metric, score = one["metric_config"], one["score_details"]["score"]
    assert isinstance(metric["lower_is_better"], bool)
    assert math.isfinite(score)
    if metric.get("score_type") == "continuous":
        assert metric["min_score"] <= score <= metric["max_score"]
    _texts(metric.get("additional_details") or {})
    _texts(one["score_details"]["details"])
    if scoring := metric.get("llm_scoring"):
        assert scoring["judges"]
        assert scoring["input_prompt"]
        assert scoring.get("aggregation_method") in (None, "majority_vote", "average", "weighted_average", "median")
        for judge in scoring["judges"]:
            _model(judge["model_info"])
    uncertainty = one["score_details"]["uncertainty"]
    assert uncertainty["num_samples"] >= 0
    if interval := uncertainty.get("confidence_interval"):
        assert interval["lower"] <= interval["upper"]
        assert interval["confidence_level"] == 0.95
    assert set((one.get("generation_config") or {}).get("generation_args") or {}) <= _ARGS


def _row(row: dict[str, Any], log: dict[str, Any]) -> None:
    assert set(row) <= _ROW
    assert (row["evaluation_id"], row["model_id"]) == (log["evaluation_id"], log["model_info"]["id"])
    known = {one["evaluation_result_id"]: one["evaluation_name"] for one in log["evaluation_results"]}
    assert known[row["evaluation_result_id"]] == row["evaluation_name"], "exactly one score that it counts under"
    assert isinstance(row["evaluation"]["is_correct"], bool)
    assert 0 <= row["evaluation"]["score"] <= 1
    assert isinstance(row["input"]["raw"], str)
    assert isinstance(row["input"]["reference"], list)
    if row["interaction_type"] == "single_turn":
        assert "messages" not in row
        assert isinstance(row["output"]["raw"], list)
    else:
        assert row["interaction_type"] == "multi_turn"
        assert "output" not in row
        assert row["evaluation"]["num_turns"] >= 1
        assert [message["turn_idx"] for message in row["messages"]] == list(range(len(row["messages"])))
    for part in row["answer_attribution"]:
        assert set(part) == {"turn_idx", "source", "extracted_value", "extraction_method", "is_terminal"}
        if row["interaction_type"] == "multi_turn":
            assert row["messages"][part["turn_idx"]]["content"] == part["extracted_value"]
    _texts(row["metadata"])


def _texts(details: dict[str, Any]) -> None:
    assert all(isinstance(value, str) for value in details.values()), details
