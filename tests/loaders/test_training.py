"""Views to train on: prompts with criteria, labelled rubrics, preference pairs, from every kind of source."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.loaders.test_sources import RECORDS, USER, written
from tests.support.runs import command_here, write_jsonl
from tests.support.tables import named
from truebench_hf.benchmarks.rubric_eval.data import mini_rows as rubric_rows
from truebench_hf.benchmarks.truebench.data import load
from truebench_hf.data.judged import stated
from truebench_hf.data.sources import read
from truebench_hf.errors import UserError
from truebench_hf.loaders.export import export
from truebench_hf.models.scripted import verdicts
from truebench_hf.types import Criterion


def view(config: str, source: str | Path) -> list[dict[str, Any]]:
    return list(named(truebench_hf.load("training", config, "train", source=str(source))))


def test_prompts_are_what_a_model_is_sent_with_points(tmp_path: Path) -> None:
    (row,) = view("prompts", f"healthbench:{written(tmp_path, RECORDS['healthbench'])}")
    assert [message["role"] for message in row["prompt"]] == ["user", "assistant", "user"]
    assert row["criteria"] == [
        {"text": "Names a limit.", "weight": 7.0, "kind": "level:example, axis:accuracy", "condition": None},
        {"text": "Recommends forty cups.", "weight": -9.0, "kind": "axis:accuracy", "condition": None},
    ]
    assert (row["category"], row["language"]) == ("communication", "")
    own = {"id": "a", "system": "Be brief.", "context": "Tea has caffeine.", "prompt": "Sum up.", "criteria": ["is short"],
           "reference": "Caffeine."}  # fmt: skip
    longer = {"id": "b", "turns": [{"prompt": "One.", "criteria": ["x"]}, {"prompt": "Two.", "criteria": ["y"]}]}
    bare = {"id": "c", "turns": [{"prompt": "One."}, {"prompt": "Two.", "criteria": ["y"]}]}
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (own, longer, bare)))
    first, second = view("prompts", path)
    assert first["prompt"] == [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Tea has caffeine.\n\nSum up."},
    ]  # fmt: skip
    assert first["reference"] == "Caffeine."
    assert (second["id"], len(second["prompt"])) == ("b", 1)
    assert export("training", tmp_path / "out", source=str(path)).facts.notes == (
        "conversations with further turns to be answered, of which no prompt is made: 2",
        "prompts without criteria, of which no row is made: 1",  # the first turn of the last
    )


def test_prompts_are_rewarded_as_they_are(tmp_path: Path) -> None:
    rows = view("prompts", f"healthbench:{written(tmp_path, RECORDS['healthbench'])}")
    reward = truebench_hf.checklist_reward(lambda messages: verdicts(messages[-1]["content"], {"forty": "FAIL"}))
    columns = {name: [row[name] for row in rows] for name in rows[0] if name != "prompt"}
    assert reward(["Five cups."], prompts=[row["prompt"] for row in rows], **columns) == [1.0]
    reward.close()


def test_labels_of_rubrics_by_people(tmp_path: Path) -> None:
    found = view("labels", f"profbench:{written(tmp_path, RECORDS['profbench'])}")
    assert [(row["model"], row["rubric"], row["label"], row["weight"]) for row in found] == [
        ("o3", "Names caffeine.", "yes", 4.0), ("o3", "Gives a dose.", "no", 1.0), ("grok4", "Names caffeine.", "no", 4.0),
    ]  # fmt: skip
    assert found[0]["prompt"] == [{"role": "user", "content": "Report on tea."}]
    assert {row["instruction_id"] for row in found} == {"profbench-Chem-0"}


def test_contrast_pairs_are_preferences() -> None:
    rows, pairs = rubric_rows(split="easy") + rubric_rows(split="hard"), view("pairs", "rubric_mini")
    by_pair: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["pair_id"]:
            by_pair.setdefault(row["pair_id"], {})[row["label"]] = row
    assert {pair["id"] for pair in pairs} == set(by_pair)
    for pair in pairs:
        halves = by_pair[pair["id"]]
        assert pair["chosen"] == [{"role": "assistant", "content": halves["yes"]["response"]}]
        assert pair["rejected"] == [{"role": "assistant", "content": halves["no"]["response"]}]
        assert (pair["prompt"], pair["rubric"]) == (halves["yes"]["messages"], halves["yes"]["rubric"])


@pytest.mark.parametrize(("weight", "chosen"), [(1.0, "with milk"), (-2.0, "without")])
def test_the_better_half_is_without_a_fault(tmp_path: Path, weight: float, chosen: str) -> None:
    rubric = stated(Criterion("Names milk.", weight=weight))
    rows = [
        {"messages": [USER], "response": text, "instruction_category": "constrained", "rubric": rubric, "label": label,
         "pair_id": "p", "id": label}
        for text, label in (("with milk", "yes"), ("without", "no"))
    ]  # fmt: skip
    alone = {**rows[0], "id": "alone", "pair_id": "q", "response": "alone"}
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (*rows, alone)))
    (pair,) = view("pairs", path)
    assert pair["chosen"][0]["content"] == chosen
    assert len(view("labels", path)) == 3


def test_a_built_folder_has_what_the_source_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from datasets import get_dataset_config_names, load_dataset

    path = written(tmp_path, RECORDS["multichallenge"], {})
    done = command_here(
        capsys, "data", "build", "training", "--source", f"multichallenge:{path}", "--out", str(tmp_path / "out")
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("1 of 2 rows cannot be used") == 1, "said once, not for each configuration"
    assert get_dataset_config_names(str(tmp_path / "out")) == ["prompts"]
    (row,) = load_dataset(str(tmp_path / "out"), split="train")
    assert row["criteria"][0]["text"] == "Is it about tea?"
    assert load(str(tmp_path / "out")) == [replace(one, language="EN") for one in load(f"multichallenge:{path}")]
    with pytest.raises(UserError, match="holds nothing for the configuration pairs"):
        view("pairs", f"multichallenge:{path}")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (None, "training needs source=: labelled rows"),
        ("profbnch:absent.jsonl", "unknown source of rubrics"),
    ],
)
def test_what_is_no_source(source: str | None, told: str) -> None:
    with pytest.raises(UserError, match=told):
        truebench_hf.load("training", source=source)


def test_no_test_is_trained_on(tmp_path: Path) -> None:
    own = {"prompt": "Say a.", "criteria": ["is a"]}
    labelled = {
        "messages": [USER],
        "response": "x",
        "instruction_category": "constrained",
        "rubric": "r",
        "label": "yes",
    }
    for name, rows, source in (
        ("own", (own | {"id": "test"}, own | {"id": "train"}), "{}"),
        ("labelled", (labelled | {"id": "test"}, labelled | {"id": "train"}), "{}"),
        ("others", (RECORDS["rubrichub"] | {"id": "test"}, RECORDS["rubrichub"] | {"id": "train"}), "rubrichub:{}"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        for row in rows:
            (folder / f"{row['id']}.jsonl").write_text(json.dumps(row) + "\n")
        config = "labels" if name == "labelled" else "prompts"
        assert [row["id"].removeprefix("rubrichub-") for row in view(config, source.format(folder))] == ["train"], name


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("run", "--source run: is the folder of a run, with judgments, scores_category; give the data that it was made with"),
        ("run/judgments.jsonl", "run/judgments.jsonl, line 1: holds the verdicts of a judge, and answers; for prompts give"),
    ],
)  # fmt: skip
def test_a_folder_that_holds_no_rows_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], source: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    answered = {"messages": [USER, {"role": "assistant", "content": "Tea."}], "verdicts": [[]]}
    for name, text in (
        ("run.json", "{}"),
        ("judgments.jsonl", json.dumps(answered)),
        ("scores_category.csv", "a,b\n1,2\n"),
    ):
        Path("run", name).write_text(text)
    done = command_here(capsys, "data", "build", "training", "--source", source, "--out", "out")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert told in done.stderr


def test_columns_of_rubric_eval_are_known() -> None:
    with pytest.raises(UserError, match="has no use with rows in the columns of rubric_eval"):
        truebench_hf.load("training", source="rubric_mini", columns={"prompt": "q"})


@pytest.mark.parametrize("name", ["rubricbench", "openrubrics", "judgebench", "ifbench"])
def test_preferences_train_as_pairs(tmp_path: Path, name: str) -> None:
    (pair,) = view("pairs", f"{name}:{written(tmp_path, RECORDS[name])}")
    items = read(name, written(tmp_path, RECORDS[name]))
    answers = {item.facts["preferred"]: item.case.response for item in items}
    assert [pair[half][0]["content"] for half in ("chosen", "rejected")] == [answers[True], answers[False]]
    assert pair["rubric"].splitlines() == [criterion.text for criterion in items[0].case.criteria]


def test_prompts_may_stand_in_columns_of_other_names(tmp_path: Path) -> None:
    row = {"question": "Name a tea.", "q": "Not this.", "rubric": ["names a tea"]}
    source = write_jsonl(tmp_path / "own.jsonl", [row])
    (read,) = truebench_hf.load(
        "training", "prompts", "train", source=source, columns={"prompt": "question", "criteria": "rubric"}
    )
    assert (read["prompt"][0]["content"], read["criteria"][0]["text"]) == ("Name a tea.", "names a tea")
