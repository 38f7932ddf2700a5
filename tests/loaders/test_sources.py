"""Sources of rubrics: StructFlowBench and LLMBar on the real files, the others on hand-made records."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truebench_hf.benchmarks.rubric_eval import data as rubric_data
from truebench_hf.data.sources import read
from truebench_hf.data.sources.forms import sets
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Message

REAL = Path(__file__).parents[2] / ".." / "shared" / "data"


def real(name: str) -> Path:
    path = REAL / name
    if not path.exists():
        pytest.skip(f"the real file ../shared/data/{name} is not here")
    return path


def test_the_real_structflowbench() -> None:
    found = read("structflowbench", real("structflowbench/StructFlowBench.json"))
    places = [source.instruction_id.split("-")[1:] for source in found]  # conversation, turn
    assert len({conversation for conversation, _ in places}) == 155
    assert len(found) == 643  # turns, the "instructions" of RubricEval's Table 5
    assert sum(len(source.rubrics) for source in found) == 1775
    kinds = Counter(rubric.hint for source in found for rubric in source.rubrics)
    assert kinds["Content Constraint"] == 505
    assert kinds["recall"] == 32
    assert {source.category for source in found} == {"multi_turn"}
    for source, (_, turn) in zip(found, places, strict=True):
        roles = [message.role for message in source.messages]
        assert roles == ["user", "assistant"] * (int(turn) - 1) + ["user"]
        assert not source.answered
        assert source.reference


def test_a_real_conversation_whose_turn_names_start_over() -> None:
    found = read("structflowbench", real("structflowbench/StructFlowBench.json"))
    turns = [source for source in found if source.instruction_id.startswith("structflowbench-136-")]
    assert [source.instruction_id[-1] for source in turns] == ["1", "2", "3", "4", "5", "6"]
    assert turns[5].messages[:6] == (*turns[3].messages[:6],)  # one conversation, history and all


def test_the_real_llmbar() -> None:
    found = read("llmbar", real("llmbar"))
    pairs = {source.instruction_id for source in found}
    assert len(pairs) == 419
    assert len(found) == 838
    assert Counter(source.facts["subset"] for source in found) == {
        "Natural": 200, "Neighbor": 268, "GPTInst": 184, "GPTOut": 94, "Manual": 92,
    }  # fmt: skip
    for pair in pairs:
        both = [source for source in found if source.instruction_id == pair]
        assert sorted(source.facts["preferred"] for source in both) == [False, True]
        assert both[0].messages == both[1].messages
        assert all(source.case.response for source in both)
    first = json.loads((real("llmbar") / "Natural" / "dataset.json").read_text())[0]
    chosen = next(s for s in found if s.instruction_id == "llmbar-natural-000" and s.facts["preferred"])
    assert chosen.case.response == first[f"output_{first['label']}"]


USER = {"role": "user", "content": "Write a haiku about tea."}
ANSWER = {"role": "assistant", "content": "Steam rises slowly"}
RECORDS: dict[str, dict[str, Any]] = {
    "advancedif": {
        "conversation_history": json.dumps([{"role": "system", "content": "Speak like a captain."}, USER]),
        "benchmark_name": "if_system_steerability_oss",
        "prompt_metadata": json.dumps({"rubrics": json.dumps(["Is it a haiku?", "Does a captain speak?"])}),
        "response": json.dumps([ANSWER]),
    },
    "infobench": {
        "id": "task_7",
        "input": "Tea is a drink.",
        "category": "Summary",
        "instruction": "Sum it up.",
        "decomposed_questions": ["Is it shorter?", "Is it about tea?"],
        "subset": "Hard_set",
        "question_label": [["Format", "Number"], []],
    },
    "complexbench": {
        "main_id": 3,
        "group": "g1",
        "idx_in_group": 1,
        "instruction": "如果是茶，写诗。",
        "instruction_en": "If it is tea, write a poem.",
        "task_types": "Creative Writing",
        "constraint_dimensions": ["Length"],
        "composition_types": ["And", "Selection"],
        "category": "Selection_1",
        "scoring_questions": [
            {"point_id": 0, "question": "是茶吗？", "question_en": "Did it see that it is tea?", "rule": None,
             "constraint_dimensions": ["Factuality"], "composition_types": ["Selection"], "dep": []},
            {"point_id": 1, "question": "是诗吗？", "question_en": "Is it a poem?", "rule": "model_length:[1,100]",
             "constraint_dimensions": "Length", "composition_types": [], "dep": [0]},
            {"point_id": 2, "question": "好吗？", "question_en": "Is it good?", "rule": None,
             "constraint_dimensions": [], "composition_types": [], "dep": [0, 1]},
        ],
    },
    "cfbench": {
        "idx": 11,
        "prompt": "写一首诗。",
        "isanswer": "是",
        "gold": "茶香。",
        "doamin": "文学",
        "scenario": "创作",
        "source": "x",
        "split": "hard",
        "criteria": [["是诗", "1", "内容约束", "主题"], ["不超过十字", "0", "数值约束", ""]],
    },
    "sysbench": {
        "system_id": 5,
        "system_prompt": "你是船长。",
        "messages": [USER, ANSWER, {"role": "user", "content": "Another."}, {"role": "assistant", "content": "Aye"}],
        "prompt_infos": [
            {"alignment": "aligned", "criteria": ["像船长吗？"]},
            {"alignment": "misaligned", "criteria": ["像船长吗？", "拒绝了吗？"]},
        ],
    },
    "structflowbench": {
        "whole_conv": [
            {"name": "c1", "user prompt": "Tea?", "assistant answer": "Yes.",
             "constraints": [{"type": "Style Constraint", "content": "Is it short?", "explanation": ""}]},
            {"name": "c2", "user prompt": "More.", "assistant answer": "Black tea.",
             "constraints": [{"type": "follow-up", "content": "Does c2 follow c1?", "explanation": ""}]},
        ],
        "structure": [{"source": ["c1"], "target": ["c2"], "relation": "follow-up"}],
    },
    "wildbench": {
        "session_id": "ab12",
        "conversation_input": [USER, ANSWER, {"role": "user", "content": "Again, for coffee.", "toxic": False, "language": "English"}],
        "checklist": ["Is it about coffee?"],
        "primary_tag": "Creative Writing",
    },
    "llmbar": {"input": "Name a tea.", "output_1": "Assam", "output_2": "Mocha", "label": 1},
    "profbench": {
        "task_id": "Chem-0",
        "domain": "Chemistry PhD",
        "prompt": "Report on tea.",
        "o3_response": "Tea has caffeine.",
        "grok4_response": "Tea is nice.",
        "rubrics": [
            {"criterion_description": "Names caffeine.", "criterion_weight": "Critical",
             "criterion_type": ["Reasoning", "Style"], "o3_fulfilment": True, "grok4_fulfilment": False},
            {"criterion_description": "Gives a dose.", "criterion_weight": "Additional",
             "criterion_type": "Reasoning", "o3_fulfilment": False, "grok4_fulfilment": None},
        ],
    },
    "healthbench": {
        "prompt_id": "p1",
        "prompt": [USER, ANSWER, {"role": "user", "content": "How much tea is too much?"}],
        "example_tags": ["theme:communication", "physician_agreed_category:enough-context"],
        "rubrics": [
            {"criterion": "Names a limit.", "points": 7, "tags": ["level:example", "axis:accuracy"]},
            {"criterion": "Recommends forty cups.", "points": -9, "tags": ["axis:accuracy"]},
        ],
        "ideal_completions_data": {"ideal_completion": "Up to five cups.", "ideal_completions_group": "g"},
        "canary": "x",
    },
    "healthbench_meta": {
        "prompt_id": "p1",
        "completion_id": "c1",
        "prompt": [USER],
        "completion": "Steam rises",
        "rubric": "Is it a haiku?",
        "category": "cluster:communication_clarity",
        "binary_labels": [True, True, False],
        "anonymized_physician_ids": ["a", "b", "c"],
    },
    "rubrichub": {
        "id": "r1",
        "question": "Name a tea.",
        "rubrics": [{"criterion": "Names one.", "points": 10}, {"criterion": "Names two.", "points": -5}],
    },
    "rar": {
        "question": "What is in tea?",
        "reference_answer": "Caffeine.",
        "question_source": "unit",
        "rubric": [
            {"title": "Caffeine", "description": "Essential Criteria: Names caffeine.", "weight": 5},
            {"title": "Milk", "description": "Pitfall Criteria: Does not mention that milk is no tea.", "weight": -1},
            {"title": "Short", "description": "Is short.", "weight": 2},
        ],
    },
    "multichallenge": {
        "QUESTION_ID": "q1",
        "AXIS": "INFERENCE_MEMORY",
        "CONVERSATION": [USER, ANSWER, {"role": "user", "content": "Another, please."}],
        "TARGET_QUESTION": "Is it about tea?",
        "PASS_CRITERIA": "YES",
    },
    "biggen": {
        "id": "planning_travel_0",
        "capability": "planning",
        "task": "travel",
        "instance_idx": 0,
        "system_prompt": "You plan.",
        "input": "Plan a tea party.",
        "reference_answer": "At five.",
        "score_rubric": {"criteria": "Is the plan complete?"} | {
            f"score{level}_description": f"Level {level}." for level in range(1, 6)
        },
    },
}  # fmt: skip
RECORDS["complexbench_en"] = RECORDS["complexbench"]
RECORDS["rar_without_pitfalls"] = RECORDS["rar"]


def written(folder: Path, *rows: Any) -> Path:
    """The rows as a .json file, the shape most corpora have."""
    path = folder / "data.json"
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return path


def test_advancedif(tmp_path: Path) -> None:
    row = RECORDS["advancedif"]
    single = {**row, "benchmark_name": "if_complex_if_oss", "conversation_history": json.dumps([USER]), "response": ""}
    path = tmp_path / "data.csv"  # as published
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerows([row, single])
    system, constrained = read("advancedif", path)
    assert system.category == "system"
    assert system.messages == (Message("system", "Speak like a captain."), Message("user", USER["content"]))
    assert system.case.criteria == (Criterion("Is it a haiku?"), Criterion("Does a captain speak?"))
    assert system.case.response == ANSWER["content"]
    assert constrained.category == "constrained"
    assert not constrained.answered


def test_infobench(tmp_path: Path) -> None:
    (found,) = read("infobench", written(tmp_path, RECORDS["infobench"]))
    assert found.messages == (Message("user", "Sum it up.\n\nTea is a drink."),)
    assert found.case.criteria == (Criterion("Is it shorter?", "Format, Number"), Criterion("Is it about tea?"))
    assert found.facts["subset"] == "Hard_set"
    bare = {**RECORDS["infobench"], "input": "", "question_label": None}
    (found,) = read("infobench", written(tmp_path, bare))
    assert found.messages[0].content == "Sum it up."


def test_complexbench_keeps_dependencies(tmp_path: Path) -> None:
    path = written(tmp_path, RECORDS["complexbench"])
    (chinese,) = read("complexbench", path)
    assert (chinese.language, chinese.category) == ("ZH", "compositional")
    assert [criterion.condition for criterion in chinese.case.criteria] == [None, "是茶吗？", "是茶吗？ / 是诗吗？"]
    assert [criterion.kind for criterion in chinese.case.criteria] == ["Factuality, Selection", "Length", None]
    (english,) = read("complexbench_en", path)
    assert english.language == "EN"
    assert english.case.criteria[1] == Criterion("Is it a poem?", "Length", "Did it see that it is tea?")
    (joined,) = read("complexbench", written(tmp_path, {**RECORDS["complexbench"], "composition_types": ["And"]}))
    assert joined.category == "constrained"


def test_complexbench_dependencies_go_by_id_and_not_by_place(tmp_path: Path) -> None:
    questions = [{**q, "point_id": q["point_id"] + 10} for q in RECORDS["complexbench"]["scoring_questions"]]
    for question, needed in zip(questions, ([], [10], [10, 11]), strict=True):
        question["dep"] = needed
    (found,) = read("complexbench", written(tmp_path, {**RECORDS["complexbench"], "scoring_questions": questions}))
    assert [criterion.condition for criterion in found.case.criteria] == [None, "是茶吗？", "是茶吗？ / 是诗吗？"]


def test_cfbench(tmp_path: Path) -> None:
    (found,) = read("cfbench", written(tmp_path, RECORDS["cfbench"]))
    assert found.case.criteria == (Criterion("是诗", "内容约束/主题"), Criterion("不超过十字", "数值约束"))
    assert (found.reference, found.case.reference) == ("茶香。", "茶香。")


SYSBENCH_BY_TEXT = {
    # The other shape: prompt_infos by user message, criteria by number, the system message among the messages.
    **RECORDS["sysbench"],
    "messages": [{"role": "system", "content": "你是船长。"}, *RECORDS["sysbench"]["messages"]],
    "prompt_infos": {
        "Another.": {"alignment": "misaligned", "criteria": {
            "1": {"criteria_content": "像船长吗？"}, "2": {"criteria_content": "拒绝了吗？"}}},
        USER["content"]: {"alignment": "aligned", "criteria": {"1": {"criteria_content": "像船长吗？"}}},
    },
}  # fmt: skip


@pytest.mark.parametrize("row", [RECORDS["sysbench"], SYSBENCH_BY_TEXT], ids=["list", "by text"])
def test_sysbench(tmp_path: Path, row: dict[str, Any]) -> None:
    first, second = read("sysbench", written(tmp_path, row))
    assert first.messages == (Message("system", "你是船长。"), Message("user", USER["content"]))
    assert first.reference == ANSWER["content"]
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "user"]
    assert second.case.criteria == (Criterion("像船长吗？"), Criterion("拒绝了吗？"))


def test_wildbench(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(RECORDS["wildbench"]) + "\n\n")
    (found,) = read("wildbench", path)
    assert found.category == "multi_turn"
    assert found.messages[-1] == Message("user", "Again, for coffee.")
    assert found.case.criteria == (Criterion("Is it about coffee?"),)
    assert found.language == "EN"
    for said in ("Norwegian", "Klingon", 3, None):  # two written forms, no language, no text
        turns = [{"role": "user", "content": "Again.", "language": said}]
        path.write_text(json.dumps(RECORDS["wildbench"] | {"conversation_input": turns}))
        assert read("wildbench", path)[0].language == "UND"


def test_wildbench_from_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "data.parquet"
    pq.write_table(pa.Table.from_pylist([RECORDS["wildbench"]]), path)
    assert read("wildbench", path)[0].messages[0].content == USER["content"]


def test_rubric_mini_comes_back_as_whole_responses(tmp_path: Path) -> None:
    rows = rubric_data.mini_rows()
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    found = read("rubric_eval", path)
    assert {source.id for source in found} == {row["response_id"] for row in rows}
    assert sum(len(source.rubrics) for source in found) == len(rows)
    by_id = {source.id: source for source in found}
    for row in rows:
        source, place = by_id[row["response_id"]], row["rubric_index"]
        assert source.case.criteria[place] == Criterion(row["rubric"], row["rubric_type"])
        assert source.rubrics[place].label == row["label"]
        assert source.case.response == row["response"]


def _without(name: str, field: str) -> dict[str, Any]:
    return {key: value for key, value in RECORDS[name].items() if key != field}


def _with(name: str, **fields: Any) -> dict[str, Any]:
    return {**RECORDS[name], **fields}


BAD: list[tuple[str, Any, str, str]] = [
    # source, the second record of a file, field named in the error, reason
    ("advancedif", _with("advancedif", benchmark_name="if_other"), "benchmark_name", "unknown subset"),
    ("advancedif", _with("advancedif", conversation_history="[{"), "conversation_history", "broken JSON inside"),
    ("advancedif", _with("advancedif", conversation_history=json.dumps([USER])), "conversation_history", "no system"),
    ("advancedif", _with("advancedif", prompt_metadata="{}"), "rubrics", "no rubrics in the metadata"),
    ("advancedif", _with("advancedif", response=json.dumps([USER])), "response", "an answer by the user"),
    ("infobench", _with("infobench", decomposed_questions=[]), "decomposed_questions", "no questions"),
    ("infobench", _with("infobench", question_label=[["Format"]]), "question_label", "fewer labels than questions"),
    ("infobench", _without("infobench", "id"), "id", "absent"),
    ("complexbench", _with("complexbench", scoring_questions=[{"point_id": 0}]), "question", "question without text"),
    ("complexbench", _with("complexbench", instruction=" "), "instruction", "blank"),
    (
        "complexbench",
        _with("complexbench", scoring_questions=[{"point_id": 0, "question": "q", "dep": [9]}]),
        "dep", "depends on a question that is not there",
    ),
    (
        "complexbench",
        _with("complexbench", scoring_questions=[{"point_id": 0, "question": "q", "dep": [0]}]),
        "dep", "depends on itself",
    ),
    ("cfbench", _with("cfbench", criteria=[["是诗", "1"]]), "criteria[0]", "too short a criterion"),
    ("cfbench", _with("cfbench", prompt=None), "prompt", "null"),
    ("sysbench", _with("sysbench", prompt_infos=[]), "prompt_infos", "fewer infos than turns"),
    ("sysbench", _with("sysbench", messages=[USER, USER]), "messages", "two user messages in a row"),
    ("sysbench", _with("sysbench", messages=[{"role": "tool", "content": "x"}]), "messages[0].role", "unknown role"),
    ("structflowbench", _with("structflowbench", whole_conv="c1"), "whole_conv", "no list"),
    (
        "structflowbench",
        _with("structflowbench", whole_conv=[{"name": "c1", "user prompt": "x", "assistant answer": "y"}]),
        "constraints", "absent",
    ),
    ("wildbench", _with("wildbench", checklist=["ok", " "]), "checklist", "a blank entry"),
    ("wildbench", _with("wildbench", conversation_input=[USER, ANSWER]), "conversation_input", "nothing to answer"),
    ("profbench", _with("profbench", rubrics=[{"criterion_description": "x", "criterion_weight": "Huge"}]), "criterion_weight", "no such weight"),
    ("profbench", _with("profbench", rubrics=[{"criterion_weight": "Minor"}]), "criterion_description", "no text"),
    ("profbench", _with("profbench", rubrics=[{**RECORDS["profbench"]["rubrics"][0], "o3_fulfilment": "perhaps"}]), "o3_fulfilment", "a label that is none"),
    ("healthbench", _with("healthbench", rubrics=[{"criterion": "x", "points": 0}]), "points", "no points"),
    ("healthbench", _with("healthbench", rubrics=[{"criterion": "x", "points": "7"}]), "points", "a text"),
    ("healthbench", _with("healthbench", rubrics=[{"criterion": "x", "points": True}]), "points", "True is no number"),
    ("healthbench", _with("healthbench", prompt=[USER, ANSWER]), "prompt", "nothing to answer"),
    ("healthbench_meta", _with("healthbench_meta", binary_labels=["maybe"]), "label", "a label that is none"),
    ("healthbench_meta", _with("healthbench_meta", completion=None), "completion", "no response"),
    ("rubrichub", _without("rubrichub", "rubrics"), "Rubrics", "under neither name"),
    ("rar", _with("rar", rubric=[{"title": "a", "description": "b", "weight": float("nan")}]), "weight", "not a number"),
    ("rar_without_pitfalls", _with("rar", rubric=[RECORDS["rar"]["rubric"][1]]), "rubric", "nothing else"),
    ("multichallenge", _with("multichallenge", PASS_CRITERIA="PERHAPS"), "PASS_CRITERIA", "neither"),
    ("multichallenge", _with("multichallenge", CONVERSATION=[]), "CONVERSATION", "empty"),
    ("biggen", _with("biggen", score_rubric={"criteria": "x"}), "score5_description", "no levels"),
    ("llmbar", _with("llmbar", label=3), "label", "no such output"),
    ("llmbar", _with("llmbar", label=True), "label", "True equals 1 in Python and is no label"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "row", "field", "reason"), BAD, ids=[f"{b[0]}: {b[3]}" for b in BAD])
def test_a_malformed_record_is_named(tmp_path: Path, name: str, row: Any, field: str, reason: str) -> None:
    with pytest.raises(UserError) as caught:
        read(name, written(tmp_path, RECORDS[name], row), strict=True)
    assert "record 2" in str(caught.value)
    assert repr(field) in str(caught.value)
    assert "\n" not in str(caught.value)
    found = read(name, tmp_path / "data.json")
    assert found == read(name, written(tmp_path, RECORDS[name])), "the good one alone"
    assert found.left_out.reasons == (str(caught.value),)


def test_unknown_names_and_doubled_ids(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="sysbench"):
        read("sysbnch", tmp_path)
    with pytest.raises(UserError, match="no such file"):
        read("sysbench", tmp_path / "absent.json")
    with pytest.raises(UserError, match=r"no dataset\.json"):
        read("llmbar", _empty(tmp_path))


# What the public files hold beside good rows; what must come of it, and what is said where the row is left out.
DIRT: list[tuple[str, dict[str, Any], int, str, str]] = [
    ("cfbench", {"idx": 9, "prompt": ""}, 0, "field 'prompt' must be a text that is not blank", "the one real row"),
    ("cfbench", {"idx": 9, "gold": "", "isanswer": "否"}, 1, "", "no right answer"),
    ("cfbench", {"idx": 9, "criteria": [["是成语填空", "主需", "", ""]]}, 1, "", "a criterion without type"),
    ("cfbench", {"idx": 9, "criteria": [["", "主需", "", ""]]}, 0, "criteria[0]' has a blank text", "no criterion"),
    ("cfbench", {}, 0, "id 'cfbench-11' stands twice, first at record 1", "the same row again"),
    ("infobench", {"id": "b", "input": " \n"}, 1, "", "a blank input is none"),
    ("infobench", {"id": "b", "input": None, "question_label": None}, 1, "", "neither input nor labels"),
    ("infobench", {"id": "b", "decomposed_questions": ["Is it?", ""]}, 0, "none of them blank", "a blank question"),
    ("complexbench", {"main_id": 9, "group": None, "idx_in_group": None}, 1, "", "no group outside Selection"),
    ("complexbench", {"main_id": 9, "scoring_questions": [
        {"point_id": 0, "question": "q", "rule": "keywords:['茶']", "dep": None},
        {"point_id": 1, "question": "r", "rule": None, "dep": ["0"]}]}, 1, "", "rule and dep as text or null"),
    ("complexbench", {"main_id": 9, "scoring_questions": [{"point_id": 0, "question": "q", "dep": "[0]"}]}, 0,
     "field 'dep' must be a list of point ids", "dependencies as a text"),
    ("complexbench_en", {"main_id": 9, "instruction_en": None}, 0, "'instruction_en'", "not translated"),
    ("sysbench", {"system_id": 9, "prompt_infos": [{"criteria": ["a"]}, {"criteria": {}}]}, 0,
     "prompt_infos[1]: field 'criteria' must be", "a turn without criteria"),
    ("sysbench", {"system_id": 9, "prompt_infos": {USER["content"]: {"criteria": ["a"]}}}, 0,
     "field 'prompt_infos[1]' must be an object", "a turn nobody tells of"),
    ("sysbench", {"system_id": 9, "system_prompt": None}, 0, "'system_prompt'", "no system prompt"),
    ("structflowbench", {"conv_topic": None, "conv_task": ""}, 2, "", "topic and task may be absent"),
    ("structflowbench", {"whole_conv": []}, 0, "'whole_conv' must be a list that is not empty", "no turns"),
    ("wildbench", {"session_id": "b", "checklist": ["ok", ""]}, 0, "none of them blank", "a blank item"),
    ("wildbench", {"session_id": "b", "checklist": []}, 0, "'checklist' must be a list that is not empty", "no list"),
    ("advancedif", {"benchmark_name": "system_steerability_v2"}, 1, "", "the name in the published file"),
    ("advancedif", {"prompt_metadata": "{'rubrics': ['Is it?']}"}, 0, "'prompt_metadata' must be JSON", "Python's quotes"),
    ("advancedif", {"prompt_metadata": json.dumps({"rubrics": '["Says ""hi""?"]'})}, 0, "'rubrics' must be JSON", "quotes"),
    ("advancedif", {"conversation_history": ""}, 0, "'conversation_history' must be JSON", "no conversation"),
    ("llmbar", {"output_2": ""}, 0, "'output_2' must be a text", "an empty output"),
    ("profbench", {"task_id": "b", "o3_response": None}, 1, "", "a report less"),
    ("profbench", {}, 0, "id 'profbench-Chem-0' stands twice", "the same task again"),
    ("healthbench", {"prompt_id": "b", "ideal_completions_data": None, "example_tags": []}, 1, "", "nobody answered"),
    ("healthbench_meta", {"completion_id": "c2", "binary_labels": [True, False]}, 1, "", "physicians are divided"),
    ("healthbench_meta", {}, 0, "more than one row for rubric_index 0", "the same row again"),
    ("rubrichub", {"id": None, "question": None, "prompt": [USER]}, 1, "", "as the training files have it"),
    ("rar", {"question": "b", "reference_answer": ""}, 1, "", "no answer beside it"),
    ("rar_without_pitfalls", {"question": "b", "rubric": []}, 0, "'rubric' must be a list", "no rubric"),
    ("multichallenge", {"QUESTION_ID": "b", "PASS_CRITERIA": "NO"}, 1, "", "a fault"),
    ("biggen", {"id": "b", "system_prompt": None, "reference_answer": None}, 1, "", "neither system prompt nor answer"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "wrong", "more", "told", "reason"), DIRT, ids=[f"{d[0]}: {d[4]}" for d in DIRT])
def test_a_dirty_row_is_used_or_left_out_and_told(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    name: str,
    wrong: dict[str, Any],
    more: int,
    told: str,
    reason: str,
) -> None:
    clean = read(name, written(tmp_path, RECORDS[name]))
    found = read(name, written(tmp_path, RECORDS[name], RECORDS[name] | wrong))
    assert found[: len(clean)] == clean
    assert len(found) == len(clean) + more, reason
    assert bool(found.left_out) == bool(told) == bool(caplog.messages)
    if told:
        assert caplog.messages == [str(found.left_out)]
        assert caplog.messages[0].startswith("data.json: 1 of 2 rows cannot be used and are left out: record 2")
        assert told in caplog.messages[0]
        assert str(tmp_path) not in caplog.messages[0], "cards show it to strangers"
        with pytest.raises(UserError, match="record 2"):
            read(name, tmp_path / "data.json", strict=True)


def test_every_reader_has_its_dirt() -> None:
    assert {name for name, *_ in DIRT} == set(RECORDS)


def test_cfbench_as_published_loads_but_for_one_row(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [RECORDS["cfbench"] | {"idx": number} for number in range(1000)]
    rows[312]["prompt"] = ""
    found = read("cfbench", written(tmp_path, *rows))
    assert len(found) == 999
    assert "cfbench-312" not in {source.instruction_id for source in found}
    assert [message.split(": ", 1)[1] for message in caplog.messages] == [
        "1 of 1,000 rows cannot be used and are left out: record 313: field 'prompt' must be a text that is not blank"
    ]


@pytest.mark.parametrize(
    ("lines", "used", "said", "reason"),
    [
        (["good", "bad"], 1, "1 of 2 rows", "half of it"),
        (["good", "bad", "bad"], None, "2 of 3 rows cannot be used; is it the right file? line 2: ", "more than half"),
        (["bad"], None, "1 of 1 rows", "nothing is left"),
        (["good", "good", '{"a', "new"], 2, "line 2: id 'wildbench-ab12' stands twice, first at line 1; line 3: not JSON", "kinds"),
        (["good", "[]", "new"], 2, "line 2: must be an object", "no object"),
        (["good", "new", *["bad"] * 2], 2, "line 3: field 'checklist'", "two of four"),
        ([*(f"new{n}" for n in range(9)), *["bad"] * 6], 9, "line 12: field 'checklist' must be a list", "the first"),
        ([*(f"new{n}" for n in range(9)), *["bad"] * 6], 9, "; and 3 more", "not all of them"),
    ],
)  # fmt: skip
def test_how_much_of_a_file_may_be_bad(
    tmp_path: Path, lines: list[str], used: int | None, said: str, reason: str
) -> None:
    good = RECORDS["wildbench"]
    known = {"good": good, "bad": good | {"checklist": []}}
    rows = [known.get(line) or (good | {"session_id": line} if line.startswith("new") else line) for line in lines]
    path = tmp_path / "data.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    if used is None:
        with pytest.raises(UserError) as caught:
            read("wildbench", path)
        assert said in str(caught.value), reason
        assert str(caught.value).startswith(str(path))
    else:
        found = read("wildbench", path)
        assert len(found) == used
        assert said in str(found.left_out), reason


def test_bad_rows_of_several_files_are_counted_together(tmp_path: Path) -> None:
    for name, label in (("Natural", 1), ("Manual", 3)):
        (tmp_path / name).mkdir()
        rows = [RECORDS["llmbar"], RECORDS["llmbar"] | {"label": label}]
        (tmp_path / name / "dataset.json").write_text(json.dumps(rows))
    found = read("llmbar", tmp_path)
    assert len(found) == 6
    assert "1 of 4 rows cannot be used and are left out: Manual/dataset.json, record 2: field 'label'" in str(
        found.left_out
    )


def test_ids_count_all_rows(tmp_path: Path) -> None:
    good = RECORDS["advancedif"]
    found = read("advancedif", written(tmp_path, good, good | {"response": "{"}, good))
    assert [source.instruction_id for source in found] == ["advancedif-0000", "advancedif-0002"], (
        "as without the bad one"
    )


def test_rows_of_a_response_that_do_not_fit_it_are_left_out(tmp_path: Path) -> None:
    whole = rubric_data.mini_rows()
    rows = [row for row in whole if row["response_id"] == whole[0]["response_id"]]
    another = {"checklist": ["another"], "rubric": "another", "rubric_index": 0}
    wrong = [rows[0] | another, rows[0] | {"rubric_index": 99}, rows[0] | {"response": None, "label": "yes"}]
    path = written(tmp_path, *rows, *wrong)
    found = read("rubric_eval", path)
    assert found == read("rubric_eval", written(tmp_path, *rows))
    assert len(found) == 1
    found = read("rubric_eval", written(tmp_path, *rows, *wrong))
    assert [reason.split("field ")[1][:14] for reason in found.left_out.reasons] == [
        "'checklist' di",
        "'rubric_index'",
        "'response' mus",
    ]


def test_what_was_left_out_is_printed_where_nobody_handles_it(tmp_path: Path) -> None:
    path = written(tmp_path, RECORDS["infobench"], RECORDS["infobench"])
    code = f"from truebench_hf.data.sources import read; read('infobench', {str(path)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    told = "data.json: 1 of 2 rows cannot be used and are left out: record 2: "
    assert done.stderr == f"{told}id 'infobench-task_7' stands twice, first at record 1\n"


def _empty(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("name", [name for name in sets() if name in RECORDS])
def test_any_value_in_any_field_is_read_or_refused(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp(name)

    @settings(max_examples=60, deadline=None)
    @given(st.sampled_from(sorted(RECORDS[name])), JSON)
    def check(field: str, value: Any) -> None:
        row = {**RECORDS[name], field: value}
        try:
            found = read(name, written(folder, row))
        except UserError:
            return
        assert found
        for source in found:
            assert source.rubrics
            assert source.messages[-1].role == "user"

    check()


def test_the_import_is_light() -> None:
    code = "import sys, truebench_hf.data.sources; print(sorted({'torch', 'datasets', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
