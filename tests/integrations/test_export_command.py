"""Runs in the forms of neighbours: what comes out, held against rules written by hand, and against our own readers."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import truebench_hf
from tests.support.corpus import each_row
from tests.support.finished import finished, golden
from tests.support.runs import command_here, row, script, write_jsonl
from truebench_hf import Criterion
from truebench_hf.errors import UserError
from truebench_hf.integrations.every_eval_ever import model_info, write
from truebench_hf.integrations.export import export, to_verifiers
from truebench_hf.integrations.finished_run import Exported
from truebench_hf.integrations.rewards import reward_of
from truebench_hf.types import Verdict

STUDIES = ("run-panel", "facts", "tick", "metaeval", "best-of")


@pytest.fixture(params=STUDIES)
def study(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A finished study as tests/golden holds it."""
    return golden(request.param, tmp_path / request.param)


def test_every_study_with_scores_keeps_the_rules_of_every_eval_ever(study: str, tmp_path: Path) -> None:
    export(study, "every-eval-ever", tmp_path / "out", organization="Us", relationship="third_party")
    logs = checked(tmp_path / "out")
    board = json.loads((Path(study) / "run.json").read_text())["board"]
    assert len(logs) == len({row["name"] for row in board["rows"]})
    for log, rows in logs:
        assert log["source_metadata"]["source_organization_name"] == "Us"
        by_response = Path(study).name in ("run-panel", "facts", "tick")
        assert bool(rows) == by_response
        scores = next(row["scores"] for row in board["rows"] if row["name"] == log["model_info"]["name"])
        assert not any("cost:" in one["evaluation_name"] for one in log["evaluation_results"]), "cost is no score"
        main = log["evaluation_results"][0]
        if scores.get(board["main"], {}).get("value") is not None:
            assert main["evaluation_name"].endswith(f".{board['main']}")
            assert main["score_details"]["score"] == scores[board["main"]]["value"]
        assert not by_response or main["metric_config"]["llm_scoring"]["input_prompt"].startswith("# ")


@each_row(__file__, "export_command", "who_made_a_model_is_told_where_its_hub_id_does")
def test_who_made_a_model_is_told_where_its_hub_id_does(spec: str, provider: str, told: tuple[str, str | None]) -> None:
    settings = {"model": spec, "models": {"model": {"provider": provider}} if provider else {}}
    info = model_info(Exported("", "run", {"settings": settings}, {}, {}), spec)
    assert (info["id"], info["developer"], info["name"]) == (*told, spec)


