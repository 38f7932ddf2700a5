"""Labelled pairs of every form: LLMBar, JudgeBench, preference data, TICK's ratings."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import ROOT, write_jsonl
from truebench_hf.benchmarks.tick.pairs import Pair, load_pairs
from truebench_hf.errors import UserError
from truebench_hf.types import Message

LLMBAR = ROOT.parent / "shared/data/llmbar"

A = {"prompt": "Q", "response_a": "one", "response_b": "two"}
JUDGEBENCH = {
    "pair_id": "p1", "original_id": 7, "source": "mmlu-pro-law", "question": "Q", "response_model": "m",
    "response_A": "one", "response_B": "two", "label": "B>A",
}  # fmt: skip


def rows(folder: Path, *given: dict[str, Any]) -> str:
    return write_jsonl(folder / "pairs.jsonl", given)


def one(folder: Path, row: dict[str, Any]) -> Pair:
    (pair,) = load_pairs(rows(folder, row))[0]
    return pair


@pytest.mark.parametrize(
    ("row", "gold", "reason"),
    [
        (A | {"label": "A"}, "win", "our own form"),
        (A | {"label": "b"}, "loss", "in small letters"),
        (A | {"label": "tie"}, "tie", "a tie"),
        (A | {"label": 1}, "win", "the number of the response"),
        (A | {"label": 2.0}, "loss", "as a table with gaps holds it"),
        (A | {"winner": "model_b"}, "loss", "as arenas say it"),
        (A | {"winner": "tie (bothbad)"}, "tie", "as arenas say it, too"),
        (A | {"preferred": "[[A]]"}, "win", "as MT-bench's judges say it"),
        (A | {"ratings": [1, 2, 3]}, "win", "mean 2"),
        (A | {"ratings": [2, 3, 3]}, "tie", "mean 2.67"),
        (A | {"ratings": [2, 3]}, "tie", "2.5 belongs to the tie"),
        (A | {"ratings": [3, 4]}, "tie", "3.5 belongs to the tie"),
        (A | {"ratings": [3, 4, 4]}, "loss", "mean 3.67"),
        (A | {"ratings": "[4, 5, 5]"}, "loss", "a list in a cell of a table"),
        (A | {"rating": 1}, "win", "one annotator, on the scale and not the number of a response"),
        (A | {"rating": 2}, "win", "the same: 2 of 5 is better A, though 2 as a label is response B"),
        ({"input": "Q", "output_1": "one", "output_2": "two", "label": 2}, "loss", "LLMBar"),
        (JUDGEBENCH, "loss", "JudgeBench"),
        ({"instruction": "Q", "answer_a": "one", "answer_b": "two", "label": "A"}, "win", "other names"),
    ],
)
def test_what_is_preferred(row: dict[str, Any], gold: str, reason: str, tmp_path: Path) -> None:
    found = one(tmp_path, row)
    assert found.gold == gold, reason
    assert (found.case.instruction, found.case.response, found.response_b) == ("Q", "one", "two"), reason


@pytest.mark.parametrize(
    ("row", "said", "reason"),
    [
        (A | {"label": 0}, "'label' must name the better response", "0 may be the first, or none"),
        (A | {"label": 3}, "'label' must name", "no third response"),
        (A | {"label": True}, "'label' must name", "true of what"),
        (A | {"label": ["A"]}, "'label' must name", "a list"),
        (A | {"label": "A", "rating": 1}, "both say what is preferred", "two statements"),
        (A | {"label": "A", "winner": "A"}, "mean the same", "two columns"),
        (A | {"ratings": [0]}, "must be greater than or equal to 1", "off the scale"),
        (A | {"ratings": [True]}, "must be a number", "true is no number"),
        (A | {"ratings": "high"}, "must be JSON", "a word"),
        ({"prompt": "Q", "response_a": "x", "label": "A"}, "--column response_b=COLUMN", "one response"),
        (A | {"response_a": 5, "label": "A"}, "'response_a'", "a number"),
        ({"response_a": "x", "response_b": "y", "label": "A"}, "has no prompt", "no instruction"),
        (A | {"question": "Q2", "label": "A"}, "mean the same; say which", "two instructions"),
        (A | {"instruction": "Do", "label": "A"}, "mean the same; say which", "an instruction with an input beside"),
    ],
)
def test_what_cannot_be_read_is_told(row: dict[str, Any], said: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"pairs\.jsonl, line 1") as told:
        load_pairs(rows(tmp_path, row))
    assert said in str(told.value), reason


def test_rows_without_a_label_are_left_out_and_counted(tmp_path: Path) -> None:
    labelled, notes = load_pairs(rows(tmp_path, A | {"label": "A"}, A, A | {"label": ""}, A | {"ratings": []}))
    assert ([pair.id for pair in labelled], notes) == (["1"], ["Left out for want of a label: 3 of 4 pairs."])
    with pytest.raises(UserError, match="no row says which response is preferred"):
        load_pairs(rows(tmp_path, A))
    with pytest.raises(UserError, match="id 1 stands twice"):
        load_pairs(rows(tmp_path, A | {"label": "A", "id": 1}, A | {"label": "B", "id": 1}))


def test_ids_are_those_of_the_data_and_numbered_ones_name_their_split(tmp_path: Path) -> None:
    folder = tmp_path / "both"
    folder.mkdir()
    for split in ("claude", "gpt"):
        write_jsonl(folder / f"{split}.jsonl", [A | {"label": "A"}, JUDGEBENCH | {"pair_id": split}])
    found = load_pairs(str(folder))[0]
    assert [(pair.id, pair.subset) for pair in found] == [
        ("claude/1", "claude"), ("claude", "mmlu-pro-law"), ("gpt/1", "gpt"), ("gpt", "mmlu-pro-law"),
    ]  # fmt: skip


def test_columns_of_other_names(tmp_path: Path) -> None:
    file = rows(tmp_path, {"q": "Q", "x": "one", "y": "two", "label": "junk", "best": "x", "gold": "B"})
    columns = {"prompt": "q", "response_a": "x", "response_b": "y", "label": "gold"}
    (pair,) = load_pairs(file, columns)[0]
    assert (pair.case.instruction, pair.response_a, pair.gold) == ("Q", "one", "loss")
    with pytest.raises(UserError, match="there is no column 'z'"):
        load_pairs(file, columns | {"prompt": "z"})
    with pytest.raises(UserError, match="unknown column 'answer'"):
        load_pairs(file, {"answer": "x"})


def test_preference_data_for_training_stand_in_both_places(tmp_path: Path) -> None:
    given = [{"id": n, "prompt": "Q", "chosen": "good", "rejected": "bad", "subset": "s"} for n in range(40)]
    found = load_pairs(rows(tmp_path, *given))[0]
    assert {(p.response_a if p.gold == "win" else p.response_b) for p in found} == {"good"}
    assert 10 < sum(p.gold == "win" for p in found) < 30, "no judge is right by always taking the first"
    assert found == load_pairs(rows(tmp_path, *given))[0]
    before = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Q"}]
    talk = {side: [*before, {"role": "assistant", "content": side}] for side in ("chosen", "rejected")}
    pair = one(tmp_path, talk)
    assert {pair.response_a, pair.response_b} == {"chosen", "rejected"}
    assert (pair.case.instruction, pair.case.history) == ("Q", (Message("system", "Be kind."),))
    pair = one(tmp_path, talk | {"prompt": "only the last message", "rating": 4.5, "turns": 2})
    assert pair.case.history, "the conversation says more than a column of prompts"
    with pytest.raises(UserError, match="another response to what 'chosen' answers"):
        load_pairs(rows(tmp_path, talk | {"rejected": [{"role": "user", "content": "Q2"}, talk["rejected"][-1]]}))


def test_pairs_of_one_instruction_with_two_checklists_stay_apart(tmp_path: Path) -> None:
    given = [A | {"label": "A", "criteria": [text]} for text in ("Is it short?", "Is it long?", "Is it short?")]
    assert [pair.instance.id for pair in load_pairs(rows(tmp_path, *given))[0]] == ["1", "2", "1"]


def test_what_came_before_and_a_checklist_stay_with_the_instruction(tmp_path: Path) -> None:
    talk = [{"role": r, "content": c} for r, c in (("user", "Hi"), ("assistant", "Hello"), ("user", "Q"))]
    row = {"messages": talk, "response_a": "", "response_b": "two", "label": "B", "criteria": ["Is it short?"]}
    pair = one(tmp_path, row | {"category": "chat", "subset": "hard"})
    assert (pair.subset, pair.response_a, len(pair.case.history)) == ("hard", "", 2)
    assert pair.case.criteria == (), "compared without the checklist"
    assert [c.text for c in pair.instance.turns[0].criteria] == ["Is it short?"]


def test_pairs_of_one_instruction_share_its_instance(tmp_path: Path) -> None:
    three = [A | {"label": "A"}, A | {"response_b": "three", "label": "B"}, A | {"prompt": "Q2", "label": "A"}]
    assert [pair.instance.id for pair in load_pairs(rows(tmp_path, *three))[0]] == ["1", "1", "3"]


def test_checklists_mini_has_rated_pairs() -> None:
    found = load_pairs("checklists_mini")[0]
    assert len(found) >= 24
    assert set(Counter(pair.gold for pair in found)) == {"win", "tie", "loss"}
    first = found[0]
    assert first.gold == "win"
    assert first.response_a.startswith('{"order"')
    assert len(first.instance.turns[0].criteria) == 4, "the chosen checklist"


def test_ratings_of_a_pair_named_the_other_way_round_are_turned(tmp_path: Path) -> None:
    said = [("ada", "x", "y", 1), ("bo", "y", "x", 4), ("cy", "x", "y", 3), ("ada", "x", "z", 5)]
    row = {
        "id": "r", "messages": [{"role": "user", "content": "Q"}], "category": "c", "checklists": [],
        "responses": [{"id": i, "text": f"text {i}"} for i in "xyz"],
        "preferences": [dict(zip(("annotator", "response_a", "response_b", "rating"), one, strict=True)) for one in said],
    }  # fmt: skip
    found = load_pairs(rows(tmp_path, row))[0]
    # x against y: 1, 6 - 4 = 2 and 3, mean 2, a win; x against z: 5, a loss.
    assert [(p.id, p.response_a, p.response_b, p.gold) for p in found] == [
        ("r-1", "text x", "text y", "win"), ("r-2", "text x", "text z", "loss"),
    ]  # fmt: skip


@pytest.mark.skipif(not LLMBAR.is_dir(), reason="the real data is not at ../shared/data/llmbar")
def test_the_real_llmbar() -> None:
    labelled, _ = load_pairs(f"llmbar:{LLMBAR}")
    subsets = Counter(pair.subset for pair in labelled)
    assert subsets == {"Natural": 100, "Neighbor": 134, "GPTInst": 92, "GPTOut": 47, "Manual": 46}
    assert Counter(pair.gold for pair in labelled) == {"win": 206, "loss": 213}
    raw = json.loads((LLMBAR / "Natural" / "dataset.json").read_text(encoding="utf-8"))[0]
    first = next(pair for pair in labelled if pair.id == "llmbar-natural-000")
    assert (first.case.instruction, first.response_a, first.response_b) == (
        raw["input"], raw["output_1"], raw["output_2"],
    )  # fmt: skip
    assert first.gold == ("win" if raw["label"] == 1 else "loss")
    plain = load_pairs(str(LLMBAR / "Natural" / "dataset.json"))[0]
    assert [(p.gold, p.response_a) for p in plain] == [
        (p.gold, p.response_a) for p in labelled if p.subset == "Natural"
    ]


def test_llmbar_without_its_folder_is_told() -> None:
    with pytest.raises(UserError, match="llmbar:FOLDER"):
        load_pairs("llmbar")
    with pytest.raises(UserError, match="no such file"):
        load_pairs("llmbar:nowhere")
