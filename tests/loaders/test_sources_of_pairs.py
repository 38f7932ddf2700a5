"""Sets with several responses an instruction, on hand-made rows in their published columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from truebench_hf.data.sources import read
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Message

ROWS: dict[str, dict[str, Any]] = {
    "rubricbench": {
        "case_id": "c1", "instruction": "Name two teas.", "response_a": "Assam", "response_b": "Assam, Oolong", "label": 1,
        "rubrics": "1. Does it name two teas?\n2. Are both\n   real?", "source": "x", "domain": "Chat",
    },
    "openrubrics": {
        "instruction": "Name two teas.", "rubric": "- It names two teas. [Hard Rule]\n- It is friendly. [Principle]",
        "response_a": "Assam", "response_b": "Assam, Oolong", "winner": "B", "source": "ultra",
    },
    "judgebench": {
        "pair_id": "p1", "source": "mmlu-pro-math", "question": "1 + 1?", "response_model": "m", "response_A": "2",
        "response_B": "3", "label": "A>B",
    },
    "ifbench": {
        "id": "7", "source": "s", "original_instruction": "Name a tea.", "instruction": "Name a tea in one word, kindly.",
        "chosen": {"content": "Assam", "unsatisfied_constraints": ["kindly"]},
        "rejected": {"content": "It is Assam", "unsatisfied_constraints": [{"constraint": "in one word"}, "kindly"]},
        "llm_constraints_used": [{"constraint_type": "Style", "constraint": "kindly"}],
        "code_constraints_used": [{"constraint_type": "Length", "constraint": "in one word", "checkers": [], "functions": []}],
    },
    "if_rewardbench": {
        "id": 3, "response_generation_model": "Qwen3-8B", "instruction_type": "Multi_Turn",
        "messages": [{"role": "user", "content": "Tea?"}, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Which?"}],
        "checklist": ["Names a tea", "Is short"],
        "constraint_type": [{"item": "Names a tea ", "constraint_categories": ["Content"], "constraint_composition_types": ["And"]}],
        "responses": [
            {"response_id": 0, "response": "Assam", "labels": [1, 1]}, {"response_id": 1, "response": "A long one", "labels": [0, 0]},
        ],
        "preference_graph": [],
    },
}  # fmt: skip


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


CRITERIA = {
    "rubricbench": (Criterion("Does it name two teas?"), Criterion("Are both real?")),
    "openrubrics": (Criterion("It names two teas.", "Hard Rule"), Criterion("It is friendly.", "Principle")),
    "ifbench": (Criterion("kindly", "Style"), Criterion("in one word", "Length")),
    "if_rewardbench": (Criterion("Names a tea", "Content"), Criterion("Is short")),
}
LABELS = {  # by response; the first two hold preferences and say nothing of a single criterion
    "rubricbench": [[None, None], [None, None]],
    "openrubrics": [[None, None], [None, None]],
    "judgebench": [["yes"], ["no"]],
    "ifbench": [["no", "yes"], ["no", "no"]],
    "if_rewardbench": [["yes", "yes"], ["no", "no"]],
}
PREFERRED = {
    "rubricbench": [False, True], "openrubrics": [False, True], "judgebench": [True, False], "ifbench": [True, False],
    "if_rewardbench": [None, None],
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_both_responses_come_with_criteria_labels_and_preference(tmp_path: Path, name: str) -> None:
    items = read(name, written(tmp_path, ROWS[name]))
    assert len(items) == 2
    assert len({item.instruction_id for item in items}) == 1
    assert len({item.id for item in items}) == 2
    assert [[rubric.label for rubric in item.rubrics] for item in items] == LABELS[name]
    assert [item.facts.get("preferred") for item in items] == PREFERRED[name]
    if name in CRITERIA:
        assert items[0].case.criteria == CRITERIA[name]
    assert all(item.answered for item in items)


@pytest.mark.parametrize("name", [name for name in PREFERRED if PREFERRED[name] != [None, None]])
def test_preferences_train_as_pairs(tmp_path: Path, name: str) -> None:
    (pair,) = truebench_hf.load("training", "pairs", "train", source=f"{name}:{written(tmp_path, ROWS[name])}")
    items = read(name, written(tmp_path, ROWS[name]))
    answers = [
        next(item.case.response for item in items if item.facts["preferred"] is which) for which in (True, False)
    ]
    assert [pair[half][0]["content"] for half in ("chosen", "rejected")] == answers
    assert pair["rubric"].splitlines() == [criterion.text for criterion in items[0].case.criteria]


def test_the_conversation_before_a_labelled_response_is_kept(tmp_path: Path) -> None:
    first, _ = read("if_rewardbench", written(tmp_path, ROWS["if_rewardbench"]))
    assert first.messages == (Message("user", "Tea?"), Message("assistant", "Yes."), Message("user", "Which?"))
    assert first.category == "multi_turn"


RUBRICS = [
    # the text, the criteria, why
    ('["One?", "Two?"]', ["One?", "Two?"], "a list as JSON"),
    ("One?\nTwo?", ["One?", "Two?"], "lines without bullets"),
    ("Rubric:\n1) One?\n\n2) Two?", ["One?", "Two?"], "a heading before the bullets is no criterion"),
    ("[is it short]", ["[is it short]"], "a text in brackets is no JSON"),
    ("• Eins?\n* Zwei?", ["Eins?", "Zwei?"], "other bullets"),
]


@pytest.mark.parametrize(("text", "criteria", "why"), RUBRICS, ids=[why for *_, why in RUBRICS])
def test_a_rubric_that_is_one_text(tmp_path: Path, text: str, criteria: list[str], why: str) -> None:
    first, _ = read("rubricbench", written(tmp_path, ROWS["rubricbench"] | {"rubrics": text}))
    assert [criterion.text for criterion in first.case.criteria] == criteria


def test_a_rubric_without_responses_is_a_prompt_to_answer(tmp_path: Path) -> None:
    bare = {name: value for name, value in ROWS["openrubrics"].items() if name in ("instruction", "rubric", "source")}
    (item,) = read("openrubrics", written(tmp_path, bare))
    assert not item.answered


BAD = [
    # set, columns of a row that cannot be used, what the error names
    ("rubricbench", {"label": 2}, "'label' is 2, which is none of 0, 1"),
    ("rubricbench", {"label": True}, "'label' must be a whole number or a text"),
    ("rubricbench", {"rubrics": " "}, "'rubrics'"),
    ("judgebench", {"label": "A=B"}, "'label' is 'A=B'"),
    ("openrubrics", {"winner": "C"}, "'winner' is 'C'"),
    ("ifbench", {"chosen": {"content": "x", "unsatisfied_constraints": ["other"]}}, "'other', which is no constraint"),
    ("ifbench", {"llm_constraints_used": [], "code_constraints_used": []}, "is empty"),
    ("if_rewardbench", {"responses": [{"response_id": 0, "response": "x", "labels": [1]}]}, "one label for each of the 2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "columns", "message"), BAD)
def test_a_row_that_cannot_be_used_is_named(tmp_path: Path, name: str, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match="line 2") as caught:
        read(name, written(tmp_path, ROWS[name], ROWS[name] | columns), strict=True)
    assert message in str(caught.value)
