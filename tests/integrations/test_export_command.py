"""Runs in the forms of neighbours: what comes out, held against rules written by hand, and against our own readers."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import truebench_hf
from tests.support.every_eval_ever import checked
from tests.support.finished import finished, golden, numbered
from tests.support.runs import command_here, row, script, write_jsonl
from tests.support.weighted import weighted_run
from truebench_hf.data.instances import of_row
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.integrations.every_eval_ever import model_info
from truebench_hf.integrations.export import export
from truebench_hf.integrations.finished_run import Exported

STUDIES = ("run", "run-panel", "run-votes", "facts", "tick", "metaeval", "refine", "best-of")


@pytest.fixture(scope="module")
def weighted(tmp_path_factory: pytest.TempPathFactory) -> str:
    return weighted_run(tmp_path_factory.mktemp("weighted"))


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
        by_response = Path(study).name in ("run", "run-panel", "run-votes", "facts", "tick")
        assert bool(rows) == by_response
        scores = next(row["scores"] for row in board["rows"] if row["name"] == log["model_info"]["name"])
        assert not any("cost:" in one["evaluation_name"] for one in log["evaluation_results"]), "cost is no score"
        main = log["evaluation_results"][0]
        if scores.get(board["main"], {}).get("value") is not None:
            assert main["evaluation_name"].endswith(f".{board['main']}")
            assert main["score_details"]["score"] == scores[board["main"]]["value"]
        assert not by_response or main["metric_config"]["llm_scoring"]["input_prompt"].startswith("# ")


@pytest.mark.parametrize(
    ("spec", "provider", "told"),
    [
        ("openai:Q/m", "openai", ("Q/m", "Q")),
        ("openai:Q/m:groq", "huggingface:groq", ("Q/m", "Q")),  # it was unknown/Q-m-groq
        ("Q/m", "", ("Q/m", "Q")),  # answers that were given
        ("Q/m:free", "", ("unknown/Q-m-free", None)),  # it was unknown/free
        ("llama3:8b", "", ("unknown/llama3-8b", None)),  # it was unknown/8b
        ("openai:llama3:8b", "openai", ("unknown/llama3-8b", None)),
        ("모델", "", ("unknown/모델", None)),
    ],
)
def test_who_made_a_model_is_told_where_its_hub_id_does(spec: str, provider: str, told: tuple[str, str | None]) -> None:
    settings = {"model": spec, "models": {"model": {"provider": provider}} if provider else {}}
    info = model_info(Exported("", "run", {"settings": settings}, {}, {}), spec)
    assert (info["id"], info["developer"], info["name"]) == (*told, spec)


def test_records_are_what_was_judged_and_the_rest_is_counted(weighted: str, tmp_path: Path) -> None:
    made = export(weighted, "every-eval-ever", tmp_path)
    ((log, rows),) = checked(tmp_path)
    told = Counter((row["sample_id"], row["metadata"]["record"], row["evaluation"]["score"]) for row in rows)
    assert told == {
        ("talk", "response", 1.0): 1, ("talk", "criterion", 1.0): 3,
        ("alone", "response", 0.0): 1, ("alone", "criterion", 0.0): 2,
    }  # fmt: skip
    assert log["detailed_evaluation_results"]["additional_details"] == {
        "responses_without_record": "2", "criteria_without_record": "2",
    }  # fmt: skip
    assert any("4 undecided left out" in text for text in made.values())
    fault = next(row for row in rows if row["sample_id"] == "alone" and row["metadata"].get("weight") == "-2.0")
    assert (fault["metadata"]["label"], fault["evaluation"]["is_correct"]) == ("yes", False), "it has the fault"
    talk = next(row for row in rows if row["sample_id"] == "talk")
    assert [message["role"] for message in talk["messages"]] == ["system", "user", "assistant", "user", "assistant"]
    assert talk["messages"][1]["content"] == "Tea has caffeine.\n\nOne <talk>?", "what the model was sent"
    assert talk["messages"][2]["reasoning_trace"] == "hm"
    assert fault["input"] == {"raw": "Alone <alone>?", "reference": ["Yes."]}
    names = {one["evaluation_name"]: one["score_details"] for one in log["evaluation_results"]}
    assert names["truebench.overall"]["score"] == 0.5
    assert names["truebench.overall"]["details"] == {"unscored": "2"}
    assert names["truebench.overall"]["uncertainty"]["num_samples"] == 2
    assert names["truebench.drfr"]["score"] == pytest.approx(3 / 5)
    assert sum(row["evaluation"]["score"] for row in rows if row["evaluation_name"] == "truebench.drfr") == 3


@pytest.mark.parametrize("to", ["every-eval-ever", "verifiers", "csv"])
def test_nothing_private_goes_out(weighted: str, tmp_path: Path, to: str) -> None:
    for path in export(weighted, to, tmp_path):
        for file in [path] if path.is_file() else path.rglob("*"):
            text = file.read_text("utf-8")
            assert "10.0.0.1" not in text
            assert str(Path(weighted).parent) not in text


def test_tables_hold_every_verdict(weighted: str, tmp_path: Path) -> None:
    export(weighted, "csv", tmp_path)
    with (tmp_path / "verdicts.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["turn"], row["label"], row["met"], row["response_score"]) for row in rows] == [
        ("talk", "1", "yes", "True", "1.0"), ("talk", "2", "yes", "True", "1.0"), ("talk", "2", "no", "True", "1.0"),
        ("alone", "1", "no", "False", "0.0"), ("alone", "1", "yes", "False", "0.0"), ("dark", "1", "", "", ""),
        ("gone", "1", "", "", ""),
    ]  # fmt: skip
    assert (rows[1]["prompt"], rows[1]["response"]) == ("Two <talk>?", "Of talk.")
    assert rows[0]["prompt"] == "Tea has caffeine.\n\nOne <talk>?"
    export(weighted, "parquet", tmp_path)
    table = pq.read_table(tmp_path / "verdicts.parquet").to_pylist()
    assert [row["met"] for row in table] == [True, True, True, False, False, None, None]
    assert [row["weight"] for row in table] == [1.0, 1.0, -2.0, 3.0, -2.0, 1.0, 1.0]
    scores = {row["score"]: row for row in pq.read_table(tmp_path / "scores.parquet").to_pylist()}
    assert (scores["overall"]["value"], scores["overall"]["n"], scores["overall"]["unscored"]) == (0.5, 2, 2)


def test_what_nothing_was_decided_for_is_shown_and_counted(tmp_path: Path) -> None:
    """A run whose judge was down has no pass rate: a table that has only the rates of what failed would tell of one."""
    folder = finished(tmp_path / "a", "ann", {"one": None, "two": None})
    export(folder, "csv", tmp_path / "out")
    with (tmp_path / "out" / "scores.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["score"]: (row["value"], row["n"], row["unscored"]) for row in csv.DictReader(file)}
    assert (rows["overall"], rows["drfr"]) == (("", "0", "2"), ("", "0", "2"))
    assert rows["strict"] == ("0.0", "2", "0")
    export(folder, "every-eval-ever", tmp_path / "out")
    ((log, _),) = checked(tmp_path / "out")
    assert [one["evaluation_name"] for one in log["evaluation_results"]] == ["truebench.strict", "truebench.official"]


def test_a_formula_in_a_cell_is_none(tmp_path: Path) -> None:
    run = finished(tmp_path, "m", numbered([True]), asks={"q0": "=1+1"})
    rows = json.loads(json.dumps(run))
    export(rows, "csv", tmp_path / "out")
    assert not [
        cell
        for cells in csv.reader((tmp_path / "out" / "verdicts.csv").open(newline="", encoding="utf-8"))
        for cell in cells
        if cell.startswith(("=", "@", "\t"))
    ]


def test_rubrics_and_rewards_for_verifiers(weighted: str, tmp_path: Path) -> None:
    export(weighted, "verifiers", tmp_path)
    tasks = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text().splitlines()]
    assert [(task["id"], task["turn"], task["reward"]) for task in tasks] == [
        ("talk", 1, 1.0), ("talk", 2, 1.0), ("alone", 1, 0.0), ("dark", 1, None),
    ]  # fmt: skip
    assert [message["role"] for message in tasks[1]["prompt"]] == ["system", "user", "assistant", "user"]
    assert tasks[1]["completion"] == [{"role": "assistant", "content": "Of talk."}]
    rubric = json.loads((tmp_path / tasks[2]["rubric"]).read_text())["criteria"]
    assert [(one["weight"], one["choices"]) for one in rubric] == [(3.0, ["no", "yes"]), (2.0, ["yes", "no"])]
    assert tasks[2]["metrics"] == {"criterion_1": 0.0, "criterion_2": 0.0}
    for task in tasks:
        row = {"messages": task["prompt"], "criteria": [one["text"] for one in json.loads((tmp_path / task["rubric"]).read_text())["criteria"]]}  # fmt: skip
        assert of_row(Record("row", row)).turns[0].prompt == task["prompt"][-1]["content"]


def test_a_command(weighted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = command_here(capsys, "study", "export", weighted, "--to", "csv", "--out", str(tmp_path / "out"))
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.rpartition("/")[2] for line in done.stdout.splitlines()] == [
        "scores.csv: 9 rows",
        "verdicts.csv: 7 rows",
    ]


@pytest.mark.parametrize(
    ("case", "to", "told"),
    [
        ("contrast", "csv", "a study of kind contrast scores no models or judges"),
        ("metaeval", "inspect", "a study of kind metaeval does not score responses one by one, which inspect is about"),
        ("metaeval", "verifiers", "or take --to every-eval-ever, csv or parquet"),
        ("run", "cvs", "unknown form 'cvs': did you mean csv"),
    ],
)
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


@pytest.mark.parametrize("to", ["every-eval-ever", "verifiers", "csv", "parquet"])
@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_file_where_the_folder_should_be(weighted: str, tmp_path: Path, to: str, below: str) -> None:
    """It said to free space."""
    (taken := tmp_path / "taken").write_text("mine")
    with pytest.raises(UserError, match=r"a file is where one of its folders should be; name another folder$"):
        export(weighted, to, taken / below)
    assert taken.read_text() == "mine"


def test_inspect_is_told_of_where_it_is_missing(weighted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.log", None)
    with pytest.raises(UserError, match=r"--to inspect needs inspect_ai: pip install 'truebench-hf\[inspect\]'"):
        export(weighted, "inspect", tmp_path)


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


def test_runs_without_verdicts_of_a_judge_teach_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="look for grounding, not at criteria"):
        export(golden("facts", tmp_path / "facts"), "sft", tmp_path / "out")
    with pytest.raises(UserError, match="does not score responses one by one"):
        export(golden("metaeval", tmp_path / "metaeval"), "sft", tmp_path / "out")
    assert not (tmp_path / "out").exists()
