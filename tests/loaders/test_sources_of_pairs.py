"""Sets with several responses an instruction, on hand-made rows in their published columns."""

from __future__ import annotations

from pathlib import Path

import pytest

import truebench_hf
from tests.loaders.test_sources import RECORDS, written
from truebench_hf.data.sources import read
from truebench_hf.types import Criterion, Message

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


@pytest.mark.parametrize("name", LABELS)
def test_both_responses_come_with_criteria_labels_and_preference(tmp_path: Path, name: str) -> None:
    items = read(name, written(tmp_path, RECORDS[name]))
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
    (pair,) = truebench_hf.load("training", "pairs", "train", source=f"{name}:{written(tmp_path, RECORDS[name])}")
    items = read(name, written(tmp_path, RECORDS[name]))
    answers = [
        next(item.case.response for item in items if item.facts["preferred"] is which) for which in (True, False)
    ]
    assert [pair[half][0]["content"] for half in ("chosen", "rejected")] == answers
    assert pair["rubric"].splitlines() == [criterion.text for criterion in items[0].case.criteria]


def test_the_conversation_before_a_labelled_response_is_kept(tmp_path: Path) -> None:
    first, _ = read("if_rewardbench", written(tmp_path, RECORDS["if_rewardbench"]))
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
    first, _ = read("rubricbench", written(tmp_path, RECORDS["rubricbench"] | {"rubrics": text}))
    assert [criterion.text for criterion in first.case.criteria] == criteria


def test_a_rubric_without_responses_is_a_prompt_to_answer(tmp_path: Path) -> None:
    bare = {
        name: value for name, value in RECORDS["openrubrics"].items() if name in ("instruction", "rubric", "source")
    }
    (item,) = read("openrubrics", written(tmp_path, bare))
    assert not item.answered