@each_row(__file__, "export_command", "what_makes_no_sense_is_one_line")
def test_what_makes_no_sense_is_one_line(tmp_path: Path, case: str, to: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        export(golden(case, tmp_path / case), to, tmp_path / "out")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_what_is_no_finished_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is no run folder"):
        export(str(tmp_path), "csv", tmp_path / "out")
    folder = Path(golden("run", tmp_path / "run"))
    info = json.loads((folder / "run.json").read_text())
    info["sessions"][-1]["finished"] = None
    (folder / "run.json").write_text(json.dumps(info))
    with pytest.raises(UserError, match="is not finished"):
        export(str(folder), "csv", tmp_path / "out")
    with pytest.raises(UserError, match="unknown --relationship"):
        export(str(folder), "every-eval-ever", tmp_path / "out", relationship="friend")


def test_what_is_not_decided_is_left_out_of_every_eval_ever_and_told(tmp_path: Path) -> None:
    run = finished(tmp_path, "ann", {"a": None}, allow_unscored=True)
    written = export(run, "every-eval-ever", tmp_path / "out")
    assert list(written.values()) == ["2 scores, 6 left out (nothing was decided)"], (
        "strict and official alone count it"
    )
    with pytest.raises(UserError, match="nothing of it was decided, so there is no score to tell; --to csv tells"):
        write(Exported("run", "run", {}, {"ann": []}, {}), tmp_path / "none", "Us", "other")


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    """It said to free space."""
    (taken := tmp_path / "taken").write_text("mine")
    run = golden("run", tmp_path / "run")
    for to, below in (("every-eval-ever", ""), ("verifiers", "deeper"), ("csv", "")):
        with pytest.raises(UserError, match=r"a file is where one of its folders should be; name another folder$"):
            export(run, to, taken / below)
    assert taken.read_text() == "mine"


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_half_a_character_ends_no_export(tmp_path: Path, capsys: pytest.CaptureFixture[str], to: str) -> None:
    """It was a traceback, as was judging by such a criterion."""
    (tmp_path / "d.jsonl").write_text(json.dumps(row("a", [("Half a \ud83d.", ["is half a \ud83d"])])))
    (tmp_path / "m.json").write_text(json.dumps({"default": {"reply": "Blue \ud83d."}}))
    data, model = str(tmp_path / "d.jsonl"), f"scripted:{tmp_path / 'm.json'}"
    judge = script(tmp_path / "j.json", [{"contains": "<criteria", "verdicts": {"half": "FAIL"}}])
    run = str(tmp_path / "run")
    done = command_here(capsys, "run", "--data", data, "--model", model, "--judge", judge, "--out", run)
    assert done.returncode == 0, done.stderr
    export(run, to, tmp_path / "out")
    read = pd.read_csv if to == "csv" else pd.read_parquet
    (found,) = read(tmp_path / "out" / f"verdicts.{to}").to_dict("records")
    assert (found["criterion"], found["response"]) == (r"is half a \ud83d", r"Blue \ud83d.")


@pytest.fixture
def taught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """A run whose judge passes colours, fails length, and leaves one criterion open; a rule decides another one."""
    data = write_jsonl(
        tmp_path / "d.jsonl",
        [
            row(
                "a",
                [("Name a <colour>.", ["names a colour", "is kind", "cannot be told", "Has at most three words."])],
                category="Own",
            ),
            row("b", [("Name a <colour>.", ["names a colour"])], category="Own"),  # the same question again
        ],
    )
    model = script(tmp_path / "m.json", [{"contains": "", "reply": "Blue."}])
    judge = script(
        tmp_path / "j.json",
        [
            {"contains": "cannot be told", "reply": "Who knows?"},
            {"contains": "<criteria", "verdicts": {"is kind": "FAIL"}},
        ],
    )
    given = ["run", "--data", data, "--model", model, "--judge", judge, "--judge-level", "rubric", "--rules", "decide"]
    done = command_here(capsys, *given, "--allow-unscored", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    return str(tmp_path / "run")


def test_a_judge_that_learned_the_rows_gives_the_verdicts_they_were_made_of(taught: str, tmp_path: Path) -> None:
    (told,) = export(taught, "sft", tmp_path / "out").values()
    assert told == "2 verdicts, 1 left out (not judged), 1 left out (decided by rules), 1 left out (asked twice)"
    rows = [json.loads(line) for line in (tmp_path / "out" / "sft.jsonl").read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["a", "a"]
    learned = {asked["content"]: answer["content"] for asked, answer in (row["messages"] for row in rows)}
    judge = lambda messages: learned[messages[0]["content"]]  # noqa: E731  # as to the letter it was taught
    found = truebench_hf.judge("Name a <colour>.", "Blue.", ["names a colour", "is kind"], judge, level="rubric")
    assert [verdict.label for verdict in found.verdicts] == ["yes", "no"]
    assert all(verdict.reason for verdict in found.verdicts), "reasons are learned, too"


def held_to_their_rules(file: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules of its rubric judge: these fields and no others, unique names, weights from 0 on, two choices or more."""
    criteria: list[dict[str, Any]] = file["criteria"]
    assert criteria
    assert all(set(one) == {"name", "text", "weight", "choices"} for one in criteria)
    assert len({one["name"] for one in criteria}) == len(criteria)
    assert all(0 <= one["weight"] < math.inf for one in criteria)
    assert sum(one["weight"] for one in criteria) > 0
    assert all(len(set(one["choices"])) == len(one["choices"]) >= 2 for one in criteria)
    return criteria


def their_reward(criteria: list[dict[str, Any]], answers: list[str]) -> float:
    """The mean by weight of the ranks of the answers, the first choice worth 0 and the last 1."""
    ranks = [
        one["choices"].index(said) / (len(one["choices"]) - 1) for one, said in zip(criteria, answers, strict=True)
    ]
    return sum(one["weight"] * rank for one, rank in zip(criteria, ranks, strict=True)) / sum(
        one["weight"] for one in criteria
    )


@pytest.mark.parametrize(
    "criteria",
    [
        "is short",
        ["Is it short?", "Ist es kurz?", "短いか？"],
        [{"text": "is short", "weight": 2.5}, {"criterion": "is kind", "kind": "tone"}],
        [Criterion("is\nshort", condition="it is a summary"), Criterion("is kind")],
    ],
)
def test_criteria_without_faults_are_worth_there_what_our_fraction_is(criteria: Any) -> None:
    written = held_to_their_rules(to_verifiers(criteria))
    assert all("\n" not in one["text"] for one in written)
    assert not any("it is a summary" in str(one) for one in criteria) or "(It rests on this: it is a summary)" in str(
        written
    )
    answers = ["yes" if place % 2 else "no" for place in range(len(written))]
    ours = [
        Verdict(Criterion(one["text"], weight=one["weight"]), said) for one, said in zip(written, answers, strict=True)
    ]  # type: ignore[arg-type]
    assert their_reward(written, answers) == pytest.approx(reward_of(ours, "fraction"))


def test_a_fault_is_best_answered_with_no() -> None:
    given = [Criterion("is short", weight=3.0), Criterion("is rude", weight=-1.0)]
    written = held_to_their_rules(to_verifiers(given))
    assert [one["choices"] for one in written] == [["no", "yes"], ["yes", "no"]]
    assert "names a fault" in written[1]["text"]
    # Ours: (3 met - 1 fault) / 3. Theirs: (3 * met + 1 * (no fault)) / 4 = (3 * ours + 1) / 4.
    for met, fault in (("yes", "no"), ("yes", "yes")):
        ours = reward_of([Verdict(given[0], met), Verdict(given[1], fault)], "fraction")  # type: ignore[arg-type]
        assert ours is not None
        assert their_reward(written, [met, fault]) == pytest.approx((3 * ours + 1) / 4)


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
        for record in rows:
            _row(record, log)
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
