"""Sources with points, signs and people's labels: what of them comes through, into items, instances and commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.loaders.test_sources import RECORDS, USER, written
from tests.support.runs import command_here, run_scores, script
from truebench_hf.benchmarks.truebench.data import load
from truebench_hf.data.checklist_rows import load_entries
from truebench_hf.data.sources import is_source, read
from truebench_hf.data.sources.forms import sets
from truebench_hf.errors import UserError
from truebench_hf.types import Message


def test_rubrichub_in_both_forms(tmp_path: Path) -> None:
    (found,) = read("rubrichub", written(tmp_path, RECORDS["rubrichub"]))
    assert found.instruction_id == "rubrichub-r1"
    assert [(one.text, one.weight) for one in found.case.criteria] == [("Names one.", 10.0), ("Names two.", -5.0)]
    trained = {"prompt": [USER], "Rubrics": RECORDS["rubrichub"]["rubrics"], "ability": "chat"}
    other, again = read("rubrichub", written(tmp_path, trained, trained | {"ability": None}))
    assert other.case.criteria == found.case.criteria
    assert (other.instruction_id, again.instruction_id) == ("rubrichub-000000", "rubrichub-000001")
    assert other.messages == (Message("user", USER["content"]),)


@pytest.mark.parametrize("name", sorted(set(sets()) - {"rubric_eval"}))
def test_every_source_is_data_of_a_run(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, RECORDS[name])
    found, items = load(f"{name}:{path}"), read(name, path)
    assert [one.id for one in found] == list(dict.fromkeys(item.instruction_id for item in items))
    for one in found:
        item = next(item for item in items if item.instruction_id == one.id)
        assert one.turns[0].criteria == item.case.criteria, "weights, signs and conditions"
        said = ([] if one.system is None else [Message("system", one.system)]) + [*one.history]
        assert (*said, Message("user", one.turns[0].prompt)) == item.messages
        assert one.category
        assert one.language != "UND"


def test_what_is_a_source(tmp_path: Path) -> None:
    (tmp_path / "a:b.jsonl").write_text("{}")
    for given in ("hf://datasets/a/b", "https://x.y/z.jsonl", "mini", "", str(tmp_path / "a:b.jsonl"), "a/b@c", ["x"]):
        assert not is_source(given), given
    assert is_source("profbench:nvidia/ProfBench")
    with pytest.raises(UserError, match=r"profbnch.*profbench"):
        load("profbnch:x.jsonl")
    with pytest.raises(UserError, match="no such file"):
        load(f"profbench:{tmp_path / 'absent.jsonl'}")


def test_a_source_may_be_a_folder_or_what_was_saved(tmp_path: Path) -> None:
    from datasets import Dataset

    folder = tmp_path / "data"
    folder.mkdir()
    for split, name in (("train", "other"), ("test", "p1")):
        (folder / f"{split}.jsonl").write_text(json.dumps(RECORDS["healthbench"] | {"prompt_id": name}) + "\n")
    assert [item.instruction_id for item in read("healthbench", folder)] == ["healthbench-p1"], "of the split test"
    Dataset.from_list([RECORDS["rubrichub"]]).save_to_disk(tmp_path / "saved")
    assert [item.instruction_id for item in read("rubrichub", tmp_path / "saved")] == ["rubrichub-r1"]


def test_a_run_on_points_and_a_meta_evaluation_on_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, RECORDS["healthbench"])
    model = script(tmp_path / "model.json", [], {"reply": "At most five cups, but forty do no harm."})
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])  # all PASS: the fault too
    done = command_here(
        capsys,
        "run",
        "--data",
        f"healthbench:{path}",
        "--model",
        model,
        "--judge",
        judge,
        "--out",
        str(tmp_path / "run"),
    )
    assert done.returncode == 0, done.stderr
    scores = run_scores(tmp_path / "run")
    assert scores["overall"]["value"] == 0.0
    assert scores["weighted"]["value"] == 0.0, "(7 - 9) / 7, and never below 0"

    path = written(tmp_path, RECORDS["profbench"])
    judge = script(tmp_path / "labeller.json", [{"contains": "<criteri", "verdicts": {"dose": "FAIL"}}])
    done = command_here(
        capsys, "metaeval", "--data", f"profbench:{path}", "--judge", judge, "--paradigms", "checklist",
        "--out", str(tmp_path / "meta"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((tmp_path / "meta" / "scores.json").read_text())["judges"]
    assert (found["accuracy"]["value"], found["accuracy"]["n"]) == (pytest.approx(2 / 3), 3)
    done = command_here(
        capsys, "metaeval", "--data", f"wildbench:{written(tmp_path, RECORDS['wildbench'])}", "--judge", judge,
        "--out", str(tmp_path / "none"),
    )  # fmt: skip
    assert (done.returncode, "no row has a label to measure judges by" in done.stderr) == (2, True)


def test_faults_are_no_questions_of_a_checklist(tmp_path: Path) -> None:
    left_out: list[str] = []
    (entry,) = load_entries(f"healthbench:{written(tmp_path, RECORDS['healthbench'])}", left_out)
    assert entry.row["checklists"][0]["questions"] == ["Names a limit."]
    assert left_out == ["healthbench: 1 criteria that name a fault, which is no question of a checklist"]


def test_a_rubric_without_responses_is_a_prompt_to_answer(tmp_path: Path) -> None:
    bare = {name: RECORDS["openrubrics"][name] for name in ("instruction", "rubric", "source")}
    (item,) = read("openrubrics", written(tmp_path, bare))
    assert not item.answered
